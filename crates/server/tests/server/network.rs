//! The service over TCP: authentication, and limits on unauthenticated clients.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rcgen::{CertificateParams, KeyPair, PublicKeyData};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use tollgate_client::endpoint::ConnectOptions;
use tollgate_client::types::AccessRole;
use tollgate_client::types::{
    ErrorResponse, JobRef, JobRequest, ServiceStatus, SubmitResponse, TokenList,
};
use tollgate_client::{ApiClient, ClientError};
use tollgate_client::{Fingerprint, RemoteError, RemoteService};
use tollgate_model::{Instant, Span};
use tollgate_server::access::ServiceLimits;
use tollgate_server::net::Credential;
use tollgate_server::net::credentials::ProofType;

use crate::common::test_service::{NOW, TestService, read_to_close};

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

impl TestService {
    /// Returns the options to connect with this token.
    fn directions(&self, token: Option<&str>) -> ConnectOptions {
        let file = token.map(|token| {
            let file = self
                .data_dir
                .path()
                .join(Fingerprint::of(token.as_bytes()).short());
            fs::write(&file, token).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            file
        });
        ConnectOptions {
            url: format!("https://{}", self.address),
            token: file,
            fingerprint: Some(self.fingerprint),
            ..ConnectOptions::default()
        }
    }

    pub(crate) fn remote_client(&self, token: Option<&str>) -> ApiClient {
        ApiClient::connect_to(&RemoteService::new(&self.directions(token)).unwrap()).unwrap()
    }

    fn status(&self, token: Option<&str>) -> Result<ServiceStatus, ClientError> {
        self.remote_client(token).get("/v1/status")
    }

    pub(crate) fn make(&self, role: AccessRole, expires: Option<Instant>) -> String {
        self.make_for(me(), role, expires)
    }

    /// Creates a token of a user.
    pub(crate) fn make_for(&self, user: u32, role: AccessRole, expires: Option<Instant>) -> String {
        let made = self.keyring.create_token(user, role, (expires, None), NOW);
        made.unwrap().0.reveal().to_owned()
    }

    /// Opens a TCP connection from another address of this host, without a TLS handshake.
    fn connect_unauthenticated(&self, from: Ipv4Addr) -> TcpStream {
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&stream, &SocketAddrV4::new(from, 0)).unwrap();
        connect(&stream, &self.address).unwrap();
        stream.into()
    }
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> (u16, ErrorResponse) {
    match answer {
        Err(ClientError::Refused { status, problem }) => (status.as_u16(), problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn client_with_a_token_is_authenticated_as_its_user() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let mut client = open.remote_client(Some(&token));
    let request = JobRequest {
        command: vec!["true".to_owned()],
        procs: 1,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    let path = format!("/v1/jobs/{}", answer.id.unwrap());
    let job: serde_json::Value = client.get(&path).unwrap();
    assert_eq!(job["user_id"], me());
}

#[test]
fn client_without_a_valid_token_is_rejected() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let expired = open.make(AccessRole::User, Some(NOW - Span::from_secs(1)));
    let last = if token.ends_with('0') { '1' } else { '0' };
    let almost = format!("{}{last}", &token[..token.len() - 1]);
    for presented in [None, Some("nonsense"), Some(&*almost), Some(&*expired)] {
        let (status, problem) = refused(open.status(presented));
        assert_eq!(status, 401, "{problem:?}");
    }
    let mut client = open.remote_client(Some(&token));
    assert_eq!(client.get::<ServiceStatus>("/v1/status").unwrap().nodes, 2);
    let name = Fingerprint::of(token.as_bytes()).short();
    open.keyring.revoke(&name, |_| true).unwrap();
    assert_eq!(
        refused(client.get::<ServiceStatus>("/v1/status")).0,
        401,
        "at once"
    );
}

#[test]
fn only_the_health_check_is_open_to_unauthenticated_clients() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.remote_client(None);
    let health = client.get::<()>("/healthz");
    assert!(
        matches!(health, Err(ClientError::InvalidResponse(_))),
        "not JSON: {health:?}"
    );
    for path in ["/v1/status", "/v1/nodes", "/v1/nothing", "/", "/healthz/x"] {
        let (status, _) = refused(open.remote_client(None).get::<ServiceStatus>(path));
        assert_eq!(status, 401, "{path}");
    }
}

/// Creates a self-signed certificate; returns its file and the fingerprint of its key.
fn certificate(data_dir: &std::path::Path) -> (PathBuf, Fingerprint) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(Vec::new()).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let print = Fingerprint::of(&key.subject_public_key_info());
    let file = data_dir.join(print.short());
    fs::write(&file, certificate.pem() + &key.serialize_pem()).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    (file, print)
}

#[test]
fn client_with_a_certificate_is_authenticated_as_its_user() {
    let data_dir = tempfile::tempdir().unwrap();
    let (known, fingerprint) = certificate(data_dir.path());
    let (unknown, _) = certificate(data_dir.path());
    let key = Credential {
        proof: ProofType::Certificate,
        fingerprint,
        user: me(),
        role: AccessRole::User,
        made: None,
        expires: None,
        uses_left: None,
        issued_with: None,
    };
    let open = TestService::with_keys(ServiceLimits::default(), vec![key]);
    let status = |file: &PathBuf, token| {
        let directions = ConnectOptions {
            certificate: Some(file.clone()),
            ..open.directions(token)
        };
        let mut client = ApiClient::connect_to(&RemoteService::new(&directions).unwrap())?;
        client.get::<ServiceStatus>("/v1/status")
    };
    assert_eq!(status(&known, None).unwrap().nodes, 2);
    assert_eq!(refused(status(&unknown, None)).0, 401);
    // A valid certificate does not make up for an invalid token.
    assert_eq!(refused(status(&known, Some("nonsense"))).0, 401);
    // A fingerprint is public and is not accepted as a token.
    assert_eq!(refused(open.status(Some(&fingerprint.to_string()))).0, 401);
}

#[test]
fn client_rejects_a_service_with_another_key() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let directions = ConnectOptions {
        fingerprint: Some(Fingerprint::of(b"another")),
        ..open.directions(Some(&token))
    };
    let remote = RemoteService::new(&directions).unwrap();
    let Err(ClientError::Remote(error)) = ApiClient::connect_to(&remote).map(|_| ()) else {
        panic!("it was talked to");
    };
    assert!(matches!(error, RemoteError::Handshake { .. }), "{error}");
    assert!(
        error
            .hint()
            .unwrap()
            .contains("not the service with that fingerprint")
    );
}

#[test]
fn client_accepts_a_service_certified_by_a_trusted_authority() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let directions = ConnectOptions {
        fingerprint: None,
        authorities: Some(open.data_dir.path().join("server.crt")),
        ..open.directions(Some(&token))
    };
    let connect = |directions: &ConnectOptions| {
        let mut client = ApiClient::connect_to(&RemoteService::new(directions).unwrap())?;
        client.get::<ServiceStatus>("/v1/status")
    };
    assert_eq!(connect(&directions).unwrap().nodes, 2);
    let data_dir = tempfile::tempdir().unwrap();
    let strange = ConnectOptions {
        authorities: Some(certificate(data_dir.path()).0),
        ..directions
    };
    let refused = connect(&strange);
    assert!(
        matches!(refused, Err(ClientError::Remote(_))),
        "{refused:?}"
    );
}

#[test]
fn token_cannot_create_tokens() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.remote_client(Some(&open.make(AccessRole::User, None)));
    let made = client.post::<serde_json::Value>("/v1/tokens", &serde_json::json!({}));
    assert_eq!(refused(made).0, 403);
    assert_eq!(refused(client.get::<TokenList>("/v1/tokens")).0, 403);
    let name = &open.keyring.credentials()[0].fingerprint.short();
    let revoked = client.post::<TokenList>(&format!("/v1/tokens/{name}/revoke"), &());
    assert_eq!(refused(revoked).0, 403);
}

#[test]
fn worker_token_can_only_register_a_worker() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.remote_client(Some(&open.make(AccessRole::Worker, None)));
    for path in [
        "/v1/status",
        "/v1/jobs",
        "/v1/nodes",
        "/v1/ledger",
        "/v1/jobs/1/explain",
    ] {
        let (status, problem) = refused(client.get::<ServiceStatus>(path));
        assert_eq!(
            (status, &*problem.error),
            (403, "this token can only take work"),
            "{path}"
        );
    }
    let request = JobRequest::default();
    assert_eq!(
        refused(client.post::<SubmitResponse>("/v1/jobs", &request)).0,
        403
    );
    assert_eq!(
        refused(client.post::<JobRef>("/v1/jobs/1/cancel", &())).0,
        403
    );
}

#[test]
fn unauthenticated_connections_do_not_block_authenticated_clients() {
    let limits = ServiceLimits {
        unauthenticated: 4,
        request_s: 600.0,
        ..ServiceLimits::default()
    };
    let open = TestService::new(limits);
    let token = open.make(AccessRole::User, None);
    let crowded = Ipv4Addr::new(127, 0, 0, 9);
    let mut early = open.remote_client(Some(&token));
    let _: ServiceStatus = early.get("/v1/status").unwrap();
    // These connections stay silent, within a very long time limit.
    let mut crowd: Vec<TcpStream> = (0..250)
        .map(|_| open.connect_unauthenticated(crowded))
        .collect();
    let newest = crowd.split_off(crowd.len() - 4);
    for old in crowd {
        assert_eq!(read_to_close(old), "", "one too many");
    }
    // Those at the address of the peers are closed for them.
    let near: Vec<TcpStream> = (0..250)
        .map(|_| open.connect_unauthenticated(Ipv4Addr::LOCALHOST))
        .collect();
    let _: ServiceStatus = early.get("/v1/status").unwrap();
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
    let _: ServiceStatus = ApiClient::connect(&open.socket())
        .unwrap()
        .get("/v1/status")
        .unwrap();
    drop((newest, near));
}

#[test]
fn slow_tls_handshake_is_disconnected() {
    let open = TestService::new(ServiceLimits {
        request_s: 0.2,
        ..ServiceLimits::default()
    });
    let mut slow = open.connect_unauthenticated(Ipv4Addr::LOCALHOST);
    // The header of a 512-byte record whose body never follows.
    slow.write_all(&[22, 3, 1, 2, 0]).unwrap();
    assert_eq!(
        read_to_close(open.connect_unauthenticated(Ipv4Addr::LOCALHOST)),
        ""
    );
    assert_eq!(read_to_close(slow), "");
    let token = open.make(AccessRole::User, None);
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
}

#[test]
fn plaintext_connection_gets_no_response() {
    let open = TestService::new(ServiceLimits::default());
    for bytes in [
        &b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        &[0; 2000],
        &[22, 3, 1, 255, 255],
    ] {
        let mut stream = open.connect_unauthenticated(Ipv4Addr::LOCALHOST);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut message = Vec::new();
        let _ = stream.read_to_end(&mut message);
        // A TLS alert is the only response.
        assert!(message.is_empty() || message[0] == 21, "{message:?}");
    }
    let token = open.make(AccessRole::User, None);
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
}

#[test]
fn workers_take_no_connections_from_their_user() {
    let open = TestService::new(ServiceLimits {
        connections: 1,
        workers: 1,
        ..ServiceLimits::default()
    });
    let worker = open.make(AccessRole::Worker, None);
    let mut first = open.remote_client(Some(&worker));
    // A worker's token is for other paths, but its connection counts.
    assert_eq!(refused(first.get::<ServiceStatus>("/v1/status")).0, 403);
    let (status, problem) = refused(open.status(Some(&worker)));
    assert_eq!(status, 429);
    assert!(problem.error.contains("may have 1 workers"), "{problem:?}");
    let token = open.make(AccessRole::User, None);
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
}

#[test]
fn connection_limit_counts_socket_and_tcp_together() {
    let open = TestService::new(ServiceLimits {
        connections: 3,
        ..ServiceLimits::default()
    });
    let token = open.make(AccessRole::User, None);
    let mut taken: Vec<ApiClient> = vec![
        ApiClient::connect(&open.socket()).unwrap(),
        open.remote_client(Some(&token)),
        open.remote_client(Some(&token)),
    ];
    for client in &mut taken {
        let _: ServiceStatus = client.get("/v1/status").unwrap();
    }
    let (status, problem) = refused(open.status(Some(&token)));
    assert_eq!(
        (status, &*problem.error),
        (
            429,
            "connection limit reached: a user may have 3 connections"
        )
    );
    drop(taken);
    // The service may take a moment to notice the closed connections.
    assert!((0..100_000).any(|_| open.status(Some(&token)).is_ok()));
}

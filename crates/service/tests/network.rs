//! The service over TCP: who is let in, as whom, and that those who are not keep nobody else from
//! it.

mod common;

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use common::test_service::{NOW, TestService, read_to_close};
use rcgen::{CertificateParams, KeyPair, PublicKeyData};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use tollgate_model::{Instant, Span};
use tollgate_service::access::ServiceLimits;
use tollgate_service::api::types::{
    ErrorResponse, JobRef, JobRequest, ServiceStatus, SubmitResponse, TokenList,
};
use tollgate_service::net::credentials::ProofType;
use tollgate_service::net::endpoint::ConnectOptions;
use tollgate_service::net::{Credential, Fingerprint, RemoteError, RemoteService};
use tollgate_service::{AccessRole, ApiClient, ClientError};

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

impl TestService {
    /// The way to it for the holder of this token.
    fn directions(&self, token: Option<&str>) -> ConnectOptions {
        let file = token.map(|token| {
            let file = self
                .folder
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

    fn client(&self, token: Option<&str>) -> ApiClient {
        ApiClient::connect_to(&RemoteService::new(&self.directions(token)).unwrap()).unwrap()
    }

    fn status(&self, token: Option<&str>) -> Result<ServiceStatus, ClientError> {
        self.client(token).get("/v1/status")
    }

    fn make(&self, role: AccessRole, expires: Option<Instant>) -> String {
        let made = self.keyring.create_token(me(), role, expires, NOW).unwrap();
        made.0.reveal().to_owned()
    }

    /// A connection from another address of this host, without any greeting.
    fn stranger(&self, from: Ipv4Addr) -> TcpStream {
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&stream, &SocketAddrV4::new(from, 0)).unwrap();
        connect(&stream, &self.address).unwrap();
        stream.into()
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> (u16, ErrorResponse) {
    match answer {
        Err(ClientError::Refused { status, problem }) => (status.as_u16(), problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_shows_a_token_is_let_in_as_its_user() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let mut client = open.client(Some(&token));
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
fn nobody_else_is() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let expired = open.make(AccessRole::User, Some(NOW - Span::from_secs(1)));
    let last = if token.ends_with('0') { '1' } else { '0' };
    let almost = format!("{}{last}", &token[..token.len() - 1]);
    for shown in [None, Some("nonsense"), Some(&*almost), Some(&*expired)] {
        let (status, problem) = refused(open.status(shown));
        assert_eq!(status, 401, "{problem:?}");
    }
    let mut client = open.client(Some(&token));
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
fn whether_anybody_is_there_is_said_to_everybody_and_nothing_else() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.client(None);
    let health = client.get::<()>("/healthz");
    assert!(
        matches!(health, Err(ClientError::InvalidResponse(_))),
        "it is no JSON: {health:?}"
    );
    for path in ["/v1/status", "/v1/nodes", "/v1/nothing", "/", "/healthz/x"] {
        let (status, _) = refused(open.client(None).get::<ServiceStatus>(path));
        assert_eq!(status, 401, "{path}");
    }
}

/// A certificate of its own making, its key, and the fingerprint of that.
fn certificate(folder: &std::path::Path) -> (PathBuf, Fingerprint) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(Vec::new()).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let print = Fingerprint::of(&key.subject_public_key_info());
    let file = folder.join(print.short());
    fs::write(&file, certificate.pem() + &key.serialize_pem()).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    (file, print)
}

#[test]
fn who_shows_a_certificate_is_let_in_as_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let (known, fingerprint) = certificate(folder.path());
    let (unknown, _) = certificate(folder.path());
    let key = Credential {
        proof: ProofType::Certificate,
        fingerprint,
        user: me(),
        role: AccessRole::User,
        made: None,
        expires: None,
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
    // A token that stands for nobody is not made up for.
    assert_eq!(refused(status(&known, Some("nonsense"))).0, 401);
    // The fingerprint is no secret: it is no token either.
    assert_eq!(refused(open.status(Some(&fingerprint.to_string()))).0, 401);
}

#[test]
fn a_service_with_another_key_is_not_talked_to() {
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
fn a_service_that_an_authority_vouches_for_is_talked_to() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let directions = ConnectOptions {
        fingerprint: None,
        authorities: Some(open.folder.path().join("server.crt")),
        ..open.directions(Some(&token))
    };
    let connect = |directions: &ConnectOptions| {
        let mut client = ApiClient::connect_to(&RemoteService::new(directions).unwrap())?;
        client.get::<ServiceStatus>("/v1/status")
    };
    assert_eq!(connect(&directions).unwrap().nodes, 2);
    let folder = tempfile::tempdir().unwrap();
    let strange = ConnectOptions {
        authorities: Some(certificate(folder.path()).0),
        ..directions
    };
    let refused = connect(&strange);
    assert!(
        matches!(refused, Err(ClientError::Remote(_))),
        "{refused:?}"
    );
}

#[test]
fn a_token_makes_no_tokens() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.client(Some(&open.make(AccessRole::User, None)));
    let made = client.post::<serde_json::Value>("/v1/tokens", &serde_json::json!({}));
    assert_eq!(refused(made).0, 403);
    assert_eq!(refused(client.get::<TokenList>("/v1/tokens")).0, 403);
    let name = &open.keyring.credentials()[0].fingerprint.short();
    let revoked = client.post::<TokenList>(&format!("/v1/tokens/{name}/revoke"), &());
    assert_eq!(refused(revoked).0, 403);
}

#[test]
fn who_can_take_work_can_do_nothing_else() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.client(Some(&open.make(AccessRole::Worker, None)));
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
fn strangers_keep_nobody_from_it() {
    let limits = ServiceLimits {
        strangers: 4,
        request_s: 600.0,
        ..ServiceLimits::default()
    };
    let open = TestService::new(limits);
    let token = open.make(AccessRole::User, None);
    let crowded = Ipv4Addr::new(127, 0, 0, 9);
    let mut early = open.client(Some(&token));
    let _: ServiceStatus = early.get("/v1/status").unwrap();
    // They say nothing, and there is all the time in the world.
    let crowd: Vec<TcpStream> = (0..4).map(|_| open.stranger(crowded)).collect();
    for _ in 0..50 {
        assert_eq!(read_to_close(open.stranger(crowded)), "", "one too many");
    }
    let _: ServiceStatus = early.get("/v1/status").unwrap();
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
    let _: ServiceStatus = ApiClient::connect(&open.socket())
        .unwrap()
        .get("/v1/status")
        .unwrap();
    drop(crowd);
}

#[test]
fn who_dawdles_in_the_handshake_is_hung_up_on() {
    let open = TestService::new(ServiceLimits {
        request_s: 0.2,
        ..ServiceLimits::default()
    });
    let mut slow = open.stranger(Ipv4Addr::LOCALHOST);
    // The head of a record of 512 bytes, which never come.
    slow.write_all(&[22, 3, 1, 2, 0]).unwrap();
    assert_eq!(read_to_close(open.stranger(Ipv4Addr::LOCALHOST)), "");
    assert_eq!(read_to_close(slow), "");
    let token = open.make(AccessRole::User, None);
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
}

#[test]
fn what_is_no_tls_is_told_nothing() {
    let open = TestService::new(ServiceLimits::default());
    for bytes in [
        &b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        &[0; 2000],
        &[22, 3, 1, 255, 255],
    ] {
        let mut stream = open.stranger(Ipv4Addr::LOCALHOST);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        // At most an alert of TLS.
        assert!(said.is_empty() || said[0] == 21, "{said:?}");
    }
    let token = open.make(AccessRole::User, None);
    let _: ServiceStatus = open.status(Some(&token)).unwrap();
}

#[test]
fn connections_of_a_user_are_counted_wherever_they_come_in() {
    let open = TestService::new(ServiceLimits {
        connections: 3,
        ..ServiceLimits::default()
    });
    let token = open.make(AccessRole::User, None);
    let mut taken: Vec<ApiClient> = vec![
        ApiClient::connect(&open.socket()).unwrap(),
        open.client(Some(&token)),
        open.client(Some(&token)),
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
    // The service may need a moment to notice that they are gone.
    assert!((0..100_000).any(|_| open.status(Some(&token)).is_ok()));
}

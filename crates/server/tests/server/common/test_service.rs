//! A service with open sockets, on an engine that runs nothing.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tollgate_client::Fingerprint;
use tollgate_client::certificate::CertificateFiles;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{SimEngine, SimHost};
use tollgate_model::{Instant, Market, Otherwise};
use tollgate_server::access::{AccessRules, ServiceLimits};
use tollgate_server::api::promise_terms::PromiseTerms;
use tollgate_server::api::router::router;
use tollgate_server::api::state::{ApiState, ServiceInfo};
use tollgate_server::controller;
use tollgate_server::controller::{Controller, ControllerHandle, ControllerRequest};
use tollgate_server::events::EventLog;
use tollgate_server::http::{TcpContext, UserConnections, serve_tls, serve_unix};
use tollgate_server::net::own_certificate;
use tollgate_server::net::{AllowedHosts, Credential, CredentialStore, tls};
use tollgate_server::permits::KeyedSemaphore;
use tollgate_server::user_names::UserNames;
use tollgate_store::Store;

use super::{host_clock, rules};

/// The time, which stands still.
pub(crate) const NOW: Instant = Instant::from_secs(1);

pub(crate) struct TestService {
    pub(crate) data_dir: tempfile::TempDir,
    pub(crate) keyring: Arc<CredentialStore>,
    /// Its TLS address.
    pub(crate) address: SocketAddr,
    /// Fingerprint of its TLS key.
    pub(crate) fingerprint: Fingerprint,
    stop: watch::Sender<bool>,
    controller_handle: ControllerHandle,
    log: EventLog,
    threads: Vec<JoinHandle<()>>,
}

/// The minimum probability of a promise, as by default.
const LEAST: f64 = 0.5;

impl TestService {
    pub(crate) fn new(limits: ServiceLimits) -> Self {
        Self::with_keys(limits, Vec::new())
    }

    /// Starts a service whose configuration has these credentials.
    pub(crate) fn with_keys(limits: ServiceLimits, keys: Vec<Credential>) -> Self {
        Self::start("fcfs", Otherwise::Wait, limits, keys)
    }

    /// Starts a service with this policy.
    pub(crate) fn with_policy(policy: &str) -> Self {
        Self::with_default(policy, Otherwise::Wait)
    }

    /// Starts a service with this policy, and this default for jobs that it cannot promise.
    pub(crate) fn with_default(policy: &str, otherwise: Otherwise) -> Self {
        Self::start(policy, otherwise, ServiceLimits::default(), Vec::new())
    }

    fn start(
        policy: &str,
        otherwise: Otherwise,
        limits: ServiceLimits,
        keys: Vec<Credential>,
    ) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let store = Store::open(&data_dir.path().join("tollgate.db")).unwrap();
        let reader = store.reader().unwrap();
        let world = SimHost::new(2, 1 << 30, SimProgram::of_command);
        let rules = rules(policy, Market::None);
        let mut controller =
            Controller::new(store, SimEngine::open(&world), &rules, host_clock(|| NOW)).unwrap();
        controller.limit_unfinished(limits.unfinished());
        controller.limit_stored_bytes(limits.stored_bytes);
        controller.limit_kept_bytes(limits.kept_bytes).unwrap();
        controller.limit_tasks(limits.task_limits());
        let log = controller.log();
        let (controller_handle, thread) = controller::start(controller).unwrap();
        let access = AccessRules {
            limits,
            ..AccessRules::default()
        };
        let keyring = CredentialStore::open(data_dir.path().join("tokens.toml"), keys).unwrap();
        let keyring = Arc::new(keyring);
        let service = ApiState {
            controller_handle: controller_handle.clone(),
            reader: Arc::new(Mutex::new(reader)),
            names: UserNames::default(),
            info: Arc::new(ServiceInfo {
                policy: rules.policy.to_string(),
                promises: PromiseTerms {
                    least: LEAST,
                    ..PromiseTerms::new(otherwise, &rules)
                },
                notice_targets: Vec::new(),
                batch_system: None,
                outputs: None,
                market: rules.market,
                since: Instant::ZERO,
            }),
            access: access.clone(),
            credentials: Arc::clone(&keyring),
            log: log.clone(),
            stream_permits: KeyedSemaphore::new(limits.streams),
            metrics: Arc::default(),
            clock: || NOW,
            terminal: data_dir.path().join("terminal.sock"),
            what_if: None,
            window: None,
            worker_acceptor: tollgate_server::workers::WorkerAcceptor::new(
                controller_handle.clone(),
            ),
        };
        let files = CertificateFiles {
            certificate: data_dir.path().join("server.crt"),
            key: data_dir.path().join("server.key"),
        };
        let here = IpAddr::from([127, 0, 0, 1]);
        let certificate = own_certificate::read_or_create(&files, &[], here).unwrap();
        let fingerprint = certificate.fingerprint().unwrap();
        let permits = KeyedSemaphore::new(limits.connections);
        let network = TcpContext {
            tls: tls::server_config(certificate, keyring.has_certificates()).unwrap(),
            hosts: AllowedHosts::default(),
            credentials: Arc::clone(&keyring),
            access: access.clone(),
            permits: permits.clone(),
            clock: || NOW,
        };
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (unix, tcp) = runtime.block_on(async {
            let unix = UnixListener::bind(data_dir.path().join("socket")).unwrap();
            (unix, TcpListener::bind((here, 0)).await.unwrap())
        });
        let address = tcp.local_addr().unwrap();
        let router = router(service);
        let listening = std::thread::spawn(move || {
            runtime.block_on(async {
                let tcp = serve_tls(tcp, router.clone(), network, stopped.clone());
                let connections = UserConnections::new(
                    router,
                    AllowedHosts::default(),
                    access,
                    permits,
                    stopped.clone(),
                );
                let unix = serve_unix(unix, connections, stopped);
                tokio::join!(tcp, unix);
            });
        });
        Self {
            data_dir,
            keyring,
            address,
            fingerprint,
            stop,
            controller_handle,
            log,
            threads: vec![thread, listening],
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.data_dir.path().join("socket")
    }

    pub(crate) fn connect(&self) -> UnixStream {
        UnixStream::connect(self.socket()).unwrap()
    }

    /// Sends these bytes and returns everything received until the service closes the connection.
    pub(crate) fn answer_to(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The service may close the connection before it has read everything.
        let _ = stream.write_all(bytes);
        read_to_close(stream)
    }
}

impl Drop for TestService {
    fn drop(&mut self) {
        self.log.close();
        let _ = self.stop.send(true);
        self.controller_handle.send(ControllerRequest::Stop);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Returns everything received until the service closes the connection.
pub(crate) fn read_to_close(mut stream: impl Read) -> String {
    let mut answer = Vec::new();
    // A connection that is closed with unread data is an error at the other end.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

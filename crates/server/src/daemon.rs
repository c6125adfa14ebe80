//! A service from startup to shutdown.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Mode;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tollgate_batch_engine::{BatchSystem, BatchSystemError};
use tollgate_client::Fingerprint;
use tollgate_client::certificate::{CertificateError, CertificateFiles, TlsCertificate};
use tollgate_engine::{Engine, SpreadAccess};
use tollgate_model::{Instant, Span};
use tollgate_policy::PolicySpec;
use tollgate_service::AdmissionRules;
use tollgate_store::data_dir::{self, DataDir, DataDirError};
use tollgate_store::{Store, StoreError, StoreReader, backup};
use tollgate_workers::{JobOwners, LeaseTimings, PartCall, WorkerPoolConfig};

use crate::access::{AccessRules, UserScope};
use crate::api::prune::keep_pruning;
use crate::api::server::{ApiState, ServiceInfo, router, serve_unix};
use crate::config::{MaintenanceRule, OutputConfig, ServeOptions, TcpListenOptions, maintenance};
use crate::controller::{self, Controller, ControllerHandle, ControllerRequest, StartError};
use crate::kept_outputs::KeptOutputs;
use crate::net::credentials::CredentialFileError;
use crate::net::own_certificate::{self, OwnCertificateError};
use crate::net::{CredentialStore, TcpContext, serve_tls, tls};
use crate::notices;
use crate::os_users;
use crate::part_socket::{self, ChannelPartSink};
use crate::permits::KeyedSemaphore;
use crate::user_names::UserNames;
use crate::workers::WorkerAcceptor;
use crate::workers::batch_nodes::{self, BatchNodes};

/// Size in bytes above which a store is verified while the service answers: half a million jobs,
/// whose verification takes about five seconds.
const LARGE_STORE: u64 = 256 << 20;

/// Maximum delay of reports that nothing waits for: some writes to a disk.
const REPORT_DELAY: Span = Span::from_micros(10_000);

/// Interval at which the service verifies that its data directory exists.
const DATA_DIR_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Interval at which the maintenance windows of the next weeks are computed.
const MAINTENANCE_REFRESH: Duration = Duration::from_secs(3600);
/// Time for the notices that are queued when the service stops.
const LAST_NOTICES: Duration = Duration::from_secs(5);

/// An error of the service.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The controller cannot recover or start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// The service cannot listen for clients.
    #[error("{place}: cannot listen: {error}")]
    Listen {
        /// The socket, or the TCP address.
        place: String,
        /// The system's error.
        error: io::Error,
    },
    /// The certificate cannot be read or created.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The service's own certificate cannot be read or created.
    #[error(transparent)]
    OwnCertificate(#[from] OwnCertificateError),
    /// TLS rejects the certificate.
    #[error("the certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// The token file cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialFileError),
    /// The store is missing, and the data directory had one.
    #[error("{}: the store is missing or empty, and a service has run in this directory before", .0.display())]
    StoreGone(PathBuf),
    /// The data directory was deleted while the service ran.
    #[error("{}: the data directory is gone: the service ends, and so do its jobs", .0.display())]
    DataDirGone(PathBuf),
    /// The engine was opened for one user, and the service is for all.
    #[error("the runner was started for a single user and still has running jobs")]
    SingleUserRunner,
    /// The policy, given here, shares nodes among jobs.
    #[error("the policy `{0}` needs shares of processors, which no batch system has")]
    SharedNodes(String),
    /// Jobs of other users are to run on a batch system.
    #[error("a batch system runs jobs of the service's own user only: expected users = \"own\"")]
    BatchUsers,
    /// The batch system cannot be used.
    #[error(transparent)]
    BatchSystem(#[from] BatchSystemError),
    /// The policy, given here, makes no plan.
    #[error(
        "maintenance: the policy `{0}` makes no plan, so its promises would not be made around it"
    )]
    UnplannedMaintenance(String),
    /// The policy, given here, chooses no hosts.
    #[error("the policy `{0}` counts neither devices nor licences")]
    UncountedResources(String),
    /// A system call failed.
    #[error("{action}: {error}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl ServeError {
    /// Returns what an operator can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(StartError::Store(error)) => error.hint(),
            Self::Folder(error) => error.hint(),
            Self::StoreGone(_) => Some(
                "`tollgate restore BACKUP` brings it back; to begin with an empty store, remove the file `identity`",
            ),
            Self::DataDirGone(_) => {
                Some("`tollgate restore BACKUP` brings back what was backed up")
            }
            Self::SharedNodes(_) => Some(
                "`plan`, `easy`, `edf-bf` and others give jobs whole cores: see `tollgate policies`",
            ),
            Self::BatchSystem(error) => error.hint(),
            Self::UncountedResources(_) => {
                Some("the policy `plan` does; or take them out of the settings")
            }
            Self::UnplannedMaintenance(_) => {
                Some("the policy `plan` does; or `tollgate drain` the nodes in time")
            }
            Self::SingleUserRunner => Some(
                "wait for these jobs or cancel them: the runner then exits, and a new one is started",
            ),
            Self::Certificate(CertificateError::Open(error))
            | Self::OwnCertificate(OwnCertificateError::Read(CertificateError::Open(error))) => {
                error.hint()
            }
            Self::Start(_)
            | Self::BatchUsers
            | Self::Listen { .. }
            | Self::Certificate(_)
            | Self::OwnCertificate(_)
            | Self::Tls(_)
            | Self::Credentials(_)
            | Self::System { .. } => None,
        }
    }
}

/// The TCP address of a running service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundAddress {
    /// Address and port.
    pub address: SocketAddr,
    /// Fingerprint of the certificate's public key.
    pub fingerprint: Fingerprint,
}

/// Runs the service until SIGTERM or SIGINT. `ready` is called before the first response, with the
/// policy and the TCP address, if any. Running jobs continue after the service stops, and the next service finds
/// them again.
///
/// # Errors
/// If the store or the engine cannot be used, or the service cannot listen on its socket.
pub fn serve<E: Engine + 'static>(
    dir: &DataDir,
    mut engine: E,
    rules: &AdmissionRules,
    doors: ServeOptions,
    ready: impl FnOnce(&PolicySpec, Option<BoundAddress>),
) -> Result<(), ServeError> {
    let access = doors.access;
    if let Some(system) = &doors.batch_system {
        check_batch_system(system, rules, access.scope)?;
    }
    if access.scope == UserScope::All {
        dir.open_to_users()?;
        if !engine.capacity().map_err(StartError::from)?.other_users {
            return Err(ServeError::SingleUserRunner);
        }
    }
    // Files created from here on, among them the store's, are not accessible to other users.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let keyring = Arc::new(CredentialStore::open(dir.tokens(), doors.credentials)?);
    if dir.has_served() && !backup::has_bytes(&dir.store()) {
        return Err(ServeError::StoreGone(dir.store()));
    }
    let is_large = is_large(dir);
    let store = match is_large {
        true => Store::open_unchecked(&dir.store()),
        false => Store::open(&dir.store()),
    };
    let store = store.map_err(StartError::from)?;
    let rules = &match doors.keeps_policy {
        true => keep_policy(&store, rules).map_err(StartError::from)?,
        false => rules.clone(),
    };
    let reader = store.reader().map_err(StartError::from)?;
    let mut controller =
        Controller::new(store, engine, rules, Box::new(now)).map_err(StartError::from)?;
    if access.scope == UserScope::All {
        let aside = os_users::background_resolver().map_err(StartError::Thread)?;
        controller.set_run_as(aside);
    }
    if doors.local_nodes.is_none() {
        controller.offer_no_local_nodes();
    }
    controller.delay_reports(REPORT_DELAY);
    controller.limit_jobs(access.limits.jobs);
    controller.limit_stored_bytes(access.limits.stored_bytes);
    controller.limit_tasks(access.limits.task_limits());
    let began = std::time::Instant::now();
    controller
        .accept_workers(
            worker_pool_config(dir, access, doors.lease)?,
            Box::new(move || began.elapsed()),
        )
        .map_err(registry_error)?;
    let outputs = keep_outputs(dir, doors.outputs, &reader, &mut controller)?;
    report_restored_as_lost(dir, &mut controller)?;
    report_rebooted_as_lost(dir, &mut controller)?;
    if !doors.maintenance.is_empty() && !rules.policy.plans_maintenance() {
        return Err(ServeError::UnplannedMaintenance(rules.policy.to_string()));
    }
    let counts_resources = !doors.licences.is_empty() || !doors.local_devices.is_empty();
    if counts_resources && !rules.policy.chooses_hosts() {
        return Err(ServeError::UncountedResources(rules.policy.to_string()));
    }
    let spread_access = SpreadAccess {
        program: controller_program()?,
        socket: dir.part_socket(),
    };
    controller.set_spread_access(spread_access.clone());
    let log = controller.log();
    let begin = log.watch().borrow().id;
    let (controller_handle, thread) = controller::start(controller)?;
    controller_handle.send(ControllerRequest::SetLicences {
        licences: doors.licences,
    });
    let worker_acceptor = WorkerAcceptor::new(controller_handle.clone());
    if let Some(system) = &doors.batch_system {
        let nodes = BatchNodes {
            system: Arc::clone(system),
            controller: controller_handle.clone(),
            acceptor: worker_acceptor.clone(),
            user: own_user_name(),
            access: spread_access,
            dir: dir.path().join("nodes"),
        };
        nodes.start().map_err(StartError::Thread)?;
    }
    let service = ApiState {
        controller_handle: controller_handle.clone(),
        reader: Arc::new(Mutex::new(reader)),
        names: UserNames::default(),
        info: Arc::new(ServiceInfo {
            policy: rules.policy.to_string(),
            enforces_time_limits: rules.enforces_time_limits(),
            outputs,
            sends_notices: doors.notices.is_some(),
            max_time: doors
                .batch_system
                .as_ref()
                .and_then(|system| system.max_time()),
            market: rules.market.to_string(),
            since: now(),
        }),
        clock: now,
        access,
        credentials: keyring,
        worker_acceptor,
        terminal: data_dir::terminal(dir.path()),
        log,
        stream_permits: KeyedSemaphore::new(access.limits.streams),
        metrics: Arc::default(),
    };
    let pruning = prune_regularly(service.clone(), doors.keep_jobs);
    let checked = async {
        tokio::select! {
            checked = check_large_store(dir, is_large) => checked,
            () = pruning => Ok(()),
        }
    };
    let (tcp, certificate) = (doors.listen, doors.certificate);
    let ready = |heard| ready(&rules.policy, heard);
    let part_listener = listen_for_parts(dir, access.scope)?;
    let maintenance = plan_maintenance(controller_handle.clone(), doors.maintenance);
    let served = runtime()?.block_on(async {
        tokio::spawn(maintenance);
        tokio::spawn(serve_parts(part_listener, controller_handle.clone()));
        let notices = doors.notices.map(|notices| {
            let service = service.clone();
            tokio::spawn(notices::run(service, notices, begin))
        });
        let served = listen(dir, service, tcp, certificate, ready, checked).await;
        if let Some(notices) = notices {
            let _ = tokio::time::timeout(LAST_NOTICES, notices).await;
        }
        served
    });
    controller_handle.send(ControllerRequest::Stop);
    // A panic of the thread has been reported already.
    let _ = thread.join();
    served
}

/// Opens the directory of the outputs that are kept, and returns it. If none are to be kept, none stay.
fn keep_outputs<E: Engine>(
    dir: &DataDir,
    settings: OutputConfig,
    reader: &StoreReader,
    controller: &mut Controller<E>,
) -> Result<Option<PathBuf>, ServeError> {
    let place = dir.outputs();
    let failed = |error| ServeError::System {
        action: "the outputs that are kept cannot be read",
        error,
    };
    if settings.kept_kib == 0 {
        return match fs::remove_dir_all(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => Ok(None),
        };
    }
    // A store from a backup may give the numbers of later jobs again, to other users.
    let is_same_store = dir.has_served() && !dir.restored_marker().exists();
    let exists = |job| {
        let owner = reader.owner(job).map_err(io::Error::other)?;
        Ok(is_same_store && owner.is_some())
    };
    let kept = KeptOutputs::open(place.clone(), settings.total_bytes(), exists).map_err(failed)?;
    controller.keep_outputs(kept, settings.kept_bytes());
    Ok(Some(place))
}

/// Tells the controller the maintenance windows that are near, again and again as time goes on.
async fn plan_maintenance(controller: ControllerHandle, rules: Vec<MaintenanceRule>) {
    let mut refresh = tokio::time::interval(MAINTENANCE_REFRESH);
    loop {
        refresh.tick().await;
        let calendar = maintenance::calendar(&rules, &jiff::Zoned::now());
        controller.send(ControllerRequest::Maintain { calendar });
    }
}

/// Returns the rules with the policy of the unfinished jobs, if there are any.
fn keep_policy(store: &Store, rules: &AdmissionRules) -> Result<AdmissionRules, StoreError> {
    let kept = store.keep_policy(rules)?;
    if kept != *rules {
        tracing::warn!(
            policy = %kept.policy,
            default = %rules.policy,
            "the settings name no policy: unfinished jobs go on under theirs"
        );
    }
    Ok(kept)
}

/// Returns whether verifying the store takes so long that the service answers meanwhile.
fn is_large(dir: &DataDir) -> bool {
    fs::metadata(dir.store()).is_ok_and(|store| store.len() > LARGE_STORE)
}

/// Verifies a large store while the service answers. Returns only if the store is damaged or cannot
/// be read.
async fn check_large_store(dir: &DataDir, is_large: bool) -> Result<(), StoreError> {
    if is_large {
        tracing::info!("the store is large: it is checked while the service answers");
        let path = dir.store();
        let checked = tokio::task::spawn_blocking(move || tollgate_store::check(&path)).await;
        let rows = match checked {
            Ok(checked) => checked?.rows,
            // A panic has been reported already.
            Err(_) => 0,
        };
        tracing::info!(rows, "the store was checked: nothing is damaged");
    }
    std::future::pending().await
}

/// Removes jobs that are older than `age`, if the settings name an age. Never returns.
async fn prune_regularly(service: ApiState, age: Option<Span>) {
    if let Some(age) = age {
        keep_pruning(service, age).await;
    }
    std::future::pending().await
}

/// Reports the attempts that ran when a backup was created as lost, if the store was restored from
/// it: they may have ended since, and must not run twice.
fn report_restored_as_lost<E: Engine>(
    dir: &DataDir,
    controller: &mut Controller<E>,
) -> Result<(), ServeError> {
    let marker = dir.restored_marker();
    if !marker.exists() {
        return Ok(());
    }
    let lost = controller
        .lose_running_attempts()
        .map_err(StartError::from)?;
    tracing::warn!(
        lost,
        "the store was restored from a backup: attempts that ran then are lost"
    );
    fs::remove_file(&marker).map_err(|error| ServeError::System {
        action: "the mark of a restored store cannot be removed",
        error,
    })
}

/// Returns the name of the service's own user; empty if the user has none.
fn own_user_name() -> String {
    os_users::name(rustix::process::geteuid().as_raw()).unwrap_or_default()
}

/// Checks that the rules can be kept on a batch system, and that its nodes can run attempts.
fn check_batch_system(
    system: &Arc<BatchSystem>,
    rules: &AdmissionRules,
    scope: UserScope,
) -> Result<(), ServeError> {
    if scope == UserScope::All {
        return Err(ServeError::BatchUsers);
    }
    if rules.policy.shares_nodes() {
        return Err(ServeError::SharedNodes(rules.policy.to_string()));
    }
    Ok(batch_nodes::check(system, &controller_program()?)?)
}

/// Returns the path of this program.
fn controller_program() -> Result<PathBuf, ServeError> {
    std::env::current_exe().map_err(|error| ServeError::System {
        action: "the program itself cannot be found",
        error,
    })
}

/// Reports the attempts on this host as lost if it was booted since the last service ran here.
fn report_rebooted_as_lost<E: Engine>(
    dir: &DataDir,
    controller: &mut Controller<E>,
) -> Result<(), ServeError> {
    let failed = |error| ServeError::System {
        action: "the boot of this host cannot be recorded",
        error,
    };
    let (last, now) = (dir.last_boot(), tollgate_runner::boot_id().map_err(failed)?);
    if last.as_ref() == Some(&now) {
        return Ok(());
    }
    if last.is_some() {
        let lost = controller.lose_local_attempts().map_err(StartError::from)?;
        tracing::warn!(
            lost,
            "this host was booted since: attempts that ran here are lost"
        );
    }
    dir.record_boot(&now).map_err(failed)
}

/// Returns the service's description for workers.
fn worker_pool_config(
    dir: &DataDir,
    access: AccessRules,
    timings: LeaseTimings,
) -> Result<WorkerPoolConfig, ServeError> {
    Ok(WorkerPoolConfig {
        service: dir.identity().map_err(registry_error)?,
        owners: match access.scope {
            // An empty name matches no worker.
            UserScope::Own => JobOwners::Own(own_user_name()),
            UserScope::All => JobOwners::All,
        },
        lease: timings,
        registry: dir.workers(),
        name_of: |user| os_users::name(user).map_err(|error| error.to_string()),
    })
}

fn registry_error(error: io::Error) -> ServeError {
    ServeError::System {
        action: "what is known of workers cannot be read",
        error,
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| ServeError::System {
            action: "no threads can be started",
            error,
        })
}

async fn listen(
    dir: &DataDir,
    service: ApiState,
    tcp: Option<TcpListenOptions>,
    certificate: Option<TlsCertificate>,
    ready: impl FnOnce(Option<BoundAddress>),
    checked: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), ServeError> {
    let socket = dir.socket();
    let listener = listen_unix(dir, service.access.scope)?;
    let network = match &tcp {
        Some(tcp) => Some(listen_tcp(dir, tcp, certificate, &service.credentials).await?),
        None => None,
    };
    let access = service.access;
    let seats = KeyedSemaphore::new(access.limits.connections);
    let keyring = Arc::clone(&service.credentials);
    let clock = service.clock;
    let log = service.log.clone();
    let router = router(service);
    let (stop, stopped) = watch::channel(false);
    let heard = network.as_ref().map(|(_, _, heard)| *heard);
    // `ready` comes before the first response, so that a client with a response can rely on it.
    ready(heard);
    let mut serving = vec![tokio::spawn(serve_unix(
        listener,
        router.clone(),
        access,
        tcp.as_ref()
            .map(|tcp| tcp.hosts.clone())
            .unwrap_or_default(),
        seats.clone(),
        stopped.clone(),
    ))];
    if let Some((listener, tls, _)) = network {
        let network = TcpContext {
            tls,
            hosts: tcp.map(|tcp| tcp.hosts).unwrap_or_default(),
            credentials: keyring,
            access,
            permits: seats,
            clock,
        };
        serving.push(tokio::spawn(serve_tls(listener, router, network, stopped)));
    }
    let asked = tokio::select! {
        asked = stop_signal() => asked,
        gone = data_dir_gone(dir) => Err(gone),
        Err(damaged) = checked => Err(StartError::from(damaged).into()),
    };
    log.close();
    let _ = stop.send(true);
    for task in serving {
        let _ = task.await;
    }
    let _ = fs::remove_file(&socket);
    asked
}

fn listen_unix(dir: &DataDir, users: UserScope) -> Result<UnixListener, ServeError> {
    let socket = dir.socket();
    // The directory is locked, so the service that left this socket behind is gone.
    let _ = fs::remove_file(&socket);
    let failed = |error| ServeError::Listen {
        place: socket.display().to_string(),
        error,
    };
    let listener = UnixListener::bind(&socket).map_err(failed)?;
    let mode = match users {
        UserScope::Own => 0o600,
        UserScope::All => 0o666,
    };
    fs::set_permissions(&socket, Permissions::from_mode(mode)).map_err(failed)?;
    Ok(listener)
}

fn listen_for_parts(
    dir: &DataDir,
    users: UserScope,
) -> Result<std::os::unix::net::UnixListener, ServeError> {
    let socket = dir.part_socket();
    let listener = part_socket::bind(&socket, users == UserScope::All);
    listener.map_err(|error| ServeError::Listen {
        place: socket.display().to_string(),
        error,
    })
}

/// Passes the requests of jobs on this host to the controller.
async fn serve_parts(listener: std::os::unix::net::UnixListener, controller: ControllerHandle) {
    let (to, mut received) = tokio::sync::mpsc::channel(1);
    let serving = part_socket::serve(listener, to);
    let passing = async {
        while let Some(asked) = received.recv().await {
            let sink = Box::new(ChannelPartSink(asked.events));
            let call = PartCall::local(asked.user, asked.request, sink);
            controller.send(ControllerRequest::Part(Box::new(call)));
        }
    };
    if let (Err(error), ()) = tokio::join!(serving, passing) {
        tracing::error!(%error, "jobs cannot ask for processes on their other hosts");
    }
}

async fn listen_tcp(
    dir: &DataDir,
    tcp: &TcpListenOptions,
    certificate: Option<TlsCertificate>,
    keyring: &CredentialStore,
) -> Result<(TcpListener, Arc<rustls::ServerConfig>, BoundAddress), ServeError> {
    let certificate = match (certificate, &tcp.files) {
        (Some(certificate), _) => certificate,
        (None, Some(files)) => TlsCertificate::read(files)?,
        (None, None) => {
            let files = CertificateFiles {
                certificate: dir.certificate(),
                key: dir.certificate_key(),
            };
            own_certificate::read_or_create(&files, &tcp.hosts.names, tcp.address.ip())?
        }
    };
    let fingerprint = certificate.fingerprint()?;
    let failed = |error| ServeError::Listen {
        place: tcp.address.to_string(),
        error,
    };
    let listener = TcpListener::bind(tcp.address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let tls = tls::server_config(certificate, keyring.has_certificates())?;
    Ok((
        listener,
        tls,
        BoundAddress {
            address,
            fingerprint,
        },
    ))
}

/// Returns once the data directory is gone.
async fn data_dir_gone(dir: &DataDir) -> ServeError {
    let mut interval = tokio::time::interval(DATA_DIR_CHECK_INTERVAL);
    while !dir.is_gone() {
        interval.tick().await;
    }
    ServeError::DataDirGone(dir.path().to_owned())
}

async fn stop_signal() -> Result<(), ServeError> {
    let failed = |error| ServeError::System {
        action: "signals cannot be waited for",
        error,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Returns the wall-clock time; 1970 if the clock is set before 1970.
pub(crate) fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

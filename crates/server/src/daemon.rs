//! A service from startup to shutdown.
//!
//! | module | contents |
//! |---|---|
//! | `startup` | the steps before the first request |
//! | `starting` | log lines and answers during these steps |
//! | `listen` | the sockets |
//! | `background` | the work beside the requests |
//! | `own_files` | the files beside the store |
//! | `error` | errors |

mod background;
mod error;
mod listen;
mod own_files;
mod starting;
mod startup;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use background::{check_large_store, is_large, plan_maintenance, prune_regularly};
use rustix::fs::Mode;
use tollgate_engine::{Engine, ServiceLocation, SpreadAccess};
use tollgate_model::Span;
use tollgate_policy::PolicySpec;
use tollgate_service::AdmissionRules;
use tollgate_store::data_dir::{self, DataDir};
use tollgate_store::{Store, backup};

use crate::access::UserScope;
use crate::api::promise_terms::PromiseTerms;
use crate::api::state::{ApiState, ServiceInfo};
use crate::config::ServeOptions;
use crate::controller::{self, Controller, ControllerRequest, StartError};
use crate::exporters;
use crate::net::{BoundAddress, CredentialStore};
use crate::notices::{self, NoticeSettings};
use crate::os_users;
use crate::permits::KeyedSemaphore;
use crate::user_names::UserNames;
use crate::wall_clock::{now, read_clocks};
use crate::what_if::WhatIf;
use crate::workers::WorkerAcceptor;
use crate::workers::batch_nodes::BatchNodes;
pub use error::ServeError;
use listen::{BoundTcpListener, BoundWindow, listen, listen_for_parts, serve_parts};
pub use own_files::check_own_files;
use starting::{QUIET, StartProgress, StartingService};
use startup::{
    check_batch_system, check_policy, controller_program, keep_outputs, keep_policy,
    log_new_beginning, open_accounts, own_user_name, report_rebooted_as_lost,
    report_restored_as_lost, set_limits, warn_of_impossible_values, worker_pool_config,
};

/// Minimum time between a change and reports that nothing waits for: some writes to a disk.
const REPORT_DELAY: Span = Span::from_micros(10_000);

/// Time for the notices that are queued when the service stops.
const LAST_NOTICES: Duration = Duration::from_secs(5);

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
    mut options: ServeOptions,
    ready: impl FnOnce(&PolicySpec, Option<BoundAddress>),
) -> Result<(), ServeError> {
    let mut access = std::mem::take(&mut options.access);
    if let Some(system) = &options.batch_system {
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
    if dir.has_served() && !backup::has_bytes(&dir.store()) {
        return Err(ServeError::StoreGone(dir.store()));
    }
    let progress = StartProgress::default();
    let runtime = runtime()?;
    let starting = StartingService::open(dir, &access, progress.clone(), QUIET, runtime.handle())?;
    let is_large = is_large(dir);
    let store = match is_large {
        true => Store::open_unchecked(&dir.store()),
        false => Store::open(&dir.store()),
    };
    let store = store.map_err(StartError::from)?;
    log_new_beginning(&store).map_err(StartError::from)?;
    let rules = &match options.keeps_policy {
        true => keep_policy(&store, rules).map_err(StartError::from)?,
        false => rules.clone(),
    };
    check_policy(&options, rules)?;
    let reader = store.reader().map_err(StartError::from)?;
    let keyring = match access.scope {
        UserScope::Own => CredentialStore::open(dir.tokens(), options.credentials)?,
        UserScope::All => open_accounts(dir, &reader, options.credentials, &mut access)?,
    };
    let keyring = Arc::new(keyring);
    let clock = Box::new(read_clocks);
    let restored = |steps| progress.note(steps);
    let mut controller =
        Controller::restored(store, engine, rules, clock, restored).map_err(StartError::from)?;
    if !is_large {
        warn_of_impossible_values(&reader, &controller).map_err(StartError::from)?;
    }
    if options.accepts_clock {
        controller.accept_host_clock()?;
    }
    if access.scope == UserScope::All {
        let accounts = access.accounts.clone();
        let aside = os_users::background_resolver(accounts).map_err(StartError::Thread)?;
        controller.set_run_as(aside);
    }
    if options.local_nodes.is_none() {
        controller.offer_no_local_nodes();
    }
    if let Some(interval) = options.load_interval {
        controller.measure_load(interval);
    }
    controller.delay_reports(REPORT_DELAY);
    set_limits(&mut controller, &access)?;
    let began = std::time::Instant::now();
    controller.accept_workers(
        worker_pool_config(dir, &access, options.lease)?,
        Box::new(move || began.elapsed()),
    )?;
    let outputs = keep_outputs(dir, options.outputs, &reader, &mut controller)?;
    report_restored_as_lost(dir, &mut controller)?;
    report_rebooted_as_lost(dir, &mut controller)?;
    let spread_access = SpreadAccess {
        program: controller_program()?,
        socket: dir.part_socket(),
        service: std::path::absolute(dir.path())
            .ok()
            .map(ServiceLocation::Here),
    };
    controller.set_spread_access(spread_access.clone());
    let log = controller.log();
    let begin = log.watch().borrow().id;
    let (controller_handle, thread) = controller::start(controller)?;
    controller_handle.send(ControllerRequest::SetLicences {
        licences: options.licences,
    });
    let worker_acceptor = WorkerAcceptor::new(controller_handle.clone());
    let tcp = match options.listen {
        Some(tcp) => Some(runtime.block_on(BoundTcpListener::open(
            dir,
            tcp,
            options.certificate,
            &keyring,
        ))?),
        None => None,
    };
    let window = match options.window {
        Some(window) => Some(runtime.block_on(BoundWindow::open(window))?),
        None => None,
    };
    if let Some(system) = &options.batch_system {
        let nodes = BatchNodes {
            system: Arc::clone(system),
            controller: controller_handle.clone(),
            acceptor: worker_acceptor.clone(),
            user: own_user_name(),
            // The nodes do not reach the socket of this host.
            access: SpreadAccess {
                service: tcp.as_ref().and_then(BoundTcpListener::remote_location),
                ..spread_access
            },
            dir: dir.path().join("nodes"),
        };
        nodes.start().map_err(StartError::Thread)?;
    }
    let service = ApiState {
        controller_handle: controller_handle.clone(),
        reader: Arc::new(Mutex::new(reader)),
        names: UserNames::new(access.accounts.clone()),
        info: Arc::new(ServiceInfo {
            policy: rules.policy.to_string(),
            promises: PromiseTerms::new(options.otherwise, rules),
            outputs,
            notice_targets: options
                .notices
                .iter()
                .flat_map(NoticeSettings::names)
                .collect(),
            batch_system: options.batch_system.clone(),
            market: rules.market,
            since: now(),
        }),
        clock: now,
        access: access.clone(),
        credentials: keyring,
        worker_acceptor,
        terminal: data_dir::terminal(dir.path()),
        what_if: Some(Arc::new(WhatIf::new(
            controller_program()?,
            &std::path::absolute(dir.path()).unwrap_or_else(|_| dir.path().to_owned()),
            rules.market,
            &policies_of(rules),
        ))),
        window: window.as_ref().map(|bound| Arc::clone(&bound.window)),
        log,
        stream_permits: KeyedSemaphore::new(access.limits.streams),
        metrics: Arc::default(),
    };
    let part_listener = listen_for_parts(dir, access.scope)?;
    let weights = service
        .access
        .accounts
        .assign_to_users(options.user_weights);
    let weights = weights.into_iter().collect();
    controller_handle.send(ControllerRequest::WeighUsers { weights });
    let ready = |bound| ready(&rules.policy, bound);
    let served = runtime.block_on(async {
        let maintenance = plan_maintenance(controller_handle.clone(), options.maintenance);
        tokio::spawn(maintenance);
        if let Some(interval) = options.load_interval {
            exporters::watch_all(&controller_handle, options.exporters, interval);
        }
        tokio::spawn(serve_parts(part_listener, controller_handle.clone()));
        let notices = options.notices.map(|notices| {
            let service = service.clone();
            tokio::spawn(notices::run(service, notices, begin))
        });
        let pruning = prune_regularly(service.clone(), options.keep_jobs);
        let checked = async {
            tokio::select! {
                checked = check_large_store(dir, is_large) => checked,
                () = pruning => Ok(()),
            }
        };
        let served = listen(dir, service, starting, (tcp, window), ready, checked).await;
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

/// Returns the policy of the service, and that on paper if there is one.
fn policies_of(rules: &AdmissionRules) -> Vec<String> {
    let policies = [Some(&rules.policy), rules.shadow.as_ref()].into_iter();
    policies.flatten().map(ToString::to_string).collect()
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

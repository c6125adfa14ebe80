//! `tollgate serve`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_batch_engine::BatchSystem;
use tollgate_engine::Engine as _;
use tollgate_policies::builtin_registry;
use tollgate_policy::PolicyRegistry;
use tollgate_runner::attempt::ATTEMPT_ARG;
use tollgate_runner::guard::UserFloor;
use tollgate_runner::log::{self, LogSettings};
use tollgate_runner::starter::StarterLink;
use tollgate_runner::{LocalEngine, LocalEngineConfig};
use tollgate_server::config::EngineConfig;
use tollgate_server::privileges::{KeptRight, ServiceAccount};
use tollgate_server::{
    BoundAddress, ConfigError, ListenConfig, LocalNodes, ServeError, ServeOptions, ServiceConfig,
    UserScope, serve,
};
use tollgate_service::AdmissionRules;
use tollgate_sites::EngineShell;
use tollgate_store::DataDir;
use tollgate_store::data_dir::SETTINGS;

use super::detach::detach;
use super::log::LogArgs;
use super::served_window;
use crate::connection::endpoint::DataDirArgs;
use crate::exit::{CliError, CliFailure, ExitKind};

/// The hidden argument with which the program is the runner.
pub(crate) const RUNNER_ARG: &str = "__runner";
/// The hidden argument with which the program is the starter of runners.
pub(crate) const STARTER_ARG: &str = "__starter";

/// The options of `tollgate serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    data_dir: DataDirArgs,
    /// Configuration file, as TOML [default: config.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen on TCP too, with TLS, for clients with a token
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Serve the window to browsers of this host
    #[arg(long, value_name = "ADDRESS:PORT")]
    web: Option<String>,
    /// Admission policy, instead of the configured one; see `tollgate policies`
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    policy: Option<String>,
    /// Policy to run on paper beside it; `tollgate status` compares both
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    shadow: Option<String>,
    /// Batch system whose nodes run the jobs: slurm, sge or htcondor
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Partition or queue whose nodes the service owns
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Take the host's clock after it was set back
    ///
    /// Only while no job is unfinished.
    #[arg(long)]
    accept_clock: bool,
    /// Return once the service answers; it outlives the terminal
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// `tollgate serve`.
pub(crate) fn run(args: &ServeArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let place = args.data_dir.data_dir()?;
    if args.detach {
        return detach(&place);
    }
    let mut config = match &args.config {
        Some(file) => ServiceConfig::read(file)?,
        None => default_config(&place)?,
    };
    if args.policy.is_some() {
        config.policy.clone_from(&args.policy);
    }
    if args.shadow.is_some() {
        config.shadow.clone_from(&args.shadow);
    }
    if let Some(address) = &args.listen {
        let listen = config
            .listen
            .get_or_insert_with(|| ListenConfig::for_address(address));
        listen.address = Some(address.clone());
    }
    if let Some(address) = &args.web {
        config.web.get_or_insert_default().address = Some(address.clone());
    }
    args.override_engine(&mut config)?;
    let log = args.log.override_settings(config.log()?)?;
    log::start(log);
    if config.confidence.is_some() {
        tracing::warn!("the setting `confidence` is called `promise.least` now: rename it");
    }
    let (rules, mut options) = (config.rules(registry)?, config.serve_options()?);
    options.accepts_clock = args.accept_clock;
    options.window = served_window::setup(&config, &place)?;
    // Root may read the key of a certificate, and the account that it becomes may not.
    options.read_certificate()?;
    let starter = match options.access.scope {
        UserScope::All => {
            let rights = (config.root_jobs, options.access.floor.clone());
            drop_root(&place, &config.account, rights, KeptRight::None)?
        }
        UserScope::Own => None,
    };
    let folder = DataDir::lock(&place)?;
    if let Some(engine) = &config.engine {
        options.batch_system = Some(open_batch_system(engine, &folder)?);
    }
    serve_in(&folder, &rules, options, (log, starter), || {})
}

/// An argument that names the partition of no batch system.
#[derive(Debug, thiserror::Error)]
#[error("--partition: expected --engine, or [engine] in the configuration")]
struct PartitionWithoutEngine;

impl CliError for PartitionWithoutEngine {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }
}

impl ServeArgs {
    /// Replaces the configured batch system by the one of the command line.
    fn override_engine(&self, config: &mut ServiceConfig) -> Result<(), CliFailure> {
        if let Some(kind) = &self.engine {
            let of_kind = EngineConfig::of_kind(kind);
            let engine = config.engine.get_or_insert(of_kind);
            engine.kind.clone_from(kind);
        }
        match (&self.partition, &mut config.engine) {
            (None, _) => Ok(()),
            (Some(partition), Some(engine)) => {
                engine.partition = Some(partition.clone());
                Ok(())
            }
            (Some(_), None) => Err(PartitionWithoutEngine.into()),
        }
    }
}

/// Opens the batch system of a service, with the attempts that an earlier service has left.
fn open_batch_system(
    engine: &EngineConfig,
    folder: &DataDir,
) -> Result<Arc<BatchSystem>, CliFailure> {
    let program = PathBuf::from(current_program()?);
    let settings = engine.system(folder.path(), (&program, ATTEMPT_ARG))?;
    let shell = Box::new(EngineShell::new(None));
    Ok(BatchSystem::open(settings, shell).map_err(ServeError::from)?)
}

/// Serves in a data directory with a built-in policy, and calls `ready` once the service answers.
pub(crate) fn run_in(
    folder: &DataDir,
    config: &ServiceConfig,
    log: LogSettings,
    ready: impl FnOnce(),
) -> Result<(), CliFailure> {
    serve_in(
        folder,
        &config.rules(&builtin_registry())?,
        config.serve_options()?,
        (log, None),
        ready,
    )
}

fn serve_in(
    folder: &DataDir,
    rules: &AdmissionRules,
    options: ServeOptions,
    (log, starter): (LogSettings, Option<StarterLink>),
    ready: impl FnOnce(),
) -> Result<(), CliFailure> {
    let settings = LocalEngineConfig {
        other_users: options.access.scope == UserScope::All,
        nodes: options.local_nodes.limit(),
        devices: options.local_devices.clone(),
        log,
        starter,
        ..local_engine_config(folder)?
    };
    let mut engine = LocalEngine::open(settings)?;
    warn_of_missing_cores(&mut engine, options.local_nodes)?;
    let socket = folder.socket();
    serve(folder, engine, rules, options, |policy, bound| {
        let (market, socket) = (rules.market, socket.display());
        tracing::info!(%policy, %market, %socket, "the service answers");
        if let Some(shadow) = &rules.shadow {
            tracing::info!(policy = %shadow, "a second policy decides on paper");
        }
        if let Some(bound) = bound {
            let (address, key) = (bound.address, bound.fingerprint);
            tracing::info!(url = %format_args!("https://{address}"), %key, "the service listens on TCP");
        }
        if let Err(error) = BoundAddress::publish(bound, folder.path()) {
            tracing::warn!(%error, "commands for sites cannot learn the address of the service");
        }
        ready();
    })?;
    Ok(())
}

/// Logs that the service offers fewer nodes of its host than the settings ask for.
fn warn_of_missing_cores(engine: &mut LocalEngine, nodes: LocalNodes) -> Result<(), CliFailure> {
    let Some(nodes) = nodes.limit().filter(|&nodes| nodes > 0) else {
        return Ok(());
    };
    let offered = engine.capacity()?.nodes;
    if offered < nodes {
        tracing::warn!(
            nodes,
            offered,
            "the service offers fewer nodes than `local.nodes`: a node is a core that it may run on"
        );
    }
    Ok(())
}

/// Permanently becomes, as root, an account that has no rights over users, and leaves a starter of
/// runners behind. None if the process is not root, or if root is to stay root. `rights` are whether
/// tasks of root are run, and the lowest user of others; `kept` is what the account keeps of root's rights.
pub(crate) fn drop_root(
    place: &Path,
    account: &str,
    rights: (bool, UserFloor),
    kept: KeptRight,
) -> Result<Option<StarterLink>, CliFailure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let Some(account) = ServiceAccount::by_name(account)? else {
        return Ok(None);
    };
    let program = current_program()?;
    let starter = [program.clone(), STARTER_ARG.into()];
    let given_up =
        account.switch_to(place, rights, &starter, &[program, RUNNER_ARG.into()], kept)?;
    if given_up.took_over {
        let (place, name) = (place.display(), account.name());
        tracing::info!(folder = %place, account = name, "the data folder was given to the account");
    }
    Ok(Some(given_up.starter))
}

/// Returns the settings in a data directory, or the defaults if there are none.
pub(crate) fn default_config(place: &Path) -> Result<ServiceConfig, ConfigError> {
    let file = place.join(SETTINGS);
    match file.exists() {
        true => ServiceConfig::read(&file),
        false => Ok(ServiceConfig::default()),
    }
}

/// Returns the usual settings of the engine of this machine, with a runner that outlives the service. The
/// runner is this program.
pub(crate) fn local_engine_config(folder: &DataDir) -> Result<LocalEngineConfig, CliFailure> {
    let runner = [current_program()?, RUNNER_ARG.into()];
    Ok(LocalEngineConfig {
        // The service commits a start before it carries it out.
        caller_records: true,
        ..LocalEngineConfig::new(folder.engine_dir(), runner)
    })
}

/// Returns the path of this program.
pub(crate) fn current_program() -> Result<OsString, CliFailure> {
    let program = env::current_exe();
    let program =
        program.map_err(|error| CliFailure::read_failed("the program itself".to_owned(), error))?;
    Ok(program.into_os_string())
}

//! `tollgate serve`.

use std::env;
use std::path::PathBuf;

use tollgate_engine::log::{self, LogSettings};
use tollgate_engine::{LocalEngine, LocalSettings};
use tollgate_service::{Config, Folder, ListenSettings, Users, serve};

use super::address::Place;
use super::detach::detach;
use super::log::LogArgs;
use crate::exit::Failure;

/// The word behind which the program is the runner.
pub(crate) const RUNNER: &str = "__runner";

/// Run the service: admit jobs, promise deadlines, and run them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Configuration file, as TOML [default: config.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen on TCP too, with TLS, for clients with a token
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Admission policy, instead of the configured one; see `tollgate policies`
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    policy: Option<String>,
    /// Policy to run on paper beside it; `tollgate status` compares both
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    shadow: Option<String>,
    /// Return once the service answers; it outlives the terminal
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// `tollgate serve`.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.detach {
        return detach(&args.place.folder()?);
    }
    let folder = Folder::lock(&args.place.folder()?)?;
    let mut config = match &args.config {
        Some(file) => Config::read(file)?,
        None => default_config(&folder)?,
    };
    if let Some(policy) = &args.policy {
        config.policy.clone_from(policy);
    }
    if args.shadow.is_some() {
        config.shadow.clone_from(&args.shadow);
    }
    if let Some(address) = &args.listen {
        let listen = config
            .listen
            .get_or_insert_with(|| ListenSettings::at(address));
        listen.address.clone_from(address);
    }
    let log = args.log.over(config.log()?)?;
    log::start(log);
    run_in(&folder, &config, log, || {})
}

/// Serves in a folder, and calls `ready` once it answers.
pub(super) fn run_in(
    folder: &Folder,
    config: &Config,
    log: LogSettings,
    ready: impl FnOnce(),
) -> Result<(), Failure> {
    let rules = config.rules()?;
    let doors = config.doors()?;
    let engine = local(folder, doors.access.users, log)?;
    let socket = folder.socket();
    serve(folder, engine, &rules, doors, |heard| {
        let (policy, market, socket) = (&rules.policy, rules.market, socket.display());
        tracing::info!(%policy, %market, %socket, "the service answers");
        if let Some(shadow) = &rules.shadow {
            tracing::info!(policy = %shadow, "a second policy decides on paper");
        }
        if let Some(heard) = heard {
            let (address, key) = (heard.address, heard.fingerprint);
            tracing::info!(url = %format_args!("https://{address}"), %key, "the service listens on TCP");
        }
        ready();
    })?;
    Ok(())
}

fn default_config(folder: &Folder) -> Result<Config, Failure> {
    let file = folder.path().join("config.toml");
    if file.exists() {
        return Ok(Config::read(&file)?);
    }
    Ok(Config::default())
}

/// This machine, by way of a runner that outlives the service: this very program.
pub(super) fn local(
    folder: &Folder,
    users: Users,
    log: LogSettings,
) -> Result<LocalEngine, Failure> {
    let program = env::current_exe()
        .map_err(|error| Failure::read("the program itself".to_owned(), error))?;
    let runner = [program.into_os_string(), RUNNER.into()];
    let settings = LocalSettings {
        other_users: users == Users::All,
        log,
        ..LocalSettings::new(folder.engine(), runner)
    };
    Ok(LocalEngine::open(settings)?)
}

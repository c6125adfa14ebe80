//! `tollgate serve`.

use std::env;
use std::path::PathBuf;

use tollgate_engine::{LocalEngine, LocalSettings};
use tollgate_service::{Config, Folder, ListenSettings, Users, serve};

use super::address::Place;
use super::detach::detach;
use crate::exit::Failure;
use crate::voice::Voice;

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
    /// Return once it answers; it outlives the terminal
    #[arg(long)]
    detach: bool,
}

/// `tollgate serve`.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.detach {
        return detach(&args.place.folder()?, Voice::Notes);
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
    run_in(&folder, &config, || {})
}

/// Serves in a folder, and calls `ready` once it answers.
pub(super) fn run_in(
    folder: &Folder,
    config: &Config,
    ready: impl FnOnce(),
) -> Result<(), Failure> {
    let rules = config.rules()?;
    let doors = config.doors()?;
    let engine = local(folder, doors.access.users)?;
    let socket = folder.socket();
    serve(folder, engine, &rules, doors, |heard| {
        let policy = &rules.policy;
        Voice::Notes.note(format_args!(
            "policy {policy}; listening on {}",
            socket.display()
        ));
        if let Some(heard) = heard {
            let print = heard.fingerprint;
            Voice::Notes.note(format_args!(
                "and on https://{}, key {print}",
                heard.address
            ));
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
pub(super) fn local(folder: &Folder, users: Users) -> Result<LocalEngine, Failure> {
    let program = env::current_exe()
        .map_err(|error| Failure::read("the program itself".to_owned(), error))?;
    let runner = [program.into_os_string(), RUNNER.into()];
    let settings = LocalSettings {
        other_users: users == Users::All,
        ..LocalSettings::new(folder.engine(), runner)
    };
    Ok(LocalEngine::open(settings)?)
}

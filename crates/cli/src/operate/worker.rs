//! `tollgate worker`.

mod desktop;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;

use clap::Arg;
use tollgate_runner::guard::UserFloor;
use tollgate_runner::log::{self, LogSettings};
use tollgate_runner::{LocalEngineConfig, raise_own_priority};
use tollgate_server::privileges::{ACCOUNT, KeptRight};
use tollgate_server::workers::WorkerTransport;
use tollgate_server::workers::daemon;
use tollgate_server::workers::daemon::WorkerDaemonConfig;
use tollgate_store::DataDir;

use self::desktop::DesktopArgs;
use super::log::LogArgs;
use super::serve::{RUNNER_ARG, current_program, drop_root};
use crate::args::parse_count;
use crate::connection::endpoint::{CONNECTION_HEADING, CredentialArgs};
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;
use crate::parse;
use crate::reach::pilot::PilotArgs;

/// The prefix of an address of a socket.
const UNIX_SCHEME: &str = "unix:";

/// The options of `tollgate worker`.
#[derive(Debug, clap::Args)]
#[command(mut_args(name_connect_in_help))]
pub(crate) struct WorkerArgs {
    /// Directory for the worker's state [default: ~/.local/state/tollgate-worker]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Name of the worker [default: the host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Number of cores to offer [default: all]
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>)]
    nodes: Option<u32>,
    /// Devices to offer, as in gpu:2 or gpu:a100:1
    #[arg(long, value_name = "LIST", value_parser = parse::parse_device_list)]
    gres: Option<BTreeMap<String, u8>>,
    /// Run jobs of root too, if the worker runs as root
    #[arg(long)]
    root_jobs: bool,
    /// As root: lowest user id to run jobs of [default: UID_MIN of /etc/login.defs]
    #[arg(long, value_name = "N")]
    min_uid: Option<u32>,
    #[command(flatten)]
    log: LogArgs,
    /// As root: the account that talks to the service, or `root`
    #[arg(long, value_name = "NAME", default_value = ACCOUNT)]
    account: String,
    #[command(flatten)]
    desktop: DesktopArgs,
    #[command(flatten)]
    pilot: PilotArgs,
    /// URL of the service, https://HOST:PORT or unix:SOCKET
    #[arg(long, value_name = "URL", help_heading = CONNECTION_HEADING)]
    connect: String,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// Changes the help of the options that clients and workers share: a worker names its service with
/// `--connect`.
fn name_connect_in_help(arg: Arg) -> Arg {
    match arg.get_help().map(ToString::to_string) {
        Some(help) => arg.help(help.replace("With --url:", "With --connect https://:")),
        None => arg,
    }
}

/// `tollgate worker`.
pub(crate) fn run(args: &WorkerArgs) -> Result<(), CliFailure> {
    let route = match args.connect.strip_prefix(UNIX_SCHEME) {
        Some(socket) => WorkerTransport::Socket(socket.into()),
        None => WorkerTransport::Remote(Box::new(
            args.credentials.connect_info(args.connect.clone())?,
        )),
    };
    let log = args.log.override_settings(LogSettings::default())?;
    log::start(log);
    // Before other threads and processes start, which inherit it.
    let mut desktop = args.desktop.config(|| raise_own_priority().is_ok());
    let departure = args.pilot.departure()?;
    let place = args.data_dir()?;
    let observed = desktop
        .as_mut()
        .and_then(|desktop| desktop.presence.as_mut());
    let kept = match observed {
        Some(_) => KeptRight::ReadFiles,
        None => KeptRight::None,
    };
    let rights = (args.root_jobs, args.floor());
    let starter = drop_root(&place, &args.account, rights, kept)?;
    if let Some(presence) = observed {
        presence.has_root_runner = starter.is_some();
    }
    let folder = DataDir::lock(&place)?;
    let runner = [current_program()?, RUNNER_ARG.into()];
    let settings = WorkerDaemonConfig {
        transport: route,
        name: args.name.clone().unwrap_or_else(host_name),
        root_jobs: args.root_jobs,
        departure,
        engine: LocalEngineConfig {
            low_priority: desktop.is_some(),
            evict_grace: args.desktop.evict_grace(),
            nodes: args.nodes.or(args.desktop.nodes()),
            memory: args.pilot.memory(),
            devices: args.gres.clone().unwrap_or_default(),
            log,
            starter,
            ..LocalEngineConfig::new(folder.engine_dir(), runner)
        },
        desktop,
    };
    tracing::info!(
        name = settings.name,
        service = args.connect,
        "the worker starts"
    );
    daemon::run(&folder, settings)?;
    if args.pilot.discard {
        // The scheduler of a pilot may give each job a directory of its own, and remove it at the same time.
        if let Err(error) = fs::remove_dir_all(&place) {
            tracing::warn!(%error, "the directory cannot be removed");
        }
    }
    Ok(())
}

impl WorkerArgs {
    /// Returns the lowest user whose jobs a worker of root runs.
    fn floor(&self) -> UserFloor {
        UserFloor {
            min_uid: self.min_uid.unwrap_or_else(UserFloor::uid_min_of_host),
            exceptions: Vec::new(),
        }
    }

    /// Returns the data directory of the worker. It differs from the default of a service, because
    /// both may be on one host.
    fn data_dir(&self) -> Result<PathBuf, CliFailure> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let state = set("XDG_STATE_HOME").map(PathBuf::from);
        let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        let usual = || Some(state.or_else(home)?.join("tollgate-worker"));
        let folder = self.data.clone().or_else(usual);
        folder.ok_or(ClientCommandError::NoData.into())
    }
}

/// Returns the name of this host.
fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

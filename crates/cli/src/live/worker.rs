//! `tollgate worker`.

use std::env;
use std::path::PathBuf;

use tollgate_engine::LocalEngineConfig;
use tollgate_engine::log::{self, LogSettings};
use tollgate_service::DataDir;
use tollgate_service::fleet::WorkerTransport;
use tollgate_service::fleet::worker::{WorkerDaemonConfig, work};
use tollgate_service::privileges::ACCOUNT;

use super::address::{CONNECTION, CredentialArgs};
use super::error::ClientCommandError;
use super::log::LogArgs;
use super::serve::{RUNNER, give_up_root, program};
use crate::args::count;
use crate::exit::CliFailure;

/// What a route by a socket begins with.
const SOCKET: &str = "unix:";

/// Offer this host's cores to a service on another host.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// URL of the service, https://HOST:PORT or unix:SOCKET
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    connect: String,
    #[command(flatten)]
    way: CredentialArgs,
    /// Directory for the worker's state [default: ~/.local/state/tollgate-worker]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Name of the worker [default: the host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Number of cores to offer [default: all]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    nodes: Option<u32>,
    /// Run jobs of root too, if the worker runs as root
    #[arg(long)]
    root_jobs: bool,
    #[command(flatten)]
    log: LogArgs,
    /// As root: the account that talks to the service, or `root`
    #[arg(long, value_name = "NAME", default_value = ACCOUNT)]
    account: String,
}

/// `tollgate worker`.
pub(crate) fn run(args: &WorkerArgs) -> Result<(), CliFailure> {
    let route = match args.connect.strip_prefix(SOCKET) {
        Some(socket) => WorkerTransport::Socket(socket.into()),
        None => WorkerTransport::Remote(Box::new(args.way.to(args.connect.clone())?)),
    };
    let log = args.log.over(LogSettings::default())?;
    log::start(log);
    let place = args.folder()?;
    let starter = give_up_root(&place, &args.account, args.root_jobs)?;
    let folder = DataDir::lock(&place)?;
    let runner = [program()?, RUNNER.into()];
    let settings = WorkerDaemonConfig {
        route,
        name: args.name.clone().unwrap_or_else(host),
        root_jobs: args.root_jobs,
        engine: LocalEngineConfig {
            nodes: args.nodes,
            log,
            starter,
            ..LocalEngineConfig::new(folder.engine(), runner)
        },
    };
    tracing::info!(
        name = settings.name,
        service = args.connect,
        "the worker starts"
    );
    work(&folder, settings)?;
    Ok(())
}

impl WorkerArgs {
    /// Not the folder of a service: both may be on one host.
    fn folder(&self) -> Result<PathBuf, CliFailure> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let state = set("XDG_STATE_HOME").map(PathBuf::from);
        let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        let usual = || Some(state.or_else(home)?.join("tollgate-worker"));
        let folder = self.data.clone().or_else(usual);
        folder.ok_or(ClientCommandError::NoData.into())
    }
}

/// The name of this host.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

//! `tollgate worker`.

use std::env;
use std::path::PathBuf;

use tollgate_engine::LocalSettings;
use tollgate_engine::log::{self, LogSettings};
use tollgate_service::Folder;
use tollgate_service::fleet::Route;
use tollgate_service::fleet::worker::{Settings, work};

use super::address::{CONNECTION, Way};
use super::error::LiveError;
use super::log::LogArgs;
use super::serve::RUNNER;
use crate::args::count;
use crate::exit::Failure;

/// What a route by a socket begins with.
const SOCKET: &str = "unix:";

/// Offer this host's cores to a service on another host.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URL of the service, https://HOST:PORT or unix:SOCKET
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    connect: String,
    #[command(flatten)]
    way: Way,
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
}

/// `tollgate worker`.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let route = match args.connect.strip_prefix(SOCKET) {
        Some(socket) => Route::Socket(socket.into()),
        None => Route::Remote(Box::new(args.way.to(args.connect.clone())?)),
    };
    let log = args.log.over(LogSettings::default())?;
    log::start(log);
    let folder = Folder::lock(&args.folder()?)?;
    let program = env::current_exe()
        .map_err(|error| Failure::read("the program itself".to_owned(), error))?;
    let runner = [program.into_os_string(), RUNNER.into()];
    let settings = Settings {
        route,
        name: args.name.clone().unwrap_or_else(host),
        root_jobs: args.root_jobs,
        engine: LocalSettings {
            nodes: args.nodes,
            log,
            ..LocalSettings::new(folder.engine(), runner)
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

impl Args {
    /// Not the folder of a service: both may be on one host.
    fn folder(&self) -> Result<PathBuf, Failure> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let state = set("XDG_STATE_HOME").map(PathBuf::from);
        let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        let usual = || Some(state.or_else(home)?.join("tollgate-worker"));
        let folder = self.data.clone().or_else(usual);
        folder.ok_or(LiveError::NoData.into())
    }
}

/// The name of this host.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

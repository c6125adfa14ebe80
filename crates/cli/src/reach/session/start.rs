//! `tollgate session start`: the processes of a session.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, geteuid};
use serde::Serialize;
use tollgate_batch::EngineKind;
use tollgate_grid_policies::migrate::{MigrationError, MigrationSpec};
use tollgate_host::{DetachedCommand, leave_session, replace_private};
use tollgate_inside::{NodeGroup, PersonalScheduler, SchedulerKind};
use tollgate_model::Instant;
use tollgate_server::ServiceConfig;
use tollgate_sites::{KeepLock, SiteControl, SiteError, SitesFile};
use tollgate_store::data_dir;
use tollgate_terminal::{HolderOptions, TerminalAccess, hold as hold_terminal};

use super::attach::attach_terminal;
use super::error::SessionError;
use super::folder::{InsideRecord, SessionFolder, SessionRecord, own_session};
use super::login::LOGIN_ARG;
use super::moving::SessionAgency;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::random_key::random_key;
use crate::exit::CliFailure;
use crate::operate::detach::start_detached;
use crate::operate::serve::current_program;
use crate::output::{format, messages};
use crate::parse;
use crate::reach::site::{program, reach};

/// The hidden argument with which the program holds the terminal of a session.
pub(crate) const HOLDER_ARG: &str = "__session";
/// The arguments of a worker of root, so that it runs jobs of root, as the session of root does.
const ROOT_WORKER: [&str; 3] = ["--account", "root", "--root-jobs"];
/// The address on which the service of a session with pilots elsewhere listens: a free port of all
/// addresses.
const ANY_ADDRESS: &str = "0.0.0.0:0";
/// The pause between two looks at the sites: pilots are to follow the work of a person.
const KEEP_EVERY: &str = "5s";

/// The pause between two looks at the command that submits pilots.
const KEEPER_CHECK: Duration = Duration::from_secs(10);
/// The migration policy of `--move` without a value.
const DEFAULT_MIGRATION: &str = "marginal:stop=1.05";

/// Parses the name and the parameters of a migration policy.
fn parse_migration(words: &str) -> Result<String, MigrationError> {
    MigrationSpec::parse(words).map(|_| words.to_owned())
}

/// Start a session: a service, pilots, and a shell.
///
/// Each site gets its `--pilots`, and more while jobs can use them. Without FILE, the sites are those of
/// `tollgate site list`.
#[derive(Debug, clap::Args)]
pub(super) struct SessionStartArgs {
    /// File with the sites, as `tollgate site add` writes it
    file: Option<PathBuf>,
    /// Name of the session [default: default]
    #[arg(long)]
    name: Option<String>,
    /// Admission policy; see `tollgate policies`
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "plan")]
    policy: String,
    /// Address for pilots to connect to [default: a free port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Move waiting pilots between sites; see `policies --world federation`
    #[arg(long = "move", value_name = "POLICY", num_args = 0..=1, require_equals = true,
          default_missing_value = DEFAULT_MIGRATION, value_parser = parse_migration)]
    migration: Option<String>,
    /// Time between two moves of a site
    #[arg(long, value_name = "SPAN", default_value = "1m", value_parser = parse::parse_span,
          requires = "migration")]
    move_every: f64,
    /// Run this scheduler inside the pilots: slurm or htcondor
    #[arg(long, value_name = "SCHEDULER")]
    inside: Option<SchedulerKind>,
    /// Address of the inside scheduler [default: this host's]
    #[arg(long, value_name = "ADDRESS", requires = "inside")]
    address: Option<IpAddr>,
    /// Start the session without attaching this terminal
    #[arg(long)]
    detached: bool,
}

/// The settings of the service of a session, as they are written.
#[derive(Serialize)]
struct SessionService<'a> {
    policy: &'a str,
    default_estimate_s: f64,
    root_jobs: bool,
    local: LocalCores,
}

/// The cores of this host that the service offers.
#[derive(Serialize)]
struct LocalCores {
    nodes: u32,
}

/// `tollgate session start`.
pub(super) fn run(args: &SessionStartArgs) -> Result<(), CliFailure> {
    if let Some(name) = own_session() {
        return Err(SessionError::Inside(name).into());
    }
    if let Some(kind) = args.inside {
        PersonalScheduler::check(kind)?;
    }
    let folder = SessionFolder::for_start(args.name.as_deref())?;
    let lock = folder.lock()?;
    if folder.record()?.is_some_and(|record| record.goes_on()) {
        return Err(SessionError::Runs(folder.name().to_owned()).into());
    }
    let file = match &args.file {
        Some(file) => file.clone(),
        None => SitesFile::path()?,
    };
    let sites = own_sites(&file)?;
    let is_elsewhere = sites
        .sites
        .iter()
        .any(|site| site.engine != EngineKind::Local || site.agent.is_some());
    let listen = args.listen.clone();
    let listen = listen.or_else(|| is_elsewhere.then(|| ANY_ADDRESS.to_owned()));
    folder.create(Path::new(&current_program()?), args.inside.is_some())?;
    let settings = SessionService {
        policy: &args.policy,
        default_estimate_s: default_estimate(&sites),
        root_jobs: geteuid().is_root(),
        local: LocalCores { nodes: 0 },
    };
    folder.write_settings(&settings)?;
    sites.write(&folder.sites_file())?;
    SessionAgency::remove(&folder)?;
    if let Some(policy) = &args.migration {
        let period_s = args.move_every.round().max(1.0) as u64;
        SessionAgency::create(&folder, &sites, policy, period_s)?;
    }
    for site in &sites.sites {
        // Sites that failed in an earlier session are tried again.
        SiteControl::open(site.clone(), &folder.sites_dir(), &program()?)?.resume()?;
    }
    let started_at = Instant::from_micros(format::now().timestamp().as_microsecond());
    let record = SessionRecord {
        started_at,
        listen,
        inside: args.inside.map(|kind| InsideRecord {
            kind,
            address: args.address.unwrap_or_else(|| own_address(is_elsewhere)),
        }),
        ended_at: None,
    };
    folder.write_record(&record)?;
    if let Err(failure) = ensure_running(&folder) {
        // Without a service there is nothing to attach to: the next start may have other settings.
        if service_process(&folder).is_none() {
            folder.write_record(&SessionRecord {
                ended_at: Some(started_at),
                ..record
            })?;
        }
        return Err(failure);
    }
    drop(lock);
    if args.inside.is_none() {
        warn_of_unreachable(&folder, &sites)?;
    }
    let name = folder.name();
    if args.detached || !io::stdin().is_terminal() {
        let note = format!("`tollgate session attach {name}` opens its shell");
        messages::Verbosity::Notes.note(note);
        return Ok(());
    }
    attach_terminal(&folder, TerminalAccess::Write)
}

/// Starts those processes of a session that do not run: the service, the command that submits pilots,
/// and the terminal. Prints what is done at the sites.
///
/// # Errors
/// If a process does not start.
pub(super) fn ensure_running(folder: &SessionFolder) -> Result<(), CliFailure> {
    let record = folder.record()?;
    let inside = record.as_ref().and_then(|record| record.inside);
    let listen = record.and_then(|record| record.listen);
    if let Some(inside) = inside {
        ensure_scheduler(folder, inside)?;
    }
    let inside_dir = folder.inside_dir();
    let inside_words: &[&OsStr] = match inside {
        Some(_) => &[OsStr::new("--inside"), inside_dir.as_os_str()],
        None => &[],
    };
    if service_process(folder).is_none() {
        let data = folder.data();
        let mut words: Vec<&OsStr> = ["serve", "--detach", "--data"].map(OsStr::new).to_vec();
        words.push(data.as_os_str());
        if let Some(address) = &listen {
            words.extend([OsStr::new("--listen"), OsStr::new(address)]);
        }
        run_command(folder, &words, Stdio::null())?;
    }
    if let Some(agency) = SessionAgency::find(folder) {
        let inside = inside.map(|_| inside_dir.as_path());
        agency.ensure_running(folder, inside)?;
    } else if !KeepLock::is_held(&folder.sites_dir()) {
        // The first decision is made here, so that the user sees what the sites say. A site that does
        // not answer now is asked again.
        let once = ["site", "keep", "--base", "--once"].map(OsStr::new);
        let mut command = Command::new(current_program()?);
        command.args(once).args(inside_words);
        folder.enter(command.stdin(Stdio::null()));
        let done = command.status();
        done.map_err(|error| CliFailure::read_failed("the program itself".to_owned(), error))?;
        start_keeper(folder, inside_words)?;
    }
    if UnixStream::connect(folder.terminal()).is_err() {
        let holder = DetachedCommand {
            what: "the terminal of the session",
            arguments: vec![HOLDER_ARG.into(), folder.name().into()],
            environment: folder.environment(),
            log: folder.log(),
        };
        let terminal = folder.terminal();
        start_detached(&holder, &|_| UnixStream::connect(&terminal).is_ok())?;
    }
    Ok(())
}

/// Warns of addresses by which the pilots of some sites would not reach the service, as far as this host can
/// tell.
fn warn_of_unreachable(folder: &SessionFolder, sites: &SitesFile) -> Result<(), CliFailure> {
    let address = ServiceAddressArgs::in_data_dir(folder.data());
    let addresses: BTreeSet<Option<&str>> = sites
        .sites
        .iter()
        .map(|site| site.connect.as_deref())
        .collect();
    for connect in addresses {
        let service = address.for_workers(connect)?;
        if let Err(reason) = reach(&service) {
            let place = &service.connect;
            messages::Verbosity::Notes.note(format_args!(
                "this host does not reach the service at {place}, as pilots are to: {reason}; `site add --connect` names another address"
            ));
        }
    }
    Ok(())
}

/// Starts the command that submits pilots.
fn start_keeper(folder: &SessionFolder, inside_words: &[&OsStr]) -> Result<(), CliFailure> {
    let words = ["site", "keep", "--base", "--every", KEEP_EVERY, "--detach"];
    let mut words = words.map(OsStr::new).to_vec();
    words.extend(inside_words);
    run_command(folder, &words, Stdio::null())
}

/// Starts the command that submits pilots again whenever it was killed, for as long as the session goes on. Another
/// command at the session, which may be about to end it, comes first.
fn watch_keeper(folder: &SessionFolder) {
    loop {
        thread::sleep(KEEPER_CHECK);
        let is_gone = || !KeepLock::is_held(&folder.sites_dir());
        if !is_gone() || SessionAgency::find(folder).is_some() {
            continue;
        }
        let (Ok(_lock), Ok(Some(record))) = (folder.lock(), folder.record()) else {
            continue;
        };
        if record.goes_on() && is_gone() {
            let inside_dir = folder.inside_dir();
            let inside_words: &[&OsStr] = match record.inside {
                Some(_) => &[OsStr::new("--inside"), inside_dir.as_os_str()],
                None => &[],
            };
            // The next look tries again.
            let _ = start_keeper(folder, inside_words);
        }
    }
}

/// Starts the scheduler inside the pilots, unless it runs. After a restart of the host it has another
/// key, so that pilots of before do not come back, and still has its queue.
fn ensure_scheduler(folder: &SessionFolder, inside: InsideRecord) -> Result<(), CliFailure> {
    if folder
        .scheduler()?
        .is_some_and(|scheduler| scheduler.is_up())
    {
        return Ok(());
    }
    let sites = folder.sites()?.sites;
    let groups = sites.iter().map(|site| NodeGroup {
        name: site.name.clone(),
        cores: site.cores,
        memory_mib: site.memory_mib,
        time_s: site.time_s,
    });
    let groups: Vec<NodeGroup> = groups.collect();
    PersonalScheduler::start(inside.kind, &folder.inside_dir(), inside.address, &groups)?;
    folder.write_environment()
}

/// Returns the address at which pilots reach this host.
fn own_address(is_elsewhere: bool) -> IpAddr {
    match is_elsewhere {
        true => tollgate_inside::host::own_address(),
        false => Ipv4Addr::LOCALHOST.into(),
    }
}

/// Holds the terminal of a session: the hidden command that [`ensure_running`] starts.
pub(crate) fn hold(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    leave_session();
    let name = words.next().unwrap_or_default();
    let run = || {
        let folder = SessionFolder::find(Some(&name.to_string_lossy()))?;
        let program = PathBuf::from(current_program()?);
        let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let options = HolderOptions {
            socket: folder.terminal(),
            command: [
                program.clone().into_os_string(),
                LOGIN_ARG.into(),
                name.clone(),
            ]
            .to_vec(),
            environment: env::vars_os().collect(),
            dir: home,
            program,
            stall_timeout: HolderOptions::STALL_TIMEOUT,
        };
        thread::spawn(move || watch_keeper(&folder));
        let held = hold_terminal(&options, || {});
        held.map(drop)
            .map_err(|error| CliFailure::write_failed("the terminal".to_owned(), error))
    };
    crate::exit::finish(run())
}

/// Returns the process of the service of a session. None if it does not run.
pub(super) fn service_process(folder: &SessionFolder) -> Option<Pid> {
    listener(&data_dir::socket(&folder.data()))
}

/// Returns the process that keeps the tasks of the service on this host. None if there is none.
pub(super) fn runner_process(folder: &SessionFolder) -> Option<Pid> {
    let runner = data_dir::engine_dir_in(&folder.data());
    listener(&tollgate_runner::socket_path(&runner))
}

/// Returns the process that holds the terminal of a session. None if there is none.
pub(super) fn holder_process(folder: &SessionFolder) -> Option<Pid> {
    listener(&folder.terminal())
}

/// Returns the process that listens on a socket.
fn listener(socket: &Path) -> Option<Pid> {
    let stream = UnixStream::connect(socket).ok()?;
    Some(socket_peercred(&stream).ok()?.pid)
}

/// Runs a command of this program in the environment of a session. Its messages are shown if it fails.
fn run_command(folder: &SessionFolder, words: &[&OsStr], out: Stdio) -> Result<(), CliFailure> {
    let mut command = Command::new(current_program()?);
    command.args(words).stdin(Stdio::null()).stdout(out);
    folder.enter(&mut command);
    let done = command.output();
    let done =
        done.map_err(|error| CliFailure::read_failed("the program itself".to_owned(), error))?;
    if done.status.success() {
        return Ok(());
    }
    let problem = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    let name = folder.name().to_owned();
    Err(SessionError::Process { name, problem }.into())
}

/// Returns the sites of a file as a session has them: with names for their jobs that no other cluster of this user
/// has, and with workers that run the session's jobs.
fn own_sites(file: &Path) -> Result<SitesFile, CliFailure> {
    let key = random_key()?;
    let mut sites = SitesFile::read_with_keys(file, || key.clone())?;
    if sites.sites.is_empty() {
        return Err(SiteError::NoSites.into());
    }
    for site in &mut sites.sites {
        let is_told = site.worker_args.iter().any(|word| word == ROOT_WORKER[0]);
        if geteuid().is_root() && !is_told {
            site.worker_args.extend(ROOT_WORKER.map(str::to_owned));
        }
    }
    Ok(sites)
}

/// Returns the run time in seconds that is assumed of a job of which nothing is known: that of every
/// service, unless no pilot lives for twice as long. The plan adds to it, and the job would be refused.
fn default_estimate(sites: &SitesFile) -> f64 {
    let usual = ServiceConfig::default().default_estimate_s;
    let times = sites.sites.iter().map(|site| site.time_s as f64);
    times.fold(0.0, f64::max).div_euclid(2.0).min(usual)
}

impl SessionFolder {
    fn write_settings(&self, settings: &SessionService<'_>) -> Result<(), CliFailure> {
        let file = self.data().join(data_dir::SETTINGS);
        let text = toml::to_string(settings);
        let text = text.map_err(io::Error::other);
        let written = text.and_then(|text| replace_private(&file, text.as_bytes()));
        written.map_err(|error| CliFailure::write_failed(file.display().to_string(), error))
    }
}

//! The runner: a small process that starts tasks and keeps the record of them, so that the service
//! can be restarted, or crash, and no task and no exit status is lost.
//!
//! It lives in a folder that only its owner can enter:
//!
//! | file | what it is |
//! |---|---|
//! | `lock` | held by the runner, and by each child until its program has replaced it |
//! | `socket` | where the service asks (one JSON value a line, see `wire`) |
//! | `runner.json` | its settings |
//! | `journal` | attempts taken, ended, acknowledged; append-only, a checksum a line |
//! | `lease` | until when what runs may go on, where there is a lease |
//! | `scripts/<user>-<hash>` | the text of a script that a task needs which is not over |
//! | `attempts/<attempt>` | the attempt was started: made with O_EXCL by the child itself |
//!
//! The copies that tasks run of their scripts are in the folder beside it, `<folder>-scripts`: tasks of other
//! users reach them there (see `scripts`).
//!
//! The order of things keeps an attempt from being started twice and an end from being forgotten:
//!
//! 1. It is in the journal, and that on the disk, before the service hears that it was taken on.
//! 2. Its child makes the `started` file before it becomes the program, and ends with the runner until then.
//! 3. Its end is in the journal before the service hears of it, and stays until that is acknowledged.
//!
//! With a *lease* what runs may go on only until a moment that the caller renews: then the runner ends it,
//! or, if the runner was killed or stopped, the runner's *watcher* (see `watch`).
//!
//! A runner that gets SIGTERM or SIGINT asks all that runs to end, records how it ended, and goes.
//! A runner that is killed leaves its tasks running. The next one finds those that are alive by
//! number and start, watches them, and learns their exit status from the kernel (Linux 6.15 and newer; on
//! older ones they are reported as lost when they end). Those that have ended meanwhile are
//! lost; those that have no `started` file never ran, and are started.

mod adopted;
mod cgroup;
mod child_setup;
mod claim;
mod clock;
mod connection;
mod event;
mod failpoint;
mod group;
mod guard;
mod host;
mod journal;
mod kill_tree;
mod lease;
mod lease_watcher;
mod listener;
mod meter;
mod mounts;
mod nice;
mod output;
mod process_handle;
mod procfs;
mod reattach;
mod recovery;
mod requests;
mod scripts;
pub(crate) mod settings;
mod slot;
mod slots;
mod spawn;
mod spawn_spec;
pub(crate) mod state_dir;
mod supervisor;
mod task;
mod timers;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;

use crate::EngineError;
use crate::log::{self, LogSettings};
use connection::EngineConnection;
use event::RunnerEvent;
use host::RunnerHost;
use journal::RunnerJournal;
use lease::{LeaseEnd, RunnerLease};
use lease_watcher::LeaseWatcher;
use rustix::process::Signal;
use scripts::ScriptCache;
use settings::RunnerConfig;
use slots::SlotPool;
use spawn::BlockedSignals;
use state_dir::RunnerStateDir;
use supervisor::RunnerSupervisor;

/// Runs the runner of the folder that is the only word of `args`, until it is not needed any more:
/// nobody is connected, and nothing runs. Ends with 1 if it cannot begin, with 2 on wrong usage; another
/// runner in the folder is no failure.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let settings = args
        .first()
        .map(|folder| RunnerConfig::read(Path::new(folder)));
    let format = settings
        .as_ref()
        .and_then(|settings| settings.as_ref().ok());
    log::start(format.map_or_else(LogSettings::default, |settings| settings.log));
    let done = match (args.as_slice(), settings) {
        ([folder], Some(settings)) => {
            run(Path::new(folder), settings).map_err(|error| error.to_string())
        }
        ([folder, word], _) if word == lease_watcher::WATCHER_FLAG => {
            lease_watcher::run(Path::new(folder)).map_err(|error| format!("its watcher: {error}"))
        }
        _ => {
            tracing::error!("expected the directory to work in");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads `data` as a journal, for the fuzz target: what can be read is written and read again as it was.
/// False if there are other lines.
pub(crate) fn check_journal(data: &[u8]) -> bool {
    let entries = journal::parse_all(data);
    recovery::rebuild_tasks(&entries);
    let lines = data.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty()).count() == entries.len()
}

fn run(path: &Path, settings: Result<RunnerConfig, EngineError>) -> Result<(), EngineError> {
    failpoint::init();
    let failed = |step| {
        move |source| EngineError::Setup {
            path: path.to_owned(),
            step,
            source,
        }
    };
    // Before there are threads, so that each holds them back.
    let signals = BlockedSignals::block(&[Signal::TERM, Signal::INT, Signal::HUP])
        .map_err(failed("holding signals back"))?;
    // Its own session, so that no terminal and no process group of the service's ends it. It fails
    // if it has one already, and then nothing needs to be done.
    let _ = rustix::process::setsid();
    let ours = Some(rustix::process::getpid());
    rustix::process::set_child_subreaper(ours)
        .map_err(|error| failed("becoming its tasks' reaper")(error.into()))?;
    let Some(folder) = RunnerStateDir::acquire(path)? else {
        return Ok(());
    };
    let settings = settings?;
    let machine = RunnerHost::probe(path, &settings).map_err(failed("looking at the machine"))?;
    let (journal, entries) = RunnerJournal::open(&folder.journal())?;
    let lease = settings.lease().map(|first| {
        let path = folder.lease_path();
        RunnerLease::open(&path, &machine.boot, first).map_err(|source| EngineError::Setup {
            path,
            step: "writing the lease down",
            source,
        })
    });
    let lease = lease.transpose()?;
    let watcher = lease.as_ref().map(|_| LeaseWatcher::start());
    let watcher = watcher.transpose().map_err(failed("being watched"))?;
    let (to, happenings) = mpsc::channel();
    forward_signals(signals, to.clone());
    let most = settings.slots_per_node.max(1) as usize * machine.cpus.len();
    let end = lease
        .as_ref()
        .map_or_else(LeaseEnd::never, RunnerLease::end);
    let mut scripts = ScriptCache::open(path, machine.capacity.other_users)?;
    let tasks = recovery::rebuild_tasks(&entries);
    for task in tasks.values().filter(|task| !task.is_finished()) {
        scripts
            .retain(&task.launch, None)
            .map_err(failed("counting scripts"))?;
    }
    scripts.remove_unused();
    let mut client = EngineConnection::default();
    client.guard = settings.guard;
    let mut slots = SlotPool::new(most, folder.attempts_fd(), scripts.dirs(), end, to.clone());
    slots.guard = settings.guard;
    let mut keeper = RunnerSupervisor {
        tasks,
        scripts,
        state_dir: folder,
        settings,
        host: machine,
        journal,
        queued: Default::default(),
        placed: Default::default(),
        slots,
        timers: Default::default(),
        connection: client,
        lease,
        watcher,
        is_stopping: false,
        events: to.clone(),
        unflushed: Vec::new(),
    };
    keeper.recover_tasks(recovery::is_same_boot(&entries, &keeper.host.boot));
    keeper.flush_journal();
    let listener = keeper
        .state_dir
        .listen()
        .map_err(failed("opening its socket"))?;
    let nodes = keeper.host.capacity.nodes;
    tracing::info!(pid = std::process::id(), nodes, "the runner has started");
    listener::spawn_acceptor(listener, to);
    keeper.run(&happenings);
    Ok(())
}

/// Passes on that the runner is asked to end. That a terminal is gone ends none of its tasks.
fn forward_signals(signals: BlockedSignals, to: mpsc::Sender<RunnerEvent>) {
    std::thread::spawn(move || {
        loop {
            let is_hangup = signals.wait() == Signal::HUP.as_raw();
            if !is_hangup && to.send(RunnerEvent::StopRequested).is_err() {
                return;
            }
        }
    });
}

//! The runner: a small process that starts tasks and records their ends. The service can restart or
//! crash without losing a task or an exit status.
//!
//! The runner's files are in a directory that only its owner can enter:
//!
//! | file | contents |
//! |---|---|
//! | `lock` | lock held by the runner, and by each child until its program has replaced it |
//! | `socket` | socket for requests of the service (one JSON value per line, see `wire`) |
//! | `runner.json` | its settings |
//! | `journal` | attempts taken, ended, acknowledged; append-only, one checksum per line |
//! | `lease` | time until which tasks may run, if there is a lease |
//! | `scripts/<user>-<hash>` | text of a script that an unfinished task needs |
//! | `attempts/<attempt>` | mark that the attempt was started: created with O_EXCL by its child |
//!
//! The copies of scripts that tasks run are in a directory beside the runner's, `<folder>-scripts`,
//! where tasks of other users can reach them (see `scripts`).
//!
//! The order of steps prevents a second start of an attempt and the loss of an end:
//!
//! 1. An attempt is in the journal, and the journal on disk, before the service gets the answer
//!    that the attempt was taken.
//! 2. The child creates the `started` file before it becomes the program, and ends with the runner
//!    until then.
//! 3. An end is in the journal before it is reported to the service, and stays there until it is
//!    acknowledged.
//!
//! With a *lease* tasks may run only until a time that the caller renews. Then the runner ends
//! them, or, if the runner was killed or stopped, the runner's *watcher* does (see `watch`).
//!
//! A runner that gets SIGTERM or SIGINT asks all tasks to end, records their ends, and exits. A
//! runner that is killed leaves its tasks running. The next runner finds the live ones by process
//! id and start time, watches them, and gets their exit status from the kernel (Linux 6.15 and
//! newer; on older kernels they are reported as lost when they end). Tasks that have ended
//! meanwhile are lost. Tasks without a `started` file never ran, and are started.

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
mod mark;
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

/// Runs the runner of the directory that is the only word of `args`, until it is idle: no service
/// is connected, and no task runs. Returns 1 if the runner cannot start, 2 on wrong usage. Another
/// runner in the directory is not a failure.
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

/// Reads `data` as a journal, for the fuzz target, and checks that each readable line survives a
/// round trip. Returns false if there are other lines.
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
    // Signals are blocked before other threads start, so that every thread blocks them.
    let signals = BlockedSignals::block(&[Signal::TERM, Signal::INT, Signal::HUP])
        .map_err(failed("holding signals back"))?;
    // The runner gets its own session, so that no terminal and no process group of the service ends
    // it. The call fails if the runner already leads a session, which is just as good.
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
    let mut supervisor = RunnerSupervisor {
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
    supervisor.recover_tasks(recovery::is_same_boot(&entries, &supervisor.host.boot));
    supervisor.flush_journal();
    let listener = supervisor
        .state_dir
        .listen()
        .map_err(failed("opening its socket"))?;
    let nodes = supervisor.host.capacity.nodes;
    tracing::info!(pid = std::process::id(), nodes, "the runner has started");
    listener::spawn_acceptor(listener, to);
    supervisor.run(&happenings);
    Ok(())
}

/// Forwards the signals that ask the runner to end. A hangup of the terminal ends no task.
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

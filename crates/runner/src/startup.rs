//! The start of a runner: its directory, its record, its threads.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};

use rustix::process::Signal;
use tollgate_engine::EngineError;

use crate::child::spawn::BlockedSignals;
use crate::demand::DemandMeter;
use crate::host::RunnerHost;
use crate::journal::RunnerJournal;
use crate::lease::watcher::{self, LeaseWatcher};
use crate::lease::{LeaseEnd, RunnerLease};
use crate::log::{self, LogSettings};
use crate::outputs::OutputReaders;
use crate::process::nice;
use crate::scripts::ScriptCache;
use crate::settings::RunnerConfig;
use crate::slot::pool::SlotPool;
use crate::state_dir::RunnerStateDir;
use crate::supervisor::RunnerSupervisor;
use crate::supervisor::connection::EngineConnection;
use crate::supervisor::event::RunnerEvent;
use crate::supervisor::listener;
use crate::{failpoint, recovery};

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
        ([folder, word], _) if word == watcher::WATCHER_FLAG => {
            watcher::run(Path::new(folder)).map_err(|error| format!("its watcher: {error}"))
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
    let signals = BlockedSignals::block(&HELD_BACK).map_err(failed("holding signals back"))?;
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
    if settings.low_priority {
        // Tasks that give way wait for this process. Without root it has the usual priority.
        let _ = nice::raise_own();
    }
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
    let (to, events) = mpsc::channel();
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
    client.guard = settings.guard.clone();
    let started_files = Arc::clone(folder.started_files());
    let mut slots = SlotPool::new(most, started_files, scripts.dirs(), end, to.clone());
    slots.guard = settings.guard.clone();
    let outputs = OutputReaders::new(settings.guard.clone(), to.clone());
    let mut supervisor = RunnerSupervisor {
        tasks,
        scripts,
        state_dir: folder,
        settings,
        host: machine,
        journal,
        queued: Default::default(),
        followers: Default::default(),
        placed: Default::default(),
        slots,
        stuck: Default::default(),
        outputs,
        demand: DemandMeter::default(),
        timers: Default::default(),
        connection: client,
        lease,
        watcher,
        is_stopping: false,
        is_removed: false,
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
    supervisor.run(&events);
    Ok(())
}

/// The signals that a runner and its watcher receive one by one. Batch systems send the last two to
/// all processes of a job before its end.
pub(crate) const HELD_BACK: [Signal; 5] = [
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::USR1,
    Signal::USR2,
];

/// Forwards the signals that ask the runner to end. A hangup of the terminal ends no task, nor does
/// the warning of a batch system: the worker decides.
fn forward_signals(signals: BlockedSignals, to: mpsc::Sender<RunnerEvent>) {
    std::thread::spawn(move || {
        loop {
            let signal = signals.wait();
            let ends = [Signal::TERM.as_raw(), Signal::INT.as_raw()].contains(&signal);
            if ends && to.send(RunnerEvent::StopRequested).is_err() {
                return;
            }
        }
    });
}

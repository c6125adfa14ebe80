//! The program of an attempt, run to its end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use tollgate_engine::LaunchScript;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptStart, AttemptStatus, KillReason, LimitWarning, Span,
};

use super::files::{AttemptFolder, OfferedAttempt};
use super::watcher::TaskWatcher;
use crate::cgroup::group::SlotCgroup;
use crate::child::spawn::BlockedSignals;
use crate::lease::LeaseEnd;
use crate::process::handle::{ProcessHandle, warning_signal};
use crate::process::kill_tree;
use crate::process::mark::RunnerId;
use crate::process::procfs;
use crate::scripts::ScriptCache;
use crate::slot::output::OutputMonitor;
use crate::slot::queue::SlotQueue;
use crate::slot::stuck::SetupWatch;
use crate::slot::{self, SlotJob, SlotWorker};
use crate::started_files::StartedFiles;
use crate::startup::HELD_BACK;
use crate::supervisor::event::RunnerEvent;

/// The interval at which orphans are reaped.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time of the setup of a child: a directory on a server that does not answer can block it.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum time between the engine's signals to the task and to this process.
const SIGNAL_TIMEOUT: Duration = Duration::from_millis(50);

/// Runs the program of an attempt that this process has claimed, and returns its end.
pub(super) fn run(folder: &AttemptFolder, offer: &OfferedAttempt) -> io::Result<AttemptEvent> {
    // Signals are blocked before other threads start, so that every thread blocks them.
    let signals = BlockedSignals::block(&HELD_BACK)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let launch = &offer.launch;
    let work = folder.create_work(launch.attempt)?;
    let watcher = TaskWatcher::start()?;
    let mut scripts = ScriptCache::open(&work, false).map_err(io::Error::other)?;
    let text = launch.script.as_ref().and_then(LaunchScript::text);
    scripts.retain(launch, text.map(AsRef::as_ref))?;
    let (to, events) = mpsc::channel();
    forward_signals(signals, to.clone());
    let setting_up = SetupWatch::default();
    let slot = SlotWorker {
        number: 0,
        // The engine's own groups limit the job, and its task is to stay in them.
        group: SlotCgroup::default(),
        boot: procfs::boot_id()?,
        runner_id: RunnerId::of(&work)?,
        started_files: Arc::new(StartedFiles::for_one_attempt(&work)?),
        scripts: scripts.dirs(),
        guard: None,
        cpus: Arc::default(),
        setting_up: setting_up.clone(),
        outputs: OutputMonitor::start(to.clone()),
        events: to,
        lease: LeaseEnd::never(),
        // As if both were done: processors and memory are the engine's.
        pinned_to: Some(String::new()),
        memory_limit: launch.limits.memory,
        memory_share: None,
        low_priority: None,
    };
    let jobs = SlotQueue::default();
    jobs.push(SlotJob {
        launch: launch.clone(),
        nice: 0,
    });
    jobs.close();
    thread::spawn(move || slot::serve(slot, &jobs));
    let mut supervision = TaskSupervision {
        folder,
        attempt: launch.attempt,
        grace: Duration::from_millis(offer.grace_ms),
        wall: launch.limits.wall,
        warning: launch.limits.warning,
        warn_at: None,
        process: None,
        began: Instant::now(),
        setting_up,
        ends_at: None,
        kill_at: None,
        killed: None,
    };
    let end = supervision.run_to_end(&events)?;
    watcher.dismiss();
    Ok(end)
}

struct TaskSupervision<'a> {
    folder: &'a AttemptFolder,
    attempt: AttemptId,
    grace: Duration,
    wall: Option<Span>,
    warning: Option<LimitWarning>,
    /// When the task gets the signal before its time limit.
    warn_at: Option<Instant>,
    /// The task's first process, once its program runs.
    process: Option<Arc<ProcessHandle>>,
    began: Instant,
    setting_up: SetupWatch,
    /// When the time limit ends.
    ends_at: Option<Instant>,
    /// When a task that was asked to end is killed.
    kill_at: Option<Instant>,
    /// The first reason for which the task was asked to end.
    killed: Option<KillReason>,
}

impl TaskSupervision<'_> {
    fn run_to_end(&mut self, events: &Receiver<RunnerEvent>) -> io::Result<AttemptEvent> {
        loop {
            match events.recv_timeout(self.max_wait()) {
                Ok(RunnerEvent::Started { start, process, .. }) => {
                    self.on_started(start, process.handle);
                }
                Ok(RunnerEvent::OutputLimitReached(_)) => self.stop(KillReason::OutputLimit),
                // The engine ends the job. If the service has asked for that, it knows why.
                Ok(RunnerEvent::StopRequested) => self.stop(KillReason::Evicted),
                Ok(RunnerEvent::Finished { event, .. }) => {
                    self.await_reason(&event, events);
                    return Ok(self.with_reason(event));
                }
                Ok(
                    RunnerEvent::Connected(_)
                    | RunnerEvent::Request(..)
                    | RunnerEvent::Disconnected(_)
                    | RunnerEvent::OutputRead(_)
                    | RunnerEvent::StuckSetupEnded(_),
                )
                | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread of the task has ended"));
                }
            }
            self.fire_timers(Instant::now());
            kill_tree::reap_orphans();
        }
    }

    fn max_wait(&self) -> Duration {
        let now = Instant::now();
        let timers = [self.warn_at, self.ends_at, self.kill_at];
        let next = timers.into_iter().flatten().min();
        let next = next.map(|at| at.saturating_duration_since(now));
        next.map_or(TICK_INTERVAL, |next| next.min(TICK_INTERVAL))
    }

    fn on_started(&mut self, start: AttemptStart, process: Arc<ProcessHandle>) {
        // Without this file the service learns of the start when the attempt ends.
        if let Err(error) = self.folder.start(self.attempt, start) {
            eprintln!(
                "{}: the start cannot be written down: {error}",
                self.attempt
            );
        }
        let wall = self.wall.map(Span::as_micros);
        let wall = wall.and_then(|micros| u64::try_from(micros).ok());
        self.ends_at =
            wall.and_then(|micros| Instant::now().checked_add(Duration::from_micros(micros)));
        self.warn_at = self.warning.zip(self.ends_at).and_then(|(warning, end)| {
            let before = u64::try_from(warning.before.as_micros()).ok()?;
            end.checked_sub(Duration::from_micros(before))
        });
        self.process = Some(process);
        if self.killed.is_some() {
            self.send_sigterm();
        }
    }

    fn stop(&mut self, why: KillReason) {
        if self.killed.is_none() {
            self.killed = Some(why);
            self.send_sigterm();
        }
    }

    /// Asks the task to end; a task that is still being started is asked after its start.
    fn send_sigterm(&mut self) {
        let Some(process) = &self.process else {
            return;
        };
        let until = Instant::now() + self.grace;
        process.set_kill_deadline(until);
        process.signal(Signal::TERM);
        // A stopped process cannot end.
        process.signal(Signal::CONT);
        self.kill_at = Some(until);
    }

    fn fire_timers(&mut self, now: Instant) {
        if self.warn_at.take_if(|at| *at <= now).is_some()
            && self.killed.is_none()
            && let (Some(warning), Some(process)) = (self.warning, &self.process)
        {
            process.signal(warning_signal(warning.signal));
        }
        if self.ends_at.take_if(|at| *at <= now).is_some() {
            self.stop(KillReason::TimeLimit);
        }
        if self.kill_at.take_if(|at| *at <= now).is_some()
            && let Some(process) = &self.process
        {
            process.signal(Signal::KILL);
        }
        if now.duration_since(self.began) >= SETUP_TIMEOUT
            && let Some(child) = self.setting_up.child()
        {
            let _ = kill_process(child, Signal::KILL);
        }
    }

    /// Waits a moment for the signal that ends this process, if one has ended the task: engines signal all
    /// processes of a job, in any order.
    fn await_reason(&mut self, event: &AttemptEvent, events: &Receiver<RunnerEvent>) {
        let is_by_signal = match event {
            AttemptEvent::Ended(ended) => matches!(ended.status, AttemptStatus::Signalled(_)),
            AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => false,
        };
        if is_by_signal && self.killed.is_none() {
            let next = events.recv_timeout(SIGNAL_TIMEOUT);
            if matches!(next, Ok(RunnerEvent::StopRequested)) {
                self.killed = Some(KillReason::Evicted);
            }
        }
    }

    fn with_reason(&self, event: AttemptEvent) -> AttemptEvent {
        match event {
            AttemptEvent::Ended(mut ended) => {
                let is_out_of_memory = ended.killed == Some(KillReason::MemoryLimit);
                let killed = KillReason::of_end(self.killed, is_out_of_memory);
                ended.killed = killed.or(ended.killed);
                AttemptEvent::Ended(ended)
            }
            AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => event,
        }
    }
}

/// Forwards the signals that end a job. Grid Engine sends SIGUSR2 some time before SIGKILL if the job
/// asks for it; SIGUSR1 announces only a suspension.
fn forward_signals(signals: BlockedSignals, to: Sender<RunnerEvent>) {
    const ENDS: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::USR2];
    thread::spawn(move || {
        loop {
            let signal = signals.wait();
            let ends = ENDS.iter().any(|end| end.as_raw() == signal);
            if ends && to.send(RunnerEvent::StopRequested).is_err() {
                return;
            }
        }
    });
}

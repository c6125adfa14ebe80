//! The runner's main thread, which handles requests and events one after the other.

pub(crate) mod connection;
pub(crate) mod event;
mod followers;
mod freeze;
pub(crate) mod listener;
mod load;
mod requests;
mod stuck;
pub(crate) mod suspension;
pub(crate) mod task;
pub(crate) mod timers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use connection::EngineConnection;
use event::RunnerEvent;
use rustix::process::Signal;
use task::{RunnerTask, RunnerTaskState, RunningProcess};
use timers::{AttemptTimers, TimerKind};
use tollgate_engine::BootTime;
use tollgate_engine::capacity::ShareEnforcement;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptReport, AttemptStart, AttemptStatus, KillReason,
};

use crate::demand::DemandMeter;
use crate::failpoint;
use crate::host::RunnerHost;
use crate::journal::{RunnerJournal, RunnerJournalEntry};
use crate::lease::watcher::LeaseWatcher;
use crate::lease::{LeaseEnd, RunnerLease};
use crate::outputs::OutputReaders;
use crate::process::{kill_tree, nice};
use crate::protocol::RunnerMessage;
use crate::scripts::ScriptCache;
use crate::settings::RunnerConfig;
use crate::slot::SlotJob;
use crate::slot::pool::SlotPool;
use crate::state_dir::RunnerStateDir;

/// The interval of checks for states without an event: orphans, and children whose setup is
/// blocked.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// The time that a new runner waits for the service that has started it.
const FIRST_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of events handled at once: their ends share one write to the journal and one to
/// the service.
const MAX_EVENTS_PER_BATCH: usize = 256;

/// The state of the runner.
pub(crate) struct RunnerSupervisor {
    pub(crate) state_dir: RunnerStateDir,
    pub(crate) settings: RunnerConfig,
    pub(crate) host: RunnerHost,
    pub(crate) journal: RunnerJournal,
    pub(crate) tasks: BTreeMap<AttemptId, RunnerTask>,
    pub(crate) scripts: ScriptCache,
    /// Attempts for which no slot is free, in order of submission.
    pub(crate) queued: VecDeque<AttemptId>,
    /// Attempts that follow one without a slot, by the attempt that each follows.
    pub(crate) followers: BTreeMap<AttemptId, AttemptId>,
    /// Attempts in slots. An attempt that neither waits nor is in this set has ended.
    pub(crate) placed: BTreeSet<AttemptId>,
    pub(crate) slots: SlotPool,
    /// The user of each slot that was given up and whose child has not ended; None for the runner's own.
    pub(crate) stuck: BTreeMap<usize, Option<u32>>,
    pub(crate) outputs: OutputReaders,
    pub(crate) demand: DemandMeter,
    pub(crate) timers: AttemptTimers,
    pub(crate) connection: EngineConnection,
    /// None if tasks may run without a connected caller for any time.
    pub(crate) lease: Option<RunnerLease>,
    /// The process that ends running tasks if this runner does not; present if there is a lease.
    pub(crate) watcher: Option<LeaseWatcher>,
    /// Whether the runner was asked to end, with all running tasks.
    pub(crate) is_stopping: bool,
    /// Whether the directory was removed, when the runner last looked.
    pub(crate) is_removed: bool,
    pub(crate) events: Sender<RunnerEvent>,
    /// Entries that must be written before their reports are sent, and reports that come after those.
    pub(crate) unflushed: Vec<(Option<RunnerJournalEntry>, Option<AttemptReport>)>,
}

impl RunnerSupervisor {
    /// Runs until no service is connected and no task runs.
    pub(crate) fn run(mut self, events: &Receiver<RunnerEvent>) {
        let mut idle_since = Instant::now();
        let mut last_look = Instant::now();
        self.reapply_priority();
        loop {
            self.is_removed = self.state_dir.is_removed();
            self.start_queued();
            self.flush_journal();
            self.connection.flush_due();
            if self.is_stopping && self.n_unfinished() == 0 {
                break;
            }
            if self.connection.is_connected() || self.n_unfinished() > 0 {
                idle_since = Instant::now();
            } else if idle_since.elapsed() >= self.idle_timeout() || self.is_removed {
                break;
            }
            let busy = self.process_events(events, self.max_wait(idle_since));
            self.fire_timers();
            self.stop_all_if_required();
            if busy || last_look.elapsed() >= TICK_INTERVAL {
                kill_tree::reap_orphans();
                self.end_stuck_setups();
                self.reapply_nice();
                self.restart_watcher();
                last_look = Instant::now();
            }
        }
        self.connection.flush();
        tracing::info!("the runner ends: no service is connected and nothing runs");
        self.state_dir.remove_socket();
        self.slots.shut_down();
        self.host.cgroups.remove();
    }

    /// Returns the maximum wait for an event before the next periodic work.
    fn max_wait(&self, idle_since: Instant) -> Duration {
        let now = Instant::now();
        let timers = self.timers.next().into_iter().chain(self.connection.due());
        let timer = timers.min().map(|at| at.saturating_duration_since(now));
        let runs = self.n_unfinished() > 0;
        let lease = self.lease_end().at().filter(|_| runs);
        let lease = lease.map(|end| end.saturating_since(BootTime::now()));
        // Once the lease has ended, all tasks have been asked to end.
        let lease = lease.filter(|left| !left.is_zero());
        let tick = (runs || !self.unflushed.is_empty()).then_some(TICK_INTERVAL);
        let idle = (!self.connection.is_connected() && !runs)
            .then(|| self.idle_timeout().saturating_sub(idle_since.elapsed()));
        let waits = timer.into_iter().chain(lease).chain(tick).chain(idle);
        waits.min().unwrap_or(Duration::from_secs(3600))
    }

    /// Returns the number of attempts that have not ended.
    pub(crate) fn n_unfinished(&self) -> usize {
        self.queued.len() + self.followers.len() + self.placed.len()
    }

    fn idle_timeout(&self) -> Duration {
        match self.connection.was_ever_connected() {
            true => self.settings.idle(),
            false => self.settings.idle().max(FIRST_CONNECTION_TIMEOUT),
        }
    }

    /// Waits for events and handles them; returns false if none arrived.
    fn process_events(&mut self, events: &Receiver<RunnerEvent>, timeout: Duration) -> bool {
        match events.recv_timeout(timeout) {
            Ok(event) => self.handle_event(event),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
        for event in events.try_iter().take(MAX_EVENTS_PER_BATCH) {
            self.handle_event(event);
        }
        true
    }

    fn handle_event(&mut self, runner_event: RunnerEvent) {
        match runner_event {
            RunnerEvent::Connected(stream) => self.on_connect(stream),
            RunnerEvent::Request(connection, call) if self.connection.is_current(connection) => {
                self.handle_request(call);
            }
            RunnerEvent::Disconnected(connection) if self.connection.is_current(connection) => {
                self.connection.disconnect();
            }
            RunnerEvent::Request(..) | RunnerEvent::Disconnected(_) => {}
            RunnerEvent::StopRequested => {
                tracing::info!("asked to end: so are all tasks");
                self.is_stopping = true;
            }
            RunnerEvent::Started {
                attempt,
                start,
                process,
            } => {
                self.restart_suspension(attempt);
                self.on_started(attempt, start, Instant::now(), process);
            }
            RunnerEvent::OutputLimitReached(attempt) => {
                self.request_stop(attempt, KillReason::OutputLimit)
            }
            RunnerEvent::OutputRead(answer) => {
                self.connection.send(&RunnerMessage::Output(answer));
            }
            RunnerEvent::Finished {
                slot,
                attempt,
                event,
            } => {
                match slot {
                    Some(number) => self.slots.release(number),
                    None => self.slots.release_reserved(),
                }
                self.on_finished(attempt, event);
            }
            RunnerEvent::StuckSetupEnded(slot) => self.on_stuck_setup_ended(slot),
        }
    }

    /// Accepts a service and sends it all unacknowledged reports.
    fn on_connect(&mut self, stream: std::os::unix::net::UnixStream) {
        let ours = match stream.try_clone() {
            Ok(ours) => ours,
            Err(error) => {
                tracing::warn!(%error, "the service that connected cannot be talked to");
                return;
            }
        };
        // Pending ends are recorded first, so that the reports below contain them and they are not
        // sent twice.
        self.flush_journal();
        tracing::info!("a service has connected");
        let connection = self.connection.replace(ours);
        listener::spawn_reader(connection, stream, self.events.clone());
        for attempt in self.in_order_of_starts() {
            let reports = self.tasks.get(&attempt).map(RunnerTask::reports);
            for report in reports.into_iter().flatten() {
                self.connection.report(report);
            }
        }
    }

    /// Gives waiting attempts to free slots, in order of submission.
    fn start_queued(&mut self) {
        if self.must_stop_all() {
            return;
        }
        while self.slots.has_room() {
            let Some(attempt) = self.queued.pop_front() else {
                return;
            };
            if self.refuse_if_stuck(attempt) {
                continue;
            }
            let Some(job) = self.slot_job(attempt) else {
                continue;
            };
            match self.slots.dispatch(&self.host, job) {
                Ok(slot) => self.on_placed(attempt, slot),
                Err(error) => {
                    tracing::error!(%error, "no thread can be started for another task");
                    self.queued.push_front(attempt);
                    return;
                }
            }
        }
    }

    fn slot_job(&self, attempt: AttemptId) -> Option<SlotJob> {
        let launch = self.tasks.get(&attempt)?.launch.clone();
        let nice = if self.settings.low_priority && !launch.is_probe {
            nice::MAX_NICE
        } else if self.host.capacity.shares == ShareEnforcement::Nice {
            nice::level(launch.share, self.highest_share())
        } else {
            0
        };
        Some(SlotJob { launch, nice })
    }

    /// Records the start of an attempt. Its time limit counts from `began`, on a clock that cannot be
    /// set.
    pub(crate) fn on_started(
        &mut self,
        attempt: AttemptId,
        start: AttemptStart,
        began: Instant,
        process: RunningProcess,
    ) {
        failpoint::kill_at("started");
        // The share of the attempt before it may have been set since this one was placed.
        self.inherit_share(attempt);
        let Some(task) = self.tasks.get_mut(&attempt) else {
            return;
        };
        task.started = Some(start);
        let wall = task.launch.limits.wall.map(|wall| wall.as_micros());
        if let Some(at) = task.warning_at(began) {
            self.timers.set(at, attempt, TimerKind::Warning);
        }
        if let Some(limit) = wall.and_then(|micros| u64::try_from(micros).ok()) {
            let at = began.checked_add(Duration::from_micros(limit));
            at.into_iter()
                .for_each(|at| self.timers.set(at, attempt, TimerKind::TimeLimit));
        }
        // The share may have been set while the task was being started.
        let share = (task.launch.share, task.launch.nodes.len());
        let _ = process.group.set_share(share.0, share.1);
        task.state = RunnerTaskState::Running(process);
        self.placed.insert(attempt);
        let killed = task.killed;
        let report = AttemptReport {
            attempt,
            event: AttemptEvent::Started(start),
        };
        // The end of the attempt that it follows is reported first.
        match self.unflushed.is_empty() {
            true => self.connection.report_later(report),
            false => self.unflushed.push((None, Some(report))),
        }
        match killed {
            Some(_) => self.send_sigterm(attempt),
            None => self.freeze(&[attempt]),
        }
    }

    pub(crate) fn on_finished(&mut self, attempt: AttemptId, event: AttemptEvent) {
        failpoint::kill_at("over");
        let lease_ended = self.lease_end().has_ended();
        // The next attempt of the slot may have been frozen with this one.
        if self.is_suspended(attempt) {
            self.thaw(attempt);
        }
        let Some(task) = self
            .tasks
            .get_mut(&attempt)
            .filter(|task| !task.is_finished())
        else {
            return;
        };
        let event = match event {
            AttemptEvent::Ended(mut ended) => {
                // While this runner was stopped, its watcher ended the tasks.
                let late = lease_ended && matches!(ended.status, AttemptStatus::Signalled(_));
                let late = late.then_some(KillReason::Evicted);
                let is_out_of_memory = ended.killed == Some(KillReason::MemoryLimit);
                let killed = KillReason::of_end(task.killed, is_out_of_memory);
                ended.killed = killed.or(ended.killed).or(late);
                let suspended = suspension::as_span(task.suspension.total(BootTime::now()));
                ended.suspended = suspended.min(ended.wall);
                AttemptEvent::Ended(ended)
            }
            AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => event,
        };
        task.state = RunnerTaskState::Finished(event.clone());
        self.scripts.release(&task.launch);
        self.placed.remove(&attempt);
        self.timers.take(attempt);
        let entry = task::finished_entry(attempt, task.started, &event);
        self.unflushed
            .push((Some(entry), Some(AttemptReport { attempt, event })));
        self.release_follower(attempt);
        self.reapply_priority();
    }

    /// Writes the pending entries to the journal, and then sends their reports.
    pub(crate) fn flush_journal(&mut self) {
        if self.unflushed.is_empty() {
            return;
        }
        let entries = self
            .unflushed
            .iter()
            .filter_map(|(entry, _)| entry.as_ref());
        if let Err(error) = self.journal.append(entries) {
            tracing::error!(%error, "ends of attempts cannot be recorded, trying again");
            return;
        }
        let written = std::mem::take(&mut self.unflushed);
        for report in written.into_iter().filter_map(|(_, report)| report) {
            failpoint::kill_at("recorded");
            match self.is_awaited(&report) {
                true => self.connection.report(report),
                false => self.connection.report_later(report),
            }
        }
    }

    /// Returns whether something may wait for a report: for a processor that is idle now. There is no such
    /// thing if the slot of the attempt has a follower, or if more attempts run than there are processors.
    fn is_awaited(&self, report: &AttemptReport) -> bool {
        let task = self.tasks.get(&report.attempt);
        let slot = task.and_then(|task| task.slot);
        report.event.is_end()
            && !slot.is_some_and(|slot| self.slots.is_busy(slot))
            && self.slots.n_busy() <= self.host.cpus.len()
    }

    /// Returns the end of the lease.
    fn lease_end(&self) -> LeaseEnd {
        let lease = self.lease.as_ref();
        lease.map_or_else(LeaseEnd::never, RunnerLease::end)
    }

    /// Returns whether no task may run. No caller can ever find a runner whose directory is gone,
    /// the service counts tasks beyond a lease as ended, and a runner that ends leaves no task.
    pub(crate) fn must_stop_all(&self) -> bool {
        self.is_stopping || self.is_removed || self.lease_end().has_ended()
    }

    fn stop_all_if_required(&mut self) {
        if self.is_removed {
            self.connection.disconnect();
        }
        if self.n_unfinished() == 0 || !self.must_stop_all() {
            return;
        }
        let queued = self.queued.iter().chain(self.followers.values());
        // The last of those that follow each other first, so that none of them starts in between.
        let mut open: Vec<AttemptId> = queued.chain(&self.placed).copied().collect();
        open.reverse();
        for attempt in open {
            self.request_stop(attempt, KillReason::Evicted);
        }
    }

    /// Returns the grace period of a task that is asked to end now. A task whose lease has ended
    /// gets no extra time for an interval in which this runner was stopped.
    pub(crate) fn grace(&self, why: KillReason) -> Duration {
        let grace = self.settings.grace_for(why);
        match self.lease_end().at() {
            Some(end) => (end + self.settings.grace())
                .saturating_since(BootTime::now())
                .min(grace),
            None => grace,
        }
    }

    /// Starts another watcher if the last one was killed.
    fn restart_watcher(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        if watcher.is_running() {
            return;
        }
        match LeaseWatcher::start() {
            Ok(another) => *watcher = another,
            Err(error) => {
                tracing::error!(%error, "the watcher is gone, and no other can be started")
            }
        }
    }

    fn fire_timers(&mut self) {
        for (attempt, due) in self.timers.due(Instant::now()) {
            match due {
                TimerKind::Warning => self.warn(attempt),
                TimerKind::TimeLimit => self.request_stop(attempt, KillReason::TimeLimit),
                TimerKind::Kill => {
                    let process = self.tasks.get(&attempt).and_then(RunnerTask::process);
                    process
                        .into_iter()
                        .for_each(|process| process.handle.signal(Signal::KILL));
                }
            }
        }
    }
}

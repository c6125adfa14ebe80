//! The runner's main thread: what is asked and what happens, one after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::client::EngineConnection;
use super::folder::RunnerStateDir;
use super::happening::RunnerEvent;
use super::journal::{RunnerJournal, RunnerJournalEntry};
use super::lease::{LeaseEnd, RunnerLease};
use super::machine::RunnerHost;
use super::scripts::ScriptCache;
use super::settings::RunnerConfig;
use super::slot::SlotJob;
use super::slots::SlotPool;
use super::task::{self, RunnerTask, RunnerTaskState, RunningProcess};
use super::timers::{AttemptTimers, TimerKind};
use super::watch::LeaseWatcher;
use super::{door, fault, nice, tree};
use crate::capacity::ShareEnforcement;
use crate::{
    AttemptEvent, AttemptKey, AttemptReport, AttemptStart, AttemptStatus, BootTime, KillReason,
};

/// How often the runner looks after what nobody tells it: orphans, children that are held up.
const TICK: Duration = Duration::from_secs(1);

/// How long a new runner waits for the service that has started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);

/// Happenings taken at once: their ends share one write to the journal and one to the service.
const BATCH: usize = 256;

/// The state of the runner.
pub(super) struct RunnerSupervisor {
    pub(super) folder: RunnerStateDir,
    pub(super) settings: RunnerConfig,
    pub(super) machine: RunnerHost,
    pub(super) journal: RunnerJournal,
    pub(super) tasks: BTreeMap<AttemptKey, RunnerTask>,
    pub(super) scripts: ScriptCache,
    /// Attempts for which no slot is free, in the order in which they were handed in.
    pub(super) waiting: VecDeque<AttemptKey>,
    /// Attempts in slots. Whoever neither waits nor is here is over.
    pub(super) placed: BTreeSet<AttemptKey>,
    pub(super) slots: SlotPool,
    pub(super) timers: AttemptTimers,
    pub(super) client: EngineConnection,
    /// None where what runs may go on however long no caller is there.
    pub(super) lease: Option<RunnerLease>,
    /// What ends what runs if this runner does not; there is one where there is a lease.
    pub(super) watcher: Option<LeaseWatcher>,
    /// Whether the runner was asked to end, with all that runs.
    pub(super) is_ending: bool,
    pub(super) to: Sender<RunnerEvent>,
    /// Entries that are to be written before their reports are sent.
    pub(super) unwritten: Vec<(RunnerJournalEntry, Option<AttemptReport>)>,
}

impl RunnerSupervisor {
    /// Works until nobody is connected and nothing runs.
    pub(super) fn work(mut self, happenings: &Receiver<RunnerEvent>) {
        let mut idle_since = Instant::now();
        let mut last_look = Instant::now();
        loop {
            self.begin_waiting();
            self.write_down();
            self.client.flush();
            if self.is_ending && self.open() == 0 {
                break;
            }
            if self.client.is_there() || self.open() > 0 {
                idle_since = Instant::now();
            } else if idle_since.elapsed() >= self.idle_limit() || self.folder.is_gone() {
                break;
            }
            let busy = self.take(happenings, self.patience(idle_since));
            self.end_what_is_due();
            self.end_what_may_not_run();
            if busy || last_look.elapsed() >= TICK {
                tree::reap_orphans();
                let limit = self.settings.setup();
                self.slots.end_those_held_up(Instant::now(), limit);
                self.renice();
                self.keep_watched();
                last_look = Instant::now();
            }
        }
        tracing::info!("the runner ends: no service is connected and nothing runs");
        self.folder.close();
        self.slots.end();
        self.machine.parents.remove();
    }

    /// How long nothing has to be done unless something happens.
    fn patience(&self, idle_since: Instant) -> Duration {
        let now = Instant::now();
        let timer = self
            .timers
            .next()
            .map(|at| at.saturating_duration_since(now));
        let runs = self.open() > 0;
        let lease = self.lease_end().moment().filter(|_| runs);
        let lease = lease.map(|end| end.saturating_since(BootTime::now()));
        // Once it has ended, all was asked to end.
        let lease = lease.filter(|left| !left.is_zero());
        let tick = (runs || !self.unwritten.is_empty()).then_some(TICK);
        let idle = (!self.client.is_there() && !runs)
            .then(|| self.idle_limit().saturating_sub(idle_since.elapsed()));
        let waits = timer.into_iter().chain(lease).chain(tick).chain(idle);
        waits.min().unwrap_or(Duration::from_secs(3600))
    }

    /// How many attempts are not over.
    pub(super) fn open(&self) -> usize {
        self.waiting.len() + self.placed.len()
    }

    fn idle_limit(&self) -> Duration {
        match self.client.has_ever_been() {
            true => self.settings.idle(),
            false => self.settings.idle().max(FIRST_CLIENT),
        }
    }

    /// Waits for happenings and deals with them; false if there were none.
    fn take(&mut self, happenings: &Receiver<RunnerEvent>, patience: Duration) -> bool {
        match happenings.recv_timeout(patience) {
            Ok(happening) => self.handle(happening),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
        for happening in happenings.try_iter().take(BATCH) {
            self.handle(happening);
        }
        true
    }

    fn handle(&mut self, happening: RunnerEvent) {
        match happening {
            RunnerEvent::Connected(stream) => self.welcome(stream),
            RunnerEvent::Called(connection, call) if self.client.is_current(connection) => {
                self.answer(call);
            }
            RunnerEvent::Disconnected(connection) if self.client.is_current(connection) => {
                self.client.cut_off();
            }
            RunnerEvent::Called(..) | RunnerEvent::Disconnected(_) => {}
            RunnerEvent::Asked => {
                tracing::info!("asked to end: so are all tasks");
                self.is_ending = true;
            }
            RunnerEvent::Started {
                attempt,
                start,
                live,
                group,
                meter,
            } => {
                let began = Instant::now();
                let process = RunningProcess {
                    live,
                    group,
                    meter,
                    began,
                };
                self.started(attempt, start, process);
            }
            RunnerEvent::TooMuchOutput(attempt) => {
                self.ask_to_end(attempt, KillReason::OutputLimit)
            }
            RunnerEvent::Over {
                slot,
                attempt,
                event,
            } => {
                match slot {
                    Some(number) => self.slots.release(number),
                    None => self.slots.one_fewer_reserved(),
                }
                self.over(attempt, event);
            }
        }
    }

    /// A service that connects hears everything that nobody has acknowledged.
    fn welcome(&mut self, stream: std::os::unix::net::UnixStream) {
        let ours = match stream.try_clone() {
            Ok(ours) => ours,
            Err(error) => {
                tracing::warn!(%error, "the service that connected cannot be talked to");
                return;
            }
        };
        // Ends that are on record only from now on are reported by this, not once more later.
        self.write_down();
        tracing::info!("a service has connected");
        let connection = self.client.replace(ours);
        door::read(connection, stream, self.to.clone());
        for report in self.tasks.values().flat_map(RunnerTask::reports) {
            self.client.report(report);
        }
    }

    /// Gives those that wait to slots, in the order in which they were handed in.
    fn begin_waiting(&mut self) {
        if self.may_not_run() {
            return;
        }
        while self.slots.has_room() {
            let Some(attempt) = self.waiting.pop_front() else {
                return;
            };
            let Some(launch) = self.tasks.get(&attempt).map(|task| task.launch.clone()) else {
                continue;
            };
            let nice = match self.machine.capacity.shares == ShareEnforcement::Nice {
                true => nice::level(launch.share, self.highest_share()),
                false => 0,
            };
            if let Err(error) = self.slots.give(&self.machine, SlotJob { launch, nice }) {
                tracing::error!(%error, "no thread can be started for another task");
                self.waiting.push_front(attempt);
                return;
            }
            self.placed.insert(attempt);
            if let Some(task) = self.tasks.get_mut(&attempt) {
                task.state = RunnerTaskState::Starts;
            }
        }
    }

    pub(super) fn started(
        &mut self,
        attempt: AttemptKey,
        start: AttemptStart,
        process: RunningProcess,
    ) {
        fault::point("started");
        let Some(task) = self.tasks.get_mut(&attempt) else {
            return;
        };
        task.started = Some(start);
        let wall = task.launch.limits.wall.map(|wall| wall.as_micros());
        if let Some(limit) = wall.and_then(|micros| u64::try_from(micros).ok()) {
            let at = process.began.checked_add(Duration::from_micros(limit));
            at.into_iter()
                .for_each(|at| self.timers.set(at, attempt, TimerKind::Limit));
        }
        // Its share may have been set while it was started.
        let share = (task.launch.share, task.launch.nodes.len());
        let _ = process.group.set_share(share.0, share.1);
        task.state = RunnerTaskState::Runs(process);
        self.placed.insert(attempt);
        let killed = task.killed;
        self.client.report(AttemptReport {
            attempt,
            event: AttemptEvent::Started(start),
        });
        if killed.is_some() {
            self.signal_end(attempt);
        }
    }

    pub(super) fn over(&mut self, attempt: AttemptKey, event: AttemptEvent) {
        fault::point("over");
        let lease_ended = self.lease_end().has_come();
        let Some(task) = self.tasks.get_mut(&attempt).filter(|task| !task.is_over()) else {
            return;
        };
        let event = match event {
            AttemptEvent::Ended(mut ended) => {
                // While this runner was stopped its watcher ended what ran.
                let late = lease_ended && matches!(ended.status, AttemptStatus::Signalled(_));
                let late = late.then_some(KillReason::Evicted);
                ended.killed = task.killed.or(ended.killed).or(late);
                AttemptEvent::Ended(ended)
            }
            AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => event,
        };
        task.state = RunnerTaskState::Over(event.clone());
        self.scripts.release(&task.launch);
        self.placed.remove(&attempt);
        self.timers.forget(attempt);
        let entry = task::over(attempt, task.started, &event);
        self.unwritten
            .push((entry, Some(AttemptReport { attempt, event })));
    }

    /// Puts on record what is not yet, and then reports it.
    pub(super) fn write_down(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        let (entries, reports): (Vec<RunnerJournalEntry>, Vec<Option<AttemptReport>>) =
            std::mem::take(&mut self.unwritten).into_iter().unzip();
        if let Err(error) = self.journal.append(&entries) {
            tracing::error!(%error, "ends of attempts cannot be recorded, trying again");
            self.unwritten = entries.into_iter().zip(reports).collect();
            return;
        }
        for report in reports.into_iter().flatten() {
            fault::point("recorded");
            self.client.report(report);
        }
    }

    /// When what runs may go on no longer.
    fn lease_end(&self) -> LeaseEnd {
        let lease = self.lease.as_ref();
        lease.map_or_else(LeaseEnd::never, RunnerLease::end)
    }

    /// Whether nothing may run: no caller can ever find a runner without its folder, the service takes what
    /// runs beyond a lease for ended, and a runner that ends leaves nothing.
    pub(super) fn may_not_run(&self) -> bool {
        self.is_ending || self.folder.is_gone() || self.lease_end().has_come()
    }

    fn end_what_may_not_run(&mut self) {
        if self.folder.is_gone() {
            self.client.cut_off();
        }
        if self.open() == 0 || !self.may_not_run() {
            return;
        }
        let open: Vec<AttemptKey> = self.waiting.iter().chain(&self.placed).copied().collect();
        for attempt in open {
            self.ask_to_end(attempt, KillReason::Evicted);
        }
    }

    /// How long a task may take from now to end that is asked to. What was to end with its lease may not
    /// take longer because this runner was stopped meanwhile.
    pub(super) fn grace(&self) -> Duration {
        let grace = self.settings.grace();
        match self.lease_end().moment() {
            Some(end) => (end + grace).saturating_since(BootTime::now()).min(grace),
            None => grace,
        }
    }

    /// Starts another watcher if the last one was killed.
    fn keep_watched(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        if watcher.is_there() {
            return;
        }
        match LeaseWatcher::start() {
            Ok(another) => *watcher = another,
            Err(error) => {
                tracing::error!(%error, "the watcher is gone, and no other can be started")
            }
        }
    }

    fn end_what_is_due(&mut self) {
        for (attempt, due) in self.timers.due(Instant::now()) {
            match due {
                TimerKind::Limit => self.ask_to_end(attempt, KillReason::TimeLimit),
                TimerKind::Force => {
                    let process = self.tasks.get(&attempt).and_then(RunnerTask::process);
                    process
                        .into_iter()
                        .for_each(|process| process.live.signal(Signal::KILL));
                }
            }
        }
    }
}

//! The runner's main thread: what is asked and what happens, one after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::client::Client;
use super::folder::Folder;
use super::happening::Happening;
use super::journal::{Entry, Journal};
use super::machine::Machine;
use super::settings::Settings;
use super::slot::Order;
use super::slots::Slots;
use super::task::{self, Process, State, Task};
use super::timers::{Due, Timers};
use super::{door, fault, log, nice, tree};
use crate::capacity::Shares;
use crate::{AttemptKey, Event, KillReason, Report, Start};

/// How often the runner looks after what nobody tells it: orphans, children that are held up.
const TICK: Duration = Duration::from_secs(1);

/// How long a new runner waits for the service that has started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);

/// Happenings taken at once: their ends share one write to the journal and one to the service.
const BATCH: usize = 256;

/// The state of the runner.
pub(super) struct Keeper {
    pub(super) folder: Folder,
    pub(super) settings: Settings,
    pub(super) machine: Machine,
    pub(super) journal: Journal,
    pub(super) tasks: BTreeMap<AttemptKey, Task>,
    /// Attempts for which no slot is free, in the order in which they were handed in.
    pub(super) waiting: VecDeque<AttemptKey>,
    /// Attempts in slots. Whoever neither waits nor is here is over.
    pub(super) placed: BTreeSet<AttemptKey>,
    pub(super) slots: Slots,
    pub(super) timers: Timers,
    pub(super) client: Client,
    pub(super) to: Sender<Happening>,
    /// Entries that are to be written before their reports are sent.
    pub(super) unwritten: Vec<(Entry, Option<Report>)>,
}

impl Keeper {
    /// Works until nobody is connected and nothing runs.
    pub(super) fn work(mut self, happenings: &Receiver<Happening>) {
        let mut idle_since = Instant::now();
        let mut client_seen = Instant::now();
        let mut last_look = Instant::now();
        loop {
            self.begin_waiting();
            self.write_down();
            self.client.flush();
            if self.client.is_there() || self.open() > 0 {
                idle_since = Instant::now();
            } else if idle_since.elapsed() >= self.idle_limit() || self.folder.is_gone() {
                break;
            }
            if self.client.is_there() {
                client_seen = Instant::now();
            }
            let busy = self.take(happenings, self.patience(idle_since));
            self.end_what_is_due();
            if busy || last_look.elapsed() >= TICK {
                tree::reap_orphans();
                let limit = self.settings.setup();
                self.slots.end_those_held_up(Instant::now(), limit);
                self.renice();
                self.end_what_nobody_wants(client_seen.elapsed());
                last_look = Instant::now();
            }
        }
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
        let tick = (runs || !self.unwritten.is_empty()).then_some(TICK);
        let idle = (!self.client.is_there() && !runs)
            .then(|| self.idle_limit().saturating_sub(idle_since.elapsed()));
        let waits = timer.into_iter().chain(tick).chain(idle);
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
    fn take(&mut self, happenings: &Receiver<Happening>, patience: Duration) -> bool {
        match happenings.recv_timeout(patience) {
            Ok(happening) => self.handle(happening),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
        for happening in happenings.try_iter().take(BATCH) {
            self.handle(happening);
        }
        true
    }

    fn handle(&mut self, happening: Happening) {
        match happening {
            Happening::Connected(stream) => self.welcome(stream),
            Happening::Called(connection, call) if self.client.is_current(connection) => {
                self.answer(call);
            }
            Happening::Disconnected(connection) if self.client.is_current(connection) => {
                self.client.cut_off();
            }
            Happening::Called(..) | Happening::Disconnected(_) => {}
            Happening::Started {
                attempt,
                start,
                live,
                group,
                meter,
            } => {
                let began = Instant::now();
                let process = Process {
                    live,
                    group,
                    meter,
                    began,
                };
                self.started(attempt, start, process);
            }
            Happening::Over {
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
            Err(error) => return log::say(format_args!("a service cannot be talked to: {error}")),
        };
        // Ends that are on record only from now on are reported by this, not once more later.
        self.write_down();
        let connection = self.client.replace(ours);
        door::read(connection, stream, self.to.clone());
        for report in self.tasks.values().flat_map(Task::reports) {
            self.client.report(report);
        }
    }

    /// Gives those that wait to slots, in the order in which they were handed in.
    fn begin_waiting(&mut self) {
        while self.slots.has_room() {
            let Some(attempt) = self.waiting.pop_front() else {
                return;
            };
            let Some(launch) = self.tasks.get(&attempt).map(|task| task.launch.clone()) else {
                continue;
            };
            let nice = match self.machine.capacity.shares == Shares::Nice {
                true => nice::level(launch.share, self.highest_share()),
                false => 0,
            };
            if let Err(error) = self.slots.give(&self.machine, Order { launch, nice }) {
                log::say(format_args!("no thread for another task: {error}"));
                self.waiting.push_front(attempt);
                return;
            }
            self.placed.insert(attempt);
            if let Some(task) = self.tasks.get_mut(&attempt) {
                task.state = State::Starts;
            }
        }
    }

    pub(super) fn started(&mut self, attempt: AttemptKey, start: Start, process: Process) {
        fault::point("started");
        let Some(task) = self.tasks.get_mut(&attempt) else {
            return;
        };
        task.started = Some(start);
        let wall = task.launch.limits.wall.map(|wall| wall.as_micros());
        if let Some(limit) = wall.and_then(|micros| u64::try_from(micros).ok()) {
            let at = process.began.checked_add(Duration::from_micros(limit));
            at.into_iter()
                .for_each(|at| self.timers.set(at, attempt, Due::Limit));
        }
        // Its share may have been set while it was started.
        let share = (task.launch.share, task.launch.nodes.len());
        let _ = process.group.set_share(share.0, share.1);
        task.state = State::Runs(process);
        self.placed.insert(attempt);
        let killed = task.killed;
        self.client.report(Report {
            attempt,
            event: Event::Started(start),
        });
        if killed.is_some() {
            self.signal_end(attempt);
        }
    }

    pub(super) fn over(&mut self, attempt: AttemptKey, event: Event) {
        fault::point("over");
        let Some(task) = self.tasks.get_mut(&attempt).filter(|task| !task.is_over()) else {
            return;
        };
        let event = match event {
            Event::Ended(mut ended) => {
                ended.killed = task.killed.or(ended.killed);
                Event::Ended(ended)
            }
            Event::Started(_) | Event::Lost { .. } => event,
        };
        task.state = State::Over(event.clone());
        self.placed.remove(&attempt);
        self.timers.forget(attempt);
        let entry = task::over(attempt, task.started, &event);
        self.unwritten
            .push((entry, Some(Report { attempt, event })));
    }

    /// Puts on record what is not yet, and then reports it.
    pub(super) fn write_down(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        let (entries, reports): (Vec<Entry>, Vec<Option<Report>>) =
            std::mem::take(&mut self.unwritten).into_iter().unzip();
        if let Err(error) = self.journal.append(&entries) {
            log::say(format_args!(
                "ends cannot be recorded, trying again: {error}"
            ));
            self.unwritten = entries.into_iter().zip(reports).collect();
            return;
        }
        for report in reports.into_iter().flatten() {
            fault::point("recorded");
            self.client.report(report);
        }
    }

    /// Without its folder a runner is found by nobody; and with a lease, what runs may go on for only
    /// so long while nobody asks.
    fn end_what_nobody_wants(&mut self, alone: Duration) {
        if self.folder.is_gone() {
            self.client.cut_off();
        } else if self.client.is_there() || self.settings.lease().is_none_or(|lease| alone < lease)
        {
            return;
        }
        let open: Vec<AttemptKey> = self.waiting.iter().chain(&self.placed).copied().collect();
        for attempt in open {
            self.ask_to_end(attempt, KillReason::Evicted);
        }
    }

    fn end_what_is_due(&mut self) {
        for (attempt, due) in self.timers.due(Instant::now()) {
            match due {
                Due::Limit => self.ask_to_end(attempt, KillReason::TimeLimit),
                Due::Force => {
                    let process = self.tasks.get(&attempt).and_then(Task::process);
                    process
                        .into_iter()
                        .for_each(|process| process.live.signal(Signal::KILL));
                }
            }
        }
    }
}

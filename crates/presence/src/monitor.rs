//! The monitor: a thread that waits for all sources and reports each change.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tollgate_model::{EvictionCause, Instant};

use crate::clock::{self, BothClocks};
use crate::error::PresenceError;
use crate::settings::{PresenceSettings, PresenceSource};
use crate::sources::{self, ObservedSource};
use crate::state::{ObservedUse, PresenceMachine, PresenceObservation};

/// The longest wait for an event, after which nothing is amiss.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The use of a computer, and what is planned for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The present use.
    pub state: PresenceState,
    /// Whether tasks may start as far as the plan of the computer goes; false outside its hours.
    pub starts_tasks: bool,
    /// The time by which all tasks must have ended: the end of strict hours, or a reboot.
    pub closes: Option<Instant>,
}

/// The use of a computer. Instants are wall-clock times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresenceState {
    /// No source says that the computer is in use.
    Free {
        /// The end of the last use, or the start of the monitor.
        since: Instant,
    },
    /// The computer is in use: no task may run.
    InUse {
        /// The begin of the use.
        since: Instant,
        /// The cause.
        cause: EvictionCause,
    },
}

/// A source, and whether it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceStatus {
    /// The source.
    pub source: PresenceSource,
    /// The reason why the source, or a part of it, cannot be read. None if it can.
    pub problem: Option<String>,
}

/// A callback for each change, called by the thread of the monitor.
type ChangeCallback = Box<dyn Fn(Presence) + Send + Sync>;

/// A monitor of this computer. It ends when it is dropped.
pub struct PresenceMonitor {
    shared: Arc<Mutex<SharedPresence>>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// The latest results of the thread.
struct SharedPresence {
    presence: Presence,
    sources: Vec<SourceStatus>,
}

impl PresenceMonitor {
    /// Starts a monitor. `on_change` is called for each change after the state that [`PresenceMonitor::current`]
    /// returns at first.
    ///
    /// # Errors
    /// [`PresenceError::NoSource`] if no source can be read that notices people;
    /// [`PresenceError::Thread`] if no thread can be started.
    pub fn start(
        settings: &PresenceSettings,
        on_change: ChangeCallback,
    ) -> Result<Self, PresenceError> {
        let now = BothClocks::now();
        let mut monitored = MonitorLoop {
            sources: sources::open(settings),
            machine: PresenceMachine::new(settings.idle_for, now.boot),
        };
        monitored.look(now, |_| true);
        let statuses = monitored.statuses();
        let can_read =
            |status: &SourceStatus| status.source.notices_people() && status.problem.is_none();
        if !statuses.iter().any(can_read) {
            let reasons = no_source_reasons(&statuses);
            return Err(PresenceError::NoSource { reasons });
        }
        let shared = Arc::new(Mutex::new(SharedPresence {
            presence: monitored.view().presence(now),
            sources: statuses,
        }));
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(std::io::Error::from)?);
        let (to, ended) = (Arc::clone(&shared), Arc::clone(&stop));
        let thread = thread::Builder::new().name("presence".to_owned());
        let thread = thread.spawn(move || monitored.run(&to, &ended, &on_change))?;
        Ok(Self {
            shared,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the sources that were to be read.
    pub fn sources(&self) -> Vec<SourceStatus> {
        lock(&self.shared).sources.clone()
    }

    /// Returns the present state.
    pub fn current(&self) -> Presence {
        lock(&self.shared).presence
    }
}

impl Drop for PresenceMonitor {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        // A thread that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock(shared: &Mutex<SharedPresence>) -> MutexGuard<'_, SharedPresence> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_source_reasons(statuses: &[SourceStatus]) -> String {
    let people = statuses
        .iter()
        .filter(|status| status.source.notices_people());
    let reasons = people.map(|status| {
        let problem = status.problem.as_deref().unwrap_or_default();
        format!("{}: {problem}", status.source.key())
    });
    let reasons: Vec<String> = reasons.collect();
    match reasons.is_empty() {
        true => "none is set".to_owned(),
        false => reasons.join("; "),
    }
}

/// The state of the monitor's thread.
struct MonitorLoop {
    sources: Vec<Box<dyn ObservedSource>>,
    machine: PresenceMachine,
}

/// The state by the clock that cannot be set, to be compared with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MonitorView {
    state: ObservedUse,
    starts_tasks: bool,
    /// A span since 1970.
    closes: Option<Duration>,
}

impl MonitorLoop {
    fn run(mut self, shared: &Mutex<SharedPresence>, stop: &OwnedFd, on_change: &ChangeCallback) {
        let mut view = self.view();
        loop {
            let ready = self.wait(stop);
            if ready.first() == Some(&true) {
                return;
            }
            let now = BothClocks::now();
            self.look(now, |index| ready.get(index + 1) == Some(&true));
            let new = self.view();
            let presence = new.presence(now);
            let statuses = self.statuses();
            {
                let mut shared = lock(shared);
                shared.sources = statuses;
                if new != view {
                    shared.presence = presence;
                }
            }
            if new != view {
                view = new;
                on_change(presence);
            }
        }
    }

    /// Waits for an event. Returns whether to stop, and for each source whether it has something new.
    fn wait(&self, stop: &OwnedFd) -> Vec<bool> {
        let mut watched = vec![PollFd::new(stop, PollFlags::IN)];
        let mut owners = vec![0];
        for (index, source) in self.sources.iter().enumerate() {
            for descriptor in source.descriptors() {
                watched.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
                owners.push(index + 1);
            }
        }
        let now = BothClocks::now().boot;
        let looks = self.sources.iter().filter_map(|source| source.next_look());
        let next = looks.chain(self.machine.next_change()).min();
        let left = next.map_or(MAX_WAIT, |next| next.saturating_sub(now).min(MAX_WAIT));
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        // An interrupted wait is handled like one that ended in time.
        let _ = poll(&mut watched, Some(&timeout));
        let mut ready = vec![false; self.sources.len() + 1];
        for (watched, owner) in watched.iter().zip(owners) {
            ready[owner] |= !watched.revents().is_empty();
        }
        ready
    }

    /// Looks at the sources that are ready or due.
    fn look(&mut self, now: BothClocks, is_ready: impl Fn(usize) -> bool) {
        let mut observed: Vec<PresenceObservation> = Vec::new();
        for (index, source) in self.sources.iter_mut().enumerate() {
            let is_due = source.next_look().is_some_and(|at| at <= now.boot);
            if is_due || is_ready(index) {
                observed.extend(source.look(now));
            }
        }
        self.machine.advance(now.boot, &observed);
    }

    fn statuses(&self) -> Vec<SourceStatus> {
        let statuses = self.sources.iter().map(|source| SourceStatus {
            source: source.source(),
            problem: source.problem(),
        });
        statuses.collect()
    }

    fn view(&self) -> MonitorView {
        MonitorView {
            state: self.machine.state(),
            starts_tasks: self.sources.iter().all(|source| source.starts_tasks()),
            closes: self
                .sources
                .iter()
                .filter_map(|source| source.closes())
                .min(),
        }
    }
}

impl MonitorView {
    fn presence(self, now: BothClocks) -> Presence {
        Presence {
            state: match self.state {
                ObservedUse::Free { since } => PresenceState::Free {
                    since: now.wall_of(since),
                },
                ObservedUse::InUse { since, cause } => PresenceState::InUse {
                    since: now.wall_of(since),
                    cause,
                },
            },
            starts_tasks: self.starts_tasks,
            closes: self.closes.map(clock::instant),
        }
    }
}

//! A worker on a computer that people work at: its tasks give way to them.
//!
//! When the computer comes into use, all tasks are suspended at once. If it is free again in time, they go on; else they
//! are evicted. No attempt starts meanwhile. What counts as use is decided elsewhere.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_engine::{Engine, SuspendedAttempt};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, EvictionCause, Instant, KillReason,
    LaunchFailure,
};

use super::{AgentStage, WorkerAgent};
use crate::protocol::{WorkerLaunch, WorkerMessage};

/// How a worker gives way to the users of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesktopSettings {
    /// Maximum time for which tasks are suspended; then they are evicted. Zero if they are evicted at once.
    pub suspend_for: Duration,
    /// Maximum memory of a suspended task in bytes; a task with more is evicted at once. None for half of
    /// [`HostPresence::free_memory`].
    pub suspend_memory: Option<u64>,
    /// The use of the host at the start of the worker.
    pub presence: HostPresence,
    /// Sentences: how the use of the host is observed, and what cannot be.
    pub facts: Vec<String>,
}

/// The use of a host by others than tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostPresence {
    /// Why the host is in use; None if it is free.
    pub in_use: Option<EvictionCause>,
    /// Whether it is outside the hours in which tasks start. Running ones go on.
    pub is_outside_hours: bool,
    /// The instant by which all tasks have to have ended, if one is known.
    pub closes: Option<Instant>,
    /// The memory in bytes that programs of users could get when the use last changed; None if it is unknown.
    pub free_memory: Option<u64>,
}

impl HostPresence {
    /// Returns why no task starts; None if tasks do.
    pub fn no_starts(&self) -> Option<EvictionCause> {
        let outside = self.is_outside_hours.then_some(EvictionCause::Hours);
        self.in_use.or(outside)
    }
}

/// The state of giving way.
#[derive(Clone, Debug)]
pub(super) struct DesktopState {
    settings: DesktopSettings,
    presence: HostPresence,
    /// When the tasks are evicted, while the host is in use.
    evicts_at: Option<Duration>,
    /// The attempts that got their signal before the host closes.
    warned: BTreeSet<AttemptId>,
    /// When the next attempt gets its signal before the host closes.
    warns_at: Option<Duration>,
}

impl DesktopState {
    pub(super) fn new(settings: DesktopSettings) -> Self {
        // Tasks of an earlier worker process have run long enough beside the user.
        let evicts_at = settings.presence.in_use.map(|_| Duration::ZERO);
        Self {
            presence: settings.presence,
            settings,
            evicts_at,
            warned: BTreeSet::new(),
            warns_at: None,
        }
    }

    pub(super) fn no_starts(&self) -> Option<EvictionCause> {
        self.presence.no_starts()
    }

    /// Returns whether a suspended attempt keeps so much from the users that it cannot stay.
    fn is_too_large(&self, suspended: &SuspendedAttempt) -> bool {
        let half = self.presence.free_memory.map(|bytes| bytes / 2);
        let limit = self.settings.suspend_memory.or(half);
        suspended.holds_gpu
            || limit
                .zip(suspended.memory)
                .is_some_and(|(max, has)| has > max)
    }

    pub(super) fn facts(&self) -> &[String] {
        &self.settings.facts
    }

    pub(super) const fn closes(&self) -> Option<Instant> {
        self.presence.closes
    }
}

impl<E: Engine> WorkerAgent<E> {
    /// Takes note of the use of the host at `now`. Running tasks are suspended before this returns, or go on.
    pub fn set_presence(&mut self, presence: HostPresence, now: Duration) {
        let Some(desktop) = &mut self.desktop else {
            return;
        };
        let before = std::mem::replace(&mut desktop.presence, presence);
        if before.closes != presence.closes {
            desktop.warned.clear();
        }
        let is_planned = presence.in_use.is_some_and(EvictionCause::is_planned);
        desktop.evicts_at = match (presence.in_use, desktop.evicts_at) {
            (None, _) => None,
            // The host does not come back soon.
            (Some(_), _) if is_planned => Some(now),
            (Some(_), Some(at)) => Some(at),
            (Some(_), None) => Some(now + desktop.settings.suspend_for),
        };
        let was_suspended = before.in_use.is_some();
        if presence.in_use.is_some() {
            self.give_way(now);
        } else if was_suspended {
            self.resume_all();
        }
        if self.stage != AgentStage::Registered {
            return;
        }
        if before.no_starts() != presence.no_starts() {
            self.send(WorkerMessage::InUse(presence.no_starts()));
        }
        if let Some(closes) = presence.closes.filter(|_| before.closes != presence.closes) {
            self.send(WorkerMessage::Until(closes));
        }
    }

    /// Sends the use of the host once an incarnation has begun: it may have changed since the offer.
    pub(super) fn send_use(&mut self) {
        let Some(presence) = self.desktop.as_ref().map(|desktop| desktop.presence) else {
            return;
        };
        self.send(WorkerMessage::InUse(presence.no_starts()));
        if let Some(closes) = presence.closes {
            self.send(WorkerMessage::Until(closes));
        }
    }

    /// Lets tasks of an earlier worker process go on, which may have ended while they were suspended.
    pub(super) fn resume_earlier(&mut self) {
        let is_free = |desktop: &DesktopState| desktop.presence.in_use.is_none();
        if self.desktop.as_ref().is_some_and(is_free) {
            self.resume_all();
        }
    }

    fn resume_all(&mut self) {
        let running = self.running().unwrap_or_default();
        if let Some(engine) = self.engine.as_mut().filter(|_| !running.is_empty()) {
            // Those that were asked to end still do.
            let _ = engine.resume(&running);
        }
    }

    /// Returns why no task starts on this host now; None if tasks do.
    pub(super) fn no_starts(&self) -> Option<EvictionCause> {
        self.desktop.as_ref()?.no_starts()
    }

    /// Returns when the suspended tasks are evicted, if the host stays in use.
    pub(super) fn eviction_due(&self) -> Option<Duration> {
        self.desktop.as_ref()?.evicts_at
    }

    /// Suspends all tasks while the host is in use, and evicts them once that has lasted too long.
    pub(super) fn give_way(&mut self, now: Duration) {
        let running = self.running().unwrap_or_default();
        let (Some(desktop), Some(engine)) = (&self.desktop, &mut self.engine) else {
            return;
        };
        let Some((cause, evicts_at)) = desktop.presence.in_use.zip(desktop.evicts_at) else {
            return;
        };
        let evicted = match now >= evicts_at {
            true => running,
            // An attempt that starts only now is suspended in the next turn, which its start brings about.
            false => match engine.suspend(&running) {
                Ok(suspended) => {
                    let large = suspended.iter().filter(|one| desktop.is_too_large(one));
                    large.map(|one| one.attempt).collect()
                }
                // Where attempts cannot be suspended, they are evicted at once.
                Err(_) => running,
            },
        };
        if !evicted.is_empty() {
            let _ = engine.kill(&evicted, KillReason::GaveWay(cause));
        }
    }

    /// Sends the running attempts the signals that they want before an end, so long before the host closes.
    pub(super) fn warn_before_close(&mut self, now: Duration, at: Instant) {
        let Some(closes) = self.desktop.as_ref().and_then(DesktopState::closes) else {
            return;
        };
        let (Some(desktop), Some(engine)) = (&mut self.desktop, &mut self.engine) else {
            return;
        };
        let running = engine.running().unwrap_or_default();
        desktop.warns_at = None;
        for attempt in running {
            let warning = attempt.warning.filter(|_| attempt.started.is_some());
            let Some(warning) = warning.filter(|_| !desktop.warned.contains(&attempt.attempt))
            else {
                continue;
            };
            let left = (closes - warning.before).since(at).as_micros();
            match u64::try_from(left).ok().filter(|left| *left > 0) {
                Some(left) => {
                    let due = now + Duration::from_micros(left);
                    desktop.warns_at = Some(desktop.warns_at.map_or(due, |next| next.min(due)));
                }
                None => {
                    desktop.warned.insert(attempt.attempt);
                    // An attempt that cannot be reached has lost its runner.
                    let _ = engine.signal(&[attempt.attempt], warning.signal);
                }
            }
        }
    }

    /// Returns when the next attempt gets its signal before the host closes.
    pub(super) fn warning_due(&self) -> Option<Duration> {
        self.desktop.as_ref()?.warns_at
    }

    /// Returns attempts to the service that came while the host is in use.
    pub(super) fn withdraw(&mut self, launches: &[WorkerLaunch], at: Instant) {
        let withdrawn = launches
            .iter()
            .map(|launch| withdrawn(launch.launch.attempt, at));
        let reports = withdrawn.collect();
        self.record_reports(reports);
    }
}

fn withdrawn(attempt: AttemptId, at: Instant) -> AttemptReport {
    let failure = LaunchFailure::of_host("in use", "the computer is in use");
    let outcome = AttemptOutcome::not_started(failure, at);
    AttemptReport {
        attempt,
        event: AttemptEvent::Ended(AttemptOutcome {
            killed: Some(KillReason::Withdrawn),
            ..outcome
        }),
    }
}

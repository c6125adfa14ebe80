//! The queue's index: what a scan must know of each waiting job, without looking it up.

use tollgate_model::{Instant, JobId, Reason, Span};

use super::order::Key;
use crate::blocks::Entry;
use crate::settings::Word;
use crate::state::Job;

/// When a job that cannot finish in time is dropped from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Never.
    None,
    /// Only when it could be started; until then a hopeless head blocks.
    Start,
    /// Whenever it is looked at.
    Select,
    /// A lapsed deadline whenever it is looked at, one out of reach when it could be started.
    Mixed,
}

impl Word for Test {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("start", Self::Start),
        ("select", Self::Select),
        ("mixed", Self::Mixed),
    ];
}

/// A job in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waiting {
    key: Key,
    pub(super) id: JobId,
    pub(super) procs: u32,
    pub(super) estimate: Span,
    /// When it must have finished not to be dropped.
    due: Instant,
}

/// The least demanding of a block's jobs, in each respect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Least {
    pub(super) procs: u32,
    pub(super) estimate: Span,
    latest_start: Instant,
}

impl Entry for Waiting {
    type Key = Key;
    type Summary = Least;

    fn key(&self) -> Key {
        self.key
    }

    fn alone(&self) -> Least {
        Least {
            procs: self.procs,
            estimate: self.estimate,
            latest_start: self.latest_start(),
        }
    }

    fn merge(a: Least, b: Least) -> Least {
        Least {
            procs: a.procs.min(b.procs),
            estimate: a.estimate.min(b.estimate),
            latest_start: a.latest_start.min(b.latest_start),
        }
    }
}

impl Waiting {
    pub(super) fn new(id: JobId, job: &Job, key: Key) -> Self {
        // A promise is kept as late as it may be: only who was not let in yet can be dropped.
        let droppable = job.spec.due().filter(|_| job.accepted.is_none());
        Self {
            key,
            id,
            procs: job.spec.procs,
            estimate: job.spec.estimate,
            due: droppable.unwrap_or(Instant::MAX),
        }
    }

    /// The last instant at which it may start and, if its estimate is right, meet its deadline.
    fn latest_start(&self) -> Instant {
        if self.due == Instant::MAX {
            return Instant::MAX;
        }
        self.due + Span::TICK - self.estimate
    }

    /// Why it is hopeless at `now`, if it is.
    fn hopeless(&self, now: Instant) -> Option<Reason> {
        if self.due != Instant::MAX && now > self.due + Span::TICK {
            return Some(Reason::DeadlinePassed);
        }
        (now > self.latest_start()).then_some(Reason::DeadlineUnreachable)
    }
}

impl Test {
    /// Why a job is dropped that is only looked at.
    pub(super) fn on_sight(self, job: &Waiting, now: Instant) -> Option<Reason> {
        let hopeless = job.hopeless(now);
        match self {
            Self::None | Self::Start => None,
            Self::Select => hopeless,
            Self::Mixed => hopeless.filter(|reason| *reason == Reason::DeadlinePassed),
        }
    }

    /// Why a job is dropped that could be started now.
    pub(super) fn at_start(self, job: &Waiting, now: Instant) -> Option<Reason> {
        match self {
            Self::None => None,
            Self::Start | Self::Select | Self::Mixed => job.hopeless(now),
        }
    }

    /// Whether a look alone may drop one of a block's jobs at `now`.
    pub(super) fn may_drop_on_sight(self, least: &Least, now: Instant) -> bool {
        match self {
            Self::None | Self::Start => false,
            Self::Select | Self::Mixed => now > least.latest_start,
        }
    }
}

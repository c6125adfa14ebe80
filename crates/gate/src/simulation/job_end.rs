//! The instants at which jobs of a simulation end.

use tollgate_model::{Instant, JobId, Span};

/// The origin of the run times, on which the order of completions depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunTimeOrigin {
    Truth,
    Prediction,
}

/// The end of a job, in the order of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobEnd {
    pub(crate) at: Instant,
    /// Breaks ties.
    pub(crate) rank: u64,
    pub(crate) job: JobId,
    pub(crate) attempt: u32,
}

impl RunTimeOrigin {
    /// Returns the time before its computed end at which a task may have ended: the ends are
    /// rounded up to the next microsecond.
    pub(crate) fn slack(self) -> Span {
        match self {
            Self::Truth => Span::TICK,
            Self::Prediction => Span::ZERO,
        }
    }
}

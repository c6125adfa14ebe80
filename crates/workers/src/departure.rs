//! The departure of a worker: the end that it knows of beforehand, and the messages before it leaves.
//!
//! A worker that leaves because it is idle asks first, and stays if jobs wait. Any other worker that
//! leaves says so, and ends its tasks. In both cases the service drains the worker's nodes, so that
//! no attempt is sent to a worker that starts none any more. A worker that runs nothing any more
//! then says [`Leave`], which ends its incarnation.
//!
//! [`Leave`]: crate::protocol::WorkerMessage::Leave

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use crate::lease::LeaseTimings;

/// Time that a leaving worker has, after its tasks were killed, to report how they ended and to let
/// its runner end.
pub const REPORT_TIME: Duration = Duration::from_secs(5);

/// Time that a leaving worker, whose tasks are over, gives the service to collect their outputs.
pub(crate) const OUTPUT_TIME: Duration = Duration::from_secs(3);

/// Time in which a pilot has to register for the first time; then it leaves.
pub const JOINING_TIME: Duration = Duration::from_secs(60);

/// Time after the end of an attempt by a signal in which the end of its worker explains the signal. Batch
/// systems signal all processes of a job within a second, and kill what is left after their own grace.
pub const SUSPICION_TIME: Duration = Duration::from_secs(5);

/// The known end of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerEnd {
    /// The end by the wall clock of the worker's host.
    pub until: Instant,
    /// The same end as a span since the boot of the host, which no change of the clock moves.
    pub since_boot: Duration,
}

/// A worker's notice that it is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveNotice {
    /// The worker has been idle for long: it stays if there is work for it.
    Idle,
    /// The worker leaves in any case, and ends its tasks.
    Now,
}

/// The service's answer to a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveAnswer {
    /// Jobs wait: the worker is to stay.
    Stay,
    /// The worker's nodes are drained: it gets no other attempts.
    Drained,
}

/// The stage of a worker's departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeparturePhase {
    /// The worker stays.
    Staying,
    /// The idle worker has asked whether it may leave.
    Asking,
    /// The worker gets no other attempts, and leaves when those that it has are over.
    Finishing,
    /// The worker ends its tasks.
    Draining,
    /// The worker has reported to the service that it runs nothing any more.
    Announced,
}

impl DeparturePhase {
    /// Returns whether attempts that the service sends are started.
    pub(crate) fn starts_attempts(self) -> bool {
        match self {
            Self::Staying | Self::Asking | Self::Finishing => true,
            Self::Draining | Self::Announced => false,
        }
    }

    /// Returns whether the worker has decided to leave and has not said goodbye.
    pub(crate) fn is_leaving(self) -> bool {
        match self {
            Self::Finishing | Self::Draining => true,
            Self::Staying | Self::Asking | Self::Announced => false,
        }
    }
}

impl LeaseTimings {
    /// Returns the time from the moment at which a worker begins to leave until it has left: its
    /// tasks end, their ends are reported, and its runner ends.
    pub fn departure_time(&self) -> Duration {
        self.stop_timeout() + REPORT_TIME
    }

    /// Returns the instant at which a worker that ends at `until` begins to end its tasks. Tasks
    /// that are to end by themselves have to end before it.
    pub fn closes(&self, until: Instant) -> Instant {
        let micros = i64::try_from(self.departure_time().as_micros()).unwrap_or(i64::MAX);
        until - Span::from_micros(micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_closes_before_its_end() {
        let timings = LeaseTimings {
            grace: Duration::from_secs(20),
        };
        assert_eq!(
            timings.closes(Instant::from_secs(100)),
            Instant::from_secs(93)
        );
    }
}

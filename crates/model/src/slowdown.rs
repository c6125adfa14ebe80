//! How much slower a host is because of load that is not of jobs, and the work that is done on it.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Instant, Span};

/// The time that a second of work takes on a host, in seconds: 1 on a host that only jobs load, and at most
/// [`HostSlowdown::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct HostSlowdown(f64);

impl HostSlowdown {
    /// A host that only jobs load.
    pub const NONE: Self = Self(1.0);
    /// The largest slowdown. Beyond it a job stands still for all that a plan can tell.
    pub const MAX: f64 = 100.0;

    /// Returns the slowdown nearest to this number; [`HostSlowdown::NONE`] for NaN.
    pub fn nearest(slowdown: f64) -> Self {
        match slowdown.is_nan() {
            true => Self::NONE,
            false => Self(slowdown.clamp(1.0, Self::MAX)),
        }
    }

    /// Returns the slowdown as a factor.
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// Returns whether the host is slower than without the load.
    pub fn is_slower(self) -> bool {
        self.0 > 1.0
    }

    /// Returns the time that work takes, to the nearest microsecond. An endless time stays.
    pub fn time_for(self, work: Span) -> Span {
        match self.is_slower() && work != Span::MAX {
            true => Span::from_secs_f64(work.as_secs_f64() * self.0),
            false => work,
        }
    }

    /// Returns the work that is done in a time, to the nearest microsecond.
    pub fn work_within(self, time: Span) -> Span {
        match self.is_slower() && time != Span::MAX {
            true => Span::from_secs_f64(time.as_secs_f64() / self.0),
            false => time,
        }
    }
}

impl Default for HostSlowdown {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<f64> for HostSlowdown {
    fn from(slowdown: f64) -> Self {
        Self::nearest(slowdown)
    }
}

impl From<HostSlowdown> for f64 {
    fn from(slowdown: HostSlowdown) -> Self {
        slowdown.0
    }
}

impl Eq for HostSlowdown {}

impl PartialOrd for HostSlowdown {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HostSlowdown {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for HostSlowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}", self.0)
    }
}

/// The load of a host that is not of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignLoad {
    /// The present slowdown of jobs on the host.
    pub slowdown: HostSlowdown,
    /// The instant since which jobs have been slower there.
    pub since: Instant,
}

/// The work that a job has done by an instant, and its speed from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkProgress {
    /// The instant.
    pub at: Instant,
    /// The work that was done by then.
    pub done: Span,
    /// The slowdown since then.
    pub slowdown: HostSlowdown,
}

impl WorkProgress {
    /// Returns the progress of a job that starts at an instant.
    pub const fn from_start(at: Instant, slowdown: HostSlowdown) -> Self {
        Self {
            at,
            done: Span::ZERO,
            slowdown,
        }
    }

    /// Returns the work that is done by an instant, if the slowdown stays.
    pub fn work_by(&self, instant: Instant) -> Span {
        self.done + self.slowdown.work_within(instant.since(self.at))
    }

    /// Returns the instant at which this work is done, if the slowdown stays.
    pub fn end_of(&self, work: Span) -> Instant {
        self.at + self.slowdown.time_for(work - self.done)
    }

    /// Returns the progress with another slowdown from an instant on.
    #[must_use]
    pub fn slowed(&self, at: Instant, slowdown: HostSlowdown) -> Self {
        Self {
            at,
            done: self.work_by(at),
            slowdown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slowdown_is_bounded() {
        let nearest = |slowdown| HostSlowdown::nearest(slowdown).as_f64();
        assert_eq!(nearest(0.2), 1.0);
        assert_eq!(nearest(f64::NAN), 1.0);
        assert_eq!(nearest(f64::INFINITY), HostSlowdown::MAX);
        assert_eq!(nearest(2.5), 2.5);
    }

    #[test]
    fn host_without_load_changes_no_time() {
        let progress = WorkProgress::from_start(Instant::from_secs(7), HostSlowdown::NONE);
        for span in [Span::ZERO, Span::TICK, Span::from_secs(90), Span::MAX] {
            assert_eq!(HostSlowdown::NONE.time_for(span), span);
            assert_eq!(HostSlowdown::NONE.work_within(span), span);
            assert_eq!(progress.end_of(span), Instant::from_secs(7) + span);
        }
    }

    #[test]
    fn rest_of_the_work_takes_as_much_longer() {
        let [slow, free] = [HostSlowdown::nearest(3.0), HostSlowdown::NONE];
        let start = WorkProgress::from_start(Instant::ZERO, free);
        let slowed = start.slowed(Instant::from_secs(60), slow);
        assert_eq!(slowed.end_of(Span::from_secs(100)), Instant::from_secs(180));
        let recovered = slowed.slowed(Instant::from_secs(120), free);
        assert_eq!(recovered.done, Span::from_secs(80));
        assert_eq!(
            recovered.end_of(Span::from_secs(100)),
            Instant::from_secs(140)
        );
    }

    proptest! {
        #[test]
        fn work_of_the_time_for_work_is_that_work(factor in 1.0..100.0_f64, work in 0..1_000_000_000_i64) {
            let (slowdown, work) = (HostSlowdown::nearest(factor), Span::from_micros(work));
            let time = slowdown.time_for(work);
            prop_assert!(time >= work);
            let error = slowdown.work_within(time).as_micros() - work.as_micros();
            prop_assert!(error.abs() <= 1, "{error}");
        }
    }
}

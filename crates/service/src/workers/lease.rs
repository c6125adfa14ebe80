//! Who waits how long for whom.
//!
//! No attempt may run twice at once. A worker that cannot be reached goes on running what it has, so
//! its jobs may be started elsewhere only when it has certainly ended them. Neither side can know
//! what the other does meanwhile; but both measure the same span from the same word:
//!
//! ```text
//!  worker:   beat is sent ----- lease -----> asks its tasks to end -- stop --> kills them
//!  runner:   (the same) ----------- runner's lease -----> asks them to end -- stop --> kills them
//!  service:    beat is heard ---------------------- grace ---------------------------> gives it up
//! ```
//!
//! A beat is heard after it is sent, so the worker's host is always the first, if it and the service see
//! time pass at the same speed, within a tenth. The runner does not trust the worker to be there: its
//! lease ends at a moment that the worker renews once the service has answered, and only to a span after
//! what was answered was sent. A worker that is stopped, hangs or is killed renews nothing. Nor does the
//! host trust the runner: a second process, the runner's watcher, ends what runs if the runner does not.
//! On the host all three read one clock, which goes on while the host is suspended: a host that wakes up
//! too late ends at once what it ran.

use std::time::Duration;

/// The shortest grace time: below it, words that are late by half a second cost a worker its tasks.
pub const MIN_GRACE: Duration = Duration::from_secs(2);
/// The longest grace time: connections are thought to be gone after less than that.
pub const MAX_GRACE: Duration = Duration::from_secs(3600);
/// The longest time that a task is given between being asked to end and being killed.
const MAX_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The spans that follow from the grace time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimings {
    /// After so long without a word of it, a worker is given up.
    pub grace: Duration,
}

impl Default for LeaseTimings {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(60),
        }
    }
}

impl LeaseTimings {
    /// How long a worker runs what it has without having been heard.
    pub fn lease(&self) -> Duration {
        self.grace / 2
    }

    /// How long its runner does, counted from the same word, if the worker does not end what runs.
    pub fn runner_lease(&self) -> Duration {
        self.grace * 3 / 4
    }

    /// How long a task may take to end before it is killed.
    pub fn stop_timeout(&self) -> Duration {
        (self.grace / 10).min(MAX_STOP_TIMEOUT)
    }

    /// How often a worker says that it is there.
    pub fn heartbeat_interval(&self) -> Duration {
        self.grace / 12
    }

    /// How long a side that is silent is thought to be there: then the connection is given up, and
    /// another one is tried while there is still time.
    pub fn keepalive_timeout(&self) -> Duration {
        self.grace / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_ended_everything_before_it_is_given_up() {
        for secs in [2, 10, 60, 3600] {
            let grace = Duration::from_secs(secs);
            let terms = LeaseTimings { grace };
            let worst = terms.runner_lease() + terms.stop_timeout();
            assert!(terms.lease() + terms.stop_timeout() < terms.runner_lease());
            assert!(worst <= grace.mul_f64(0.9), "{worst:?} of {grace:?}");
            assert!(terms.heartbeat_interval() * 2 < terms.keepalive_timeout());
            assert!(terms.keepalive_timeout() < terms.lease());
        }
    }
}

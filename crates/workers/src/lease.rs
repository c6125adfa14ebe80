//! The lease timings: how long the worker, its runner and the service wait for each other.
//!
//! No attempt may run twice at once. An unreachable worker goes on running its tasks, so its jobs
//! may be started elsewhere only when the worker has certainly ended them. Neither side can know
//! what the other does meanwhile, but both measure the same span from the same message:
//!
//! ```text
//!  worker:   heartbeat sent --- lease -----> asks its tasks to end -- stop --> kills them
//!  runner:   (the same) ----------- runner's lease -----> asks them to end -- stop --> kills them
//!  service:    heartbeat received ----------------- grace ---------------------------> gives it up
//! ```
//!
//! A heartbeat is received after it is sent, so the worker's host always acts first, provided that its clock
//! and the service's run at the same speed within a tenth. The runner does not trust the worker to be alive.
//! Its lease ends at a moment that the worker renews only when the service has answered, and only up to a
//! span after the answered message was sent. A worker that is stopped, hangs or is killed renews nothing. Nor
//! does the host trust the runner: a second process, the runner's watcher, ends the tasks if the runner does
//! not. On the host all three read one clock, which goes on while the host is suspended: a host that wakes up
//! too late ends its tasks at once.

use std::time::Duration;

/// Minimum grace period. Below it, a delay of half a second costs a worker its tasks.
pub const MIN_GRACE: Duration = Duration::from_secs(2);
/// Maximum grace period. Connections are considered dead after less than this.
pub const MAX_GRACE: Duration = Duration::from_secs(3600);
/// Maximum time between asking a task to end and killing it.
const MAX_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The lease timings, all derived from the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimings {
    /// Time without a message after which the service gives a worker up.
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
    /// Returns the maximum time that a worker keeps its tasks running without an acknowledgement.
    pub fn lease(&self) -> Duration {
        self.grace / 2
    }

    /// Returns the maximum time that the runner keeps tasks running, from the same message, if the
    /// worker does not end them.
    pub fn runner_lease(&self) -> Duration {
        self.grace * 3 / 4
    }

    /// Returns the time that a task has to end before it is killed.
    pub fn stop_timeout(&self) -> Duration {
        (self.grace / 10).min(MAX_STOP_TIMEOUT)
    }

    /// Returns the interval between a worker's heartbeats.
    pub fn heartbeat_interval(&self) -> Duration {
        self.grace / 12
    }

    /// Returns the maximum silence of one side. Then the other side gives the connection up and
    /// tries another one while there is still time.
    pub fn keepalive_timeout(&self) -> Duration {
        self.grace / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_end_before_the_grace_period() {
        for secs in [2, 10, 60, 3600] {
            let grace = Duration::from_secs(secs);
            let timings = LeaseTimings { grace };
            let worst = timings.runner_lease() + timings.stop_timeout();
            assert!(timings.lease() + timings.stop_timeout() < timings.runner_lease());
            assert!(worst <= grace.mul_f64(0.9), "{worst:?} of {grace:?}");
            assert!(timings.heartbeat_interval() * 2 < timings.keepalive_timeout());
            assert!(timings.keepalive_timeout() < timings.lease());
        }
    }
}

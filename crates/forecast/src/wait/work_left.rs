//! The work that running jobs have left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

/// The work that running jobs have left by the expected ends of all of them, held incrementally.
///
/// A job past its expected end has no work left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkLeft {
    /// The processors of each job, by expected end and number.
    ends: BTreeMap<(Instant, u64), u32>,
    procs: i128,
    /// The sum of processors × expected end in microseconds.
    procs_ends: i128,
}

impl WorkLeft {
    /// Adds a job that started.
    pub(super) fn add(&mut self, end: Instant, job: u64, procs: u32) {
        self.ends.insert((end, job), procs);
        self.count(end, procs, 1);
    }

    /// Removes a job that ended, if it is not past its expected end.
    pub(super) fn remove(&mut self, end: Instant, job: u64) {
        if let Some(procs) = self.ends.remove(&(end, job)) {
            self.count(end, procs, -1);
        }
    }

    /// Removes the jobs whose expected end has passed.
    pub(super) fn advance(&mut self, now: Instant) {
        while let Some((&(end, _), &procs)) = self.ends.first_key_value() {
            if end > now {
                return;
            }
            self.ends.pop_first();
            self.count(end, procs, -1);
        }
    }

    /// Returns the work that is left, in processors × seconds.
    pub(super) fn procs_seconds(&self, now: Instant) -> f64 {
        let micros = self.procs_ends - self.procs * i128::from(now.as_micros());
        micros as f64 / 1e6
    }

    /// Returns the expected ends that have not passed, ascending, with the processors of each job.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Instant, u32)> {
        self.ends.iter().map(|((end, _), procs)| (*end, *procs))
    }

    fn count(&mut self, end: Instant, procs: u32, sign: i128) {
        let procs = sign * i128::from(procs);
        self.procs += procs;
        self.procs_ends += procs * i128::from(end.as_micros());
    }
}

//! FirstReward (Irwin, Grit & Chase 2004) with the settings of Yeo & Buyya 2008, §5.2.

use tollgate_model::CreditsPerSecond;

use super::{OracleCluster, OraclePenaltyScope};

/// Fraction of its value that a job loses for each second of its estimate.
const DISCOUNT_RATE: f64 = 0.01;
/// Minimum slack of an accepted job, in seconds.
const SLACK_THRESHOLD: f64 = 25.0;

impl OracleCluster<'_> {
    /// Returns the present value over the estimate (alpha 1), in credits per second.
    pub(super) fn reward(&self, job: usize) -> f64 {
        self.present_value(job) / self.jobs[job].spec.estimate.as_secs_f64()
    }

    fn present_value(&self, job: usize) -> f64 {
        let estimate = self.jobs[job].spec.estimate.as_secs_f64();
        self.jobs[job].bid().as_f64() / (1.0 + DISCOUNT_RATE * estimate)
    }

    /// Returns true if the earnings of `job` are too small for the cost of delaying the others.
    pub(super) fn lacks_slack(&self, job: usize, count: OraclePenaltyScope) -> bool {
        let spec = &self.jobs[job].spec;
        let running = match count {
            OraclePenaltyScope::All => self.running.iter().map(|running| running.job).collect(),
            OraclePenaltyScope::Waiting => Vec::new(),
        };
        let others = self.queue.iter().chain(&running);
        let rates: f64 = others
            .map(|&other| self.jobs[other].spec.sla.penalty.as_f64())
            .sum();
        let gain = self.present_value(job) - spec.estimate.as_secs_f64() * rates;
        if spec.sla.penalty == CreditsPerSecond::ZERO {
            gain <= 0.0
        } else {
            gain / spec.sla.penalty.as_f64() < SLACK_THRESHOLD
        }
    }
}

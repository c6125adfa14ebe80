//! FirstReward's admission test: compares a job's earnings with the cost of the delays it causes.
//!
//! Irwin, Grit & Chase 2004, with the settings of Yeo & Buyya 2008, §5.2.

use tollgate_model::{CreditsPerSecond, JobSpec, Reason};
use tollgate_policy::ParameterEnum;

/// The jobs that a new job is assumed to delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PenaltyScope {
    /// Every accepted job that has not finished.
    All,
    /// Every accepted job that does not run yet.
    Waiting,
}

impl ParameterEnum for PenaltyScope {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("all", Self::All), ("waiting", Self::Waiting)];
}

/// The parameters of the slack test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlackTest {
    /// Minimum slack, in seconds, for a job to be admitted. Not negative.
    pub threshold: f64,
    /// Loss in value of a credit per second of delay. Not negative.
    pub discount: f64,
    /// The jobs that are assumed to be delayed.
    pub count: PenaltyScope,
    /// Weight of earnings in the reward, 0 to 1; the rest weighs the delay of other jobs.
    pub alpha: f64,
}

impl SlackTest {
    /// The settings found ideal in Yeo & Buyya 2008, §5.2.
    pub const DEFAULT: Self = Self {
        threshold: 25.0,
        discount: 0.01,
        count: PenaltyScope::All,
        alpha: 1.0,
    };
}

impl SlackTest {
    /// Returns PV = b / (1 + discount x estimate): the bid, discounted over the estimate.
    fn present_value(&self, spec: &JobSpec) -> f64 {
        let budget = spec.sla.budget.unwrap_or_default().as_f64();
        budget / (1.0 + self.discount * spec.estimate.as_secs_f64())
    }

    /// Returns the sort criterion of the queue: the reward (alpha x PV - (1 - alpha) x cost) /
    /// estimate plus a number that is the same for all jobs at any instant.
    ///
    /// The cost is the estimate times the sum of the penalty rates of all other accepted jobs: the
    /// sum over all accepted jobs, less the job's own rate. Only the own rate distinguishes jobs, so
    /// that their order does not change while they wait.
    pub(super) fn reward(&self, spec: &JobSpec) -> f64 {
        let earned = self.alpha * self.present_value(spec) / spec.estimate.as_secs_f64();
        earned + (1.0 - self.alpha) * spec.sla.penalty.as_f64()
    }

    /// Tests slack = (PV - cost) / penalty rate against the threshold, where the cost is that of
    /// delaying the other jobs by the whole estimate. Without a penalty the job must earn more than
    /// it costs.
    pub(super) fn check_slack(
        &self,
        spec: &JobSpec,
        others: CreditsPerSecond,
    ) -> Result<(), Reason> {
        let gain = self.present_value(spec) - spec.estimate.as_secs_f64() * others.as_f64();
        let penalty = spec.sla.penalty.as_f64();
        let enough = if penalty > 0.0 {
            gain / penalty >= self.threshold
        } else {
            gain > 0.0
        };
        if enough {
            Ok(())
        } else {
            Err(Reason::LowSlack)
        }
    }
}

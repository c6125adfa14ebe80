//! FirstReward's admission: is what a job earns worth what it would delay?
//!
//! Irwin, Grit & Chase 2004, with the settings of Yeo & Buyya 2008, §5.2. The weight alpha of
//! the reward is 1 there, so that a reward does not change while a job waits.

use tollgate_model::{CreditsPerSecond, JobSpec, Reason};

use crate::parameters::ParameterEnum;

/// Which other jobs a new one is feared to delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PenaltyScope {
    /// Every accepted job that has not finished.
    All,
    /// Those of them that do not run yet.
    Waiting,
}

impl ParameterEnum for PenaltyScope {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("all", Self::All), ("waiting", Self::Waiting)];
}

/// The settings of the slack test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlackTest {
    /// The least slack, in seconds, with which a job is let in. Not negative.
    pub threshold: f64,
    /// How much less a credit is worth a second later. Not negative.
    pub discount: f64,
    /// Whom it is feared to delay.
    pub count: PenaltyScope,
}

impl SlackTest {
    /// The settings found ideal in Yeo & Buyya 2008, §5.2.
    pub const DEFAULT: Self = Self {
        threshold: 25.0,
        discount: 0.01,
        count: PenaltyScope::All,
    };
}

impl SlackTest {
    /// PV = b / (1 + discount x estimate): the bid, discounted over the estimate.
    fn present_value(&self, spec: &JobSpec) -> f64 {
        let budget = spec.sla.budget.unwrap_or_default().as_f64();
        budget / (1.0 + self.discount * spec.estimate.as_secs_f64())
    }

    /// PV / estimate, by which the queue is ordered.
    pub(super) fn reward(&self, spec: &JobSpec) -> f64 {
        self.present_value(spec) / spec.estimate.as_secs_f64()
    }

    /// slack = (PV - cost) / penalty rate against the threshold, where the cost is what delaying
    /// the others by the whole estimate would take; without a penalty the job must earn more
    /// than it costs.
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

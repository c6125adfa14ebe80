//! The parameters of the tail family.

use tollgate_model::Market;
use tollgate_policy::{
    ParameterEnum, ParameterTable, Policy, PolicyParameter, PolicySettings, parameter_table,
};

use super::TailAdmission;
use crate::time_shared::TimeSharedPolicy;

/// The trust in a deadline as information about its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineTrust {
    /// The deadline can be met. Sound only if no job runs longer than its deadline, which no user knows
    /// at submission.
    Trusted,
    /// The deadline says nothing: a job that may be longer than its deadline is rejected.
    Tested,
}

/// The parameters of a policy that admits by the tail of distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailParams {
    /// Maximum probability with which promises on a node may break. Above 0, below 1.
    pub bound: f64,
    /// The trust in deadlines.
    pub deadlines: DeadlineTrust,
}

impl TailParams {
    /// The defaults. The bound was chosen on SDSC SP2, CTC SP2 and HPC2N, under deadlines that do not
    /// depend on run times.
    pub const DEFAULT: Self = Self {
        bound: 0.1,
        deadlines: DeadlineTrust::Tested,
    };

    /// Returns the probability with which a task needs no longer than assumed.
    pub(super) fn level(&self) -> f64 {
        1.0 - self.bound
    }
}

impl ParameterEnum for DeadlineTrust {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("trusted", Self::Trusted), ("tested", Self::Tested)];
}

impl PolicySettings for TailParams {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        Box::new(TimeSharedPolicy::new(TailAdmission::new(*self, market)))
    }

    fn shares_nodes(&self) -> bool {
        true
    }
}

impl ParameterTable for TailParams {
    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "bound" => Number(bound in f64::MIN_POSITIVE..1.0, "a probability, above 0 and below 1"):
            "with what probability promises on a node may break";
        "deadlines" => Word(deadlines):
            "whether a job that may be longer than its deadline is rejected; `trusted` is sound \
                only if no job runs longer than its deadline";
    };
}

//! The parameters of the plan family.

use tollgate_model::{JobSpec, Market, Otherwise, Probability, Span};
use tollgate_policy::{ParameterTable, Policy, PolicyParameter, PolicySettings, parameter_table};

use super::{PlanPolicy, UserShare};

/// The parameters of a policy that plans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanParams {
    /// The level of the run time quantile with which every job stands in the plan; above 0, below 1.
    pub level: Probability,
    /// Number of scenarios behind a stated probability, 1 to [`PlanParams::MAX_SCENARIOS`].
    pub scenarios: u32,
    /// The treatment of a job that cannot be promised at its submission, if its user sets none.
    pub otherwise: Otherwise,
    /// Whether a job without a promise is rejected once it could hardly end in time.
    pub drop_late: bool,
    /// Time after which the first job without a promise takes a place among the promises. Positive.
    pub patience: Span,
    /// The machine's time up to a deadline that the promises to one user may take.
    pub share: UserShare,
}

impl PlanParams {
    /// Maximum number of scenarios.
    pub const MAX_SCENARIOS: u32 = 512;

    /// The highest level that a user can ask for.
    const MAX_LEVEL: Probability = Probability::new(0.999).expect("a probability");

    /// The defaults. A promise at probability p is worth making if p - 5 (1 - p) > 0, where one broken
    /// promise weighs as much as five kept ones: p > 5/6.
    pub const DEFAULT: Self = Self {
        level: Probability::new(0.8333).expect("a probability"),
        scenarios: 32,
        otherwise: Otherwise::Run,
        drop_late: false,
        patience: Span::from_secs(3600),
        share: UserShare::Part(1.0),
    };

    /// The level at which a start is weighed against the promises of others, if theirs are not higher. With
    /// that of the plan, four times as many promises break where the jobs of a batch are long together.
    pub(super) const GUARD: Probability = Probability::new(0.95).expect("a probability");

    /// Returns the level with which a job stands in the plan: what its user wants, or that of the plan. No
    /// probability above [`Self::MAX_LEVEL`] is ever stated.
    pub(super) fn level_of(&self, spec: &JobSpec) -> Probability {
        match spec.sla.confidence {
            Some(confidence) if confidence < Self::MAX_LEVEL => confidence,
            Some(_) if Self::MAX_LEVEL > self.level => Self::MAX_LEVEL,
            Some(_) | None => self.level,
        }
    }

    /// Returns the level at which a start is weighed against a job's promise. A promise below the level of the
    /// plan is guarded at its own.
    pub(super) fn guard_of(&self, spec: &JobSpec) -> Probability {
        let level = self.level_of(spec);
        match level < self.level {
            true => level,
            false => larger(level, Self::GUARD),
        }
    }

    /// Returns what becomes of a job that cannot be promised.
    pub(super) fn otherwise_of(&self, spec: &JobSpec) -> Otherwise {
        spec.sla.otherwise.unwrap_or(self.otherwise)
    }
}

/// Returns the larger of two probabilities.
pub(super) fn larger(one: Probability, other: Probability) -> Probability {
    if other > one { other } else { one }
}

impl PolicySettings for PlanParams {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        Box::new(PlanPolicy::new(*self, market))
    }

    fn uses_beliefs(&self) -> bool {
        true
    }

    fn decides_arrays(&self) -> bool {
        true
    }

    fn plans_maintenance(&self) -> bool {
        true
    }

    fn chooses_hosts(&self) -> bool {
        true
    }

    fn takes_over_promises(&self) -> bool {
        true
    }

    fn promise_level(&self) -> Option<Probability> {
        Some(self.level)
    }

    fn runs_unpromised(&self) -> bool {
        true
    }
}

impl ParameterTable for PlanParams {
    const FORMER: &'static [(&'static str, &'static str)] = &[(
        "waitlist",
        "`otherwise=wait` (it was `true`) or `otherwise=reject` (`false`)",
    )];

    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "level" => Word(level):
            "with what probability each job ends within the time that the plan gives it";
        "scenarios" => Count(scenarios in 1..=Self::MAX_SCENARIOS, "1 to 512"):
            "how many futures are played for the probability of a promise";
        "otherwise" => Word(otherwise):
            "what becomes of a job that cannot be promised, if its user does not say";
        "drop-late" => Word(drop_late):
            "whether a job without a promise is rejected once it could hardly end in time";
        "patience" => Word(patience):
            "how long the first job without a promise waits for a place in the plan";
        "share" => Word(share):
            "what part of the time up to a deadline the promises to one user may take";
    };
}

//! The parameters of the plan family.

use tollgate_model::{JobSpec, Market, Probability, Span};
use tollgate_policy::{
    ParameterEnum, ParameterTable, Policy, PolicyParameter, PolicySettings, read_number,
};

use super::PlanPolicy;

/// The parameters of a policy that plans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanParams {
    /// The level of the run time quantile with which every job stands in the plan; above 0, below 1.
    pub level: Probability,
    /// Number of scenarios behind a stated probability, 1 to [`PlanParams::MAX_SCENARIOS`].
    pub scenarios: u32,
    /// True if a job that cannot be promised at its submission waits for room; false if it is
    /// rejected.
    pub waitlist: bool,
    /// Time after which a job without a deadline takes a place among the promises. Positive.
    pub patience: Span,
    /// The part of the machine's time up to a deadline that the promises to one user may take; above 0, at
    /// most 1.
    pub share: f64,
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
        waitlist: true,
        patience: Span::from_secs(24 * 3600),
        share: 1.0,
    };

    /// Returns the level with which a job stands in the plan: what its user wants, if that is more. No
    /// probability above [`Self::MAX_LEVEL`] is ever stated.
    pub(super) fn level_of(&self, spec: &JobSpec) -> Probability {
        match spec.sla.confidence {
            Some(wanted) if wanted > self.level && wanted < Self::MAX_LEVEL => wanted,
            Some(wanted) if wanted > self.level && Self::MAX_LEVEL > self.level => Self::MAX_LEVEL,
            Some(_) | None => self.level,
        }
    }

    fn read_level(&mut self, word: &str) -> bool {
        let level = word.parse().ok().and_then(Probability::new);
        let level = level.filter(|level| 0.0 < level.as_f64() && level.as_f64() < 1.0);
        level.map(|level| self.level = level).is_some()
    }

    fn read_scenarios(&mut self, word: &str) -> bool {
        let number = word.parse().ok();
        let number = number.filter(|number| (1..=Self::MAX_SCENARIOS).contains(number));
        number.map(|number| self.scenarios = number).is_some()
    }
}

fn read_share(place: &mut f64, word: &str) -> bool {
    let mut share = 0.0;
    let is_read = read_number(&mut share, word) && 0.0 < share && share <= 1.0;
    if is_read {
        *place = share;
    }
    is_read
}

/// Reads a number of hours, at least `least` and at most a century.
fn read_hours(place: &mut Span, word: &str, least: f64) -> bool {
    let mut hours = 0.0;
    let number = word.strip_suffix('h').unwrap_or(word);
    let is_read = read_number(&mut hours, number) && (least..=876_600.0).contains(&hours);
    if is_read {
        *place = Span::from_secs_f64(hours * 3600.0);
    }
    is_read
}

fn hours(span: Span) -> String {
    format!("{}h", span.as_secs_f64() / 3600.0)
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
}

impl ParameterTable for PlanParams {
    const PARAMETERS: &'static [PolicyParameter<Self>] = &[
        PolicyParameter {
            key: "level",
            values: "a probability, above 0 and below 1",
            meaning: "with what probability each job ends within the time that the plan gives it",
            applies: |_| true,
            get: |s| s.level.as_f64().to_string(),
            set: Self::read_level,
        },
        PolicyParameter {
            key: "scenarios",
            values: "1 to 512",
            meaning: "how many futures are played for the probability of a promise",
            applies: |_| true,
            get: |s| s.scenarios.to_string(),
            set: Self::read_scenarios,
        },
        PolicyParameter {
            key: "waitlist",
            values: "true or false",
            meaning: "whether a job that cannot be promised yet waits for room",
            applies: |_| true,
            get: |s| s.waitlist.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.waitlist, word),
        },
        PolicyParameter {
            key: "patience",
            values: "hours, at least 0.01",
            meaning: "how long a job without a deadline waits before it gets a place in the plan",
            applies: |_| true,
            get: |s| hours(s.patience),
            set: |s, word| read_hours(&mut s.patience, word, 0.01),
        },
        PolicyParameter {
            key: "share",
            values: "a number, above 0 and at most 1",
            meaning: "what part of the time up to a deadline the promises to one user may take",
            applies: |_| true,
            get: |s| s.share.to_string(),
            set: |s, word| read_share(&mut s.share, word),
        },
    ];
}

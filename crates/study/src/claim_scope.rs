//! The cases of a claim: which policies it compares, and where.

use tollgate_model::Market;
use tollgate_risk::{Objective, Weights};

use crate::claim::{Claim, ClaimBaseline};
use crate::experiment::Experiment;
use crate::keyword::Keyword;
use crate::metric::StudyMetric;

/// The scope of a measurement; numbers are indices into the experiment.
#[derive(Clone)]
pub(crate) struct ClaimScope {
    pub(crate) set: usize,
    pub(crate) market: usize,
    /// Scenarios; empty for all of the set.
    pub(crate) scenarios: Vec<usize>,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Weights of the objectives; None in a measure of runs.
    pub(crate) weights: Option<Weights>,
}

/// One case of a claim: a policy, optionally another policy, in a scope and optionally another
/// scope.
pub(crate) struct ClaimCase {
    pub(crate) policy: usize,
    pub(crate) than: Option<usize>,
    pub(crate) here: ClaimScope,
    pub(crate) there: Option<ClaimScope>,
}

/// Returns every combination of the items in the lists of a checked claim.
pub(crate) fn cases(experiment: &Experiment, claim: &Claim) -> Vec<ClaimCase> {
    let market = place_of_market(experiment, claim.market);
    let policies = &experiment.markets[market].policies;
    let place = |name: &String| {
        let place = policies.iter().position(|policy| policy == name);
        place.expect("the experiment was checked")
    };
    let others: Vec<Option<usize>> = match claim.than.as_slice() {
        [] => vec![None],
        than => than.iter().map(|name| Some(place(name))).collect(),
    };
    let mut cases = Vec::new();
    for here in fields(experiment, claim, market) {
        for policy in claim.policies.iter().map(place) {
            cases.extend(others.iter().map(|&than| {
                ClaimCase {
                    policy,
                    than,
                    there: claim
                        .against
                        .as_ref()
                        .map(|at| here.with_baseline(experiment, at)),
                    here: here.clone(),
                }
            }));
        }
    }
    cases
}

/// Returns every scope of a claim.
pub(crate) fn fields(experiment: &Experiment, claim: &Claim, market: usize) -> Vec<ClaimScope> {
    let scenarios = claim.scenarios.iter();
    let scenarios: Vec<usize> = scenarios
        .map(|s| place_of_scenario(experiment, s))
        .collect();
    let details: Vec<(Vec<usize>, Option<Weights>)> = match measure_of(experiment, claim) {
        StudyMetric::Run(_) => scenarios.into_iter().map(|s| (vec![s], None)).collect(),
        StudyMetric::Risk(_) => {
            let combinations = claim.objectives.iter();
            combinations
                .map(|objectives| (scenarios.clone(), equal_weights(objectives)))
                .collect()
        }
    };
    let mut fields = Vec::new();
    for set in &claim.sets {
        fields.extend(
            details
                .iter()
                .cloned()
                .map(|(scenarios, weights)| ClaimScope {
                    set: place_of_set(experiment, set),
                    market,
                    scenarios,
                    from: claim.from.unwrap_or(f64::NEG_INFINITY),
                    to: claim.to.unwrap_or(f64::INFINITY),
                    weights,
                }),
        );
    }
    fields
}

impl ClaimScope {
    /// Returns the scope with the changes of `against`.
    pub(crate) fn with_baseline(&self, experiment: &Experiment, against: &ClaimBaseline) -> Self {
        let mut field = self.clone();
        if let Some(set) = &against.set {
            field.set = place_of_set(experiment, set);
        }
        if let Some(scenario) = &against.scenario {
            field.scenarios = vec![place_of_scenario(experiment, scenario)];
        }
        if let Some(objectives) = &against.objectives {
            field.weights = equal_weights(objectives);
        }
        if against.from.is_some() || against.to.is_some() {
            field.from = against.from.unwrap_or(f64::NEG_INFINITY);
            field.to = against.to.unwrap_or(f64::INFINITY);
        }
        field
    }

    /// Returns the scope at one value of the varied setting.
    pub(crate) fn at(&self, value: f64) -> Self {
        Self {
            from: value,
            to: value,
            ..self.clone()
        }
    }

    pub(crate) fn includes(&self, scenario: usize) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario)
    }
}

pub(crate) fn place_of_set(experiment: &Experiment, name: &str) -> usize {
    let place = experiment.sets.iter().position(|set| set.name == name);
    place.expect("the experiment was checked")
}

pub(crate) fn place_of_market(experiment: &Experiment, name: Option<Keyword<Market>>) -> usize {
    let named = |name| experiment.markets.iter().position(|m| m.name == name);
    name.map_or(Some(0), named)
        .expect("the experiment was checked")
}

pub(crate) fn place_of_scenario(experiment: &Experiment, name: &String) -> usize {
    let place = experiment.scenarios.iter().position(|s| s.name == *name);
    place.expect("the experiment was checked")
}

pub(crate) fn measure_of(experiment: &Experiment, claim: &Claim) -> StudyMetric {
    let measure = experiment.measure(&claim.measure);
    measure.expect("the experiment was checked")
}

pub(crate) fn equal_weights(objectives: &[Keyword<Objective>]) -> Option<Weights> {
    let objectives: Vec<Objective> = objectives.iter().map(|objective| objective.0).collect();
    Weights::equal(&objectives).ok()
}

//! The quantities of a claim, seed by seed.

use std::collections::BTreeMap;

use tollgate_model::Market;
use tollgate_risk::{Gradient, Objective, Profile, Ranking, Risk, Weights};

use crate::analysis::{LEAST_VISIBLE, RiskAnalysis};
use crate::claim::{Claim, ClaimBaseline, ClaimPoints, ClaimRelation};
use crate::experiment::Experiment;
use crate::keyword::Keyword;
use crate::metric::{RiskMetric, RunMetric, StudyMetric};
use crate::results::{ExperimentPoint, StudyResults};

/// A quantity under each seed; None if it does not exist under one of them.
pub(crate) type SeedValues = Option<Vec<f64>>;

/// The values that decide on a claim.
pub(crate) struct ClaimEvidence {
    /// The quantities that the relation must be true of.
    pub(crate) tested: Vec<SeedValues>,
    /// The quantities at single points, or over single steps of a curve.
    pub(crate) points: Vec<SeedValues>,
    /// By how much the relation must be true.
    pub(crate) margin: f64,
}

/// A reader of the quantities of claims from results.
pub(crate) struct ClaimMetrics<'r> {
    results: &'r StudyResults,
    /// Risk analyses by set and market.
    analyses: BTreeMap<(usize, usize), RiskAnalysis>,
}

/// The scope of a measurement; numbers are indices into the experiment.
#[derive(Clone)]
struct ClaimScope {
    set: usize,
    market: usize,
    /// Scenarios; empty for all of the set.
    scenarios: Vec<usize>,
    from: f64,
    to: f64,
    /// Weights of the objectives; None in a measure of runs.
    weights: Option<Weights>,
}

/// One case of a claim: a policy, optionally another policy, in a scope and optionally another
/// scope.
struct ClaimCase {
    policy: usize,
    than: Option<usize>,
    here: ClaimScope,
    there: Option<ClaimScope>,
}

impl<'r> ClaimMetrics<'r> {
    pub(crate) fn of(results: &'r StudyResults) -> Self {
        let experiment = results.experiment();
        let places = (0..experiment.sets.len())
            .flat_map(|set| (0..experiment.markets.len()).map(move |market| (set, market)));
        let normalisation = experiment.normalisation.0;
        Self {
            results,
            analyses: places
                .map(|(set, market)| {
                    let analysis = RiskAnalysis::of(results, set, market, normalisation);
                    ((set, market), analysis)
                })
                .collect(),
        }
    }

    /// Returns what decides on a checked claim.
    pub(crate) fn evidence(&self, claim: &Claim) -> ClaimEvidence {
        let cases = cases(self.results.experiment(), claim);
        let points = self.points_of(claim, &cases);
        ClaimEvidence {
            tested: match claim.points() {
                Some(ClaimPoints::Each) => points.clone(),
                Some(ClaimPoints::Mean) | None => self.over_seeds(claim, &cases),
            },
            points,
            margin: self.margin(claim, &cases),
        }
    }

    fn over_seeds(&self, claim: &Claim, cases: &[ClaimCase]) -> Vec<SeedValues> {
        let quantity = |case| {
            let seeds = 0..self.seeds();
            seeds.map(|seed| self.of_case(claim, case, seed)).collect()
        };
        cases.iter().map(quantity).collect()
    }

    /// Returns the quantity at each point of the varied setting; for the shape of a curve, how far
    /// it rises from each point to the next.
    fn points_of(&self, claim: &Claim, cases: &[ClaimCase]) -> Vec<SeedValues> {
        let measure = match measure_of(self.results.experiment(), claim) {
            StudyMetric::Run(measure) => measure,
            StudyMetric::Risk(_) => return self.over_seeds(claim, cases),
        };
        match claim.relation.0 {
            ClaimRelation::Greater | ClaimRelation::Less | ClaimRelation::Is => {
                let cases: Vec<ClaimCase> = cases
                    .iter()
                    .flat_map(|case| self.at_each_value(claim, case))
                    .collect();
                self.over_seeds(claim, &cases)
            }
            ClaimRelation::Rising | ClaimRelation::Falling | ClaimRelation::Level => cases
                .iter()
                .flat_map(|case| self.steps(case, measure))
                .collect(),
            ClaimRelation::Crosses => Vec::new(),
        }
    }

    /// Returns the case at each value of its scenario. What it is compared with is taken at the
    /// same value, unless the claim says at which.
    fn at_each_value(&self, claim: &Claim, case: &ClaimCase) -> Vec<ClaimCase> {
        let against = claim.against.as_ref();
        let elsewhere = against.is_some_and(|at| at.from.is_some() || at.to.is_some());
        let scenarios = case.here.scenarios.iter();
        let values = scenarios.flat_map(|&s| &self.results.experiment().scenarios[s].values);
        let within = values.filter(|value| (case.here.from..=case.here.to).contains(*value));
        within
            .map(|&value| ClaimCase {
                policy: case.policy,
                than: case.than,
                here: case.here.at(value),
                there: case.there.as_ref().map(|there| match elsewhere {
                    true => there.clone(),
                    false => there.at(value),
                }),
            })
            .collect()
    }

    /// Returns the rise of a curve over each of its steps.
    fn steps(&self, case: &ClaimCase, measure: RunMetric) -> Vec<SeedValues> {
        let curves: Option<Vec<_>> = (0..self.seeds())
            .map(|seed| self.curve(case, measure, seed))
            .collect();
        let Some(curves) = curves else {
            return vec![None];
        };
        let steps = 1..curves.first().map_or(0, Vec::len);
        let rises = |at: usize| {
            curves
                .iter()
                .map(move |curve| curve[at].1 - curve[at - 1].1)
        };
        steps.map(|at| Some(rises(at).collect())).collect()
    }

    /// Returns the margin of a relation that has one.
    fn margin(&self, claim: &Claim, cases: &[ClaimCase]) -> f64 {
        let visible = || match measure_of(self.results.experiment(), claim) {
            StudyMetric::Run(measure) => {
                let heights = cases.iter().map(|case| self.height(&case.here, measure));
                heights.fold(0.0, f64::max) * LEAST_VISIBLE
            }
            StudyMetric::Risk(measure) if measure.is_score() => LEAST_VISIBLE,
            StudyMetric::Risk(_) => 0.0,
        };
        claim.by.unwrap_or_else(visible)
    }

    /// Returns the greatest height of any policy's curve in the scenarios of a scope.
    fn height(&self, field: &ClaimScope, measure: RunMetric) -> f64 {
        let all = &ClaimScope {
            from: f64::NEG_INFINITY,
            to: f64::INFINITY,
            ..field.clone()
        };
        let policies = 0..self.results.experiment().markets[field.market]
            .policies
            .len();
        let seeds = 0..self.seeds();
        let runs = policies.flat_map(|policy| seeds.clone().map(move |seed| (policy, seed)));
        let values = runs.flat_map(|(policy, seed)| {
            let scenarios = all.scenarios.iter();
            scenarios.flat_map(move |&s| self.points(all, s, measure, policy, seed))
        });
        let heights = values.filter_map(|(_, height)| Some(height?.abs()));
        heights.fold(0.0, f64::max)
    }

    const fn seeds(&self) -> usize {
        self.results.experiment().seeds as usize
    }

    fn of_case(&self, claim: &Claim, case: &ClaimCase, seed: usize) -> Option<f64> {
        let measured = measure_of(self.results.experiment(), claim);
        if let (StudyMetric::Run(measure), true) = (measured, claim.relation.0.is_trend()) {
            let curve = self.curve(case, measure, seed)?;
            return match claim.relation.0 {
                ClaimRelation::Crosses => crossing(&curve),
                ClaimRelation::Greater
                | ClaimRelation::Less
                | ClaimRelation::Is
                | ClaimRelation::Rising
                | ClaimRelation::Falling
                | ClaimRelation::Level => rise(&curve),
            };
        }
        let height = |field| self.difference(case, field, measured, seed);
        let here = height(&case.here)?;
        match &case.there {
            Some(there) => {
                let times = claim.against.as_ref().and_then(|against| against.times);
                Some(here - times.unwrap_or(1.0) * height(there)?)
            }
            None => Some(here),
        }
    }

    /// Returns the height of the policy, less that of the other policy if there is one.
    fn difference(
        &self,
        case: &ClaimCase,
        field: &ClaimScope,
        measure: StudyMetric,
        seed: usize,
    ) -> Option<f64> {
        let height = |policy| match measure {
            StudyMetric::Run(measure) => self.mean(field, measure, policy, seed),
            StudyMetric::Risk(measure) => self.risk(field, measure, policy, seed),
        };
        let first = height(case.policy)?;
        match case.than {
            Some(other) => Some(first - height(other)?),
            None => Some(first),
        }
    }

    /// Returns the mean over the scenarios' values within the scope.
    fn mean(
        &self,
        field: &ClaimScope,
        measure: RunMetric,
        policy: usize,
        seed: usize,
    ) -> Option<f64> {
        let scenarios = field.scenarios.iter();
        let heights: Vec<f64> = scenarios
            .flat_map(|&scenario| self.points(field, scenario, measure, policy, seed))
            .map(|(_, height)| height)
            .collect::<Option<_>>()?;
        mean(&heights)
    }

    /// Returns the curve of the policy over the varied setting, less that of the other policy if
    /// there is one.
    fn curve(&self, case: &ClaimCase, measure: RunMetric, seed: usize) -> Option<Vec<(f64, f64)>> {
        let scenario = *case.here.scenarios.first()?;
        let points = |policy| self.points(&case.here, scenario, measure, policy, seed);
        let mut curve: Vec<(f64, f64)> = points(case.policy)
            .map(|(x, y)| Some((x, y?)))
            .collect::<Option<_>>()?;
        if let Some(other) = case.than {
            for (point, (_, y)) in curve.iter_mut().zip(points(other)) {
                point.1 -= y?;
            }
        }
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(curve)
    }

    fn points(
        &self,
        field: &ClaimScope,
        scenario: usize,
        measure: RunMetric,
        policy: usize,
        seed: usize,
    ) -> impl Iterator<Item = (f64, Option<f64>)> {
        let (set, market) = (field.set, field.market);
        let (from, to) = (field.from, field.to);
        let values = self.results.experiment().scenarios[scenario].values.iter();
        let within = values
            .enumerate()
            .filter(move |(_, x)| (from..=to).contains(*x));
        within.map(move |(value, &x)| {
            let at = ExperimentPoint {
                set,
                market,
                scenario,
                value,
                policy,
            };
            let row = self.results.seeds(at).get(seed);
            (x, row.and_then(|row| measure.of(&row.measurements)))
        })
    }

    fn risk(
        &self,
        field: &ClaimScope,
        measure: RiskMetric,
        policy: usize,
        seed: usize,
    ) -> Option<f64> {
        let analysis = &self.analyses[&(field.set, field.market)];
        let weights = field.weights.as_ref()?;
        let points_of = |policy| {
            let points = analysis.points_of_seed(policy, seed, weights).ok()?;
            let named = analysis.scenarios().iter().zip(points);
            let metrics = named
                .filter(|(s, _)| field.includes(**s))
                .map(|(_, point)| point);
            Some(metrics.collect::<Vec<Risk>>())
        };
        let points = points_of(policy)?;
        let profile = Profile::of(&points)?;
        let mean_of =
            |figure: fn(&Risk) -> f64| mean(&points.iter().map(figure).collect::<Vec<f64>>());
        let rank = |by: Ranking| {
            let profiles: Vec<Profile> = (0..analysis.policies().len())
                .map(|policy| Profile::of(&points_of(policy)?))
                .collect::<Option<_>>()?;
            let places = by.ranks(&profiles);
            let place = places.into_iter().find(|place| place.policy == policy)?;
            Some(place.rank as f64)
        };
        match measure {
            RiskMetric::Performance => mean_of(|point| point.performance),
            RiskMetric::Volatility => mean_of(|point| point.volatility),
            RiskMetric::MaxPerformance => Some(profile.max_performance),
            RiskMetric::MinPerformance => Some(profile.min_performance),
            RiskMetric::MaxVolatility => Some(profile.max_volatility),
            RiskMetric::MinVolatility => Some(profile.min_volatility),
            RiskMetric::Slope => Gradient::slope(&points),
            RiskMetric::Distance => mean_of(distance_to_ideal),
            RiskMetric::OffIdeal => {
                let off = points
                    .iter()
                    .filter(|point| distance_to_ideal(point) > LEAST_VISIBLE);
                Some(off.count() as f64)
            }
            RiskMetric::RankPerformance => rank(Ranking::BestPerformance),
            RiskMetric::RankVolatility => rank(Ranking::BestVolatility),
        }
    }
}

/// Returns every combination of the items in the lists of a checked claim.
fn cases(experiment: &Experiment, claim: &Claim) -> Vec<ClaimCase> {
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
fn fields(experiment: &Experiment, claim: &Claim, market: usize) -> Vec<ClaimScope> {
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
    fn with_baseline(&self, experiment: &Experiment, against: &ClaimBaseline) -> Self {
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
    fn at(&self, value: f64) -> Self {
        Self {
            from: value,
            to: value,
            ..self.clone()
        }
    }

    fn includes(&self, scenario: usize) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario)
    }
}

fn place_of_set(experiment: &Experiment, name: &str) -> usize {
    let place = experiment.sets.iter().position(|set| set.name == name);
    place.expect("the experiment was checked")
}

fn place_of_market(experiment: &Experiment, name: Option<Keyword<Market>>) -> usize {
    let named = |name| experiment.markets.iter().position(|m| m.name == name);
    name.map_or(Some(0), named)
        .expect("the experiment was checked")
}

fn place_of_scenario(experiment: &Experiment, name: &String) -> usize {
    let place = experiment.scenarios.iter().position(|s| s.name == *name);
    place.expect("the experiment was checked")
}

fn measure_of(experiment: &Experiment, claim: &Claim) -> StudyMetric {
    let measure = experiment.measure(&claim.measure);
    measure.expect("the experiment was checked")
}

fn equal_weights(objectives: &[Keyword<Objective>]) -> Option<Weights> {
    let objectives: Vec<Objective> = objectives.iter().map(|objective| objective.0).collect();
    Weights::equal(&objectives).ok()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn distance_to_ideal(point: &Risk) -> f64 {
    (1.0 - point.performance).hypot(point.volatility)
}

/// Returns the rise of the least-squares line through a curve from end to end; points ascend.
fn rise(curve: &[(f64, f64)]) -> Option<f64> {
    let count = curve.len() as f64;
    let (first, last) = (curve.first()?.0, curve.last()?.0);
    let mean_x = curve.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = curve.iter().map(|(_, y)| y).sum::<f64>() / count;
    let joint: f64 = curve.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let spread: f64 = curve.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    (spread > 0.0).then(|| joint / spread * (last - first))
}

/// Returns the last position where a curve changes its sign, by linear interpolation; None if it
/// never does. Points ascend.
fn crossing(curve: &[(f64, f64)]) -> Option<f64> {
    let steps = curve.windows(2).rev();
    let mut changes = steps.filter_map(|step| {
        let [(x0, y0), (x1, y1)] = *step else {
            return None;
        };
        let changes = y0 != y1 && y0.min(y1) <= 0.0 && y0.max(y1) >= 0.0;
        changes.then(|| x0 + (x1 - x0) * y0 / (y0 - y1))
    });
    changes.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rise_is_that_of_the_fitted_line() {
        let curve = [(0.0, 1.0), (1.0, 4.0), (2.0, 4.0), (4.0, 9.0)];
        let slope = 66.0 / 35.0;
        assert!((rise(&curve).unwrap() - 4.0 * slope).abs() < 1e-12);
        assert_eq!(rise(&[(1.0, 2.0)]), None);
        assert_eq!(rise(&[]), None);
    }

    #[test]
    fn a_crossing_lies_between_two_points() {
        assert_eq!(crossing(&[(0.0, 3.0), (1.0, 1.0), (2.0, -1.0)]), Some(1.5));
        assert_eq!(crossing(&[(0.0, 3.0), (1.0, 0.0), (2.0, -1.0)]), Some(1.0));
        assert_eq!(
            crossing(&[(0.0, -1.0), (1.0, 1.0), (2.0, -3.0)]),
            Some(1.25)
        );
        assert_eq!(crossing(&[(0.0, 3.0), (1.0, 1.0)]), None);
    }
}

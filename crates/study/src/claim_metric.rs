//! The quantities of a claim, seed by seed.

use std::collections::BTreeMap;

use tollgate_risk::{Gradient, Profile, Ranking, Risk};

use crate::analysis::{MIN_VISIBLE, RiskAnalysis};
use crate::claim::{Claim, ClaimPoints, ClaimRelation};
use crate::claim_scope::{ClaimCase, ClaimScope, cases, measure_of};
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

    /// Returns the case at each value of its scenario. The baseline is taken at the same value, unless the
    /// claim names one.
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
                heights.fold(0.0, f64::max) * MIN_VISIBLE
            }
            StudyMetric::Risk(measure) if measure.is_score() => MIN_VISIBLE,
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
                    .filter(|point| distance_to_ideal(point) > MIN_VISIBLE);
                Some(off.count() as f64)
            }
            RiskMetric::RankPerformance => rank(Ranking::BestPerformance),
            RiskMetric::RankVolatility => rank(Ranking::BestVolatility),
        }
    }
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

//! Separate and integrated risk over the results of an experiment.

use std::collections::BTreeMap;

use tollgate_risk::integrated::WeightsError;
use tollgate_risk::{Gradient, Normalisation, Objective, Profile, Ranking, Risk, Scale, Weights};

use crate::confidence::SeedMean;
use crate::results::{ExperimentPoint, StudyResults};

/// The smallest share of a plot's height that is visible in a plot of the paper's size.
pub(crate) const MIN_VISIBLE: f64 = 0.01;

/// Risk analysis of one set and market (Yeo & Buyya 2008, §4): one point per policy, scenario and
/// seed.
///
/// Scores are normalised within a seed: each seed is a repetition of the whole experiment, and
/// additional seeds do not change the scores of the others. Metrics over several seeds are means.
#[derive(Clone, Debug)]
pub struct RiskAnalysis {
    normalisation: Normalisation,
    policies: Vec<String>,
    /// The scenarios of the set, as indices into the experiment.
    scenarios: Vec<usize>,
    seeds: usize,
    /// Risks by policy, scenario and seed.
    separate: Vec<Vec<Vec<BTreeMap<Objective, Risk>>>>,
    /// The same analysis without each part of the record.
    without_parts: Vec<Self>,
}

/// A point of a risk analysis plot over all seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskPointEstimate {
    /// Performance, 0 to 1.
    pub performance: SeedMean,
    /// Volatility of the performance, 0 to 0.5.
    pub volatility: SeedMean,
}

/// A policy in a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedPolicy {
    /// Rank, 1 for the best; policies that tie share their rank.
    pub rank: usize,
    /// The policy, as an index into the market.
    pub policy: usize,
    /// Profile of the policy, from the means over seeds.
    pub profile: Profile,
    /// The scenarios that decide the direction of the trend line alone, as indices into the
    /// experiment: without one of them the direction is another, or there is no line.
    pub decisive_scenarios: Vec<usize>,
    /// Whether the policy is statistically indistinguishable from the next one; None for the last policy, and where
    /// neither seeds nor weeks tell.
    pub indistinguishable_from_next: Option<bool>,
}

impl RiskAnalysis {
    /// Analyses one set and market, given as indices into the experiment. The pool for
    /// normalisation is every policy, scenario and value of the scenarios.
    pub fn of(
        results: &StudyResults,
        set: usize,
        market: usize,
        normalisation: Normalisation,
    ) -> Self {
        let experiment = results.experiment();
        let name = &experiment.sets[set].name;
        let scenarios: Vec<usize> = (0..experiment.scenarios.len())
            .filter(|&scenario| experiment.scenarios[scenario].runs_in(name))
            .collect();
        let policies = experiment.markets[market].policies.clone();
        let seeds = experiment.seeds as usize;
        let cells = MarketResults {
            results,
            set,
            market,
        };
        let scales: Vec<_> = (0..seeds)
            .map(|seed| cells.scales(normalisation, &scenarios, policies.len(), seed))
            .collect();
        let point = |policy: usize, scenario: usize| {
            let seeds = scales.iter().enumerate();
            seeds
                .map(|(seed, scales)| cells.separate(scales, policy, scenario, seed))
                .collect()
        };
        let separate = (0..policies.len())
            .map(|policy| scenarios.iter().map(|&s| point(policy, s)).collect())
            .collect();
        let parts = results.without_parts().iter();
        let without_parts = parts.map(|part| Self::of(part, set, market, normalisation));
        Self {
            without_parts: without_parts.collect(),
            normalisation,
            policies,
            scenarios,
            seeds,
            separate,
        }
    }

    /// Returns the normalisation that turned raw values into scores.
    pub const fn normalisation(&self) -> Normalisation {
        self.normalisation
    }

    /// Returns the policies, as in the market.
    pub fn policies(&self) -> &[String] {
        &self.policies
    }

    /// Returns the scenarios, as indices into the experiment; points are in this order.
    pub fn scenarios(&self) -> &[usize] {
        &self.scenarios
    }

    /// Returns the number of seeds.
    pub const fn seeds(&self) -> usize {
        self.seeds
    }

    /// Returns the points of a policy under one seed (from 0), one per scenario.
    ///
    /// # Errors
    /// If an objective with a weight was not measured: profitability in a market without payments.
    pub fn points_of_seed(
        &self,
        policy: usize,
        seed: usize,
        weights: &Weights,
    ) -> Result<Vec<Risk>, WeightsError> {
        let scenarios = self.separate[policy].iter();
        scenarios
            .map(|seeds| weights.integrate(&seeds[seed]))
            .collect()
    }

    /// Returns the points of a policy over all seeds, one per scenario.
    ///
    /// # Errors
    /// As [`RiskAnalysis::points_of_seed`].
    pub fn points(
        &self,
        policy: usize,
        weights: &Weights,
    ) -> Result<Vec<RiskPointEstimate>, WeightsError> {
        let scenarios = self.scenarios.iter().enumerate();
        scenarios
            .map(|(at, scenario)| {
                let risks = self.risks(policy, at, weights)?;
                let parts = self.without_parts.iter();
                let parts: Vec<Vec<Risk>> = parts
                    .map(|part| part.risks(policy, at, weights))
                    .collect::<Result<_, _>>()?;
                let of = |figure: fn(&Risk) -> f64, greatest: f64, name: &str| {
                    let values =
                        |risks: &Vec<Risk>| -> Vec<f64> { risks.iter().map(figure).collect() };
                    let what = format!("{name} of {} in {scenario}", self.policies[policy]);
                    SeedMean::of(&values(&risks), &what)
                        .expect("there is at least one seed")
                        .with_parts(parts.iter().map(|part| Some(values(part))))
                        .within(0.0, greatest)
                };
                Ok(RiskPointEstimate {
                    performance: of(|risk| risk.performance, 1.0, "performance"),
                    volatility: of(|risk| risk.volatility, 0.5, "volatility"),
                })
            })
            .collect()
    }

    /// Returns the points of a policy in a scenario, the `at`-th of the analysis, one per seed.
    fn risks(
        &self,
        policy: usize,
        at: usize,
        weights: &Weights,
    ) -> Result<Vec<Risk>, WeightsError> {
        let seeds = self.separate[policy][at].iter();
        seeds.map(|seed| weights.integrate(seed)).collect()
    }

    /// Returns the scenarios that change the results of one policy at most, so that they compare
    /// nothing: everywhere else volatility is below what a plot shows.
    ///
    /// # Errors
    /// As [`RiskAnalysis::points_of_seed`].
    pub fn flat_scenarios(&self, weights: &Weights) -> Result<Vec<usize>, WeightsError> {
        let mut changed = vec![0; self.scenarios.len()];
        for policy in 0..self.policies.len() {
            let points = self.points(policy, weights)?;
            for (changed, point) in changed.iter_mut().zip(&points) {
                *changed += usize::from(point.volatility.mean >= MIN_VISIBLE);
            }
        }
        let scenarios = self.scenarios.iter().zip(changed);
        Ok(scenarios
            .filter(|(_, changed)| *changed < 2)
            .map(|(&scenario, _)| scenario)
            .collect())
    }

    /// Returns the analysis over the other scenarios; None if none is left.
    pub fn without(&self, scenarios: &[usize]) -> Option<Self> {
        let is_kept: Vec<bool> = self
            .scenarios
            .iter()
            .map(|scenario| !scenarios.contains(scenario))
            .collect();
        let kept = |place: &usize| is_kept[*place];
        let parts = self.without_parts.iter();
        let without_parts = parts.filter_map(|part| part.without(scenarios));
        let places: Vec<usize> = (0..self.scenarios.len()).filter(kept).collect();
        (!places.is_empty()).then(|| Self {
            scenarios: places.iter().map(|&place| self.scenarios[place]).collect(),
            separate: self
                .separate
                .iter()
                .map(|points| places.iter().map(|&place| points[place].clone()).collect())
                .collect(),
            without_parts: without_parts.collect(),
            normalisation: self.normalisation,
            policies: self.policies.clone(),
            seeds: self.seeds,
        })
    }

    /// Returns the profile by which a policy is ranked: a summary of its points over all seeds.
    ///
    /// # Errors
    /// As [`RiskAnalysis::points_of_seed`].
    pub fn profile(&self, policy: usize, weights: &Weights) -> Result<Profile, WeightsError> {
        let points = self.points(policy, weights)?;
        let means: Vec<Risk> = points.iter().map(RiskPointEstimate::mean).collect();
        Ok(Profile::of(&means).expect("a set has at least one scenario"))
    }

    /// Returns the scenarios that decide the direction of a policy's trend line alone, as indices
    /// into the experiment.
    ///
    /// # Errors
    /// As [`RiskAnalysis::points_of_seed`].
    pub fn decisive_scenarios(
        &self,
        policy: usize,
        weights: &Weights,
    ) -> Result<Vec<usize>, WeightsError> {
        let points = self.points(policy, weights)?;
        let means: Vec<Risk> = points.iter().map(RiskPointEstimate::mean).collect();
        let places = Gradient::decisive_points(&means).into_iter();
        Ok(places.map(|place| self.scenarios[place]).collect())
    }

    /// Returns the policies in order of preference, with the neighbours that are indistinguishable.
    ///
    /// Two neighbours are compared by the first metric of the ranking in which they differ under
    /// any seed. They are indistinguishable if an interval of the paired differences contains 0: that over seeds, or
    /// that over the weeks of the record.
    ///
    /// # Errors
    /// As [`RiskAnalysis::points_of_seed`].
    pub fn ranking(
        &self,
        by: Ranking,
        weights: &Weights,
    ) -> Result<Vec<RankedPolicy>, WeightsError> {
        let profiles: Vec<Profile> = (0..self.policies.len())
            .map(|policy| self.profile(policy, weights))
            .collect::<Result<_, _>>()?;
        let places = by.ranks(&profiles);
        let mut ranked = Vec::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            let like_next = match places.get(at + 1) {
                Some(next) => self.indistinguishable(by, weights, place.policy, next.policy)?,
                None => None,
            };
            ranked.push(RankedPolicy {
                rank: place.rank,
                policy: place.policy,
                profile: profiles[place.policy],
                decisive_scenarios: self.decisive_scenarios(place.policy, weights)?,
                indistinguishable_from_next: like_next,
            });
        }
        Ok(ranked)
    }

    fn indistinguishable(
        &self,
        by: Ranking,
        weights: &Weights,
        one: usize,
        other: usize,
    ) -> Result<Option<bool>, WeightsError> {
        let differences = self.metric_differences(by, weights, one, other)?;
        let differing = (0..N_RANKING_METRICS)
            .find(|&metric| differences.iter().any(|seed| seed[metric] != 0.0));
        let Some(metric) = differing else {
            return Ok((self.seeds > 1).then_some(true));
        };
        let of_metric = |differences: &[[f64; N_RANKING_METRICS]]| -> Vec<f64> {
            differences.iter().map(|seed| seed[metric]).collect()
        };
        let parts = self.without_parts.iter();
        let parts: Vec<Vec<f64>> = parts
            .map(|part| {
                Ok(of_metric(
                    &part.metric_differences(by, weights, one, other)?,
                ))
            })
            .collect::<Result<_, _>>()?;
        let what = format!("{} before {}", self.policies[one], self.policies[other]);
        let estimate = SeedMean::of(&of_metric(&differences), &what);
        let estimate = estimate.map(|estimate| estimate.with_parts(parts.into_iter().map(Some)));
        let widest = estimate.and_then(|estimate| estimate.widest());
        Ok(widest.map(|interval| interval.contains(0.0)))
    }

    /// Returns by how much the metrics of a ranking differ between two policies, by seed.
    fn metric_differences(
        &self,
        by: Ranking,
        weights: &Weights,
        one: usize,
        other: usize,
    ) -> Result<Vec<[f64; N_RANKING_METRICS]>, WeightsError> {
        let metrics = |policy, seed| -> Result<[f64; N_RANKING_METRICS], WeightsError> {
            let points = self.points_of_seed(policy, seed, weights)?;
            let profile = Profile::of(&points).expect("a set has at least one scenario");
            Ok(ranking_metrics(by, &profile))
        };
        let seeds = 0..self.seeds;
        let differences = seeds.map(|seed| {
            let (one, other) = (metrics(one, seed)?, metrics(other, seed)?);
            Ok(std::array::from_fn(|metric| one[metric] - other[metric]))
        });
        differences.collect()
    }
}

/// Number of metrics by which a ranking compares.
const N_RANKING_METRICS: usize = 5;

/// Returns the metrics of a ranking in order of precedence, without the gradient: it is a
/// direction, for which differences are not defined.
fn ranking_metrics(by: Ranking, profile: &Profile) -> [f64; N_RANKING_METRICS] {
    let [first, second, third, fourth] = by.figures().map(|figure| figure.of(profile));
    [first, second, third, fourth, profile.mean_distance]
}

impl RiskPointEstimate {
    /// Returns the means of performance and volatility.
    pub const fn mean(&self) -> Risk {
        Risk {
            performance: self.performance.mean,
            volatility: self.volatility.mean,
        }
    }
}

/// The results of one set and market.
struct MarketResults<'r> {
    results: &'r StudyResults,
    set: usize,
    market: usize,
}

impl MarketResults<'_> {
    /// Returns the raw values of an objective over a scenario's values, under one seed.
    fn raw(
        &self,
        objective: Objective,
        policy: usize,
        scenario: usize,
        seed: usize,
    ) -> impl Iterator<Item = Option<f64>> {
        let values = self.results.experiment().scenarios[scenario].values.len();
        (0..values).map(move |value| {
            let at = ExperimentPoint {
                set: self.set,
                market: self.market,
                scenario,
                value,
                policy,
            };
            let row = self.results.seeds(at).get(seed)?;
            row.measurements.objective(objective)
        })
    }

    /// Returns the scales of the objectives that were measured.
    fn scales(
        &self,
        normalisation: Normalisation,
        scenarios: &[usize],
        policies: usize,
        seed: usize,
    ) -> BTreeMap<Objective, Scale> {
        let pool = |objective| {
            let places = (0..policies).flat_map(|p| scenarios.iter().map(move |&s| (p, s)));
            places.flat_map(move |(policy, scenario)| self.raw(objective, policy, scenario, seed))
        };
        Objective::ALL
            .into_iter()
            .filter(|&objective| pool(objective).any(|raw| raw.is_some()))
            .map(|objective| (objective, normalisation.scale(objective, pool(objective))))
            .collect()
    }

    fn separate(
        &self,
        scales: &BTreeMap<Objective, Scale>,
        policy: usize,
        scenario: usize,
        seed: usize,
    ) -> BTreeMap<Objective, Risk> {
        scales
            .iter()
            .map(|(&objective, scale)| {
                let raw = self.raw(objective, policy, scenario, seed);
                let scores: Vec<_> = raw.map(|raw| scale.score(raw)).collect();
                let risk = Risk::separate(&scores).expect("a scenario has at least one value");
                (objective, risk)
            })
            .collect()
    }
}

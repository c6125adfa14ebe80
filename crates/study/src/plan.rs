//! From an experiment to its runs: each that differs once.

use std::collections::BTreeMap;

use tollgate_model::Market;
use tollgate_sim::Choice;
use tollgate_workload::{Factor, Settings};

use crate::experiment::{Experiment, Scenario, Set};

/// The rows of an experiment's results, and the runs that they take.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One a (set, market, scenario, value, policy, seed), in this order of the experiment's
    /// file; seeds ascend.
    pub rows: Vec<PlannedRow>,
    /// What must be simulated: jobs, and the policies that meet them.
    pub batches: Vec<Batch>,
}

/// A row of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRow {
    /// The set, by its place in the experiment.
    pub set: usize,
    /// The market, by its place.
    pub market: usize,
    /// The scenario, by its place.
    pub scenario: usize,
    /// The value of the varied setting, by its place.
    pub value: usize,
    /// The policy, by its place in the market.
    pub policy: usize,
    /// The seed, from 1.
    pub seed: u64,
    /// The run that gives its figures.
    pub run: RunId,
}

/// A run, by batch and by policy in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// The batch, by its place in the plan.
    pub batch: u32,
    /// The policy, by its place in the batch.
    pub policy: u32,
}

/// Runs over the same jobs.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The family of batches whose jobs differ in their bids alone, where there are bids; from
    /// 0, without gaps. A policy that does not look at bids has one schedule in all of them.
    pub family: usize,
    /// Who pays.
    pub market: Market,
    /// What is done to the jobs, the seed included.
    pub settings: Settings,
    /// Who decides, a policy a run.
    pub policies: Vec<Choice>,
}

impl Plan {
    /// Plans all of `experiment`, which has been checked. Runs with the same market, policy,
    /// seed and settings are one, and settings that the market never looks at do not count:
    /// penalties only where users bid, budgets only where anybody pays.
    pub fn of(experiment: &Experiment) -> Self {
        let policies: Vec<Vec<Choice>> = experiment
            .markets
            .iter()
            .map(|market| market.policies.iter().map(|words| choice(words)).collect())
            .collect();
        let mut planner = Planner {
            experiment,
            policies,
            known: BTreeMap::new(),
            families: BTreeMap::new(),
            plan: Self {
                rows: Vec::new(),
                batches: Vec::new(),
            },
        };
        for set in 0..experiment.sets.len() {
            for market in 0..experiment.markets.len() {
                planner.scenarios(set, market);
            }
        }
        planner.plan
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.batches.iter().map(|batch| batch.policies.len()).sum()
    }
}

/// The only policy that checked words name.
fn choice(words: &str) -> Choice {
    let choices = Choice::parse_list(words).expect("the experiment was checked");
    choices.into_iter().next().expect("a list of words has one")
}

struct Planner<'a> {
    experiment: &'a Experiment,
    policies: Vec<Vec<Choice>>,
    /// Batches by market and by what counts of their settings.
    known: BTreeMap<(Market, [u64; SETTINGS]), u32>,
    /// Families likewise.
    families: BTreeMap<(Market, [u64; SETTINGS]), usize>,
    plan: Plan,
}

impl Planner<'_> {
    fn scenarios(&mut self, set: usize, market: usize) {
        let experiment = self.experiment;
        let name = &experiment.sets[set].name;
        let scenarios = experiment.scenarios.iter().enumerate();
        for (scenario, varied) in scenarios.filter(|(_, scenario)| scenario.is_in(name)) {
            for value in 0..varied.values.len() {
                let batches = self.batches(&experiment.sets[set], market, varied, value);
                for policy in 0..self.policies[market].len() {
                    let rows = (1..).zip(&batches).map(|(seed, &batch)| PlannedRow {
                        set,
                        market,
                        scenario,
                        value,
                        policy,
                        seed,
                        run: RunId {
                            batch,
                            policy: policy as u32,
                        },
                    });
                    self.plan.rows.extend(rows);
                }
            }
        }
    }

    /// The batches of one setting, a seed each.
    fn batches(&mut self, set: &Set, market: usize, scenario: &Scenario, value: usize) -> Vec<u32> {
        let mut settings = self.experiment.settings(set, scenario);
        scenario.vary.0.apply(&mut settings, scenario.values[value]);
        (1..=self.experiment.seeds)
            .map(|seed| self.batch(market, Settings { seed, ..settings }))
            .collect()
    }

    fn batch(&mut self, market: usize, settings: Settings) -> u32 {
        let name = self.experiment.markets[market].name.0;
        let settings = relevant(settings, name);
        let next = self.plan.batches.len() as u32;
        let batch = *self.known.entry((name, key(&settings))).or_insert(next);
        if batch == next {
            let family = (name, key(&but_for_bids(settings, name)));
            let new_family = self.families.len();
            let family = *self.families.entry(family).or_insert(new_family);
            self.plan.batches.push(Batch {
                family,
                market: name,
                settings,
                policies: self.policies[market].clone(),
            });
        }
        batch
    }
}

/// The settings with those that the market never looks at as they are by default.
fn relevant(mut settings: Settings, market: Market) -> Settings {
    match market {
        Market::None => {
            settings.budget = Factor::default();
            settings.penalty = Factor::default();
        }
        Market::Commodity => settings.penalty = Factor::default(),
        Market::Bid => {}
    }
    settings
}

/// The settings that decide when jobs come and what they are, whatever their users bid. In the
/// commodity market budgets decide who is let in: they are no mere bids.
fn but_for_bids(settings: Settings, market: Market) -> Settings {
    match market {
        Market::None | Market::Commodity => settings,
        Market::Bid => relevant(settings, Market::None),
    }
}

const SETTINGS: usize = 13;

/// What tells settings apart within one experiment; numbers by their bits.
fn key(settings: &Settings) -> [u64; SETTINGS] {
    let Settings {
        never_ran: _,
        high_urgency,
        arrival_factor,
        inaccuracy,
        deadline,
        budget,
        penalty,
        seed,
    } = settings;
    let bits = |number: f64| (number + 0.0).to_bits();
    let factor = |factor: &Factor| [factor.low, factor.ratio, factor.bias].map(bits);
    let [a, b, c] = factor(deadline);
    let [d, e, f] = factor(budget);
    let [g, h, i] = factor(penalty);
    [
        bits(*high_urgency),
        bits(*arrival_factor),
        bits(*inaccuracy),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        *seed,
    ]
}

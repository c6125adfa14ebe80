//! Planner from an experiment to its runs; identical runs are planned once.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{Market, PenaltyLimit, Span};
use tollgate_sim::{EstimateOrigin, TaskCoupling};
use tollgate_workload::{SlaFactor, WorkloadConfig};

use crate::experiment::{Experiment, ExperimentSet, Scenario};
use crate::fingerprint::InputFingerprint;
use crate::world::WorldKind;
use crate::world::model::{ParameterValues, WorldModel};

/// Maximum number of rows of an experiment's results: a row with its part of a batch needs at most
/// 1 kB.
pub const MAX_ROWS: u64 = 1_000_000;

/// The rows of an experiment's results, and the runs that give their metrics.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The rows, one per (set, market, scenario, value, policy, seed), in this order of the
    /// experiment's file; seeds ascend.
    pub rows: Vec<PlannedRow>,
    /// The simulations: jobs, and the policies that schedule them.
    pub batches: Vec<RunBatch>,
}

/// A row of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRow {
    /// The set, as an index into the experiment.
    pub set: usize,
    /// The market, as an index.
    pub market: usize,
    /// The scenario, as an index.
    pub scenario: usize,
    /// The value of the varied setting, as an index.
    pub value: usize,
    /// The policy, as an index into the market.
    pub policy: usize,
    /// The seed, from 1.
    pub seed: u64,
    /// The run that gives the metrics.
    pub run: RunId,
}

/// A run, identified by its batch and by its policy in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// The batch, as an index into the plan.
    pub batch: u32,
    /// The policy, as an index into the batch.
    pub policy: u32,
}

/// Runs over the same jobs, or in the same world with the same settings.
#[derive(Clone, Debug)]
pub struct RunBatch {
    /// The family of batches that share work, from 0, without gaps. Batches of jobs share a family
    /// if they differ only in their bids: a policy that ignores bids has one schedule in all of
    /// them. Batches of another world share a family if they share its environment.
    pub family: usize,
    /// The kind of work.
    pub work: BatchWork,
    /// The policies that are run, as indices, ascending.
    pub policies: BTreeSet<u32>,
}

/// The work of a batch.
#[derive(Clone, Debug)]
pub enum BatchWork {
    /// Jobs on a cluster.
    Cluster(ClusterBatch),
    /// Another world.
    World(WorldBatch),
}

/// Jobs and the policies that schedule them.
#[derive(Clone, Debug)]
pub struct ClusterBatch {
    /// Market of the jobs.
    pub market: Market,
    /// Settings of the workload, including the seed.
    pub settings: WorkloadConfig,
    /// Source of the estimates that policies receive.
    pub estimates: EstimateOrigin,
    /// Whether the tasks of a job run in step.
    pub tasks: TaskCoupling,
    /// Work that a paused task loses when it resumes.
    pub preemption_cost: Span,
    /// Policies as text, one per run.
    pub policies: Vec<String>,
}

impl ClusterBatch {
    /// Returns the limit to what delays cost.
    pub(crate) fn penalty_limit(&self) -> PenaltyLimit {
        PenaltyLimit::of_budgets(self.settings.penalty_limit)
    }
}

/// A world with settings, and the policies that run in it.
#[derive(Clone, Debug)]
pub struct WorldBatch {
    /// Kind of world, which has a [`crate::world::WorldModel`].
    pub world: WorldKind,
    /// Scale, 1 for full size.
    pub scale: f64,
    /// Settings of the world.
    pub values: ParameterValues,
    /// Seed of the draws.
    pub seed: u64,
    /// Policies as text, one per run.
    pub policies: Vec<String>,
}

impl RunBatch {
    /// Returns the number of policies.
    pub fn policies(&self) -> usize {
        match &self.work {
            BatchWork::Cluster(jobs) => jobs.policies.len(),
            BatchWork::World(trial) => trial.policies.len(),
        }
    }

    /// Returns the world of the batch.
    pub const fn world(&self) -> WorldKind {
        match &self.work {
            BatchWork::Cluster(_) => WorldKind::Cluster,
            BatchWork::World(trial) => trial.world,
        }
    }
}

impl RunPlan {
    /// Plans all of `experiment`, which must be checked. Runs with the same market, policy, seed
    /// and settings are planned once. Settings that the market ignores do not count: penalties
    /// count only where users bid, budgets only where users pay.
    pub fn of(experiment: &Experiment) -> Self {
        let mut planner = RunPlanner {
            experiment,
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

    /// Returns the number of rows in the results of `experiment`, computed without a plan.
    pub fn rows_of(experiment: &Experiment) -> u64 {
        let sets = experiment.sets.iter();
        let cases = sets.flat_map(|set| {
            let scenarios = experiment.scenarios.iter();
            let scenarios = scenarios.filter(|scenario| scenario.runs_in(&set.name));
            scenarios.flat_map(|scenario| {
                experiment.markets.iter().map(|market| {
                    let policies = market.policies.iter();
                    let policies = policies.filter(|words| scenario.runs_policy(words));
                    policies.count() as u64 * scenario.values.len() as u64
                })
            })
        });
        cases
            .fold(0, u64::saturating_add)
            .saturating_mul(experiment.seeds)
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.batches.iter().map(|batch| batch.policies.len()).sum()
    }
}

struct RunPlanner<'a> {
    experiment: &'a Experiment,
    /// Batches by market and by the relevant settings.
    known: BTreeMap<(Market, Vec<u64>), u32>,
    /// Families by market and by the relevant settings without bids.
    families: BTreeMap<(Market, Vec<u64>), usize>,
    plan: RunPlan,
}

impl RunPlanner<'_> {
    fn scenarios(&mut self, set: usize, market: usize) {
        let experiment = self.experiment;
        let name = &experiment.sets[set].name;
        let scenarios = experiment.scenarios.iter().enumerate();
        for (scenario, varied) in scenarios.filter(|(_, scenario)| scenario.runs_in(name)) {
            for value in 0..varied.values.len() {
                let batches = self.batches(&experiment.sets[set], market, varied, value);
                let policies = experiment.markets[market].policies.iter().enumerate();
                for (policy, _) in policies.filter(|(_, words)| varied.runs_policy(words)) {
                    for &batch in &batches {
                        let batch = &mut self.plan.batches[batch as usize];
                        batch.policies.insert(policy as u32);
                    }
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

    /// Returns the batches of one setting, one per seed.
    fn batches(
        &mut self,
        set: &ExperimentSet,
        market: usize,
        scenario: &Scenario,
        value: usize,
    ) -> Vec<u32> {
        let experiment = self.experiment;
        let value = scenario.values[value];
        let seeds = 1..=experiment.seeds;
        match experiment.world.kind.0.model() {
            None => {
                let settings = experiment.settings(set, scenario, value);
                let estimates = experiment.estimates(set);
                let cost = experiment.preemption_cost(set, scenario, value);
                seeds
                    .map(|seed| {
                        let settings = WorkloadConfig { seed, ..settings };
                        self.cluster_batch(market, settings, estimates, cost)
                    })
                    .collect()
            }
            Some(model) => {
                let values = experiment.values(model, set, scenario, value);
                seeds
                    .map(|seed| self.world_batch(market, model, &values, seed))
                    .collect()
            }
        }
    }

    fn cluster_batch(
        &mut self,
        market: usize,
        settings: WorkloadConfig,
        estimates: EstimateOrigin,
        preemption_cost: Span,
    ) -> u32 {
        let plan = &self.experiment.markets[market];
        let name = plan.name.0;
        let settings = relevant(settings, name);
        let family = key(&without_bids(settings, name), estimates, preemption_cost);
        let work = || {
            BatchWork::Cluster(ClusterBatch {
                market: name,
                settings,
                estimates,
                tasks: self.experiment.world.tasks.0,
                preemption_cost,
                policies: plan.policies.clone(),
            })
        };
        let key = key(&settings, estimates, preemption_cost);
        self.batch(name, key, family, work)
    }

    fn world_batch(
        &mut self,
        market: usize,
        model: &dyn WorldModel,
        values: &ParameterValues,
        seed: u64,
    ) -> u32 {
        let plan = &self.experiment.markets[market];
        let with_seed = |mut key: Vec<u64>| {
            key.push(seed);
            key
        };
        let family = with_seed(values.key(model, true));
        let work = || {
            BatchWork::World(WorldBatch {
                world: self.experiment.world.kind.0,
                scale: self.experiment.world.scale.unwrap_or(1.0),
                values: values.clone(),
                seed,
                policies: plan.policies.clone(),
            })
        };
        let key = with_seed(values.key(model, false));
        self.batch(plan.name.0, key, family, work)
    }

    /// Returns the batch with this key, and creates it if necessary.
    fn batch(
        &mut self,
        market: Market,
        key: Vec<u64>,
        family: Vec<u64>,
        work: impl FnOnce() -> BatchWork,
    ) -> u32 {
        let next = self.plan.batches.len() as u32;
        let batch = *self.known.entry((market, key)).or_insert(next);
        if batch == next {
            let work = work();
            let new_family = self.families.len();
            let family = *self.families.entry((market, family)).or_insert(new_family);
            let policies = BTreeSet::new();
            self.plan.batches.push(RunBatch {
                family,
                work,
                policies,
            });
        }
        batch
    }
}

/// Returns the settings, with the defaults for all that the market ignores.
fn relevant(mut settings: WorkloadConfig, market: Market) -> WorkloadConfig {
    match market {
        Market::None => {
            settings.budget = SlaFactor::default();
            settings.penalty = SlaFactor::default();
            settings.penalty_limit = f64::INFINITY;
        }
        Market::Commodity => {
            settings.penalty = SlaFactor::default();
            settings.penalty_limit = f64::INFINITY;
        }
        Market::Bid => {}
    }
    settings
}

/// Returns the settings that determine the arrivals and the sizes of jobs, without the bids of
/// their users. In the commodity market budgets decide on admission, so they are not merely bids.
fn without_bids(settings: WorkloadConfig, market: Market) -> WorkloadConfig {
    match market {
        Market::None | Market::Commodity => settings,
        Market::Bid => relevant(settings, Market::None),
    }
}

/// Returns the key of settings within one experiment; numbers by their bits.
fn key(settings: &WorkloadConfig, estimates: EstimateOrigin, preemption_cost: Span) -> Vec<u64> {
    let WorkloadConfig {
        never_ran: _,
        high_urgency,
        arrival_factor,
        inaccuracy,
        deadlines,
        without_deadline,
        deadline,
        budget,
        penalty,
        penalty_limit,
        seed,
    } = settings;
    let bits = |number: f64| (number + 0.0).to_bits();
    let mut words = InputFingerprint::default();
    words.add_text(&format!("{deadlines} {estimates}"));
    let factor = |factor: &SlaFactor| [factor.low, factor.ratio, factor.bias].map(bits);
    let [a, b, c] = factor(deadline);
    let [d, e, f] = factor(budget);
    let [g, h, i] = factor(penalty);
    vec![
        bits(*high_urgency),
        bits(*arrival_factor),
        bits(*inaccuracy),
        bits(*without_deadline),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        bits(*penalty_limit),
        words.get(),
        preemption_cost.as_micros().cast_unsigned(),
        *seed,
    ]
}

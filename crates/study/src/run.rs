//! Execution of a plan on several threads.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tollgate_model::{MachineSpeeds, Market, Outcome};
use tollgate_risk::{ObjectiveTotals, Objectives};
use tollgate_sim::learning::job_names::JobNames;
use tollgate_sim::{
    EstimateSetup, JobArrival, JobContext, LearnedHistory, PolicyRegistry, PolicySpec,
    ReplayConfig, ReplayFailure, StopSignal, is_blind_to_bids, rebid, replay_with,
};
use tollgate_workload::Workload;

use crate::measurements::{MetricsWithoutPart, RunMeasurements};
use crate::plan::{BatchWork, ClusterBatch, RunBatch, RunId, RunPlan, WorldBatch};
use crate::weeks::WeekParts;
use crate::workload_source::StudyWorkload;
use crate::world::model::{WorldEnvironment, WorldInput};

/// The metrics of finished runs.
pub type FinishedRuns = BTreeMap<RunId, RunMeasurements>;

/// Some of the runs of a plan: every `of`-th family of batches from the `number`-th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyChunk {
    number: usize,
    of: usize,
}

/// Text that is not a valid chunk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a chunk: expected K/N with K from 1 to N")]
pub struct ChunkError(pub String);

/// A run whose policy could not decide on every job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy `{policy}`: {failure}")]
pub struct PolicyRunError {
    /// The policy with its parameters.
    pub policy: String,
    /// The failure.
    pub failure: ReplayFailure,
}

impl StudyChunk {
    /// The chunk with all runs.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Creates the `number`-th of `of` chunks; None unless `number` is from 1 to `of`.
    pub fn new(number: usize, of: usize) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Returns the number of the chunk, from 1.
    pub const fn number(self) -> usize {
        self.number
    }

    /// Returns the number of chunks.
    pub const fn of(self) -> usize {
        self.of
    }

    const fn contains(self, family: usize) -> bool {
        family % self.of == self.number - 1
    }
}

impl std::str::FromStr for StudyChunk {
    type Err = ChunkError;

    fn from_str(word: &str) -> Result<Self, ChunkError> {
        let read = |word: &str| {
            let (number, of) = word.split_once('/')?;
            Self::new(number.parse().ok()?, of.parse().ok()?)
        };
        read(word).ok_or_else(|| ChunkError(word.to_owned()))
    }
}

/// Returns the runs of `chunk` that are not among `finished`, ordered by batch.
pub fn pending(plan: &RunPlan, chunk: StudyChunk, finished: &FinishedRuns) -> Vec<RunId> {
    let batches = plan.batches.iter().enumerate();
    let runs = batches
        .filter(|(_, batch)| chunk.contains(batch.family))
        .flat_map(|(batch, what)| runs_of(batch, what));
    runs.filter(|run| !finished.contains_key(run)).collect()
}

fn runs_of(batch: usize, what: &RunBatch) -> impl Iterator<Item = RunId> {
    what.policies.iter().map(move |&policy| RunId {
        batch: batch as u32,
        policy,
    })
}

/// The things that every run of a study needs.
#[derive(Clone, Copy, Debug)]
pub struct RunResources<'a> {
    /// The policies.
    pub registry: &'a PolicyRegistry,
    /// The jobs, if the world has jobs.
    pub source: Option<&'a StudyWorkload>,
    /// The signal that ends runs early.
    pub stop: &'a StopSignal,
}

/// Executes `runs` on `threads` threads. `done` is called as each run ends, one call at a time; an error from
/// `done`, or of a policy, stops all threads soon.
///
/// # Errors
/// The first error of `done` or of a policy.
pub fn run<E: Send + From<PolicyRunError>>(
    plan: &RunPlan,
    with: RunResources<'_>,
    runs: &[RunId],
    threads: NonZeroUsize,
    done: impl FnMut(RunId, RunMeasurements) -> Result<(), E> + Send,
) -> Result<(), E> {
    let mut families: BTreeMap<usize, Vec<RunId>> = BTreeMap::new();
    for &run in runs {
        let family = plan.batches[run.batch as usize].family;
        families.entry(family).or_default().push(run);
    }
    let workers = RunThreads {
        plan,
        with,
        families: families.into_values().collect(),
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        done: Mutex::new((done, Ok(()))),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get() {
            scope.spawn(|| workers.work());
        }
    });
    let (_, outcome) = workers.done.into_inner().expect("no thread panicked");
    outcome
}

struct RunThreads<'a, F, E> {
    plan: &'a RunPlan,
    with: RunResources<'a>,
    families: Vec<Vec<RunId>>,
    next: AtomicUsize,
    failed: AtomicBool,
    done: Mutex<(F, Result<(), E>)>,
}

impl<F: FnMut(RunId, RunMeasurements) -> Result<(), E>, E: From<PolicyRunError>>
    RunThreads<'_, F, E>
{
    fn work(&self) {
        while let Some(runs) = self.families.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut schedules = ScheduleCache::default();
            let mut environment = None;
            for runs in runs.chunk_by(|a, b| a.batch == b.batch) {
                let going_on = match &self.plan.batches[runs[0].batch as usize].work {
                    BatchWork::Cluster(jobs) => self.run_cluster_batch(jobs, runs, &mut schedules),
                    BatchWork::World(trial) => self.run_world_batch(trial, runs, &mut environment),
                };
                if !going_on {
                    return;
                }
            }
        }
    }

    /// Executes runs of jobs; returns false if all threads must stop.
    fn run_cluster_batch(
        &self,
        jobs: &ClusterBatch,
        runs: &[RunId],
        schedules: &mut ScheduleCache,
    ) -> bool {
        let source = self.with.source.expect("the cluster world has jobs");
        let workload = workload(jobs, source);
        let cluster = ClusterRun {
            jobs,
            nodes: source.nodes(),
            speeds: source.speeds(),
            arrivals: workload.arrivals().collect(),
            contexts: JobNames::default().contexts(&workload),
            history: source.learned(),
            parts: RecordParts::of(&workload, WeekParts::of(source.trace())),
            stop: self.with.stop,
        };
        for &run in runs {
            if self.must_stop() {
                return false;
            }
            let policy = choice(self.with.registry, &jobs.policies[run.policy as usize]);
            let outcomes = schedules.outcomes(run, &policy, &cluster);
            let measured = outcomes.map(|outcomes| (run, cluster.measure(&outcomes)));
            self.report(measured.map_err(E::from));
        }
        true
    }

    /// Executes runs of another world; returns false if all threads must stop. The environment is
    /// created once for all batches of a family.
    fn run_world_batch(
        &self,
        trial: &WorldBatch,
        runs: &[RunId],
        environment: &mut Option<Box<dyn WorldEnvironment>>,
    ) -> bool {
        let make = || {
            let model = trial.world.model().expect("a trial is in such a world");
            let input = WorldInput {
                scale: trial.scale,
                trace: self.with.source,
            };
            model.environment(&trial.values, trial.seed, input)
        };
        let environment = environment.get_or_insert_with(make);
        for &run in runs {
            if self.must_stop() {
                return false;
            }
            let policy = &trial.policies[run.policy as usize];
            let values = environment.run(&trial.values, policy);
            self.report(Ok((run, RunMeasurements::Quantities(trial.world, values))));
        }
        true
    }

    /// Returns whether no run must begin. A given signal counts as the failure of the next run.
    fn must_stop(&self) -> bool {
        if self.with.stop.is_given() {
            self.report(Err(E::from(PolicyRunError {
                policy: "none".to_owned(),
                failure: ReplayFailure::Stopped,
            })));
        }
        self.failed.load(Ordering::Relaxed)
    }

    fn report(&self, measured: Result<(RunId, RunMeasurements), E>) {
        let mut done = self.done.lock().expect("no thread panicked");
        let (on_done, outcome) = &mut *done;
        if outcome.is_ok() {
            *outcome = measured.and_then(|(run, figures)| on_done(run, figures));
            self.failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
        }
    }
}

/// The schedules of one family that several of its batches share, by policy.
#[derive(Default)]
struct ScheduleCache(BTreeMap<u32, Vec<Outcome>>);

impl ScheduleCache {
    /// Returns the outcomes of the jobs of a batch under the policy of a run: simulated, or taken from another
    /// batch of the family and accounted under this batch's bids.
    fn outcomes(
        &mut self,
        run: RunId,
        policy: &PolicySpec,
        cluster: &ClusterRun<'_>,
    ) -> Result<Vec<Outcome>, PolicyRunError> {
        let shared = cluster.jobs.market == Market::Bid && is_blind_to_bids(policy);
        if !shared {
            return cluster.simulate(policy);
        }
        let schedule = match self.0.entry(run.policy) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(cluster.simulate(policy)?),
        };
        let mut outcomes = schedule.clone();
        rebid(
            &mut outcomes,
            &cluster.arrivals,
            cluster.jobs.penalty_limit(),
        );
        Ok(outcomes)
    }
}

/// Parses a policy that was checked to be valid and unique.
fn choice(registry: &PolicyRegistry, words: &str) -> PolicySpec {
    let choices = registry.parse_list(words);
    let choices = choices.expect("the experiment was checked");
    choices.into_iter().next().expect("a list of words has one")
}

/// Creates the jobs of a batch, once for all its policies.
fn workload(jobs: &ClusterBatch, source: &StudyWorkload) -> Workload {
    let trace = source.trace().clone();
    Workload::cut_from(source.record(), trace, jobs.settings, jobs.market)
        .expect("the experiment was checked, its settings are in range")
}

/// The jobs of a batch on their machine.
struct ClusterRun<'a> {
    jobs: &'a ClusterBatch,
    nodes: u32,
    speeds: &'a MachineSpeeds,
    arrivals: Vec<JobArrival>,
    /// The information of a forecaster about each job.
    contexts: Vec<JobContext>,
    history: &'a LearnedHistory,
    parts: RecordParts,
    stop: &'a StopSignal,
}

/// The part of the record of each job, in order of arrival.
struct RecordParts {
    n_parts: usize,
    by_job: Vec<usize>,
}

impl RecordParts {
    fn of(workload: &Workload, weeks: WeekParts) -> Self {
        let jobs = &workload.trace().jobs;
        // The load of a scenario changes when jobs are submitted, not of what week they are.
        let part = |at| weeks.part(jobs[workload.row(at)].submit);
        Self {
            n_parts: weeks.n_parts(),
            by_job: (0..workload.len()).map(part).collect(),
        }
    }
}

impl ClusterRun<'_> {
    /// Returns the metrics that results have columns for.
    fn measure(&self, outcomes: &[Outcome]) -> RunMeasurements {
        let market = self.jobs.market;
        let objectives = Objectives {
            wait_quantiles: None,
            response_quantiles: None,
            ..Objectives::of(outcomes, self.nodes, market)
        };
        let without = |part| {
            let mut totals = ObjectiveTotals::default();
            let jobs = outcomes.iter().zip(&self.parts.by_job);
            let others = jobs.filter(|(_, of)| **of != part);
            others.for_each(|(outcome, _)| totals.count(outcome));
            MetricsWithoutPart::of(&totals.into_objectives(self.nodes, market))
        };
        let parts = (0..self.parts.n_parts).map(without).collect();
        RunMeasurements::from(objectives).with_parts(parts)
    }

    fn simulate(&self, policy: &PolicySpec) -> Result<Vec<Outcome>, PolicyRunError> {
        let settings = ReplayConfig {
            speeds: self.speeds.clone(),
            tasks: self.jobs.tasks,
            preemption_cost: self.jobs.preemption_cost,
            penalty_limit: self.jobs.penalty_limit(),
            stop: self.stop.clone(),
            ..ReplayConfig::new(self.nodes, self.jobs.market)
        };
        let estimates = EstimateSetup {
            unpredictable: None,
            origin: self.jobs.estimates,
            uses_beliefs: policy.uses_beliefs(),
            contexts: &self.contexts,
            history: self.history,
        };
        let built = policy.build(self.jobs.market);
        let arrivals = self.arrivals.iter().copied();
        let replay = replay_with(arrivals, built, &settings, &estimates);
        replay
            .map(|replay| replay.outcomes)
            .map_err(|failure| PolicyRunError {
                policy: policy.to_string(),
                failure,
            })
    }
}

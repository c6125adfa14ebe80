//! Runs every policy over the jobs, in parallel.

use tollgate_model::{Outcome, PenaltyLimit};
use tollgate_policy::PolicySpec;
use tollgate_risk::{ObjectiveTotals, Objectives};
use tollgate_sim::{self as sim, ReplayResult};

use super::calibration::PromiseCalibration;
use super::error::ReplayError;
use super::gantt::{self, PolicySchedule};
use super::groups::{GroupAnswer, GroupedJobs};
use super::input::{ReplayInput, ReplayMachine};
use super::jobs::JobsCsvFile;
use super::plan::ReplayPlan;
use super::windows::{self, WindowRisk};
use crate::exit::CliFailure;
use crate::output::progress::{CountProgress, ProgressIterator};
use crate::parallel::run_in_order;

/// The results of a policy.
pub(super) struct PolicyAnswer {
    /// The chosen policy with its parameters.
    pub(super) policy: String,
    /// True if jobs share nodes or are paused.
    pub(super) shares_nodes: bool,
    /// Size of the machine.
    pub(super) nodes: u32,
    /// The results with the first seed.
    pub(super) objectives: Objectives,
    /// Means and deviations over all seeds, if there are several.
    pub(super) seeds: Option<SeedStatistics>,
    /// The results for each group of jobs with the first seed; empty if not requested.
    pub(super) groups: Vec<GroupAnswer>,
    /// The risk over the windows, if the record is cut into some.
    pub(super) risk: Option<WindowRisk>,
    /// The calibration of promises with the first seed, if requested.
    pub(super) calibration: Option<PromiseCalibration>,
}

/// Statistics over several seeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeedStatistics {
    pub(super) sla_pct: MeanDeviation,
    pub(super) reliability_pct: MeanDeviation,
}

/// A mean and the standard deviation of a sample of at least two.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeanDeviation {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl MeanDeviation {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        Self {
            mean,
            deviation: (squares.sum::<f64>() / (count - 1.0)).sqrt(),
        }
    }
}

impl SeedStatistics {
    /// Returns the statistics of results, one a seed; None of a single one.
    fn of(results: &[Objectives]) -> Option<Self> {
        let all = |of: fn(&Objectives) -> f64| {
            let values: Vec<f64> = results.iter().map(of).collect();
            MeanDeviation::of(&values)
        };
        (results.len() > 1).then(|| Self {
            sla_pct: all(|run| run.sla_pct),
            reliability_pct: all(|run| run.reliability_pct),
        })
    }
}

/// Runs every policy over the same jobs. The results are in the requested order, and do not depend
/// on the number of threads.
pub(super) fn run_all_policies(
    plan: &ReplayPlan,
    input: &ReplayInput,
) -> Result<Vec<PolicyAnswer>, CliFailure> {
    let jobs_out = plan.jobs_out.as_deref();
    let mut jobs_out = jobs_out
        .map(|path| JobsCsvFile::create(path, input))
        .transpose()?;
    windows::check(plan.windows, input.workload.len())?;
    let grouped = match plan.windows {
        Some(windows) => Some(GroupedJobs::by_windows(windows, input.workload.len())),
        None => plan.by.map(|by| GroupedJobs::of(by, &input.workload)),
    };
    let choices = &plan.choices;
    let runs: Vec<(&ReplayMachine, &PolicySpec)> = input
        .machines
        .iter()
        .flat_map(|machine| choices.iter().map(move |choice| (machine, choice)))
        .collect();
    let n_replays = runs.len() * (1 + input.reseeded.len());
    let progress = CountProgress::on_terminal((input.workload.len() * n_replays) as u64, "jobs");
    let mut answers = Vec::with_capacity(runs.len());
    let mut schedules = Vec::new();
    let done = run_in_order(
        runs.len(),
        plan.threads(),
        |n| run_policy(plan, input, runs[n], progress.as_ref()),
        |n, (results, replay)| {
            let (&ReplayMachine { nodes, .. }, choice) = runs[n];
            let policy = choice.to_string();
            let seeds = SeedStatistics::of(&results);
            let first = results.into_iter().next();
            let objectives = first.expect("a result a seed, and at least one seed");
            if let (Some(jobs_out), Some(replay)) = (&mut jobs_out, &replay) {
                jobs_out.write(&policy, replay)?;
            }
            let groups = match (&grouped, &replay) {
                (Some(grouped), Some(replay)) => {
                    grouped.measure(&replay.outcomes, nodes, plan.market)
                }
                (None, _) | (_, None) => Vec::new(),
            };
            let calibration = replay.as_ref().filter(|_| plan.calibration);
            let calibration =
                calibration.map(|replay| PromiseCalibration::of(&input.workload, replay));
            if let Some(replay) = replay.filter(|_| plan.gantt.is_some()) {
                let policy = policy.clone();
                schedules.push(PolicySchedule { policy, replay });
            }
            answers.push(PolicyAnswer {
                policy,
                shares_nodes: choice.shares_nodes(),
                nodes,
                objectives,
                seeds,
                groups,
                risk: None,
                calibration,
            });
            Ok(())
        },
    );
    drop(progress);
    done?;
    if plan.windows.is_some() {
        windows::weigh(&mut answers);
    }
    if let Some(path) = &plan.gantt {
        gantt::write(path, input, &schedules)?;
    }
    if let Some(jobs_out) = jobs_out {
        jobs_out.finish()?;
    }
    Ok(answers)
}

/// Runs one policy on one machine, with each seed. Returns a result a seed, and the replay with the
/// first one if the output needs it.
fn run_policy(
    plan: &ReplayPlan,
    input: &ReplayInput,
    (machine, choice): (&ReplayMachine, &PolicySpec),
    progress: Option<&CountProgress>,
) -> Result<(Vec<Objectives>, Option<ReplayResult>), CliFailure> {
    let nodes = machine.nodes;
    let settings = sim::ReplayConfig {
        nodes,
        speeds: machine.speeds.clone(),
        market: plan.market,
        tasks: plan.tasks,
        preemption_cost: plan.preemption_cost,
        overrun: plan.overrun,
        record_level: plan.record,
        states_promises: plan.calibration || plan.jobs_out.is_some(),
        penalty_limit: PenaltyLimit::of_budgets(plan.jobs.penalty_limit),
    };
    let estimates = sim::EstimateSetup {
        origin: plan.estimates,
        uses_beliefs: choice.uses_beliefs(),
        contexts: &input.job_contexts,
        history: &input.learned.history,
    };
    let mut results = Vec::with_capacity(1 + input.reseeded.len());
    let mut kept = None;
    for workload in [&input.workload].into_iter().chain(&input.reseeded) {
        let arrivals = ProgressIterator::new(workload.arrivals(), progress);
        let built = choice.build(plan.market);
        let mut totals = ObjectiveTotals::default();
        let count = |outcome: &Outcome| totals.count(outcome);
        let run = if plan.needs_replay() {
            let replay = sim::replay_with(arrivals, built, &settings, &estimates);
            replay.map(|replay| {
                replay.outcomes.iter().for_each(count);
                kept.get_or_insert(replay);
            })
        } else {
            sim::replay_outcomes(arrivals, built, &settings, &estimates, count)
        };
        run.map_err(|failure| ReplayError::Run {
            policy: choice.to_string(),
            failure,
        })?;
        results.push(totals.into_objectives(nodes, settings.market));
    }
    Ok((results, kept))
}

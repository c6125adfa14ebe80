//! Runs every policy over the jobs, in parallel.

use std::num::NonZeroUsize;

use tollgate_model::{Outcome, PenaltyLimit};
use tollgate_policy::PolicySpec;
use tollgate_risk::{ObjectiveTotals, Objectives};
use tollgate_sim::{self as sim, ReplayResult, StopSignal, UnpredictableRule};

use crate::calibration::PromiseCalibration;
use crate::error::ReplayError;
use crate::groups::{GroupAnswer, GroupedJobs};
use crate::input::{ReplayInput, ReplayMachine};
use crate::parallel::run_in_order;
use crate::settings::ReplaySettings;
use crate::trial::TreatmentTrial;
use crate::windows::{self, WindowRisk};

/// The number of jobs between two reports of progress.
const JOBS_PER_REPORT: u64 = 4096;

/// How a replay is run. It changes nothing of the results.
#[derive(Clone)]
pub struct RunControl<'a> {
    /// Number of policies that run in parallel.
    pub threads: NonZeroUsize,
    /// The signal that ends the replay before its last job.
    pub stop: StopSignal,
    /// A function that is called with numbers of further jobs that have been submitted. None if no one asks.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// The results of a policy.
pub struct PolicyAnswer {
    /// The chosen policy with its parameters, and after a space the treatment of jobs whose run time cannot be predicted, if
    /// there is one.
    pub policy: String,
    /// True if jobs share nodes or are paused.
    pub shares_nodes: bool,
    /// The treatment of jobs whose run time cannot be predicted; None if they are not recognised.
    pub treatment: Option<TreatmentTrial>,
    /// Size of the machine.
    pub nodes: u32,
    /// The results with the first seed.
    pub objectives: Objectives,
    /// Means and deviations over all seeds, if there are several.
    pub seeds: Option<SeedStatistics>,
    /// The results for each group of jobs with the first seed; empty if not requested.
    pub groups: Vec<GroupAnswer>,
    /// The risk over the windows, if the record is cut into some.
    pub risk: Option<WindowRisk>,
    /// The calibration of promises with the first seed, if requested.
    pub calibration: Option<PromiseCalibration>,
}

/// Statistics over several seeds.
#[derive(Clone, Copy, Debug)]
pub struct SeedStatistics {
    /// Fulfilled jobs in % of the submitted ones.
    pub sla_pct: MeanDeviation,
    /// Fulfilled jobs in % of the accepted ones.
    pub reliability_pct: MeanDeviation,
}

/// A mean and the standard deviation of a sample of at least two.
#[derive(Clone, Copy, Debug)]
pub struct MeanDeviation {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
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

/// Runs every policy over the same jobs. `sink` gets the results in the order of the settings, and the replay
/// itself if the settings need more of it than its objectives. The results do not depend on the number of threads.
///
/// # Errors
/// The first error of a run, or of `sink`.
pub fn run_policies<E: From<ReplayError> + Send>(
    settings: &ReplaySettings,
    input: &ReplayInput,
    control: &RunControl<'_>,
    mut sink: impl FnMut(&PolicyAnswer, Option<ReplayResult>) -> Result<(), E>,
) -> Result<Vec<PolicyAnswer>, E> {
    windows::check(settings.windows, input.workload.len())?;
    let grouped = match settings.windows {
        Some(windows) => Some(GroupedJobs::by_windows(windows, input.workload.len())),
        None => settings.by.map(|by| GroupedJobs::of(by, &input.workload)),
    };
    let runs = all_runs(settings, input)?;
    let mut answers = Vec::with_capacity(runs.len());
    run_in_order(
        runs.len(),
        control.threads,
        |n| run_policy((settings, input), control, runs[n]).map_err(E::from),
        |n, (results, replay)| {
            let PolicyRun {
                machine,
                policy,
                treatment,
            } = runs[n];
            let groups = match (&grouped, &replay) {
                (Some(grouped), Some(replay)) => {
                    grouped.measure(&replay.outcomes, machine.nodes, settings.market)
                }
                (None, _) | (_, None) => Vec::new(),
            };
            let calibration = replay.as_ref().filter(|_| settings.calibration);
            let answer = PolicyAnswer {
                policy: match treatment {
                    None => policy.to_string(),
                    Some(treatment) => format!("{policy} {treatment}"),
                },
                shares_nodes: policy.shares_nodes(),
                treatment,
                nodes: machine.nodes,
                seeds: SeedStatistics::of(&results),
                objectives: results
                    .into_iter()
                    .next()
                    .expect("a result a seed, and at least one seed"),
                groups,
                risk: None,
                calibration: calibration
                    .map(|replay| PromiseCalibration::of(&input.workload, replay)),
            };
            sink(&answer, replay)?;
            answers.push(answer);
            Ok(())
        },
    )?;
    if settings.windows.is_some() {
        windows::weigh(&mut answers);
    }
    Ok(answers)
}

/// One of the runs of a replay.
#[derive(Clone, Copy)]
struct PolicyRun<'a> {
    machine: &'a ReplayMachine,
    policy: &'a PolicySpec,
    treatment: Option<TreatmentTrial>,
}

/// Returns the runs of a replay: each policy on each machine, with each treatment.
fn all_runs<'a>(
    settings: &'a ReplaySettings,
    input: &'a ReplayInput,
) -> Result<Vec<PolicyRun<'a>>, ReplayError> {
    let mut treatments: Vec<_> = settings.treatments.iter().copied().map(Some).collect();
    if treatments.is_empty() {
        treatments.push(None);
    }
    let mut runs = Vec::new();
    for machine in &input.machines {
        for policy in &settings.policies {
            for &treatment in &treatments {
                if let Some(trial) = treatment {
                    trial.check(policy, machine.nodes)?;
                }
                runs.push(PolicyRun {
                    machine,
                    policy,
                    treatment,
                });
            }
        }
    }
    Ok(runs)
}

/// Runs one policy on one machine, with each seed. Returns a result a seed, and the replay with the
/// first one if the settings need it.
fn run_policy(
    (settings, input): (&ReplaySettings, &ReplayInput),
    control: &RunControl<'_>,
    run: PolicyRun<'_>,
) -> Result<(Vec<Objectives>, Option<ReplayResult>), ReplayError> {
    let PolicyRun {
        machine,
        policy,
        treatment,
    } = run;
    let nodes = machine.nodes;
    let config = sim::ReplayConfig {
        nodes,
        speeds: machine.speeds.clone(),
        node_memory: settings.node_memory,
        market: settings.market,
        tasks: settings.tasks,
        preemption_cost: settings.preemption_cost,
        overrun: settings.overrun,
        record_level: settings.record,
        states_promises: settings.states_promises,
        dedicated_nodes: treatment.map_or(0, |trial| trial.dedicated_nodes),
        penalty_limit: PenaltyLimit::of_budgets(settings.jobs.penalty_limit),
        stop: control.stop.clone(),
    };
    let estimates = sim::EstimateSetup {
        origin: settings.estimates,
        uses_beliefs: policy.uses_beliefs(),
        contexts: &input.job_contexts,
        history: &input.learned.history,
        unpredictable: treatment.map(|trial| UnpredictableRule {
            action: trial.action,
            spread: settings.spread,
        }),
    };
    let mut results = Vec::with_capacity(1 + input.reseeded.len());
    let mut kept = None;
    for workload in [&input.workload].into_iter().chain(&input.reseeded) {
        let arrivals = CountedJobs {
            jobs: workload.arrivals(),
            progress: control.progress,
            n_passed: 0,
        };
        let mut totals = ObjectiveTotals::default();
        let count = |outcome: &Outcome| totals.count(outcome);
        let run = if settings.needs_replay() {
            let replay =
                sim::replay_with(arrivals, policy.build(settings.market), &config, &estimates);
            replay.map(|replay| {
                replay.outcomes.iter().for_each(count);
                kept.get_or_insert(replay);
            })
        } else {
            sim::replay_outcomes(
                arrivals,
                policy.build(settings.market),
                &config,
                &estimates,
                count,
            )
        };
        run.map_err(|failure| ReplayError::Run {
            policy: policy.to_string(),
            failure,
        })?;
        results.push(totals.into_objectives(nodes, config.market));
    }
    Ok((results, kept))
}

/// An iterator that counts jobs on their way to a policy.
struct CountedJobs<'a, I> {
    jobs: I,
    progress: Option<&'a (dyn Fn(u64) + Sync)>,
    n_passed: u64,
}

impl<I: Iterator> Iterator for CountedJobs<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if let Some(progress) = self.progress {
            self.n_passed += 1;
            if self.n_passed.is_multiple_of(JOBS_PER_REPORT) {
                progress(JOBS_PER_REPORT);
            }
        }
        self.jobs.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.jobs.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for CountedJobs<'_, I> {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tollgate_model::Market;
    use tollgate_policies::builtin_registry;
    use tollgate_sim::ReplayFailure;

    use super::*;
    use crate::input::default_record;
    use crate::settings::choose_policies;

    fn settings() -> ReplaySettings {
        let policies = choose_policies(&builtin_registry(), &["easy,edf"], Market::None).unwrap();
        ReplaySettings {
            last: NonZeroUsize::new(300),
            ..ReplaySettings::new(policies, Market::None)
        }
    }

    fn run(control: &RunControl<'_>) -> Result<Vec<PolicyAnswer>, ReplayError> {
        let settings = settings();
        let input = ReplayInput::of(&settings, default_record(), []).unwrap();
        run_policies(&settings, &input, control, |_, _| Ok(()))
    }

    #[test]
    fn stopped_replay_has_no_result() {
        let control = RunControl {
            threads: NonZeroUsize::MIN,
            stop: StopSignal::new(),
            progress: None,
        };
        assert_eq!(run(&control).unwrap().len(), 2);
        control.stop.clone().stop();
        let Err(ReplayError::Run { policy, failure }) = run(&control) else {
            panic!("a stopped replay must fail");
        };
        assert_eq!((policy.as_str(), failure), ("easy", ReplayFailure::Stopped));
    }

    #[test]
    fn progress_counts_submitted_jobs_in_thousands() {
        let submitted = AtomicU64::new(0);
        let count = |jobs| {
            submitted.fetch_add(jobs, Ordering::Relaxed);
        };
        let settings = ReplaySettings {
            last: None,
            ..settings()
        };
        let input = ReplayInput::of(&settings, default_record(), []).unwrap();
        let control = RunControl {
            threads: NonZeroUsize::MIN,
            stop: StopSignal::default(),
            progress: Some(&count),
        };
        let done = run_policies(&settings, &input, &control, |_, _| Ok::<_, ReplayError>(()));
        assert_eq!(done.unwrap().len(), 2);
        assert_eq!(submitted.into_inner(), 2 * JOBS_PER_REPORT);
    }
}

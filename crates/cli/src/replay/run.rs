//! Runs every policy over the jobs, in parallel.

use tollgate_policy::PolicySpec;
use tollgate_risk::Objectives;
use tollgate_sim::{self as sim, ReplayResult};

use super::error::ReplayError;
use super::gantt;
use super::input::ReplayInput;
use super::jobs::JobsCsvFile;
use super::plan::ReplayPlan;
use crate::exit::CliFailure;
use crate::parallel::run_in_order;
use crate::progress::{ProgressIterator, ReplayProgress};

/// The results of a policy.
pub(super) struct PolicyAnswer {
    /// The chosen policy with its parameters.
    pub(super) policy: String,
    /// True if jobs share nodes or are paused.
    pub(super) shares_nodes: bool,
    pub(super) objectives: Objectives,
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
    let progress = ReplayProgress::on_terminal((input.workload.len() * plan.choices.len()) as u64);
    let mut answers = Vec::with_capacity(plan.choices.len());
    let done = run_in_order(
        plan.choices.len(),
        plan.threads(),
        |n| run_policy(plan, input, &plan.choices[n], progress.as_ref()),
        |n, (objectives, replay)| {
            let policy = plan.choices[n].to_string();
            if let (Some(jobs_out), Some(replay)) = (&mut jobs_out, &replay) {
                jobs_out.write(&policy, replay)?;
            }
            if let (Some(path), Some(replay)) = (&plan.gantt, &replay) {
                gantt::write(path, &policy, input, replay)?;
            }
            answers.push(PolicyAnswer {
                policy,
                shares_nodes: plan.choices[n].shares_nodes(),
                objectives,
            });
            Ok(())
        },
    );
    if let Some(progress) = &progress {
        progress.clear();
    }
    done?;
    if let Some(jobs_out) = jobs_out {
        jobs_out.finish()?;
    }
    Ok(answers)
}

/// Runs one policy. The result of the replay is kept only if the output needs it.
fn run_policy(
    plan: &ReplayPlan,
    input: &ReplayInput,
    choice: &PolicySpec,
    progress: Option<&ReplayProgress>,
) -> Result<(Objectives, Option<ReplayResult>), CliFailure> {
    let settings = sim::ReplayConfig {
        nodes: input.machine.nodes,
        market: plan.market,
        tasks: plan.tasks,
        record_level: plan.record,
    };
    let arrivals = ProgressIterator::new(input.workload.arrivals(), progress);
    let policy = choice.build(plan.market);
    let estimates = sim::EstimateSetup {
        origin: plan.estimates,
        belief: choice.belief(),
        contexts: &input.job_contexts,
        history: &input.learned.history,
    };
    let replay = sim::replay_with(arrivals, policy, &settings, &estimates);
    let replay = replay.map_err(|failure| ReplayError::Run {
        policy: choice.to_string(),
        failure,
    })?;
    let objectives = Objectives::of(&replay.outcomes, settings.nodes, settings.market);
    Ok((objectives, plan.needs_placements().then_some(replay)))
}

//! A job under both policies, with the known part of its run time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_gate::RunTimes;
use tollgate_model::TaskId;
use tollgate_model::{AttemptEnding, Distribution, Instant, JobId, LimitOwners, Span};
use tollgate_policy::{Node, NodeTask};

use super::totals::{JobTerms, ShadowEnd, ShadowOutcome};

/// Minimum further run time assumed for a job that has outrun its forecast. The assumption is at
/// least an eighth of its run time so far, so that the job is looked at ever more rarely.
const MIN_OVERRUN: Span = Span::from_secs(1);

/// A job that is unfinished under at least one policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ShadowJob {
    /// The job's slot in the gate on paper, until it has finished there.
    pub(super) slot: Option<JobId>,
    pub(super) terms: JobTerms,
    /// The forecast of its run time.
    pub(super) forecast: Distribution,
    pub(super) runtime: ObservedRuntime,
    /// The ending of the job's last attempt, which it then has on paper, too.
    pub(super) ending: Option<AttemptEnding>,
    /// The owners of the job's limits.
    pub(super) limit_owners: LimitOwners,
    /// The job's run time before the shadow began.
    pub(super) ran_before: Span,
    /// Whether the job was submitted since the shadow began.
    pub(super) counts: bool,
    /// Whether the job's end on paper came from the forecast.
    pub(super) by_forecast: bool,
    pub(super) real: ShadowOutcome,
    pub(super) paper: ShadowOutcome,
}

/// The real policy's knowledge of a job's run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ObservedRuntime {
    /// The job has not run.
    Unknown,
    /// The job has run since this instant.
    RunsSince(Instant),
    /// The job has ended after this much work: its run time alone on its nodes.
    Ran(Span),
}

impl ShadowJob {
    /// Returns the total run time on paper, as far as is known at `now`.
    pub(super) fn paper_runtime(&self, now: Instant) -> Span {
        let whole = match self.runtime {
            ObservedRuntime::Ran(runtime) => runtime,
            ObservedRuntime::Unknown => self.forecast.median(),
            ObservedRuntime::RunsSince(start) => {
                let elapsed = now.since(start);
                let eighth = Span::from_micros(elapsed.as_micros() / 8);
                let longer = elapsed + eighth.max(MIN_OVERRUN);
                self.forecast.given_survived(elapsed).median().max(longer)
            }
        };
        // A gate accepts no job without any run time.
        (whole - self.ran_before).max(Span::TICK)
    }

    /// Returns the job's ends under both policies; None until it has both.
    pub(super) fn ends(&self) -> Option<(ShadowEnd, ShadowEnd)> {
        self.real.end.zip(self.paper.end)
    }
}

/// The run times on paper, as far as they are known.
pub(super) struct PaperRunTimes<'a> {
    pub(super) jobs: &'a BTreeMap<TaskId, ShadowJob>,
    pub(super) slots: &'a BTreeMap<JobId, TaskId>,
}

impl RunTimes for PaperRunTimes<'_> {
    fn run_time(&self, slot: JobId, now: Instant) -> Option<Span> {
        Some(self.paper_runtime(slot, now))
    }

    fn has_ended(&self, node: &Node, task: &NodeTask, now: Instant) -> bool {
        self.task_end(node, task, now) <= now
    }

    fn first_task_end(&self, node: &Node, now: Instant) -> Option<Instant> {
        let tasks = node.tasks().iter();
        tasks.map(|task| self.task_end(node, task, now)).min()
    }
}

impl PaperRunTimes<'_> {
    fn paper_runtime(&self, slot: JobId, now: Instant) -> Span {
        let job = self.slots.get(&slot).and_then(|key| self.jobs.get(key));
        job.map_or(Span::ZERO, |job| job.paper_runtime(now))
    }

    /// Returns the end of a task, with all of its work done: what is left of a forecast run time
    /// is no rounding error.
    fn task_end(&self, node: &Node, task: &NodeTask, now: Instant) -> Instant {
        let work_s = self.paper_runtime(task.job, now).as_secs_f64();
        let left_s = work_s - node.work_at(task, now);
        now + Span::ceil_secs_f64(left_s.max(0.0) / task.rate)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::distribution::LEVELS;

    use tollgate_model::LimitOwner;

    use super::*;

    fn pair(truth: ObservedRuntime) -> ShadowJob {
        ShadowJob {
            slot: None,
            terms: JobTerms {
                submit: Instant::ZERO,
                procs: 1,
                due: None,
                budget: None,
            },
            forecast: Distribution::new(LEVELS.map(|_| Span::from_secs(100))),
            runtime: truth,
            ending: None,
            limit_owners: LimitOwners {
                time: LimitOwner::User,
                memory: LimitOwner::Site,
                output: LimitOwner::Site,
            },
            ran_before: Span::ZERO,
            counts: true,
            by_forecast: false,
            real: ShadowOutcome::default(),
            paper: ShadowOutcome::default(),
        }
    }

    #[test]
    fn paper_runtime_is_the_real_one_or_at_least_the_elapsed_time() {
        let at = |secs| Instant::ZERO + Span::from_secs(secs);
        let work = |truth, now| pair(truth).paper_runtime(at(now)).as_secs_f64();
        assert_eq!(work(ObservedRuntime::Unknown, 500), 100.0);
        assert_eq!(work(ObservedRuntime::Ran(Span::from_secs(7)), 500), 7.0);
        assert_eq!(work(ObservedRuntime::RunsSince(at(0)), 10), 100.0);
        assert_eq!(work(ObservedRuntime::RunsSince(at(0)), 800), 900.0);
        let mut begun = pair(ObservedRuntime::Ran(Span::from_secs(70)));
        begun.ran_before = Span::from_secs(60);
        assert_eq!(begun.paper_runtime(at(500)).as_secs_f64(), 10.0);
    }
}

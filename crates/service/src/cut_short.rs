//! Runs that the end of their host cuts short: a batch system took time from a pilot while it ran.
//!
//! A task on such a host goes on, and its promise may be at risk. Without a requeue the task is lost when its
//! host closes, and with one its run begins anew elsewhere.

use std::collections::BTreeSet;

use tollgate_gate::{GateInput, OnEviction, WorkerId};
use tollgate_model::{Instant, Probability, Span, TaskId};

use crate::active_task::ActiveTask;
use crate::at_risk::RISK_LEVEL;
use crate::core::Core;
use crate::output::{CommandError, PromiseRisk, StepOutput};

impl Core {
    /// Takes on another end of a worker's host, and reports the promises that it puts at risk.
    pub(crate) fn move_closing(
        &mut self,
        worker: (WorkerId, u32),
        closes: Instant,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let (worker, incarnation) = worker;
        let input = GateInput::WorkerCloses {
            worker,
            incarnation,
            closes,
        };
        self.apply_input(input, step)?;
        let before = self.jobs.risks.by_cause(PromiseRisk::HostCloses);
        let now = self.cut_short().map(|task| task.job);
        for job in before.chain(now).collect::<BTreeSet<u64>>() {
            self.look_at_promise(job, step);
        }
        Ok(())
    }

    /// Returns when the host of a running task closes, if its promise is at risk because of that.
    pub fn closes_before_end(&self, task: impl Into<TaskId>) -> Option<Instant> {
        let task = task.into();
        let live = self.jobs.get(task)?;
        self.risk_by_closing(task, live, RISK_LEVEL)?;
        self.closing_of(live)
    }

    /// Returns the running tasks whose promise is at risk because their host closes.
    fn cut_short(&self) -> impl Iterator<Item = TaskId> {
        let tasks = self.jobs.iter();
        tasks.filter_map(|(task, live)| self.risk_by_closing(task, live, RISK_LEVEL).map(|_| task))
    }

    /// Returns the probability of keeping a promise, if it is below this level because the host of the task closes. Waits in
    /// the queue after a loss are not part of it.
    pub(crate) fn risk_by_closing(
        &self,
        task: TaskId,
        live: &ActiveTask,
        level: Probability,
    ) -> Option<Probability> {
        let is_open = live.is_running() && live.entry.is_none() && !live.is_unpromised();
        let due = live.spec.due().filter(|&due| is_open && due > self.now)?;
        let closes = self.closing_of(live)?;
        let done = self.work_so_far(live, self.now);
        let work = self.work_distribution(live, self.now);
        let slowdown = self.slowdown_at(live);
        let by = |end: Instant| {
            let left = slowdown.work_within(end.since(self.now).max(Span::ZERO));
            work.probability_within(done + left).as_f64()
        };
        let whole = live.forecast.distribution();
        let again = match self.may_run_again(task) {
            true => whole
                .probability_within(due.since(closes).max(Span::ZERO))
                .as_f64(),
            false => 0.0,
        };
        let kept = by(closes.min(due)) + (1.0 - by(closes)) * again;
        Probability::new(kept.min(1.0)).filter(|_| kept < level.as_f64())
    }

    /// Returns whether a task goes back to the queue if it is evicted.
    fn may_run_again(&self, task: TaskId) -> bool {
        let submission = self.jobs.submission_of(task);
        submission.is_some_and(|submission| submission.retry == OnEviction::Requeue)
    }

    /// Returns the first end of a host on which a task runs. None if all of them stay.
    fn closing_of(&self, live: &ActiveTask) -> Option<Instant> {
        let view = self.gate.view(self.now);
        let placement = view.find_job(live.slot)?.placement();
        let nodes = || placement.iter().flat_map(|range| range.nodes());
        let hosts = view.hosts().iter();
        let own = hosts.filter(|host| nodes().any(|node| host.nodes.contains(node)));
        own.filter_map(|host| host.terms.closes).min()
    }
}

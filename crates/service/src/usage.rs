//! The use of memory and of processors: learned at the ends of jobs and from records, and expected of later ones.

use tollgate_forecast::{BeliefJob, UsedAmounts};
use tollgate_model::{AttemptEnding, AttemptOutcome, Bytes, ExceededLimit, Span, TaskId, UserId};

use crate::command::Submission;
use crate::core::Core;
use crate::expected_usage::{AutoMemory, ExpectedUsage, MIN_BATCHES};
use crate::run_record::RunRecord;
use crate::runtime_forecast::belief_job;

impl Core {
    /// Returns what is expected of the use of a job.
    pub(crate) fn expected_usage(&self, submission: &Submission) -> ExpectedUsage {
        let job = self.usage_job(submission);
        let share = self.memory_per_node().map(Bytes::new);
        ExpectedUsage {
            memory: self.usage.memory(&job, self.now),
            processors: self.usage.processors(&job, self.now),
            requested: submission.memory.map(Bytes::new),
            auto: submission.options.auto_memory,
            share: share.map(|node| node.times(u64::from(submission.procs))),
            procs: submission.procs,
        }
    }

    /// Returns the memory of a job that leaves the amount to the service, by what jobs like it used until now.
    pub(crate) fn auto_memory(&self, submission: &Submission) -> AutoMemory {
        let known = self
            .usage
            .memory(&self.usage_job(submission), self.now)
            .filter(|known| known.shortage.is_some() || known.n_batches >= MIN_BATCHES);
        let enough = known.map(|known| known.enough.as_u64());
        AutoMemory {
            amount: enough.map(|enough| self.most_memory().map_or(enough, |most| enough.min(most))),
        }
    }

    fn usage_job(&self, submission: &Submission) -> BeliefJob {
        let facts = self.classes.find(&submission.into());
        belief_job(UserId(submission.user), &facts)
    }

    /// Learns what a task used whose attempt has ended. The report of an attempt on several hosts is about the first of
    /// them, and teaches nothing.
    pub(crate) fn learn_usage(
        &mut self,
        task: TaskId,
        (ending, ended): (AttemptEnding, &AttemptOutcome),
    ) {
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        let submission = self.jobs.submission_of(task);
        let procs = submission.map_or(live.spec.procs, |submission| submission.procs);
        let array = self.jobs.arrays.get(&task.job).map(|_| task.job);
        let job = live.belief_job(procs, array);
        let view = self.gate.view(self.now);
        let nodes = view.job(live.slot).placement();
        let mut hosts = nodes.iter().map(|&nodes| view.host_of(nodes));
        let first = hosts.next();
        if hosts.any(|host| Some(host) != first) {
            return;
        }
        match ending {
            AttemptEnding::Succeeded => {
                let run = ended.wall - ended.suspended;
                let used = UsedAmounts::of_run(ended.peak_memory.map(Bytes::new), ended.cpu, run);
                self.usage.learn(&job, used, self.now);
            }
            AttemptEnding::Exceeded(ExceededLimit::Memory, _) => {
                let own = submission.and_then(|submission| submission.memory);
                let of_nodes = nodes.iter().flat_map(|nodes| nodes.nodes());
                let of_nodes = of_nodes.map(|node| view.node(node).memory());
                let limit = own.or_else(|| of_nodes.sum()).or(ended.peak_memory);
                let limit = limit.map(Bytes::new);
                if let Some(limit) = limit {
                    self.usage.learn_shortage(&job, limit, self.now);
                }
            }
            AttemptEnding::Exceeded(ExceededLimit::Time | ExceededLimit::Output, _)
            | AttemptEnding::Failed
            | AttemptEnding::Cancelled
            | AttemptEnding::EndedBySite => {}
        }
    }

    /// Learns what a job of a record used.
    pub(crate) fn learn_recorded_usage(&mut self, record: &RunRecord, array: Option<u64>) {
        let facts = self.classes.add(&record.into());
        let job = belief_job(UserId(record.user), &facts);
        let job = BeliefJob { array, ..job };
        let peak = record.peak_memory.map(Bytes::new);
        let cpu = record.cpu.unwrap_or(Span::ZERO);
        let used = UsedAmounts::of_run(peak, cpu, record.runtime);
        self.usage.learn(&job, used, record.finish);
    }
}

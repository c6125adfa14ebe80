//! What jobs use of memory and of processors: what is learned when they end, what is expected of a job, and the memory of a
//! job that leaves it to the service.

use serde::{Deserialize, Serialize};
use tollgate_forecast::{BeliefJob, UsageForecast, UsedAmounts};
use tollgate_model::{AttemptEnding, AttemptOutcome, Bytes, ExceededLimit, Span, TaskId, UserId};

use crate::command::Submission;
use crate::core::Core;
use crate::run_record::RunRecord;
use crate::runtime_forecast::belief_job;

/// Number of batches of jobs like one that have to have ended before it gets memory by experience.
const MIN_BATCHES: u32 = 3;

/// How many times what is enough a job has to ask for before its user hears of it.
const TOO_MUCH: u64 = 2;

/// The memory of a job that leaves the amount to the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoMemory {
    /// The amount in bytes by which its processors are counted. None while too few jobs like it have ended: the job has what
    /// belongs to its processors.
    pub amount: Option<u64>,
}

/// What a job asks for, and what jobs like it used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedUsage {
    /// The peak memory of jobs like it; None if none has ended.
    pub memory: Option<UsageForecast<Bytes>>,
    /// How many processors jobs like it kept busy; None if none has ended.
    pub processors: Option<UsageForecast<f64>>,
    /// The memory that its user asks for.
    pub requested: Option<Bytes>,
    /// The memory that the service sets aside, if its user leaves that to it.
    pub auto: Option<AutoMemory>,
    /// The memory that belongs to its processors, if it is known.
    pub share: Option<Bytes>,
    /// Number of processors that its user asks for.
    pub procs: u32,
}

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
            .filter(|known| known.follows_shortage || known.n_batches >= MIN_BATCHES);
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

impl ExpectedUsage {
    /// Returns sentences for the user of the job: what was set aside by experience, and where the job asks for much more or
    /// for less than jobs like it used.
    pub fn advice(&self) -> Vec<String> {
        let memory = match self.auto {
            Some(auto) => Some(self.auto_sentence(auto)),
            None => self.memory_sentence(),
        };
        memory
            .into_iter()
            .chain(self.processor_sentence())
            .collect()
    }

    fn auto_sentence(&self, auto: AutoMemory) -> String {
        let share = self
            .share
            .map_or_else(String::new, |share| format!(", {}", share.in_unit()));
        match auto.amount.zip(self.memory) {
            Some((amount, known)) => format!(
                "{} of memory, because {}",
                Bytes::new(amount).in_unit(),
                Self::used(&known)
            ),
            None => format!(
                "the memory of its processors{share}: fewer than {MIN_BATCHES} batches of jobs like it have ended"
            ),
        }
    }

    fn used(known: &UsageForecast<Bytes>) -> String {
        let [low, high] = [known.low, known.high].map(Bytes::in_unit);
        match known.follows_shortage {
            true => format!("the last run of its program had {low}, and that was too little"),
            false => format!("jobs like it used {low} to {high}"),
        }
    }

    fn memory_sentence(&self) -> Option<String> {
        let known = self.memory?;
        let used = Self::used(&known);
        let limit = self.requested.or(self.share)?;
        let is_known = known.follows_shortage || known.n_batches >= MIN_BATCHES;
        if self.requested.is_some() && limit > known.enough.times(TOO_MUCH) {
            return Some(format!("{used} of memory: you ask for {}", limit.in_unit()));
        }
        (is_known && limit < known.high).then(|| match self.requested {
            Some(limit) => format!("{used} of memory: you ask for {} only", limit.in_unit()),
            None => format!(
                "{used} of memory: without --mem the job has {}",
                limit.in_unit()
            ),
        })
    }

    fn processor_sentence(&self) -> Option<String> {
        let known = self.processors?;
        (self.procs > 1 && known.high < f64::from(self.procs) / 2.0).then(|| {
            format!(
                "jobs like it kept {:.1} to {:.1} processors busy: you ask for {}",
                known.low, known.high, self.procs
            )
        })
    }
}

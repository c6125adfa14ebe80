//! Learning from the ends of the service's own jobs and from records of earlier ones, and the beliefs about
//! waiting jobs that follow.

use tollgate_forecast::{BeliefJob, CompletedJob, TaskStage, learn_beliefs};
use tollgate_gate::GateInput;
use tollgate_model::{AttemptEnding, ExceededLimit, RuntimeBelief, Span, TaskId, UserId};

use crate::core::Core;
use crate::job_classes::JobFacts;
use crate::output::{CommandResult, StepOutput};
use crate::run_record::{OwnRun, RunRecord};
use crate::runtime_forecast::belief_job;

impl Core {
    /// Learns from an attempt that has vanished.
    pub(crate) fn learn_loss(&mut self, task: TaskId, step: &mut StepOutput) {
        let live = self.jobs.get(task);
        let work = live.map_or(Span::ZERO, |live| self.work_so_far(live, self.now));
        self.learn_end(task, (AttemptEnding::EndedBySite, work), step);
    }

    /// Learns from the end of an attempt that has done `work`. Only a success says what such a job
    /// needs. An attempt that was ended says that the job needs more. A failure, or an end by a limit of
    /// memory or output, says nothing about it and is counted.
    pub(crate) fn learn_end(
        &mut self,
        task: TaskId,
        (ending, work): (AttemptEnding, Span),
        step: &mut StepOutput,
    ) {
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        let class = live.class;
        let beliefs = &mut self.history.beliefs;
        let change = match ending {
            AttemptEnding::Succeeded => beliefs.end(task, work, self.now),
            AttemptEnding::Exceeded(ExceededLimit::Time, _)
            | AttemptEnding::Cancelled
            | AttemptEnding::EndedBySite => beliefs.end_at_least(task, work, self.now),
            AttemptEnding::Exceeded(ExceededLimit::Memory | ExceededLimit::Output, _)
            | AttemptEnding::Failed => {
                beliefs.remove(task);
                self.classes.count_failure(class);
                None
            }
        };
        if let Some(change) = change {
            step.class_changes.push((task.job, change));
        }
    }

    /// Learns from records of earlier jobs, in the order of their ends, as if each had been forecast
    /// then. A record that was learned before teaches nothing.
    pub(crate) fn learn_records(&mut self, records: &[RunRecord]) -> CommandResult {
        let mut records: Vec<&RunRecord> = records.iter().collect();
        records.sort_by_key(|record| record.finish);
        let n_records = records.len();
        records.retain(|record| self.learned_records.insert(record.digest));
        let (learned, known) = (records.len(), n_records - records.len());
        self.learn_runs(records.into_iter().map(|record| (record, None)));
        CommandResult::Learned {
            learned: learned as u32,
            known: known as u32,
        }
    }

    /// Learns anew from runs of this service's own jobs, in the order of their ends.
    pub fn relearn(&mut self, mut runs: Vec<OwnRun>) {
        runs.sort_by_key(|own| own.run.finish);
        self.learn_runs(runs.iter().map(|own| (&own.run, own.array)));
    }

    /// Learns from runs in the order of their ends, each with the number of its array.
    fn learn_runs<'a>(&mut self, runs: impl Iterator<Item = (&'a RunRecord, Option<u64>)>) {
        let mut jobs = Vec::new();
        for (record, array) in runs {
            self.learn_recorded_usage(record, array);
            let ended = CompletedJob {
                job: self.classes.add(&JobFacts::from(record)),
                submit: record.submit,
                finish: record.finish,
                runtime: record.runtime,
            };
            let job = belief_job(UserId(record.user), &ended.job);
            jobs.push((BeliefJob { array, ..job }, ended));
        }
        learn_beliefs(&mut self.history.beliefs, &jobs);
    }

    /// Reports to the beliefs which tasks were submitted, started, queued again or removed in this step.
    pub(crate) fn follow_tasks(&mut self) {
        let beliefs = &mut self.history.beliefs;
        beliefs.advance(self.now);
        for task in self.jobs.take_touched() {
            // Nothing runs for a reserved quote.
            let live = self.jobs.get(task);
            let Some(live) = live.filter(|live| live.reserved_until.is_none()) else {
                beliefs.remove(task);
                continue;
            };
            let known = beliefs.stage(task);
            if known == Some(TaskStage::Running) && !live.is_running() {
                beliefs.remove(task);
            }
            if beliefs.stage(task).is_none() {
                let array = self.jobs.arrays.get(&task.job).map(|_| task.job);
                let submission = self.jobs.submission_of(task);
                let procs = submission.map_or(live.spec.procs, |submission| submission.procs);
                beliefs.submit(task, live.belief_job(procs, array), self.now);
            }
            if live.is_running() {
                beliefs.start(task, self.now);
            }
        }
    }

    /// States anew what is believed of the waiting jobs about which more is known than before.
    pub(crate) fn refresh_beliefs(&mut self, step: &mut StepOutput) {
        self.follow_tasks();
        if !self.rules.policy.uses_beliefs() {
            return;
        }
        let mut revised = Vec::new();
        for (task, belief) in self.history.beliefs.take_revised(self.now) {
            let Some(live) = self.jobs.get(task).filter(|live| !live.is_held_in_gate()) else {
                continue;
            };
            let later = self.expected(&belief, live.time_limit);
            if (later.0, belief.kinship) != (*live.forecast.distribution(), live.forecast.kinship())
            {
                revised.push((task, live.slot, later, belief.kinship));
            }
        }
        for (task, job, later, kinship) in revised {
            let forecast = RuntimeBelief {
                distribution: later.0,
                kinship: Some(kinship),
            };
            let input = GateInput::Reforecast { job, forecast };
            let answer = self.gate.handle(self.now, input, &mut self.effects);
            debug_assert!(answer.is_ok(), "the job waits: {answer:?}");
            let live = match self.jobs.group(job).is_some() {
                true => self.jobs.common_mut(job),
                false => self.jobs.get_mut(task),
            };
            if let Some(live) = live {
                live.forecast.revise(later, kinship);
            }
            self.look_ahead.invalidate(job);
        }
        self.apply_effects(step);
    }
}

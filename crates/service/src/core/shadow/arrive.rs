//! Jobs as they come to the policy on paper, and what becomes of them for real.

use tollgate_gate::{
    AdmissionDecision, GateInput, InputAck, LookAhead, LookAheadHorizon, LookAheadSubject,
    OnEviction,
};
use tollgate_model::{Distribution, JobSpec, Probability, Sla, Span};
use tollgate_policy::{JobEnding, JobPhase};

use super::ShadowPolicy;
use super::pair::{ObservedRuntime, ShadowJob};
use super::sums::{JobTerms, ShadowEnd, ShadowOutcome};
use crate::core::command::{Submission, TaskKey};
use crate::core::outcome::{AdmissionState, RowChange, SubmitOutcome as CoreAnswer};
use crate::core::ranges::TaskRanges;
use crate::core::{ActiveTask, Core, rules};

/// A look into the future gives up after so many looks at a job or a node.
const MOST_LOOKS: u64 = 1_000_000;
/// Of an array that the policy that decides does not want, so many tasks are handed in on paper at most;
/// the others are not counted.
const MOST_TASKS: usize = 1_000;

impl ShadowPolicy {
    /// Tasks of an array that have come into being since.
    pub(super) fn tasks_of(&mut self, job: u64, core: &Core) {
        let Some(array) = core.array(job) else {
            return;
        };
        for (task, live) in core.tasks_of(job) {
            if !self.pairs.contains_key(&task) {
                self.hand_in(task, core, &array.submission, &live.spec);
            }
        }
    }

    /// What has changed under the policy that decides.
    pub(super) fn note(&mut self, core: &Core, change: &RowChange) {
        match change {
            RowChange::Submitted {
                job,
                submission,
                answer,
            } => match answer.standing {
                AdmissionState::Deferred => {
                    self.waiting.insert(*job, submission.as_ref().clone());
                }
                // A quote is handed in on paper once it is taken up.
                _ if submission.hold.is_some() => {}
                AdmissionState::Accepted { .. }
                | AdmissionState::Queued
                | AdmissionState::Rejected(_) => {
                    self.decided(*job, core, submission, answer);
                }
            },
            RowChange::Decided { job, answer } => {
                if let Some(submission) = self.waiting.remove(job) {
                    self.decided(*job, core, &submission, answer);
                }
            }
            RowChange::Claimed { job } => {
                if let Some(live) = core.job(*job) {
                    self.claimed((*job).into(), live);
                }
            }
            RowChange::Dropped {
                job,
                tasks,
                refusals,
            } => self.dropped(*job, core, tasks, !refusals.is_empty()),
            RowChange::HeldTasks { job, tasks } => {
                for task in self.known_of(*job) {
                    self.with_slot(task, |job| match tasks.contains(task.task) {
                        true => GateInput::Hold { job },
                        false => GateInput::Release { job },
                    });
                }
            }
            RowChange::Rejected { job, .. } => self.real_end((*job).into(), ShadowEnd::KeptOut),
            RowChange::Queued { job } => {
                self.with_slot((*job).into(), |job| GateInput::Release { job });
            }
            RowChange::Held { job } => self.with_slot((*job).into(), |job| GateInput::Hold { job }),
            RowChange::Started { attempt, .. } => {
                let now = self.now;
                if let Some(pair) = self.pairs.get_mut(&attempt.of()) {
                    pair.truth = ObservedRuntime::RunsSince(now);
                    pair.real.start = pair.real.start.or(Some(now));
                }
            }
            RowChange::Booked {
                attempt, amount, ..
            } => {
                if let Some(pair) = self.pairs.get_mut(&attempt.of()) {
                    pair.real.earned += *amount;
                }
            }
            RowChange::TaskOver { attempt, ending } => self.over(attempt.of(), *ending),
            RowChange::Over { job, ending } => {
                self.waiting.remove(job);
                // The tasks of an array are over already.
                self.over((*job).into(), *ending);
            }
            RowChange::Deferred { .. }
            | RowChange::Forsaken { .. }
            | RowChange::Tally { .. }
            | RowChange::Expired { .. }
            | RowChange::Accepted { .. }
            | RowChange::Fate { .. }
            | RowChange::WorkerLost { .. } => {}
        }
    }

    /// A job was let in or kept out.
    fn decided(&mut self, job: u64, core: &Core, submission: &Submission, answer: &CoreAnswer) {
        let kept_out = matches!(answer.standing, AdmissionState::Rejected(_));
        match &submission.plan.array {
            None => {
                self.hand_in(job.into(), core, submission, &answer.spec);
                if kept_out {
                    self.real_end(job.into(), ShadowEnd::KeptOut);
                }
            }
            Some(plan) if kept_out => {
                self.kept_out(job, core, submission, &answer.spec, &plan.tasks);
            }
            // Its tasks come one by one.
            Some(_) => {}
        }
    }

    /// Tasks of an array that the policy that decides does not want.
    fn kept_out(
        &mut self,
        job: u64,
        core: &Core,
        submission: &Submission,
        spec: &JobSpec,
        tasks: &TaskRanges,
    ) {
        for task in tasks.numbers().take(MOST_TASKS) {
            let task = TaskKey { job, task };
            if !self.pairs.contains_key(&task) {
                self.hand_in(task, core, submission, spec);
            }
            self.real_end(task, ShadowEnd::KeptOut);
        }
    }

    /// Tasks of an array will never run: they are not wanted, or their user took them back.
    fn dropped(&mut self, job: u64, core: &Core, tasks: &TaskRanges, kept_out: bool) {
        if !kept_out {
            for task in self.known_of(job) {
                if tasks.contains(task.task) {
                    self.take_back(task);
                }
            }
            return;
        }
        let array = core.array(job);
        if let Some(submission) = array.map(|array| &array.submission) {
            let forecast = core.forecast(submission);
            let (estimate, _) = self.rules.estimate(submission, &forecast);
            let spec = rules::spec(submission, estimate, self.now, core.memory_per_node());
            self.kept_out(job, core, submission, &spec, tasks);
        }
        for task in self.known_of(job) {
            if tasks.contains(task.task) {
                self.real_end(task, ShadowEnd::KeptOut);
            }
        }
    }

    fn known_of(&self, job: u64) -> Vec<TaskKey> {
        let first = TaskKey { job, task: 0 };
        let last = TaskKey {
            job,
            task: u32::MAX,
        };
        self.pairs
            .range(first..=last)
            .map(|(&task, _)| task)
            .collect()
    }

    fn over(&mut self, task: TaskKey, ending: JobEnding) {
        match ending {
            JobEnding::Finished => self.real_end(task, ShadowEnd::Finished(self.now)),
            JobEnding::Lost => self.real_end(task, ShadowEnd::Lost),
            JobEnding::Cancelled => self.take_back(task),
        }
    }

    /// A job as it was handed in, and decided on.
    fn hand_in(&mut self, key: TaskKey, core: &Core, submission: &Submission, spec: &JobSpec) {
        let forecast = core.forecast(submission);
        let (forecast, _) = forecast.distribution(spec.estimate);
        let floor = submission.confidence.unwrap_or(0);
        self.ask(key, *spec, forecast, submission.retry, floor);
    }

    /// A quote that was held has become a job: it is handed in on paper now, with what is left of
    /// its time.
    fn claimed(&mut self, key: TaskKey, live: &ActiveTask) {
        let deadline = live.spec.due().map(|due| due.since(self.now));
        let spec = JobSpec {
            submit: self.now,
            sla: Sla {
                deadline: deadline.map(|left| left.max(Span::TICK)),
                ..live.spec.sla
            },
            ..live.spec
        };
        let (forecast, _) = live.forecast.distribution(spec.estimate);
        self.ask(key, spec, forecast, OnEviction::Never, 0);
    }

    /// A job that was there before the shadow.
    pub(super) fn take_over(&mut self, key: TaskKey, live: &ActiveTask, core: &Core) {
        let before = match live.started {
            Some(started) => self.now.since(started),
            None => Span::ZERO,
        };
        let spec = JobSpec {
            submit: self.now,
            estimate: (live.spec.estimate - before).max(Span::from_secs(1)),
            procs: live.spec.procs,
            memory: live.spec.memory,
            sla: Sla::default(),
        };
        let (forecast, _) = live.forecast.distribution(live.spec.estimate);
        self.ask(key, spec, forecast, OnEviction::Requeue, 0);
        if let Some(pair) = self.pairs.get_mut(&key) {
            pair.counts = false;
            pair.before = before;
            pair.truth = live
                .started
                .map_or(ObservedRuntime::Unknown, ObservedRuntime::RunsSince);
        }
        if core.gate.view(core.now).job(live.slot).phase == JobPhase::Held {
            self.with_slot(key, |job| GateInput::Hold { job });
        }
        // Each starts before the next one is handed in, as it did.
        self.settle();
    }

    /// Asks the policy on paper, and hands the job to its gate if it lets it in.
    fn ask(
        &mut self,
        key: TaskKey,
        spec: JobSpec,
        forecast: Distribution,
        retry: OnEviction,
        floor: u32,
    ) {
        let mut pair = ShadowJob {
            slot: None,
            terms: JobTerms {
                submit: spec.submit,
                procs: spec.procs,
                due: spec.due(),
                budget: spec.sla.budget,
            },
            forecast,
            truth: ObservedRuntime::Unknown,
            before: Span::ZERO,
            counts: true,
            guessed: false,
            real: ShadowOutcome::default(),
            paper: ShadowOutcome::default(),
        };
        let input = GateInput::Submitted {
            spec: self.rules.for_policy(&spec),
            retry,
            forecast: Some(forecast),
        };
        if self.lets_in(&spec, &forecast, floor)
            && let Ok(InputAck::Job(slot)) = self.gate.handle(self.now, input, &mut self.effects)
        {
            pair.slot = Some(slot);
            self.slots.insert(slot, key);
        } else {
            pair.paper.end = Some(ShadowEnd::KeptOut);
        }
        self.pairs.insert(key, pair);
        self.carry_out();
    }

    /// What the service asks of a job, it asks on paper: that the policy lets it in, and that it is
    /// sure enough to keep its deadline.
    fn lets_in(&mut self, spec: &JobSpec, forecast: &Distribution, floor: u32) -> bool {
        if spec.procs == 0 || spec.estimate <= Span::ZERO {
            return false;
        }
        let asked = self.rules.for_policy(spec);
        let verdict = self
            .gate
            .quote(self.now, &asked, Some(forecast), &mut self.scratch);
        let floor = match verdict {
            AdmissionDecision::Reject(_) => return false,
            AdmissionDecision::Queue => floor,
            AdmissionDecision::Promise { .. } | AdmissionDecision::Run { .. } => {
                floor.max(self.rules.confidence)
            }
        };
        let level = Probability::new(f64::from(floor) / 1e6);
        let (Some(due), Some(level)) = (spec.due(), level.filter(|_| floor > 0)) else {
            return true;
        };
        let runtime = forecast.quantile(level);
        let horizon = LookAheadHorizon {
            runtime: Span::ZERO,
            due: Some((due, runtime)),
        };
        let work = |slot| {
            self.pair(slot)
                .map_or(Span::ZERO, |pair| pair.work(self.now))
        };
        let mut ahead = LookAhead::new(&self.gate, self.now, &work, MOST_LOOKS);
        let course = ahead.course(LookAheadSubject::New(&asked, Some(forecast)), &horizon);
        let finish = course.and_then(|course| course.finish(runtime));
        finish.is_some_and(|finish| finish <= due + Span::TICK)
    }

    /// Its user took a job back: under both, and so it counts under neither.
    fn take_back(&mut self, key: TaskKey) {
        self.with_slot(key, |job| GateInput::Cancel { job });
        if let Some(pair) = self.pairs.get_mut(&key) {
            pair.counts = false;
        }
        self.real_end(key, ShadowEnd::Lost);
    }
}

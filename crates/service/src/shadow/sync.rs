//! Arrival of jobs at the shadow policy, and their real events.

use tollgate_gate::{
    AdmissionDecision, GateInput, InputAck, LookAhead, LookAheadHorizon, LookAheadSubject,
    OnEviction,
};
use tollgate_model::{
    Distribution, JobEndState, JobSpec, LimitOwners, PlacementNeeds, Probability, Sla, Span, TaskId,
};

use super::ShadowPolicy;
use super::job::{ObservedRuntime, ShadowJob};
use super::totals::{JobTerms, ShadowEnd, ShadowOutcome};
use crate::active_task::ActiveTask;
use crate::command::Submission;
use crate::core::Core;
use crate::output::{AdmissionState, RowChange, SubmitOutcome, TaskDropCause};
use crate::task_ranges::TaskRanges;

/// Maximum number of look-ahead steps (visits of a job or a node) before it gives up.
const MAX_PROBE_STEPS: u64 = 1_000_000;
/// Maximum number of tasks of an array, rejected by the real policy, that are submitted on paper;
/// the others are not counted.
const MAX_REJECTED_TASKS: usize = 1_000;

impl ShadowPolicy {
    /// Submits the newly materialised tasks of an array.
    pub(super) fn add_materialised_tasks(&mut self, job: u64, core: &Core) {
        let Some(array) = core.array(job) else {
            return;
        };
        for (task, live) in core.tasks_of(job) {
            if !self.jobs.contains_key(&task) {
                self.submit(task, core, &array.submission, &live.spec);
            }
        }
        for group in array.groups() {
            for task in group.tasks.numbers() {
                let task = TaskId { job, task };
                if !self.jobs.contains_key(&task) {
                    self.submit(task, core, &array.submission, &group.common.spec);
                }
            }
        }
    }

    /// Records a change under the real policy.
    pub(super) fn on_change(&mut self, core: &Core, change: &RowChange) {
        match change {
            RowChange::Submitted {
                job,
                submission,
                answer,
            } => match answer.admission {
                AdmissionState::Deferred => {
                    self.waiting.insert(*job, submission.as_ref().clone());
                }
                // A quote is submitted on paper once it is claimed.
                _ if submission.reserve_for.is_some() => {}
                AdmissionState::Accepted { .. }
                | AdmissionState::Queued
                | AdmissionState::Waitlisted { .. }
                | AdmissionState::Unpromised(_)
                | AdmissionState::Rejected(_) => {
                    self.on_decided(*job, core, submission, answer);
                }
            },
            RowChange::Decided { job, answer } => {
                if let Some(submission) = self.waiting.remove(job) {
                    self.on_decided(*job, core, &submission, answer);
                }
            }
            RowChange::Claimed { job } => {
                if let Some(live) = core.job(*job) {
                    self.on_claimed((*job).into(), live);
                }
            }
            RowChange::TasksDropped {
                job, tasks, cause, ..
            } => {
                let is_end = match cause {
                    TaskDropCause::Cancelled => false,
                    TaskDropCause::Late | TaskDropCause::Rejected(_) => true,
                };
                self.on_tasks_dropped(*job, core, tasks, is_end);
            }
            RowChange::HeldTasks { job, tasks } => {
                for task in self.tasks_of_job(*job) {
                    self.with_slot(task, |job| match tasks.contains(task.task) {
                        true => GateInput::Hold { job },
                        false => GateInput::Release { job },
                    });
                }
            }
            RowChange::Rejected { job, .. } | RowChange::DroppedLate { job } => {
                self.real_end((*job).into(), ShadowEnd::NotAdmitted);
            }
            RowChange::Queued { job } => {
                self.with_slot((*job).into(), |job| GateInput::Release { job });
            }
            RowChange::Held { job } => self.with_slot((*job).into(), |job| GateInput::Hold { job }),
            RowChange::Started { attempt, .. } => {
                let now = self.now;
                if let Some(pair) = self.jobs.get_mut(&attempt.task()) {
                    pair.runtime = ObservedRuntime::RunsSince(now);
                    pair.real.start = pair.real.start.or(Some(now));
                    self.run_times_changed = true;
                }
            }
            RowChange::Booked {
                attempt, amount, ..
            } => {
                if let Some(pair) = self.jobs.get_mut(&attempt.task()) {
                    pair.real.earned += *amount;
                }
            }
            RowChange::Entered { attempt, entry, .. } => {
                if let Some(pair) = self.jobs.get_mut(&attempt.task()) {
                    pair.real.entry = Some(*entry);
                }
            }
            RowChange::EnteredTogether {
                job, tasks, entry, ..
            } => {
                for task in self.tasks_of_job(*job) {
                    if let Some(pair) = self.jobs.get_mut(&task)
                        && tasks.contains(task.task)
                    {
                        pair.real.entry = Some(*entry);
                    }
                }
            }
            RowChange::TaskEnded { attempt, ending } => self.on_ended(attempt.task(), *ending),
            RowChange::JobEnded { job, ending } => {
                self.waiting.remove(job);
                // The tasks of the array have already finished.
                self.on_ended((*job).into(), *ending);
            }
            // A job that was decided about on paper counts under neither policy.
            RowChange::Altered { job, .. } => {
                match (self.waiting.get_mut(job), core.jobs.deferred.get(job)) {
                    (Some(waiting), Some(changed)) => waiting.clone_from(changed),
                    (_, _) => {
                        for task in self.tasks_of_job(*job) {
                            self.withdraw(task);
                        }
                    }
                }
            }
            RowChange::Deferred { .. }
            | RowChange::DependencyFailed { .. }
            | RowChange::ArrayCounts { .. }
            | RowChange::Expired { .. }
            | RowChange::Accepted { .. }
            | RowChange::Priced { .. }
            | RowChange::Promised { .. }
            | RowChange::NotPromised { .. }
            | RowChange::Granted { .. }
            | RowChange::StartedLate { .. }
            | RowChange::AttemptReported(_)
            | RowChange::AtRisk { .. }
            | RowChange::WorkMeasured { .. }
            | RowChange::Evicted { .. }
            | RowChange::Abandoned { .. }
            | RowChange::WorkerLost { .. } => {}
        }
    }

    /// Records the admission decision on a job.
    fn on_decided(
        &mut self,
        job: u64,
        core: &Core,
        submission: &Submission,
        answer: &SubmitOutcome,
    ) {
        let kept_out = matches!(answer.admission, AdmissionState::Rejected(_));
        let n_requested = answer.n_requested(submission);
        (self.simulation).note_request(self.now, &answer.spec, n_requested);
        match &submission.options.array {
            None => {
                self.submit(job.into(), core, submission, &answer.spec);
                if kept_out {
                    self.real_end(job.into(), ShadowEnd::NotAdmitted);
                }
            }
            Some(plan) if kept_out => {
                self.on_tasks_rejected(job, core, submission, &answer.spec, &plan.tasks);
            }
            // The tasks of an admitted array come one by one.
            Some(_) => {}
        }
    }

    /// Records tasks of an array that the real policy rejects.
    fn on_tasks_rejected(
        &mut self,
        job: u64,
        core: &Core,
        submission: &Submission,
        spec: &JobSpec,
        tasks: &TaskRanges,
    ) {
        for task in tasks.numbers().take(MAX_REJECTED_TASKS) {
            let task = TaskId { job, task };
            if !self.jobs.contains_key(&task) {
                self.submit(task, core, submission, spec);
            }
            self.real_end(task, ShadowEnd::NotAdmitted);
        }
    }

    /// Records tasks of an array that will never run, because they were rejected or cancelled.
    fn on_tasks_dropped(&mut self, job: u64, core: &Core, tasks: &TaskRanges, kept_out: bool) {
        if let (Some(waiting), Some(left)) =
            (self.waiting.get_mut(&job), core.jobs.deferred.get(&job))
        {
            waiting.clone_from(left);
            return;
        }
        if !kept_out {
            for task in self.tasks_of_job(job) {
                if tasks.contains(task.task) {
                    self.withdraw(task);
                }
            }
            return;
        }
        let array = core.array(job);
        if let Some(submission) = array.map(|array| &array.submission) {
            let forecast = core.forecast(submission, Some(job));
            let (estimate, _) = forecast.estimate();
            let spec = core.spec_of(submission, estimate, self.now);
            self.on_tasks_rejected(job, core, submission, &spec, tasks);
        }
        for task in self.tasks_of_job(job) {
            if tasks.contains(task.task) {
                self.real_end(task, ShadowEnd::NotAdmitted);
            }
        }
    }

    fn tasks_of_job(&self, job: u64) -> Vec<TaskId> {
        let first = TaskId { job, task: 0 };
        let last = TaskId {
            job,
            task: u32::MAX,
        };
        self.jobs
            .range(first..=last)
            .map(|(&task, _)| task)
            .collect()
    }

    fn on_ended(&mut self, task: TaskId, ending: JobEndState) {
        match ending {
            JobEndState::Finished
            | JobEndState::TimedOut
            | JobEndState::OutOfMemory
            | JobEndState::OutputLimit => self.real_end(task, ShadowEnd::Finished(self.now)),
            JobEndState::Lost | JobEndState::Abandoned => self.real_end(task, ShadowEnd::Lost),
            JobEndState::Cancelled => self.withdraw(task),
        }
    }

    /// Submits a job on paper, with the specification of its decision.
    fn submit(&mut self, key: TaskId, core: &Core, submission: &Submission, spec: &JobSpec) {
        let forecast = core.forecast(submission, Some(key.job));
        let floor = submission.confidence.unwrap_or(0);
        self.probe_and_submit(
            key,
            *spec,
            *forecast.distribution(),
            submission.retry,
            floor,
        );
        if let Some(pair) = self.jobs.get_mut(&key) {
            pair.limit_owners = submission.limit_owners(spec);
        }
    }

    /// Submits a claimed quote on paper, with the time left until its deadline.
    fn on_claimed(&mut self, key: TaskId, live: &ActiveTask) {
        let deadline = live.spec.due().map(|due| due.since(self.now));
        let spec = JobSpec {
            submit: self.now,
            sla: Sla {
                deadline: deadline.map(|left| left.max(Span::TICK)),
                ..live.spec.sla
            },
            ..live.spec
        };
        self.simulation.note_request(self.now, &spec, 1);
        let forecast = *live.forecast.distribution();
        self.probe_and_submit(key, spec, forecast, OnEviction::Fail, 0);
        if let Some(pair) = self.jobs.get_mut(&key) {
            pair.limit_owners = live.limit_owners();
        }
    }

    /// Takes over a job that is older than the shadow.
    pub(super) fn adopt(&mut self, key: TaskId, live: &ActiveTask) {
        let before = match live.started {
            Some(started) => self.now.since(started),
            None => Span::ZERO,
        };
        let spec = JobSpec {
            restarts: 0,
            submit: self.now,
            estimate: (live.spec.estimate - before).max(Span::from_secs(1)),
            procs: live.spec.procs,
            memory: live.spec.memory,
            needs: PlacementNeeds::default(),
            user: live.spec.user,
            sla: Sla::default(),
        };
        let forecast = *live.forecast.distribution();
        self.probe_and_submit(key, spec, forecast, OnEviction::Requeue, 0);
        if let Some(pair) = self.jobs.get_mut(&key) {
            pair.counts = false;
            pair.limit_owners = live.limit_owners();
            pair.ran_before = before;
            pair.runtime = live
                .started
                .map_or(ObservedRuntime::Unknown, ObservedRuntime::RunsSince);
            self.run_times_changed = true;
        }
        if live.held {
            self.with_slot(key, |job| GateInput::Hold { job });
        }
        // Each job starts before the next one is submitted, as in reality.
        self.run_passes();
    }

    /// Asks the policy on paper, and submits the job to its gate if the policy admits it.
    fn probe_and_submit(
        &mut self,
        key: TaskId,
        spec: JobSpec,
        forecast: Distribution,
        retry: OnEviction,
        floor: u32,
    ) {
        // Its policy may choose no hosts.
        let spec = JobSpec {
            needs: PlacementNeeds::default(),
            ..spec
        };
        let mut pair = ShadowJob {
            slot: None,
            terms: JobTerms {
                submit: spec.submit,
                procs: spec.procs,
                due: spec.due(),
                budget: spec.sla.budget,
            },
            forecast,
            runtime: ObservedRuntime::Unknown,
            ending: None,
            limit_owners: LimitOwners::of(&spec),
            ran_before: Span::ZERO,
            counts: true,
            by_forecast: false,
            real: ShadowOutcome::default(),
            paper: ShadowOutcome::default(),
        };
        let input = GateInput::Submitted {
            spec: self.rules.for_policy(&spec),
            on_eviction: retry,
            forecast: Some(forecast.into()),
        };
        if self.would_admit(&spec, &forecast, floor)
            && let Ok(InputAck::Job(slot)) = self.simulation.handle(self.now, input)
        {
            pair.slot = Some(slot);
            self.slots.insert(slot, key);
        } else {
            pair.paper.end = Some(ShadowEnd::NotAdmitted);
        }
        self.jobs.insert(key, pair);
        self.apply_effects();
    }

    /// Returns whether a job passes the service's checks on paper: the policy admits it, and its
    /// probability of keeping the deadline is high enough.
    fn would_admit(&mut self, spec: &JobSpec, forecast: &Distribution, floor: u32) -> bool {
        if spec.procs == 0 || spec.estimate <= Span::ZERO {
            return false;
        }
        let policy_spec = self.rules.for_policy(spec);
        let gate = self.simulation.gate();
        let verdict = gate.quote(self.now, &policy_spec, Some(forecast), &mut self.scratch);
        let floor = match verdict {
            AdmissionDecision::Reject(_) => return false,
            AdmissionDecision::Queue | AdmissionDecision::Waitlist { .. } => floor,
            AdmissionDecision::Unpromised(_) => 0,
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
            self.job(slot)
                .map_or(Span::ZERO, |pair| pair.paper_runtime(self.now))
        };
        let mut ahead = LookAhead::new(gate, self.now, &work, MAX_PROBE_STEPS);
        let course = ahead.trajectory(
            LookAheadSubject::New(&policy_spec, Some(forecast)),
            &horizon,
        );
        let finish = course.and_then(|course| course.finish(runtime));
        finish.is_some_and(|finish| finish <= due + Span::TICK)
    }

    /// Cancels a job under both policies, so that it counts under neither.
    fn withdraw(&mut self, key: TaskId) {
        self.with_slot(key, |job| GateInput::Cancel { job });
        if let Some(pair) = self.jobs.get_mut(&key) {
            pair.counts = false;
        }
        self.real_end(key, ShadowEnd::Lost);
    }
}

//! The jobs that simulated users submit.

use tokio::sync::oneshot;
use tollgate_gate::OnEviction;
use tollgate_model::{Credits, CreditsPerSecond, Instant, Otherwise, Span};
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedBegin, RequestedTimes};
use tollgate_service::{
    AdmissionState, ArraySpec, DependencyCondition, JobDependency, NamedResources, Submission,
    SubmissionOptions, TaskRanges,
};

use super::{ServiceSimulation, WaitReceivers, clock};
use crate::common::{program, submission};

impl ServiceSimulation {
    pub(super) fn submit(&mut self) {
        let mut requests = Vec::new();
        let mut waiting: WaitReceivers = (Vec::new(), Vec::new());
        for _ in 0..=self.random.below(3) {
            let (mut submission, secs) = self.job();
            let due = self.due(&submission);
            let begin = self.begin(&submission);
            let times = RequestedTimes { due, begin };
            let mut program = Box::new(match self.random.one_in(6) {
                true => program(&["unlucky", &secs.to_string()]),
                false => program(&["work", &secs.to_string()]),
            });
            if submission.reserve_for.is_some() {
                // Its program comes with the claim.
                submission.options.retries = None;
            }
            program.retries.clone_from(&submission.options.retries);
            if submission.reserve_for.is_some() {
                let (reply, answer) = oneshot::channel();
                waiting.1.push((due, answer));
                requests.push(ControllerRequest::Reserve {
                    submission,
                    times,
                    reply,
                });
            } else {
                let (reply, answer) = oneshot::channel();
                waiting.0.push((due, answer));
                requests.push(ControllerRequest::submit(NewJob {
                    submission,
                    times,
                    program,
                    reply,
                }));
            }
        }
        if self.random.one_in(3) {
            let looks = self.random.below(6) as u32;
            let off = clock::draw_error(&mut self.random);
            self.clock.lock().unwrap().set_in = Some((looks, off));
        }
        self.tick(requests);
        // Responses of a service that has crashed since count too.
        for (due, mut answer) in waiting.0 {
            if let Ok(Ok(verdict)) = answer.try_recv() {
                if let Some(due) = due {
                    let promised = verdict.answer.spec.due().expect("a deadline");
                    assert!(promised <= due, "job {}: a later deadline", verdict.job);
                    self.requested_due.insert(verdict.job, due);
                }
                match verdict.answer.admission {
                    AdmissionState::Accepted { .. } => {
                        self.acknowledged_jobs.insert(verdict.job, true);
                    }
                    AdmissionState::Queued
                    | AdmissionState::Waitlisted { .. }
                    | AdmissionState::Unpromised(_)
                    | AdmissionState::Deferred => {
                        self.acknowledged_jobs.insert(verdict.job, false);
                    }
                    AdmissionState::Rejected(_) => {}
                }
            }
        }
        for (due, mut answer) in waiting.1 {
            if let Ok(Ok((Some(job), _))) = answer.try_recv() {
                self.requested_due.extend(due.map(|due| (job, due)));
                self.acknowledged_jobs.insert(job, true);
                self.reserved_quotes.insert(job);
            }
        }
    }

    /// Submits an array of tasks that run for some milliseconds, and some of them for seconds.
    pub(super) fn submit_short_tasks(&mut self) {
        let tasks = TaskRanges::new(1, 10 + self.random.below(60) as u32);
        let millis = 1 + self.random.below(20);
        let options = SubmissionOptions {
            array: Some(ArraySpec {
                tasks,
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        };
        let submission = Submission {
            procs: 1 + self.random.below(8) as u32 / 6,
            retry: match self.random.one_in(2) {
                true => OnEviction::Requeue,
                false => OnEviction::Fail,
            },
            deadline: None,
            options,
            ..submission("short", 5)
        };
        let (reply, mut answer) = oneshot::channel();
        self.tick(vec![ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes::default(),
            program: Box::new(program(&["short", &millis.to_string()])),
            reply,
        })]);
        if let Ok(Ok(verdict)) = answer.try_recv() {
            self.acknowledged_jobs.insert(verdict.job, false);
        }
    }

    pub(super) fn job(&mut self) -> (Submission, u64) {
        let random = &mut self.random;
        let secs = 1 + random.below(40);
        let guess = 1 + random.below(60) as i64;
        let submission = Submission {
            procs: 1 + random.below(3) as u32,
            estimate: (!random.one_in(4)).then(|| Span::from_secs(guess)),
            deadline: (!random.one_in(5)).then(|| Span::from_secs(1 + random.below(300) as i64)),
            budget: (!random.one_in(3)).then(|| Credits::from_f64(random.below(400) as f64)),
            penalty: CreditsPerSecond::from_f64(random.below(3) as f64 * 0.1),
            retry: if random.one_in(2) {
                OnEviction::Requeue
            } else {
                OnEviction::Fail
            },
            reserve_for: random
                .one_in(6)
                .then(|| Span::from_secs(1 + random.below(60) as i64)),
            options: SubmissionOptions::default(),
            ..submission("work", guess)
        };
        let plan = self.plan();
        let hold = submission
            .reserve_for
            .filter(|_| plan == SubmissionOptions::default());
        (
            Submission {
                reserve_for: hold,
                options: plan,
                ..submission
            },
            secs,
        )
    }

    /// Returns an instant as deadline in half of the cases, by the clock that the user sees.
    pub(super) fn due(&mut self, submission: &Submission) -> Option<Instant> {
        let deadline = submission.deadline?;
        let now = self.clock.lock().unwrap().read(self.world.now()).host;
        self.random.one_in(2).then(|| now + deadline)
    }

    /// Lets some jobs begin later, well before their deadlines.
    pub(super) fn begin(&mut self, submission: &Submission) -> Option<RequestedBegin> {
        let may_begin_later = submission.reserve_for.is_none() && self.random.one_in(8);
        let most_s = submission
            .deadline
            .map_or(200, |left| left.as_micros() / 4_000_000);
        may_begin_later.then(|| {
            let span = Span::from_secs(1 + self.random.below(most_s.max(1) as u64) as i64);
            let now = self.clock.lock().unwrap().read(self.world.now()).host;
            match self.random.one_in(2) {
                true => RequestedBegin::After(span),
                false => RequestedBegin::At(now + span),
            }
        })
    }

    /// Makes some jobs an array, dependent or held.
    pub(super) fn plan(&mut self) -> SubmissionOptions {
        let random = &mut self.random;
        let array = random.one_in(4).then(|| {
            let first = random.below(3) as u32;
            let tasks = TaskRanges::new(first, first + random.below(12) as u32);
            let max = random.one_in(3).then(|| 1 + random.below(4) as u32);
            ArraySpec {
                tasks,
                max_at_once: max,
            }
        });
        let earlier: Vec<u64> = self.acknowledged_jobs.keys().copied().collect();
        let mut after = Vec::new();
        while random.one_in(5)
            && let Some(job) = random.pick(&earlier)
        {
            let need = match random.one_in(2) {
                true => DependencyCondition::Success,
                false => DependencyCondition::AnyEnd,
            };
            after.push(JobDependency {
                job,
                condition: need,
            });
        }
        let held = random.one_in(10);
        let partial = array.is_some() && random.one_in(3);
        let by_host = self.rules.policy.chooses_hosts();
        let otherwise = match random.below(3) {
            0 => Otherwise::Wait,
            1 => Otherwise::Run,
            _ => Otherwise::Reject,
        };
        SubmissionOptions {
            auto_memory: None,
            unpredictable: Default::default(),
            give_up: None,
            array,
            dependencies: after,
            begin: None,
            held,
            submitted: None,
            otherwise,
            drop_late: random.one_in(6),
            partial,
            time_limit: (random.one_in(5)).then(|| Span::from_secs(1 + random.below(60) as i64)),
            one_host: by_host && random.one_in(8),
            host: None,
            resources: match random.below(if by_host { 8 } else { 64 }) {
                0 => [("gpu".to_owned(), 1 + random.below(3) as u8)].into(),
                1 => [("matlab".to_owned(), 1)].into(),
                _ => NamedResources::new(),
            },
            retries: (random.one_in(6)).then(|| "2:failed,timed_out".parse().unwrap()),
            early: Default::default(),
        }
    }
}

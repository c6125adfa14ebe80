//! The admission decision: the outcome of a submission.

use tollgate_gate::{AdmissionDecision, JobPrediction};
use tollgate_model::{Bytes, Distribution, Instant, JobSpec, Otherwise, Reason, Sla, Span, UserId};

use crate::admission_candidate::{AdmissionCandidate, relax};
use crate::command::Submission;
use crate::core::Core;
use crate::output::{
    AdmissionState, ConfidenceThreshold, RejectReason, SubmitOutcome, TaskGroupOutcome,
};
use crate::runtime_forecast::RuntimeForecast;

/// Maximum number of quotes reserved for one user at a time: each keeps its nodes from other jobs.
const MAX_RESERVATIONS: usize = 16;

impl Core {
    /// Returns the outcome at `at` of a job with the treatment of the site. It is the policy's verdict, then the check of its
    /// confidence, and what remains for a job that is not promised.
    pub(crate) fn evaluate(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        self.look_ahead.reset_budget();
        let forecast = self.forecast(submission, None);
        let answer = self.evaluate_without_offers(at, submission, &forecast);
        let mut answer = match &answer.admission {
            AdmissionState::Rejected(refusals) if refusals.contains(&RejectReason::Malformed) => {
                return answer;
            }
            AdmissionState::Rejected(_)
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Unpromised(_) => {
                self.evaluate_unpromised(at, submission, &forecast, answer)
            }
            AdmissionState::Accepted { .. } | AdmissionState::Queued | AdmissionState::Deferred => {
                answer
            }
        };
        answer.usage = Some(self.expected_usage(submission));
        if let Some(array) = &submission.options.array
            && answer.groups.is_empty()
            && self.decides_together(submission)
        {
            answer.groups = vec![TaskGroupOutcome::new(&array.tasks, &answer.admission)];
        }
        answer
    }

    /// Returns the outcome of a job that is not promised whole: a promise for some of its tasks, a run
    /// without a promise, or its refusal; with counter-offers.
    fn evaluate_unpromised(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
        whole: SubmitOutcome,
    ) -> SubmitOutcome {
        let offers = self.counter_offers(at, submission, forecast);
        let promisable = (self.decides_together(submission))
            .then(|| self.promisable_tasks(at, submission, forecast));
        let runs = matches!(whole.admission, AdmissionState::Unpromised(_));
        let mut answer = match submission.options.otherwise {
            Otherwise::Run if !runs => self.run_unpromised(at, submission, forecast, whole),
            // It would wait for a promise that never comes.
            Otherwise::Wait if submission.options.is_unpromised() => {
                self.run_unpromised(at, submission, forecast, whole)
            }
            Otherwise::Run | Otherwise::Wait | Otherwise::Reject => whole,
        };
        if let Some(n_tasks) = promisable.filter(|&n| n > 0 && submission.options.partial)
            && let Some(array) = &submission.options.array
        {
            let first = submission.of_first_tasks(n_tasks);
            let promised = self.evaluate_without_offers(at, &first, forecast);
            let tasks = array.tasks.first_n(n_tasks);
            let mut others = array.tasks.clone();
            others.remove(&tasks);
            let groups = vec![
                TaskGroupOutcome::new(&tasks, &promised.admission),
                TaskGroupOutcome::new(&others, &answer.admission),
            ];
            answer = SubmitOutcome { groups, ..promised };
        }
        SubmitOutcome {
            offers,
            promisable,
            ..answer
        }
    }

    /// Returns the outcome of a refused job that runs without a promise; the refusal if it cannot run
    /// either.
    fn run_unpromised(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
        refused: SubmitOutcome,
    ) -> SubmitOutcome {
        let answer = self.evaluate_without_offers(at, &submission.without_deadline(), forecast);
        if !answer.admission.may_run() {
            return refused;
        }
        let reasons = match refused.admission {
            AdmissionState::Rejected(reasons) => reasons,
            AdmissionState::Waitlisted { .. }
            | AdmissionState::Accepted { .. }
            | AdmissionState::Queued
            | AdmissionState::Unpromised(_)
            | AdmissionState::Deferred => vec![RejectReason::Policy(Reason::NoRoom)],
        };
        SubmitOutcome {
            admission: AdmissionState::Unpromised(reasons),
            spec: refused.spec,
            ..answer
        }
    }

    /// Returns the outcome without counter-offers.
    pub(crate) fn evaluate_without_offers(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> SubmitOutcome {
        let (estimate, source) = forecast.estimate();
        let spec = self.spec_of(submission, estimate, at);
        let candidate = AdmissionCandidate::new(submission, spec, forecast);
        let admission = self.admission_state(at, &candidate);
        let mut answer = SubmitOutcome {
            admission,
            spec: candidate.spec,
            source,
            distribution: candidate.distribution,
            basis: candidate.basis,
            prediction: None,
            offers: Vec::new(),
            promisable: None,
            reserved_until: None,
            begin: None,
            groups: Vec::new(),
            unpredictable: submission.options.unpredictable,
            time_limit: self.rules.enforced_limit(submission),
            usage: None,
            slowest_host: self.slowest_host(),
        };
        let (accepted, on_expected) = match answer.admission {
            AdmissionState::Rejected(_) => return answer,
            AdmissionState::Accepted { on_expected, .. } => (true, on_expected),
            AdmissionState::Queued
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Unpromised(_)
            | AdmissionState::Deferred => (false, false),
        };
        answer.prediction = self.predict_candidate(at, &candidate);
        let decisive = answer.prediction.and_then(|prospect| prospect.decisive);
        if accepted && self.corrects_promises() && submission.options.array.is_none() {
            let user = UserId(submission.user);
            let correction = self.corrections.of(on_expected);
            let stated = |raw: JobPrediction| raw.corrected(correction, user);
            answer.prediction = answer.prediction.map(stated);
        }
        if let AdmissionState::Unpromised(_) = answer.admission {
            // No probability is too low for a job without a promise.
            return answer;
        }
        // If the look-ahead gives up, the probability is an upper bound: the job alone on its
        // nodes.
        let probability = decisive.or_else(|| candidate.best_case_probability());
        let threshold = self.confidence_threshold(submission, accepted);
        // A stated probability below the requested one is no promise of that.
        let is_requested = matches!(threshold, Some(ConfidenceThreshold::User(_)));
        let stated = answer.prediction.and_then(|prospect| prospect.probability);
        let probability = match (probability, stated.filter(|_| is_requested)) {
            (Some(probability), Some(stated)) if stated < probability => Some(stated),
            (probability, _) => probability,
        };
        if let (Some(floor), Some(probability)) = (threshold, probability)
            && probability.as_f64() < floor.min_probability()
        {
            let refusal = RejectReason::Confidence {
                probability,
                threshold: floor,
            };
            answer.admission = AdmissionState::Rejected(vec![refusal]);
        }
        if accepted && let Some(hold) = submission.reserve_for {
            answer.reserved_until = Some(at + hold);
        }
        answer
    }

    /// Returns the minimum probability of keeping the deadline: the user's, or for a promise the
    /// site's if that is higher.
    pub(crate) fn confidence_threshold(
        &self,
        submission: &Submission,
        promised: bool,
    ) -> Option<ConfidenceThreshold> {
        // A policy that gets beliefs promises at a level of its own.
        let has_level = self.rules.policy.uses_beliefs();
        let site = ConfidenceThreshold::Site(self.rules.confidence);
        let site = Some(site).filter(|_| promised && !has_level);
        let user = submission.confidence.map(ConfidenceThreshold::User);
        match (user, site) {
            (Some(user), Some(site)) if site.min_probability() > user.min_probability() => {
                Some(site)
            }
            (Some(user), _) => Some(user),
            (None, site) => site,
        }
    }

    pub(crate) fn memory_per_node(&self) -> Option<u64> {
        self.gate.view(self.now).min_memory()
    }

    /// Returns the job in the policy's units, and the time for which its nodes are reserved.
    pub(crate) fn policy_request(
        &self,
        candidate: &AdmissionCandidate<'_>,
    ) -> (JobSpec, Distribution) {
        let spec = self.rules.for_policy(&candidate.reserved_spec());
        (spec, candidate.reserved_duration())
    }

    /// Returns the policy's verdict, with all reasons of a rejection.
    pub(crate) fn admission_state(
        &mut self,
        at: Instant,
        candidate: &AdmissionCandidate<'_>,
    ) -> AdmissionState {
        let AdmissionCandidate {
            submission, spec, ..
        } = candidate;
        if submission.procs == 0 || spec.estimate <= Span::ZERO {
            return AdmissionState::Rejected(vec![RejectReason::Malformed]);
        }
        if spec.sla.deadline.is_some_and(|left| left <= Span::ZERO) {
            return AdmissionState::Rejected(vec![RejectReason::Policy(Reason::DeadlinePassed)]);
        }
        if spec.sla.deadline.is_some() && submission.options.is_unpromised() {
            return AdmissionState::Rejected(vec![RejectReason::Unpredictable]);
        }
        if let Some(reason) = self.host_refusal(submission) {
            return AdmissionState::Rejected(vec![reason]);
        }
        if submission.reserve_for.is_some()
            && self.jobs.n_reservations(submission.user) >= MAX_RESERVATIONS
        {
            return AdmissionState::Rejected(vec![RejectReason::ReservationLimit]);
        }
        let (policy_spec, forecast) = self.policy_request(candidate);
        let count = submission.options.n_together();
        match self.decide_together(at, &policy_spec, &forecast, count) {
            AdmissionDecision::Reject(reason) => {
                AdmissionState::Rejected(self.reject_reasons(at, candidate, &policy_spec, reason))
            }
            AdmissionDecision::Queue => AdmissionState::Queued,
            AdmissionDecision::Unpromised(reason) => {
                AdmissionState::Unpromised(vec![RejectReason::Policy(reason)])
            }
            AdmissionDecision::Waitlist { until } => match submission.options.otherwise {
                Otherwise::Wait => AdmissionState::Waitlisted { until },
                Otherwise::Run | Otherwise::Reject => {
                    AdmissionState::Rejected(vec![RejectReason::Policy(Reason::NoRoom)])
                }
            },
            AdmissionDecision::Promise {
                price, on_expected, ..
            } => AdmissionState::Accepted {
                price: self.rules.for_user(spec.procs, price),
                on_expected,
            },
            AdmissionDecision::Run { price } => AdmissionState::Accepted {
                price: self.rules.for_user(spec.procs, price),
                on_expected: false,
            },
        }
    }

    /// Returns the policy's decision on this many equal jobs; on the first of them if it decides on them
    /// one by one.
    pub(crate) fn decide_together(
        &mut self,
        at: Instant,
        spec: &JobSpec,
        forecast: &Distribution,
        count: u32,
    ) -> AdmissionDecision {
        let together = (count > 1)
            .then(|| self.gate.quote_array(at, spec, Some(forecast), count))
            .flatten();
        together.unwrap_or_else(|| {
            let scratch = &mut self.scratch;
            self.gate.quote(at, spec, Some(forecast), scratch)
        })
    }

    /// Returns all reasons of a rejection. A policy names only its first reason, so it is asked
    /// again without that requirement, and the user need not find the reasons one by one.
    fn reject_reasons(
        &mut self,
        at: Instant,
        candidate: &AdmissionCandidate<'_>,
        policy_spec: &JobSpec,
        first: Reason,
    ) -> Vec<RejectReason> {
        // A job can be widened for its memory; the reason then names the memory that the user
        // requested.
        let lacks_memory = candidate.submission.procs <= self.gate.view(at).n_nodes();
        let first = match first == Reason::TooManyProcs && lacks_memory {
            true => Reason::NoMemory,
            false => first,
        };
        let mut reasons = vec![first];
        let forecast = candidate.reserved_duration();
        let mut spec = *policy_spec;
        let mut unsure = None;
        while let Some(relaxed) = reasons.last().and_then(|&reason| relax(reason, &spec)) {
            spec = relaxed;
            match self
                .gate
                .quote(at, &spec, Some(&forecast), &mut self.scratch)
            {
                AdmissionDecision::Reject(reason) if !reasons.contains(&reason) => {
                    reasons.push(reason)
                }
                AdmissionDecision::Promise { .. } | AdmissionDecision::Run { .. }
                    if spec.sla.deadline.is_some() =>
                {
                    unsure = self.confidence_shortfall(at, candidate);
                    break;
                }
                AdmissionDecision::Reject(_)
                | AdmissionDecision::Queue
                | AdmissionDecision::Unpromised(_)
                | AdmissionDecision::Waitlist { .. }
                | AdmissionDecision::Promise { .. }
                | AdmissionDecision::Run { .. } => break,
            }
        }
        let reasons = reasons
            .into_iter()
            .map(|reason| match reason == Reason::NoMemory {
                true => self.memory_shortage(),
                false => RejectReason::Policy(reason),
            });
        reasons.chain(unsure).collect()
    }

    /// Returns that a job asks for more memory than there is, with how much that is: a job takes as many nodes as its memory
    /// needs.
    fn memory_shortage(&self) -> RejectReason {
        let most = self.most_memory();
        most.map_or(RejectReason::Policy(Reason::NoMemory), |most| {
            let most = Bytes::new(most);
            RejectReason::Memory { most }
        })
    }

    /// Returns the memory that a job can have on all nodes, in bytes; None if it is not known.
    pub(crate) fn most_memory(&self) -> Option<u64> {
        let n_nodes = self.gate.view(self.now).n_nodes();
        let of_node = self.memory_per_node();
        of_node.map(|memory| memory.saturating_mul(u64::from(n_nodes)))
    }

    /// Returns the confidence as a further reason, if a job rejected for its budget would fail that
    /// check as well.
    fn confidence_shortfall(
        &self,
        at: Instant,
        candidate: &AdmissionCandidate<'_>,
    ) -> Option<RejectReason> {
        let richer = Submission {
            budget: None,
            ..candidate.submission.clone()
        };
        let sla = Sla {
            budget: None,
            ..candidate.spec.sla
        };
        let richer = AdmissionCandidate {
            submission: &richer,
            spec: JobSpec {
                sla,
                ..candidate.spec
            },
            ..*candidate
        };
        let floor = self.confidence_threshold(candidate.submission, true)?;
        let probability = self.predict_candidate(at, &richer)?.decisive?;
        (probability.as_f64() < floor.min_probability()).then_some(RejectReason::Confidence {
            probability,
            threshold: floor,
        })
    }
}

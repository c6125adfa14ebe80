//! What a job is told when it is handed in.

use tollgate_forecast::ClassId;
use tollgate_gate::AdmissionDecision;
use tollgate_model::{Distribution, Instant, JobSpec, Reason, Sla, Span};

use super::Core;
use super::command::Submission;
use super::output::{AdmissionState, ConfidenceThreshold, RejectReason, SubmitOutcome};
use super::rules;
use super::runtime_forecast::{ForecastBasis, RuntimeForecast};

/// A job about to be decided on, with all that is known of it.
#[derive(Clone, Copy)]
pub(super) struct AdmissionCandidate<'a> {
    pub(super) submission: &'a Submission,
    pub(super) spec: JobSpec,
    pub(super) distribution: Distribution,
    pub(super) basis: ForecastBasis,
}

impl Core {
    /// What a job would be told at `at`: by the policy's probe, then by how sure it is; and where
    /// that is a refusal, what would be let in instead.
    pub(super) fn evaluate(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        self.look_ahead.reset_budget();
        let forecast = self.forecast(submission);
        let mut answer = self.evaluate_without_offers(at, submission, &forecast);
        if let AdmissionState::Rejected(refusals) = &answer.admission
            && !refusals.contains(&RejectReason::Malformed)
        {
            answer.offers = self.counter_offers(at, submission, &forecast);
        }
        answer
    }

    /// The same without offers.
    pub(super) fn evaluate_without_offers(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> SubmitOutcome {
        let (estimate, source) = self.rules.estimate(submission, forecast);
        let spec = rules::spec(submission, estimate, at, self.memory_per_node());
        let candidate = AdmissionCandidate::new(submission, spec, forecast);
        let standing = self.admission_state(at, &candidate);
        let mut answer = SubmitOutcome {
            admission: standing,
            spec: candidate.spec,
            source,
            basis: candidate.basis,
            prediction: None,
            offers: Vec::new(),
            reserved_until: None,
            groups: Vec::new(),
        };
        let accepted = match answer.admission {
            AdmissionState::Rejected(_) => return answer,
            AdmissionState::Accepted { .. } => true,
            AdmissionState::Queued | AdmissionState::Deferred => false,
        };
        answer.prediction = self.predict_candidate(at, &candidate);
        let probability = answer.prediction.and_then(|prospect| prospect.probability);
        // Where nobody can look ahead, it is no surer than to be that fast with its nodes to itself.
        let probability = probability.or_else(|| candidate.best_case_probability());
        if let (Some(floor), Some(probability)) =
            (self.confidence_threshold(submission, accepted), probability)
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

    /// How sure a job must be to keep its deadline: what its user asks for, and where it would be
    /// a promise what the site does, whichever is more.
    pub(super) fn confidence_threshold(
        &self,
        submission: &Submission,
        promised: bool,
    ) -> Option<ConfidenceThreshold> {
        let site = promised.then_some(ConfidenceThreshold::Site(self.rules.confidence));
        let user = submission.confidence.map(ConfidenceThreshold::User);
        match (user, site) {
            (Some(user), Some(site)) if site.min_probability() > user.min_probability() => {
                Some(site)
            }
            (Some(user), _) => Some(user),
            (None, site) => site,
        }
    }

    pub(super) fn memory_per_node(&self) -> Option<u64> {
        self.gate.view(self.now).min_memory()
    }

    /// The job as the policy is asked about it, and for how long room is kept for it.
    pub(super) fn policy_request(
        &self,
        candidate: &AdmissionCandidate<'_>,
    ) -> (JobSpec, Distribution) {
        let asked = self.rules.for_policy(&candidate.reserved_spec());
        (asked, candidate.reserved_duration())
    }

    /// What is forecast of a job.
    pub(super) fn forecast(&self, submission: &Submission) -> RuntimeForecast {
        let key = (submission.user, submission.name.clone());
        // A class that nobody knows is forecast from the whole site.
        let unknown = ClassId(u32::MAX);
        let class = self.classes.get(&key).copied().unwrap_or(unknown);
        RuntimeForecast::new(
            &self.forecaster,
            &rules::forecast_request(class, submission),
        )
    }

    /// What the policy says, with every reason that it has.
    pub(super) fn admission_state(
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
        if submission.reserve_for.is_some()
            && self.jobs.n_reservations(submission.user) >= super::MAX_RESERVATIONS
        {
            return AdmissionState::Rejected(vec![RejectReason::ReservationLimit]);
        }
        let (asked, forecast) = self.policy_request(candidate);
        match self
            .gate
            .quote(at, &asked, Some(&forecast), &mut self.scratch)
        {
            AdmissionDecision::Reject(reason) => {
                AdmissionState::Rejected(self.reject_reasons(at, candidate, &asked, reason))
            }
            AdmissionDecision::Queue => AdmissionState::Queued,
            AdmissionDecision::Promise { price } | AdmissionDecision::Run { price } => {
                AdmissionState::Accepted {
                    price: self.rules.for_user(spec.procs, price),
                }
            }
        }
    }

    /// A policy says the first thing that is wrong. With that out of the way it is asked again, so
    /// that a user need not find out one by one.
    fn reject_reasons(
        &mut self,
        at: Instant,
        candidate: &AdmissionCandidate<'_>,
        asked: &JobSpec,
        first: Reason,
    ) -> Vec<RejectReason> {
        // A job is widened for its memory: the user is told of what they asked for.
        let asks_for_memory = candidate.submission.procs <= self.gate.view(at).n_nodes();
        let first = match first == Reason::TooManyProcs && asks_for_memory {
            true => Reason::NoMemory,
            false => first,
        };
        let mut reasons = vec![first];
        let forecast = candidate.reserved_duration();
        let mut spec = *asked;
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
                | AdmissionDecision::Promise { .. }
                | AdmissionDecision::Run { .. } => break,
            }
        }
        let reasons = reasons.into_iter().map(RejectReason::Policy);
        reasons.chain(unsure).collect()
    }

    /// Whether a job that is kept out for its budget would be too little sure as well.
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
        let probability = self.predict_candidate(at, &richer)?.probability?;
        (probability.as_f64() < floor.min_probability()).then_some(RejectReason::Confidence {
            probability,
            threshold: floor,
        })
    }
}

impl<'a> AdmissionCandidate<'a> {
    pub(super) fn new(
        submission: &'a Submission,
        spec: JobSpec,
        forecast: &RuntimeForecast,
    ) -> Self {
        let (distribution, basis) = forecast.distribution(spec.estimate);
        Self {
            submission,
            spec,
            distribution,
            basis,
        }
    }

    /// The job as room is kept for it: a quote that is held may be taken up as late as it lapses, and
    /// must fit then too. With that much more work it does, where the policy lets it in at all.
    pub(super) fn reserved_spec(&self) -> JobSpec {
        JobSpec {
            estimate: self.spec.estimate + self.max_start_delay(),
            ..self.spec
        }
    }

    /// For how long they are kept, with probabilities.
    pub(super) fn reserved_duration(&self) -> Distribution {
        Distribution::new(
            self.distribution
                .quantiles()
                .map(|span| span + self.max_start_delay()),
        )
    }

    /// How much later than its nodes are kept for it the job may start.
    pub(super) fn max_start_delay(&self) -> Span {
        self.submission.reserve_for.unwrap_or(Span::ZERO)
    }

    /// How sure it would be to keep its deadline if it started at once, alone on its nodes.
    pub(super) fn best_case_probability(&self) -> Option<tollgate_model::Probability> {
        let deadline = self.spec.sla.deadline?;
        Some(
            self.distribution
                .probability_within(deadline - self.max_start_delay()),
        )
    }
}

/// The job with what it was refused for given up; none if nothing can be given up.
fn relax(reason: Reason, spec: &JobSpec) -> Option<JobSpec> {
    let sla = match reason {
        Reason::TooManyProcs | Reason::NoMemory => return None,
        Reason::OverBudget | Reason::PriceOverBudget | Reason::LowSlack => Sla {
            budget: None,
            ..spec.sla
        },
        Reason::InsufficientShare
        | Reason::DeadlineRisk
        | Reason::NodeFull
        | Reason::DeadlinePassed
        | Reason::DeadlineUnreachable => Sla {
            deadline: None,
            ..spec.sla
        },
    };
    (sla != spec.sla).then_some(JobSpec { sla, ..*spec })
}

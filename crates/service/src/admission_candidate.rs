//! A job as an admission test tries it.

use tollgate_forecast::BeliefBasis;
use tollgate_gate::quotable;
use tollgate_model::{Distribution, JobSpec, Kinship, Reason, Sla, Span};

use crate::command::Submission;
use crate::runtime_forecast::RuntimeForecast;

/// A job before its decision, with its forecast.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionCandidate<'a> {
    pub(crate) submission: &'a Submission,
    pub(crate) spec: JobSpec,
    pub(crate) distribution: Distribution,
    pub(crate) kinship: Kinship,
    pub(crate) basis: BeliefBasis,
}

impl<'a> AdmissionCandidate<'a> {
    pub(crate) fn new(
        submission: &'a Submission,
        spec: JobSpec,
        forecast: &RuntimeForecast,
    ) -> Self {
        Self {
            submission,
            spec,
            distribution: *forecast.distribution(),
            kinship: forecast.kinship(),
            basis: forecast.basis(),
        }
    }

    /// Returns the job as its nodes are reserved. A reserved quote may be claimed as late as its
    /// expiry and must still fit then. An estimate longer by this delay ensures it, wherever the
    /// policy admits the job at all.
    pub(crate) fn reserved_spec(&self) -> JobSpec {
        JobSpec {
            estimate: self.spec.estimate + self.max_start_delay(),
            ..self.spec
        }
    }

    /// Returns the time for which the nodes are reserved, as a distribution.
    pub(crate) fn reserved_duration(&self) -> Distribution {
        Distribution::new(
            self.distribution
                .quantiles()
                .map(|span| span + self.max_start_delay()),
        )
    }

    /// Returns the maximum delay between the reservation of the nodes and the start.
    pub(crate) fn max_start_delay(&self) -> Span {
        self.submission.reserve_for.unwrap_or(Span::ZERO)
    }

    /// Returns the probability of keeping the deadline if the job started at once, alone on its
    /// nodes.
    pub(crate) fn best_case_probability(&self) -> Option<tollgate_model::Probability> {
        let deadline = self.spec.sla.deadline?;
        let probability = self
            .distribution
            .probability_within(deadline - self.max_start_delay());
        Some(quotable(probability))
    }
}

/// Returns the job without the rejected requirement; None if that requirement cannot be dropped.
pub(crate) fn relax(reason: Reason, spec: &JobSpec) -> Option<JobSpec> {
    let sla = match reason {
        Reason::TooManyProcs | Reason::NoMemory | Reason::Other(_) => return None,
        Reason::OverBudget | Reason::PriceOverBudget | Reason::LowSlack => Sla {
            budget: None,
            ..spec.sla
        },
        Reason::InsufficientShare
        | Reason::DeadlineRisk
        | Reason::NodeFull
        | Reason::NoRoom
        | Reason::DeadlinePassed
        | Reason::DeadlineUnreachable => Sla {
            deadline: None,
            ..spec.sla
        },
    };
    (sla != spec.sla).then_some(JobSpec { sla, ..*spec })
}

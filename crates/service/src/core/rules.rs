//! What the service decides by: the part of its configuration that decisions depend on.

use tollgate_forecast::{ClassId, Forecast, Stage};
use tollgate_model::{Credits, CreditsPerSecond, Instant, JobSpec, Market, Probability, Sla, Span};
use tollgate_policy::Choice;

use super::command::Submission;
use super::outcome::Source;

/// Seconds of one core that the price is given for.
const CORE_HOUR_S: f64 = 3600.0;

/// What decisions depend on beside the jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Who gets in.
    pub policy: Choice,
    /// Who pays.
    pub market: Market,
    /// What an hour of a core costs, in credits; above 0.
    pub price: f64,
    /// How long a job takes of which nothing is known. Positive.
    pub default_estimate: Span,
    /// With what probability a job without an estimate ends within the one that it is given.
    pub level: Probability,
}

impl Rules {
    /// The job as the policy is asked about it. Policies charge a credit a second for a whole
    /// job (Yeo & Buyya 2008, section 5.2); users pay by the core-hour.
    pub(super) fn for_policy(&self, spec: &JobSpec) -> JobSpec {
        let scale = self.scale(spec.procs);
        let sla = Sla {
            budget: spec
                .sla
                .budget
                .map(|budget| Credits::from_f64(budget.as_f64() / scale)),
            penalty: CreditsPerSecond::from_f64(spec.sla.penalty.as_f64() / scale),
            ..spec.sla
        };
        JobSpec { sla, ..*spec }
    }

    /// The policy's amount in the user's credits.
    pub(super) fn for_user(&self, procs: u32, amount: Credits) -> Credits {
        Credits::from_f64(amount.as_f64() * self.scale(procs))
    }

    fn scale(&self, procs: u32) -> f64 {
        f64::from(procs.max(1)) * self.price / CORE_HOUR_S
    }

    /// The estimate to decide on: the user's, else what jobs like it took, else the setting.
    pub(super) fn estimate(&self, submission: &Submission, forecast: &Forecast) -> (Span, Source) {
        match (submission.estimate, forecast.stage()) {
            (Some(estimate), _) => (estimate, Source::User),
            (None, Stage::Unseen) => (self.default_estimate, Source::Default),
            (None, Stage::Cold | Stage::Young | Stage::Changing | Stage::Settled) => {
                (forecast.distribution().quantile(self.level), Source::Class)
            }
        }
    }
}

/// What the forecaster is asked.
pub(super) fn asked(class: ClassId, submission: &Submission) -> tollgate_forecast::Job {
    tollgate_forecast::Job {
        class,
        procs: submission.procs,
        request: submission.estimate,
    }
}

/// The job with the estimate that is decided on.
pub(super) fn spec(submission: &Submission, estimate: Span, submit: Instant) -> JobSpec {
    JobSpec {
        submit,
        estimate,
        procs: submission.procs,
        sla: Sla {
            deadline: submission.deadline,
            budget: submission.budget,
            penalty: submission.penalty,
        },
    }
}

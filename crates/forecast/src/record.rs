//! What is known of a job when it is handed in, and what is learned when it has ended.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

/// A class of jobs that behave alike: the jobs of one user. The number is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClassId(pub u32);

/// A job as it is known at submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastJob {
    /// Whose it is.
    pub class: ClassId,
    /// Processors it asks for. At least 1.
    pub procs: u32,
    /// How long its user says that it will run, if they do; one that is not positive counts
    /// as none.
    pub request: Option<Span>,
    /// What else is known of it.
    pub context: JobAttributes,
}

/// What a record says of a job beside whose it is and how much it asks for. Inside a class, jobs
/// that agree in it are look-alikes. The numbers are the caller's.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct JobAttributes {
    /// What it runs.
    pub executable: Option<u32>,
    /// Where it was handed in.
    pub queue: Option<u32>,
    /// What it is charged to.
    pub account: Option<u32>,
}

/// A job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedJob {
    /// What was known at submission.
    pub job: ForecastJob,
    /// When it was handed in.
    pub submit: Instant,
    /// When it ended.
    pub finish: Instant,
    /// How long it ran; not positive if it never did.
    pub runtime: Span,
}

/// The shortest time that is told apart, in seconds: logarithms of less say little about a job
/// and much about the clock.
const MIN_SECS: f64 = 1.0;
/// The longest, in seconds: a hundred years. Longer ones are errors of a record.
const MAX_SECS: f64 = 3.2e9;

/// The logarithm of a positive span in seconds, with spans below a second taken as a second and
/// those above a hundred years as a hundred years; none if it is not positive.
pub(crate) fn ln_secs(span: Span) -> Option<f64> {
    let secs = span.as_secs_f64();
    (secs > 0.0).then(|| secs.clamp(MIN_SECS, MAX_SECS).ln())
}

/// The span with this logarithm, between a second and a hundred years.
pub(crate) fn span_of(ln: f64) -> Span {
    Span::from_secs_f64(ln.exp().clamp(MIN_SECS, MAX_SECS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_finite_whatever_the_span() {
        for span in [Span::TICK, Span::from_secs(90), Span::MAX] {
            let ln = ln_secs(span).unwrap();
            assert!(ln.is_finite() && ln >= 0.0);
        }
        assert_eq!(ln_secs(Span::ZERO), None);
        assert_eq!(ln_secs(-Span::TICK), None);
        assert_eq!(span_of(f64::INFINITY), span_of(1e9));
        assert_eq!(span_of(-5.0), Span::from_secs(1));
    }
}

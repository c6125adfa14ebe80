//! The facts about a job at its submission, and after its end.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

/// A class of jobs that behave alike: the jobs of one user. The caller assigns the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClassId(pub u32);

/// A job as known at submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastJob {
    /// The job's class.
    pub class: ClassId,
    /// Number of requested processors. At least 1.
    pub procs: u32,
    /// The run time that the user requested, if any; a value that is not positive counts as None.
    pub request: Option<Span>,
    /// Further attributes of the job.
    pub context: JobAttributes,
}

/// The attributes of a job besides its class and request. Within a class, jobs with equal
/// attributes are look-alikes. The caller assigns the numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct JobAttributes {
    /// The executable.
    pub executable: Option<u32>,
    /// The queue of submission.
    pub queue: Option<u32>,
    /// The account that is charged.
    pub account: Option<u32>,
}

/// A job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedJob {
    /// The facts known at submission.
    pub job: ForecastJob,
    /// The submission.
    pub submit: Instant,
    /// The end.
    pub finish: Instant,
    /// Run time; not positive if the job never ran.
    pub runtime: Span,
}

/// The shortest distinguished time, in seconds: logarithms of shorter times say little about a job
/// and much about the clock.
const MIN_SECS: f64 = 1.0;
/// The longest distinguished time, in seconds: a hundred years. Longer times are errors of a
/// record.
const MAX_SECS: f64 = 3.2e9;

/// Returns the logarithm of a positive span in seconds, clamped to between a second and a hundred
/// years; None if the span is not positive.
pub(crate) fn ln_secs(span: Span) -> Option<f64> {
    let secs = span.as_secs_f64();
    (secs > 0.0).then(|| secs.clamp(MIN_SECS, MAX_SECS).ln())
}

/// Returns the span with this logarithm, between a second and a hundred years.
pub(crate) fn span_of(ln: f64) -> Span {
    Span::from_secs_f64(ln.exp().clamp(MIN_SECS, MAX_SECS))
}

/// Returns the seconds of [`span_of`] for each of these logarithms.
pub(crate) fn secs_of<const N: usize>(lns: [f64; N]) -> [f64; N] {
    // Adding and subtracting this number rounds a smaller one to a whole number, ties to even.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    const MICROS_PER_SECOND: f64 = 1e6;
    // A span rounds ties up. Unlike a span, several numbers are rounded at once.
    lns.map(f64::exp).map(|secs| {
        let micros = secs.clamp(MIN_SECS, MAX_SECS) * MICROS_PER_SECOND;
        let whole = (micros + WHOLE) - WHOLE;
        let up = if micros - whole == 0.5 { 1.0 } else { 0.0 };
        (whole + up) / MICROS_PER_SECOND
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn seconds_are_those_of_the_span(
            ln in prop_oneof![-9.0..99.0f64, (1.0..3.2e9f64).prop_map(f64::ln), (1_000_000..99_999_999_u32)
                .prop_map(|micros| ((f64::from(micros) + 0.5) / 1e6).ln())],
        ) {
            prop_assert_eq!(secs_of([ln]), [span_of(ln).as_secs_f64()]);
        }
    }

    #[test]
    fn logarithms_are_finite_for_every_span() {
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

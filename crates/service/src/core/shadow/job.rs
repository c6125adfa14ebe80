//! A job under both policies, and how long it takes as far as anybody knows.

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Instant, JobId, Span};

use super::totals::{JobTerms, ShadowEnd, ShadowOutcome};

/// A job that has outrun its forecast is thought to take this much longer than it has taken, and
/// an eighth of it, so that it is looked at again ever more rarely.
const MIN_OVERRUN: Span = Span::from_secs(1);

/// A job that is not over under both.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ShadowJob {
    /// Where the gate on paper keeps it, as long as it is not over there.
    pub(super) slot: Option<JobId>,
    pub(super) terms: JobTerms,
    /// What is forecast of its run time.
    pub(super) forecast: Distribution,
    pub(super) runtime: ObservedRuntime,
    /// How long it had run already when the shadow began.
    pub(super) ran_before: Span,
    /// Whether it was handed in since the shadow began.
    pub(super) counts: bool,
    /// Whether it ended on paper when the forecast said.
    pub(super) by_forecast: bool,
    pub(super) real: ShadowOutcome,
    pub(super) paper: ShadowOutcome,
}

/// What the policy that decides has found out about a job's run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ObservedRuntime {
    /// Nothing.
    Unknown,
    /// It has run since then.
    RunsSince(Instant),
    /// All.
    Ran(Span),
}

impl ShadowJob {
    /// How long it takes in all on paper, as far as is known at `now`.
    pub(super) fn paper_runtime(&self, now: Instant) -> Span {
        let whole = match self.runtime {
            ObservedRuntime::Ran(runtime) => runtime,
            ObservedRuntime::Unknown => self.forecast.median(),
            ObservedRuntime::RunsSince(start) => {
                let elapsed = now.since(start);
                let eighth = Span::from_micros(elapsed.as_micros() / 8);
                let longer = elapsed + eighth.max(MIN_OVERRUN);
                self.forecast.given_survived(elapsed).median().max(longer)
            }
        };
        // A job that takes no time at all is none to a gate.
        (whole - self.ran_before).max(Span::TICK)
    }

    /// How it ended under both, once it has.
    pub(super) fn ends(&self) -> Option<(ShadowEnd, ShadowEnd)> {
        self.real.end.zip(self.paper.end)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::distribution::LEVELS;

    use super::*;

    fn pair(truth: ObservedRuntime) -> ShadowJob {
        ShadowJob {
            slot: None,
            terms: JobTerms {
                submit: Instant::ZERO,
                procs: 1,
                due: None,
                budget: None,
            },
            forecast: Distribution::new(LEVELS.map(|_| Span::from_secs(100))),
            runtime: truth,
            ran_before: Span::ZERO,
            counts: true,
            by_forecast: false,
            real: ShadowOutcome::default(),
            paper: ShadowOutcome::default(),
        }
    }

    #[test]
    fn a_job_takes_what_it_took_or_at_least_what_it_has_taken() {
        let at = |secs| Instant::ZERO + Span::from_secs(secs);
        let work = |truth, now| pair(truth).paper_runtime(at(now)).as_secs_f64();
        assert_eq!(work(ObservedRuntime::Unknown, 500), 100.0);
        assert_eq!(work(ObservedRuntime::Ran(Span::from_secs(7)), 500), 7.0);
        assert_eq!(work(ObservedRuntime::RunsSince(at(0)), 10), 100.0);
        assert_eq!(work(ObservedRuntime::RunsSince(at(0)), 800), 900.0);
        let mut begun = pair(ObservedRuntime::Ran(Span::from_secs(70)));
        begun.ran_before = Span::from_secs(60);
        assert_eq!(begun.paper_runtime(at(500)).as_secs_f64(), 10.0);
    }
}

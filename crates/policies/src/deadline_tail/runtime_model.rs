//! The run time model of a job.

use tollgate_model::{Distribution, JobSpec, NodeSpeed, Probability, Span};
use tollgate_policy::TOLERANCE_S;

use super::settings::{DeadlineTrust, TailParams};

/// The distribution of a job's run time, on the slowest node of the machine or on another one.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeModel(Distribution);

/// All that an answer about the run time of a task depends on, besides the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RuntimeQuestion {
    /// On the slowest node of the machine, as the forecast.
    pub(super) estimate: Span,
    pub(super) forecast: Option<Distribution>,
    pub(super) speed: NodeSpeed,
    /// Seconds of work done.
    pub(super) work_s: f64,
    /// The span from the task's start to its due time.
    pub(super) deadline: Option<Span>,
}

/// The answer to the last question, in seconds: the tasks of a job that started together ask the
/// same one on each of its nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedAnswer(Option<(RuntimeQuestion, f64)>);

impl CachedAnswer {
    /// Returns the answer to a question, computed only if it is not the last question.
    pub(super) fn of(&mut self, question: &RuntimeQuestion, compute: impl FnOnce() -> f64) -> f64 {
        match &self.0 {
            Some((last, answer)) if last == question => *answer,
            Some(_) | None => self.0.insert((*question, compute())).1,
        }
    }
}

impl RuntimeModel {
    /// Returns, at each level, the larger of the forecast and the quantile derived from the
    /// estimate. A forecast that is too long rejects a job that would have fitted; a forecast that
    /// is too short breaks promises. Without a forecast the estimate alone counts.
    pub(crate) fn of(spec: &JobSpec, forecast: Option<&Distribution>) -> Self {
        let assumed = Distribution::of_request(spec.estimate);
        Self(forecast.map_or(assumed, |forecast| assumed.larger_of(forecast)))
    }

    /// Returns the run time of the job on a node of this speed, from that on the slowest node.
    pub(super) fn at_speed(&self, speed: NodeSpeed) -> Self {
        Self(self.0.at_speed(speed))
    }

    /// Returns the maximum run time of the job with the probability `level`.
    pub(crate) fn quantile(&self, level: Probability) -> Span {
        self.0.quantile(level)
    }

    /// Returns the total seconds of work that suffice, with the configured probability, for a task that has
    /// done `work_s` of them. Where deadlines are trusted, the probability is conditional on finishing within
    /// `deadline`, the span from the task's start to its due time. A task that needs longer is late in any
    /// case, and costs the other tasks no more than that span.
    pub(super) fn required_work_s(
        &self,
        work_s: f64,
        deadline: Option<Span>,
        settings: &TailParams,
    ) -> f64 {
        let gone = if work_s > 0.0 {
            let survived = Span::from_secs_f64(work_s + TOLERANCE_S);
            self.0.probability_within(survived).as_f64()
        } else {
            0.0
        };
        let most = match settings.deadlines {
            DeadlineTrust::Trusted => deadline,
            DeadlineTrust::Tested => None,
        };
        let possible = most.map_or(1.0, |most| self.0.probability_within(most).as_f64());
        let quantile = Probability::new(gone + (possible - gone) * settings.level());
        let need = match (quantile.filter(|_| possible > gone), most) {
            (Some(quantile), _) => self.0.quantile(quantile),
            (None, most) => most.unwrap_or(Span::MAX),
        };
        need.as_secs_f64()
    }

    /// Returns the seconds of work at which a task that has done `work_s` of them outlives its next
    /// quantile; beyond the last quantile, the work it was believed to need.
    pub(super) fn next_quantile_s(&self, work_s: f64, settings: &TailParams) -> f64 {
        let quantiles = self.0.quantiles().iter().map(|known| known.as_secs_f64());
        let mut ahead = quantiles.filter(|&known| known > work_s + 2.0 * TOLERANCE_S);
        let next = ahead.next();
        next.unwrap_or_else(|| self.required_work_s(work_s, None, settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::distribution::N_LEVELS;
    use tollgate_model::{Instant, Sla, UserId};

    const SETTINGS: TailParams = TailParams {
        bound: 0.01,
        deadlines: DeadlineTrust::Trusted,
    };

    fn spec(estimate: i64) -> JobSpec {
        JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: Span::from_secs(estimate),
            procs: 1,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla::default(),
        }
    }

    #[test]
    fn required_work_without_forecast_is_near_the_estimate() {
        let belief = RuntimeModel::of(&spec(1000), None);
        assert_eq!(belief.required_work_s(0.0, None, &SETTINGS), 1200.0);
        let deadline = Some(Span::from_secs(900));
        let need_s = belief.required_work_s(0.0, deadline, &SETTINGS);
        assert!((880.0..900.0).contains(&need_s), "{need_s}");
        let tested = TailParams {
            deadlines: DeadlineTrust::Tested,
            ..SETTINGS
        };
        assert_eq!(belief.required_work_s(0.0, deadline, &tested), 1200.0);
        // A task that has outlived every possible run time may need the whole deadline.
        assert_eq!(belief.required_work_s(1500.0, deadline, &SETTINGS), 900.0);
    }

    #[test]
    fn larger_of_estimate_and_forecast_is_used() {
        let forecast = Distribution::new([Span::from_secs(100); N_LEVELS]);
        let (short, long) = (spec(10), spec(1000));
        let need =
            |spec| RuntimeModel::of(spec, Some(&forecast)).required_work_s(0.0, None, &SETTINGS);
        assert_eq!((need(&short), need(&long)), (100.0, 1200.0));
    }

    #[test]
    fn task_beyond_its_distribution_needs_more_work_and_new_checks() {
        let belief = RuntimeModel::of(&spec(1000), None);
        let mut work_s = 0.0;
        let mut marks = 0;
        while work_s < 10_000.0 {
            let (need_s, mark_s) = (
                belief.required_work_s(work_s, None, &SETTINGS),
                belief.next_quantile_s(work_s, &SETTINGS),
            );
            assert!(
                need_s > work_s && mark_s > work_s,
                "{work_s} {need_s} {mark_s}"
            );
            (work_s, marks) = (mark_s, marks + 1);
        }
        assert!((15..40).contains(&marks), "{marks}");
    }
}

//! The predicted start and end of a job, from the futures that a policy plays or from a look-ahead.

use tollgate_model::{Distribution, Instant, Probability, Span, UserId};
use tollgate_policy::PossibleRuns;

use crate::look_ahead::{JobTrajectory, LookAheadHorizon};
use crate::promise_correction::PromiseCorrection;

/// Probability level of a run time that is practically never exceeded.
const MAX_QUANTILE: f64 = 0.999_999;

/// The bounds of a quoted probability: those that 512 equally likely futures, the most that a policy
/// plays, could show. Neither a promise nor its breach is ever certain.
pub(crate) const QUOTABLE: [f64; 2] = [0.001, 0.999];

/// The prediction for a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobPrediction {
    /// The expected start.
    pub start: Instant,
    /// The job starts after this instant with a probability of one tenth.
    pub latest_start: Instant,
    /// The expected finish.
    pub finish: Instant,
    /// The job finishes before this instant with a probability of one tenth.
    pub earliest: Instant,
    /// The job finishes after this instant with a probability of one tenth.
    pub latest: Instant,
    /// Probability of keeping the deadline, if there is one, as it is stated.
    pub probability: Option<Probability>,
    /// The same by beliefs and futures alone. That of a promise is stated as [`Self::corrected`].
    pub raw: Option<Probability>,
    /// The probability of keeping the deadline on which decisions rest: by the number of futures in which it is
    /// kept, if the policy plays these.
    pub decisive: Option<Probability>,
}

/// Returns the probability within the bounds of quoted ones.
pub fn quotable(probability: Probability) -> Probability {
    let [least, most] = QUOTABLE;
    let bounded = probability.as_f64().clamp(least, most);
    Probability::new(bounded).expect("the bounds are probabilities")
}

impl JobPrediction {
    /// Returns the prediction that follows from equally likely runs; None if most of them never end.
    pub fn of_runs(possible: PossibleRuns, due: Option<Instant>) -> Option<Self> {
        let probability = due.map(|due| quotable(possible.probability_by(due)));
        let decisive = due.map(|due| possible.counted_by(due));
        let mut runs = possible.runs;
        runs.sort_unstable_by_key(|run| run.start);
        let starts: Vec<Instant> = runs.iter().map(|run| run.start).collect();
        runs.sort_unstable_by_key(|run| run.finish);
        let finishes: Vec<Instant> = runs.iter().map(|run| run.finish).collect();
        let latest = instant_at(&finishes, 0.9)?;
        (latest < Instant::MAX).then_some(Self {
            start: instant_at(&starts, 0.5)?,
            latest_start: instant_at(&starts, 0.9)?,
            finish: instant_at(&finishes, 0.5)?,
            earliest: instant_at(&finishes, 0.1)?,
            latest,
            probability,
            raw: probability,
            decisive,
        })
    }

    /// Returns the prediction that follows from the trajectory of a job whose run time, alone on the
    /// slowest nodes, is distributed like this. The job starts up to `delay` after its nodes are
    /// reserved. None if the trajectory does not reach its [`Self::horizon`].
    pub fn of_trajectory(
        course: &JobTrajectory,
        run_time: &Distribution,
        due: Option<Instant>,
        delay: Span,
    ) -> Option<Self> {
        let level = |p| quantile(run_time, p) + delay;
        let probability = due.map(|due| {
            let longest = course.max_runtime(due) - delay;
            quotable(run_time.probability_within(longest))
        });
        Some(Self {
            start: course.start(),
            latest_start: course.start(),
            finish: course.finish(level(0.5))?,
            earliest: course.finish(level(0.1))?,
            latest: course.finish(level(0.9))?,
            probability,
            raw: probability,
            decisive: probability,
        })
    }

    /// Returns the prediction for a job whose deadline is promised to this user: the outcomes of earlier promises
    /// correct the probability.
    #[must_use]
    pub fn corrected(self, correction: &PromiseCorrection, user: UserId) -> Self {
        Self {
            probability: self.raw.map(|raw| correction.stated(user, raw)),
            ..self
        }
    }

    /// Returns how far a look-ahead has to reach for [`Self::of_trajectory`].
    pub fn horizon(run_time: &Distribution, due: Option<Instant>, delay: Span) -> LookAheadHorizon {
        let longest = quantile(run_time, MAX_QUANTILE) + delay;
        LookAheadHorizon {
            runtime: quantile(run_time, 0.9) + delay,
            due: due.map(|due| (due, longest)),
        }
    }
}

/// Returns the instant up to which equally likely futures end with the probability `level`, from their sorted instants;
/// None without any. The instant `i` of `n` stands for the level (i + 1/2) / n, at which run times are drawn (Hazen 1914);
/// between two it is linear.
fn instant_at(sorted: &[Instant], level: f64) -> Option<Instant> {
    let last = sorted.len().checked_sub(1)?;
    let place = level * sorted.len() as f64 - 0.5;
    let place = place.clamp(0.0, last as f64);
    let (from, to) = (sorted[place as usize], sorted[place.ceil() as usize]);
    let part = |of: Span| Span::from_secs_f64(place.fract() * of.as_secs_f64());
    Some(match to {
        // Between an instant and never there is nothing.
        Instant::MAX => to,
        _ => from + part(to.since(from)),
    })
}

fn quantile(run_time: &Distribution, level: f64) -> Span {
    run_time.quantile(Probability::new(level).expect("a level"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::outcome::RunInterval;

    fn prediction(runs: Vec<RunInterval>) -> Option<JobPrediction> {
        JobPrediction::of_runs(PossibleRuns::of_several(runs), None)
    }

    /// Returns runs that end at these seconds.
    fn runs(ends_s: impl Iterator<Item = i64>) -> Vec<RunInterval> {
        let run = |end_s| RunInterval {
            start: Instant::ZERO,
            finish: Instant::from_secs(end_s),
        };
        ends_s.map(run).collect()
    }

    #[test]
    fn interval_of_evenly_spaced_ends_has_eight_tenths_of_them() {
        // As a run time between 0 and 32 s is drawn in 32 futures: the middle of each second.
        let ends = runs((0..32).rev()).into_iter().map(|run| RunInterval {
            finish: run.finish + Span::from_secs_f64(0.5),
            ..run
        });
        let found = prediction(ends.collect()).unwrap();
        let ends = [found.earliest, found.finish, found.latest];
        let ends = ends.map(|end| end.since(Instant::ZERO).as_secs_f64());
        for (end, level) in ends.into_iter().zip([0.1, 0.5, 0.9]) {
            assert!((end / 32.0 - level).abs() < 1e-6, "{end} for {level}");
        }
    }

    #[test]
    fn few_runs_bound_the_interval() {
        let found = prediction(runs([5].into_iter())).unwrap();
        assert_eq!((found.earliest, found.latest), (found.finish, found.finish));
        assert_eq!(prediction(Vec::new()), None);
    }

    #[test]
    fn job_that_hardly_ever_ends_has_no_prediction() {
        let mut futures = runs(1..=32);
        for run in futures.iter_mut().take(2) {
            run.finish = Instant::MAX;
        }
        assert!(prediction(futures.clone()).is_some());
        futures[2].finish = Instant::MAX;
        futures[3].finish = Instant::MAX;
        assert_eq!(prediction(futures), None);
    }
}

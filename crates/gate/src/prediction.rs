//! The predicted start and end of a job, from the futures that a policy plays or from a look-ahead.

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Distribution, Instant, Probability, Span};

use crate::look_ahead::{JobTrajectory, LookAheadHorizon};

/// Probability level of a run time that is practically never exceeded.
const MAX_QUANTILE: f64 = 0.999_999;

/// The bounds of a quoted probability: those that 512 equally likely futures, the most that a policy
/// plays, could show. Neither a promise nor its breach is ever certain.
const QUOTABLE: [f64; 2] = [0.001, 0.999];

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
    /// Probability of keeping the deadline, if there is one.
    pub probability: Option<Probability>,
}

/// Returns the probability within the bounds of quoted ones.
pub fn quotable(probability: Probability) -> Probability {
    let [least, most] = QUOTABLE;
    let bounded = probability.as_f64().clamp(least, most);
    Probability::new(bounded).expect("the bounds are probabilities")
}

impl JobPrediction {
    /// Returns the prediction that follows from equally likely runs; None if most of them never end.
    pub fn of_runs(mut runs: Vec<RunInterval>, due: Option<Instant>) -> Option<Self> {
        let in_time = |due: Instant| runs.iter().filter(|run| run.finish <= due).count();
        let probability = due.map(|due| Probability::of_scenarios(in_time(due), runs.len()));
        let at = |level: f64| ((runs.len() as f64 * level) as usize).min(runs.len() - 1);
        let (early, middle, late) = (at(0.1), at(0.5), at(0.9));
        runs.sort_unstable_by_key(|run| run.start);
        let start = runs.get(middle)?.start;
        let latest_start = runs[late].start;
        runs.sort_unstable_by_key(|run| run.finish);
        let latest = runs.get(late)?.finish;
        (latest < Instant::MAX).then_some(Self {
            start,
            latest_start,
            finish: runs[middle].finish,
            earliest: runs[early].finish,
            latest,
            probability,
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
        })
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

fn quantile(run_time: &Distribution, level: f64) -> Span {
    run_time.quantile(Probability::new(level).expect("a level"))
}

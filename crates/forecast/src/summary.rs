//! The behaviour of a class, for users who ask before they submit a job.

use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Instant, Span};

use crate::class::ClassState;
use crate::expert::Expert;
use crate::record::{ForecastJob, span_of};
use crate::split::SplitAspect;
use crate::stage::ClassStage;

/// The present behaviour of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassSummary {
    /// The aspect by which the class is split, if any.
    pub split: Option<SplitAspect>,
    /// The value of the split aspect; None for the rest of the class, or for all of it.
    pub part: Option<u32>,
    /// Number of learned jobs.
    pub jobs: u64,
    /// The facts about the last learned job.
    pub last_job: ForecastJob,
    /// The stage of the class.
    pub stage: ClassStage,
    /// Number of modes before the present one.
    pub mode: u32,
    /// Submission of the first job of the present mode.
    pub since: Instant,
    /// The expert with the most votes.
    pub leader: Expert,
    /// The leader's fraction of the votes, between 0 and 1.
    pub votes: f64,
    /// The median of the remembered run times.
    pub median: Span,
    /// The predictability of the recent jobs.
    pub behaviour: ClassBehaviour,
    /// The factor by which half of the recent point forecasts were off, at least 1.
    pub usual_factor: f64,
    /// Per level: number of promises that fell due, and number of them that were kept.
    pub judged: [(u64, u64); N_LEVELS],
}

/// The predictability of the jobs of a class, by the factor by which half of its recent point
/// forecasts were off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassBehaviour {
    /// Too few jobs to judge.
    Unknown,
    /// Half of the forecasts were off by less than 1 %.
    Constant,
    /// Half of the forecasts were off by less than 10 %.
    Steady,
    /// Half of the forecasts were off by less than 50 %.
    Varied,
    /// Half of the forecasts were off by less than a factor of three.
    Erratic,
    /// Half of the forecasts were off by more: no method predicts the jobs, and only the bounds
    /// mean anything.
    Unpredictable,
}

/// Minimum number of jobs for judging the behaviour of a class.
const MIN_JOBS: usize = 10;

impl ClassBehaviour {
    /// Returns the predictability of jobs, `n_known` of which were forecast, half of them off by at least this factor.
    pub fn of(n_known: usize, factor: f64) -> Self {
        match factor {
            _ if n_known < MIN_JOBS => Self::Unknown,
            ..1.01 => Self::Constant,
            ..1.1 => Self::Steady,
            ..1.5 => Self::Varied,
            ..3.0 => Self::Erratic,
            _ => Self::Unpredictable,
        }
    }

    /// Returns the name of the behaviour in tables and machine-readable output.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Constant => "constant",
            Self::Steady => "steady",
            Self::Varied => "varied",
            Self::Erratic => "erratic",
            Self::Unpredictable => "unpredictable",
        }
    }
}

impl ClassSummary {
    pub(crate) fn of(
        class: &ClassState,
        (split, part): (Option<SplitAspect>, Option<u32>),
        last_job: ForecastJob,
    ) -> Self {
        let model = class.model();
        let runs = model.history().runs();
        let usual_factor = model.typical_error().exp();
        Self {
            split,
            part,
            jobs: class.n_learned(),
            last_job,
            stage: class.stage(),
            mode: class.mode(),
            since: class.since(),
            leader: class.leader(),
            votes: model.leader_weight(),
            median: span_of(runs.quantile(0.5).unwrap_or(0.0)),
            behaviour: ClassBehaviour::of(runs.len(), usual_factor),
            usual_factor,
            judged: *class.judged(),
        }
    }
}

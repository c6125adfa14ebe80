//! How a class behaves, for those who want to know before they ask about a job.

use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Instant, Span};

use crate::class::ClassState;
use crate::expert::Expert;
use crate::record::span_of;
use crate::split::SplitAspect;
use crate::stage::ClassStage;

/// How a class behaves at present.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassSummary {
    /// What its class is split by, if it is.
    pub split: Option<SplitAspect>,
    /// The value of that which its jobs have; none for the rest of the class, or all of it.
    pub part: Option<u32>,
    /// How many jobs were learned.
    pub jobs: u64,
    /// How well it is known.
    pub stage: ClassStage,
    /// How many modes came before the present one.
    pub mode: u32,
    /// When the first job of the present mode was handed in.
    pub since: Instant,
    /// The expert that has most of the votes.
    pub leader: Expert,
    /// The part of the votes that it has, between 0 and 1.
    pub votes: f64,
    /// The median of the run times that are remembered.
    pub median: Span,
    /// How well its jobs could be told of late.
    pub behaviour: ClassBehaviour,
    /// The factor by which half of the recent point forecasts were off, at least 1.
    pub usual_factor: f64,
    /// How many promises at each level fell due, and how many of them were kept.
    pub judged: [(u64, u64); N_LEVELS],
}

/// How well the jobs of a class can be told, by the factor by which half of its recent point
/// forecasts were off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassBehaviour {
    /// Too few jobs to tell.
    Unknown,
    /// By less than 1 %.
    Constant,
    /// By less than 10 %.
    Steady,
    /// By less than half.
    Varied,
    /// By less than a factor of three.
    Erratic,
    /// By more than that: no method tells its jobs, and only its bounds mean anything.
    Unpredictable,
}

/// The fewest jobs that tell how a class behaves.
const MIN_JOBS: usize = 10;

impl ClassBehaviour {
    fn of(n_known: usize, factor: f64) -> Self {
        match factor {
            _ if n_known < MIN_JOBS => Self::Unknown,
            ..1.01 => Self::Constant,
            ..1.1 => Self::Steady,
            ..1.5 => Self::Varied,
            ..3.0 => Self::Erratic,
            _ => Self::Unpredictable,
        }
    }

    /// The behaviour as it stands in tables and machine-readable output.
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
    pub(crate) fn of(class: &ClassState, split: Option<SplitAspect>, part: Option<u32>) -> Self {
        let model = class.model();
        let runs = model.history().runs();
        let usual_factor = model.typical_error().exp();
        Self {
            split,
            part,
            jobs: class.n_learned(),
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

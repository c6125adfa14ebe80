//! Probabilistic forecasts of job run times and of waits.
//!
//! After Lazarevic, Sacks & Prnjat, *Managing Uncertainty: A Case for Probabilistic Grid Scheduling* (2005).
//! Many simple methods forecast side by side, and feedback rewards the best. A class that changes its mode
//! gets a new model once the new model is better than the old one.
//!
//! # Examples
//! Fifty jobs of a user took ten minutes each, although an hour was requested:
//! ```
//! use tollgate_forecast::{ClassId, CompletedJob, ForecastJob, Forecaster, JobAttributes};
//! use tollgate_model::{Instant, Probability, Span};
//!
//! let mut forecaster = Forecaster::default();
//! let job = ForecastJob {
//!     class: ClassId(0),
//!     procs: 1,
//!     request: Some(Span::from_secs(3_600)),
//!     context: JobAttributes::default(),
//! };
//! let runtime = Span::from_secs(600);
//! for number in 0..50 {
//!     let submit = Instant::ZERO + Span::from_secs(1_000 * number);
//!     let forecast = forecaster.forecast(&job);
//!     let ended = CompletedJob { job, submit, finish: submit + runtime, runtime };
//!     forecaster.learn(&ended, &forecast)?;
//! }
//! let next = forecaster.forecast(&job);
//! assert_eq!(next.point().as_secs_f64().round(), 600.0);
//! let nine_in_ten = next.distribution().quantile(Probability::new(0.9).expect("a probability"));
//! assert!(nine_in_ten < Span::from_secs(900));
//! # Ok::<(), tollgate_forecast::LearnError>(())
//! ```
//!
//! # Modules
//! | module | contents |
//! |---|---|
//! | [`record`] | the facts about a job at submission and after its end |
//! | [`forecaster`] | [`Forecaster`]: learns and forecasts |
//! | `class_tree`, `class` | a class of jobs, whole or split, with the models of its modes |
//! | `split` | the decision to split a class by a finer aspect |
//! | `model` | the model of the jobs of one class in one mode |
//! | `site_prior` | the state shared by all classes |
//! | `history`, `window` | the remembered jobs of a class, and the latest values of a series |
//! | `expert_weights` | the votes of experts, and the feedback that moves them |
//! | `conformal` | calibrated quantiles |
//! | [`belief`] | [`BeliefModel`]: what policies may believe of jobs, by batches of earlier ones |
//! | [`belief_evaluation`] | the retrospective evaluation of beliefs |
//! | `recorded_beliefs` | beliefs over a record |
//! | [`learned_history`] | [`LearnedHistory`]: a forecaster and a belief model |
//! | [`expert`] | the methods |
//! | [`baseline`] | established methods, for comparison |
//! | [`method`] | all compared methods: experts and baselines |
//! | [`lowess`](mod@lowess) | robust local regression, which detects odd run times |
//! | [`side_by_side`] | numbers that are computed side by side |
//! | [`look_alikes`] | the look-alikes of a job that have not ended |
//! | `memo` | values that follow from others |
//! | `map_entries` | maps stored as sequences |
//! | `linear` | small least squares problems |
//! | [`change_point`] | detection of odd run times and of mode changes |
//! | [`stage`] | the amount of history of a class |
//! | [`snapshot`] | the stored form of a forecaster |
//! | [`summary`] | the behaviour of a class |
//! | [`online`] | a forecaster over a record, with feedback when a real one would get it |
//! | [`evaluate`](mod@evaluate) | the retrospective evaluation of forecasts over a record |
//! | [`score`] | the measures by which forecasts are compared |
//! | [`unpredictable`] | jobs whose run time no forecast narrows, and their treatment |
//! | [`usage`] | the memory that jobs use, and the processors that they keep busy |
//! | [`wait`] | waits in a queue, and the ends of jobs |
//!
//! Everything is computed on logarithms of seconds. Nothing in this crate reads a clock, a file or
//! a random source: the same jobs in the same order give the same forecasts, byte for byte.

pub mod baseline;
pub mod belief;
pub mod belief_evaluation;
pub mod change_point;
mod class;
mod class_tree;
mod conformal;
pub mod evaluate;
pub mod expert;
mod expert_weights;
pub mod forecaster;
mod history;
pub mod learned_history;
mod linear;
pub mod look_alikes;
pub mod lowess;
mod map_entries;
mod memo;
pub mod method;
mod model;
pub mod online;
pub mod record;
mod recorded_beliefs;
pub mod score;
pub mod side_by_side;
mod site_prior;
pub mod snapshot;
mod split;
pub mod stage;
pub mod summary;
pub mod unpredictable;
pub mod usage;
pub mod wait;
mod window;

pub use belief::{
    Belief, BeliefBasis, BeliefJob, BeliefModel, BeliefSource, ClassChange, Doubt, GroupPart,
    JobKin, Program, SiblingPart, TaskStage,
};
pub use belief_evaluation::{
    BeliefEvaluation, BeliefScore, evaluate_beliefs, try_evaluate_beliefs,
};
pub use change_point::{AlarmThreshold, AlarmTriggers};
pub use class::ClassEvent;
pub use evaluate::{
    EvaluationConfig, EvaluationObserver, ForecastEvaluation, ForecastMetrics, ScoreIntervals,
    ScoredForecast, evaluate, try_evaluate,
};
pub use expert::Expert;
pub use forecaster::{BoundPromise, Forecast, Forecaster, LearnError};
pub use learned_history::LearnedHistory;
pub use look_alikes::OpenLookAlikes;
pub use lowess::lowess;
pub use method::ForecastMethod;
pub use online::{FeedbackTiming, JobFeedback, OnlineForecaster};
pub use record::{ClassId, CompletedJob, ForecastJob, JobAttributes};
pub use recorded_beliefs::{RecordedMoment, learn_beliefs, observe_beliefs, observe_moments};
pub use score::{BrierScore, LevelCoverage, MethodScore, PointScore, ScoreInterval};
pub use snapshot::{ForecasterSnapshot, SnapshotVersionError, VERSION};
pub use split::SplitAspect;
pub use stage::ClassStage;
pub use summary::{ClassBehaviour, ClassSummary};
pub use unpredictable::{
    UnpredictableAction, UnpredictableActionError, UnpredictableJob, UnpredictableRule,
};
pub use usage::{UsageBeliefs, UsageForecast, UsedAmounts};

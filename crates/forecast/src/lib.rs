//! How long a job will take, with a probability.
//!
//! After Lazarevic, Sacks & Prnjat, *Managing Uncertainty: A Case for Probabilistic Grid
//! Scheduling* (2005): many simple methods forecast side by side, feedback rewards the best, and
//! a class that changes its mode gets a new model once that is better than the old one.
//!
//! | module | what it holds |
//! |---|---|
//! | [`record`] | what is known of a job when it is handed in, and when it has ended |
//! | [`forecaster`] | [`Forecaster`]: learn and forecast |
//! | [`expert`] | the methods |
//! | [`baseline`] | what the field would forecast, to be measured against |
//! | [`method`] | all that are compared: experts and baselines |
//! | [`lowess`](mod@lowess) | robust local regression, which tells odd run times |
//! | [`mode`] | when a run time is odd, and whether the mode has changed |
//! | [`stage`] | how well a class is known |
//! | [`saved`] | a forecaster on its way to a file and back |
//! | [`summary`] | how a class behaves |
//! | [`course`] | a forecaster over a record: it hears of everything when a real one would |
//! | [`evaluate`](mod@evaluate) | how good forecasts would have been over a record |
//! | [`score`] | the measures by which forecasts are compared |
//!
//! Everything is computed on logarithms of seconds. Nothing here reads a clock, a file or a random
//! source: the same jobs in the same order give the same forecasts, byte for byte.

pub mod baseline;
pub mod change_point;
mod class;
mod class_tree;
mod conformal;
pub mod evaluate;
pub mod expert;
mod expert_weights;
pub mod forecaster;
mod history;
mod linear;
pub mod lowess;
pub mod method;
mod model;
pub mod online;
pub mod record;
pub mod score;
mod site_prior;
pub mod snapshot;
mod split;
pub mod stage;
pub mod summary;
mod window;

pub use change_point::{AlarmThreshold, AlarmTriggers};
pub use class::ClassEvent;
pub use evaluate::{
    EvaluationConfig, EvaluationObserver, ForecastEvaluation, ForecastMetrics, evaluate,
};
pub use expert::Expert;
pub use forecaster::{BoundPromise, Forecast, Forecaster, LearnError};
pub use lowess::lowess;
pub use method::ForecastMethod;
pub use online::{FeedbackTiming, JobFeedback, OnlineForecaster};
pub use record::{ClassId, CompletedJob, ForecastJob, JobAttributes};
pub use score::{LevelCoverage, MethodScore, PointScore};
pub use snapshot::{ForecasterSnapshot, SnapshotVersionError, VERSION};
pub use split::SplitAspect;
pub use stage::ClassStage;
pub use summary::{ClassBehaviour, ClassSummary};

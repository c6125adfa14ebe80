//! The grid world: the jobs of users, whose run times are forecast as they are submitted.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | the parameters of the synthetic jobs |
//! | [`record`] | jobs with their run times, drawn or from a trace |
//! | [`generator`] | the synthetic jobs, with mode changes and anomalies |
//! | [`classes`] | the attributes that the jobs of a class share |
//! | [`source`] | the sources of forecasts |
//! | [`univariate`] | the two methods of the paper's figures |
//! | `joint` | the joint forecasts of the two models |
//! | [`margin`] | bounds from the past errors of a source |
//! | [`evaluation`] | forecasts of all jobs of a record by all sources |
//! | [`accuracy`] | the errors and bounds of a source |
//! | [`mode_changes`] | what became of planted mode changes and anomalies |
//! | [`statistics`] | the statistics of the run times themselves |
//!
//! After Lazarević, Sacks and Prnjat, "Managing uncertainty: a case for probabilistic Grid
//! scheduling" (2005). Their records were never published: the synthetic jobs are calibrated to the
//! figures that they print.

pub mod accuracy;
pub mod classes;
pub mod evaluation;
pub mod generator;
mod joint;
pub mod margin;
pub mod mode_changes;
pub mod record;
pub mod settings;
pub mod source;
pub mod statistics;
pub mod univariate;

pub use classes::ClassScheme;
pub use evaluation::{EvaluatedJob, GridEvaluation, evaluate};
pub use record::{GridJob, GridRecord, PlantedTruth};
pub use settings::GridConfig;
pub use source::{ForecastSource, JointModel, ModelVariant};
pub use tollgate_forecast::{ClassEvent, FeedbackTiming};

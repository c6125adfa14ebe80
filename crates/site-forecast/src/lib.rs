//! Forecasts of run times from the records of a site.
//!
//! | module | contents |
//! |---|---|
//! | [`class_key`] | the properties that make a class |
//! | [`level`] | probabilities of upper bounds |
//! | [`names`] | the numbers of users, executables, queues and accounts |
//! | [`records`] | traces, converted to records of jobs for a forecaster |
//! | [`state`] | the learned state, and its file |
//! | [`learn`] | learning of a state from records |
//! | [`statements`] | how well the stated forecasts held, by class |
//! | [`job`] | the forecast of one job |
//! | [`evaluation`] | the accuracy of past forecasts, and its figures as keys |
//! | [`calendar`] | dates of the Gregorian calendar |
//!
//! The command line and the module for Python stand on this crate, so that both give the same numbers.

pub mod calendar;
pub mod class_key;
pub mod evaluation;
pub mod job;
pub mod learn;
pub mod level;
pub mod names;
pub mod records;
pub mod state;
pub mod statements;

pub use class_key::ClassKey;
pub use evaluation::{EvaluationPair, SiteEvaluationSettings};
pub use job::{DescribedJob, JobOutlook};
pub use learn::LearningStep;
pub use level::ConfidenceLevel;
pub use names::{ForecastNames, NameIds};
pub use records::{ForecastJobs, JobUsageRecord, NothingToLearn};
pub use state::{ForecastState, ForecastStateError};
pub use statements::StatedClass;

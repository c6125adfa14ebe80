//! Experiments as files: plans, runs, results, risk analysis, and the claims that they check.
//!
//! | module | step |
//! |---|---|
//! | [`experiment`] | an experiment as it stands in its TOML file, and its JSON schema |
//! | [`setting`], [`measure`], [`claim`], [`words`] | what may stand there |
//! | [`world`] | the worlds that an experiment may name, what is set and measured in each |
//! | [`parse`] | from text to a checked experiment, with a message for what is wrong |
//! | [`builtin`] | the published experiments that come with tollgate |
//! | [`plan`] | its runs, each that differs once |
//! | [`source`] | its jobs, read or generated once |
//! | [`run`] | runs over several threads, or a chunk of them |
//! | [`results`], [`columns`] | the tidy table that comes out |
//! | [`estimate`], [`analysis`] | means over seeds, risk analysis and rankings |
//! | [`ledger`] | what each claim came to |
//! | [`chart`] | pictures that a world draws |
//! | [`study`], [`files`] | all of it, from a file to a folder of results |
//! | [`batch`] | chunks as a job array of a batch system |
//!
//! The same experiment on the same jobs gives the same bytes, whatever the number of threads or
//! chunks, and however often it was killed on the way.

pub mod analysis;
pub mod batch;
pub mod builtin;
pub mod chart;
mod check;
pub mod claim;
pub mod columns;
pub mod estimate;
pub mod experiment;
pub mod files;
pub mod fingerprint;
mod journal;
pub mod ledger;
pub mod measure;
mod nearest;
pub mod parse;
mod place;
pub mod plan;
mod quantity;
pub mod results;
pub mod run;
pub mod setting;
pub mod source;
pub mod study;
mod summary;
mod tables;
pub mod words;
pub mod world;

pub use analysis::RiskAnalysis;
pub use builtin::{BUILTIN_EXPERIMENTS, BuiltinExperiment};
pub use claim::Claim;
pub use experiment::Experiment;
pub use files::OutputDir;
pub use ledger::ClaimResults;
pub use parse::ExperimentError;
pub use plan::RunPlan;
pub use results::{RunMeasurements, StudyResults};
pub use run::StudyChunk;
pub use source::StudyWorkload;
pub use study::{ExperimentOverrides, OnExistingResults, Study, StudyError, StudyProgress};
pub use world::WorldKind;

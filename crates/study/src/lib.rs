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
pub mod builtin;
pub mod chart;
pub mod claim;
mod claim_metric;
pub mod claim_results;
pub mod columns;
pub mod confidence;
mod did_you_mean;
pub mod experiment;
pub mod fingerprint;
pub mod job_array;
mod journal;
pub mod keyword;
pub mod metric;
pub mod output_dir;
pub mod parse;
pub mod pipeline;
pub mod plan;
pub mod results;
pub mod run;
pub mod setting;
mod summary;
mod tables;
mod toml_path;
mod validate;
pub mod workload_source;
pub mod world;

pub use analysis::RiskAnalysis;
pub use builtin::{BUILTIN_EXPERIMENTS, BuiltinExperiment};
pub use claim::Claim;
pub use claim_results::ClaimResults;
pub use experiment::Experiment;
pub use output_dir::OutputDir;
pub use parse::ExperimentError;
pub use pipeline::{ExperimentOverrides, OnExistingResults, Study, StudyError, StudyProgress};
pub use plan::RunPlan;
pub use results::{RunMeasurements, StudyResults};
pub use run::StudyChunk;
pub use workload_source::StudyWorkload;
pub use world::WorldKind;

//! Experiments as files: plans, runs, results, risk analysis, and the claims that they check.
//!
//! | module | step |
//! |---|---|
//! | [`experiment`] | the contents of an experiment's TOML file, and its JSON schema |
//! | [`setting`], [`metric`], [`claim`], [`keyword`] | the values of its keys |
//! | [`world`] | the worlds that an experiment may name, with their settings and metrics |
//! | [`estimate_name`] | the sources of run time estimates |
//! | [`speed_list_name`] | the speeds of nodes |
//! | [`parse`] | from text to a checked experiment, with a message for the first problem |
//! | `validate`, `toml_path`, `did_you_mean` | the check, the place of a problem, and a suggestion |
//! | [`builtin`] | the published experiments that come with tollgate |
//! | [`plan`] | its runs; identical runs are planned once |
//! | [`workload_source`] | its jobs, read or generated once |
//! | [`run`] | runs over several threads, or a chunk of them |
//! | `journal`, [`fingerprint`] | finished runs on disk, and the inputs that they belong to |
//! | `measurements`, [`results`], [`columns`] | the tidy table of results |
//! | `weeks` | parts of the record, which are left out one at a time |
//! | [`confidence`], [`analysis`] | means over seeds, risk analysis and rankings |
//! | `tables` | risk analysis as tables |
//! | `claim_scope`, `claim_metric` | the cases of a claim, and its quantity, seed by seed |
//! | [`claim_results`] | the verdict on each claim |
//! | [`chart`], `world_charts` | charts that a world adds |
//! | [`pipeline`], `overrides`, [`output_dir`] | all steps, from a file to a directory of results |
//! | `study_error` | errors |
//! | `summary` | versions, seeds, workload and counts of a finished study |
//!
//! The same experiment on the same jobs gives the same bytes, for any number of threads or chunks,
//! and no matter how often the study was killed.

pub mod analysis;
pub mod builtin;
pub mod chart;
pub mod claim;
mod claim_metric;
pub mod claim_results;
mod claim_scope;
pub mod columns;
pub mod confidence;
mod did_you_mean;
pub mod estimate_name;
pub mod experiment;
pub mod fingerprint;
mod journal;
pub mod keyword;
mod measurements;
pub mod metric;
pub mod output_dir;
mod overrides;
pub mod parse;
pub mod pipeline;
pub mod plan;
pub mod results;
pub mod run;
pub mod setting;
pub mod speed_list_name;
mod study_error;
mod summary;
mod tables;
mod toml_path;
mod validate;
mod weeks;
pub mod workload_source;
pub mod world;
mod world_charts;

pub use analysis::RiskAnalysis;
pub use builtin::{BUILTIN_EXPERIMENTS, BuiltinExperiment};
pub use claim::Claim;
pub use claim_results::ClaimResults;
pub use experiment::Experiment;
pub use measurements::RunMeasurements;
pub use output_dir::OutputDir;
pub use overrides::ExperimentOverrides;
pub use parse::ExperimentError;
pub use pipeline::{OnExistingResults, Study, StudyProgress};
pub use plan::RunPlan;
pub use results::StudyResults;
pub use run::{PolicyRunError, StudyChunk};
pub use study_error::StudyError;
pub use tollgate_sim::PolicyRegistry;
pub use workload_source::StudyWorkload;
pub use world::WorldKind;

//! Replays: the results of each policy on the jobs of a record.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | the settings, and the choice of policies |
//! | [`input`] | the jobs, and the machines that they run on |
//! | `learning` | the records that are learned before the first job |
//! | [`mod@run`] | every policy over the jobs, in parallel |
//! | [`rows`], [`csv_rows`] | the outcome of each job under a policy, as values and as lines of CSV |
//! | [`keys`] | the results of a policy as keys with values |
//! | [`table`] | the results of all policies as text |
//! | [`calibration`] | what was promised against what was kept |
//! | [`groups`], [`windows`] | the results by queue, user or size, and over windows of the record |
//! | [`parallel`] | work on several threads, whose results come in order |
//! | [`trial`] | the treatments of unpredictable jobs that are compared |
//! | [`error`] | errors |
//!
//! The command line and the module for Python stand on this crate, so that both give the same bytes.

pub mod calibration;
pub mod csv_rows;
pub mod error;
pub mod groups;
pub mod input;
pub mod keys;
mod learning;
pub mod parallel;
pub mod rows;
pub mod run;
pub mod settings;
pub mod table;
pub mod trial;
pub mod windows;

pub use csv_rows::JobCsvWriter;
pub use error::ReplayError;
pub use groups::ReplayGrouping;
pub use input::{MachineSizeSource, MemoryCounts, ReplayInput, ReplayMachine, default_record};
pub use rows::{ReplayedJob, ReplayedJobs};
pub use run::{PolicyAnswer, RunControl, run_policies};
pub use settings::{NodeCount, ReplaySettings, choose_policies};
pub use trial::{TreatmentTrial, TreatmentTrialError};

//! Slurm's words: options, directives, formats, lists of jobs, states, dates, memory and variables. Words in, requests and
//! texts out.
//!
//! | module | contents |
//! |---|---|
//! | [`sbatch`](SbatchCall) | a call of `sbatch`, and the request that it makes |
//! | `sbatch_options` | the options of `sbatch`, and what becomes of each |
//! | `sbatch_job`, `sbatch_resources`, `sbatch_files` | the job that they describe, what it needs, and its files |
//! | [`unsubmitted`](UnsubmittedSbatch) | a call of `sbatch` that submits nothing |
//! | `directives` | the `#SBATCH` lines of a script |
//! | `dependency`, `mail`, `numbers`, `time`, `file_names` | the values of options |
//! | `environment`, `prelude` | the variables of a job, known at the submission and at the start |
//! | [`getopt`] | options as GNU getopt takes them |
//! | [`states`](SlurmState) | the one table of states |
//! | [`job_list`](SlurmJobName) | jobs, tasks and steps as they are named |
//! | [`row`](SlurmRow), `step_row`, `field` | rows of lists, those of steps, and their fields |
//! | [`squeue_format`](SqueueFormat), `squeue_fields` | the formats of `squeue`, and the fields they choose from |
//! | [`sacct_format`](SacctFormat), [`scontrol_record`] | the formats of `sacct`, and the record of `scontrol show job` |
//! | [`hosts`] | lists of hosts |
//! | [`error`](SlurmError) | errors in Slurm's words |

mod dependency;
mod directives;
mod environment;
mod error;
mod field;
mod file_names;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fixtures;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
pub mod getopt;
pub mod hosts;
mod job_list;
mod mail;
mod numbers;
mod prelude;
mod row;
pub mod sacct_format;
mod sbatch;
mod sbatch_files;
mod sbatch_job;
mod sbatch_options;
mod sbatch_resources;
pub mod scontrol_record;
mod squeue_fields;
pub mod squeue_format;
mod states;
mod step_row;
pub mod time;
mod unsubmitted;

pub use environment::DEFAULT_PARTITION;
pub use error::SlurmError;
pub use field::{FieldContext, MemoryUnit};
pub use job_list::SlurmJobName;
pub use numbers::signal_name;
pub use row::{SlurmClock, SlurmRow, mark_arrays};
pub use sacct_format::{SacctFormat, SacctLayout, SacctRowKind};
pub use sbatch::{SbatchAction, SbatchCall, SbatchQuestion, SbatchScript, SbatchSubmission};
pub use sbatch_job::{CLUSTER_NAME, check_clusters};
pub use squeue_format::SqueueFormat;
pub use states::{SlurmState, SlurmStatus, signal_words};
pub use unsubmitted::UnsubmittedSbatch;

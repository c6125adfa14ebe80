//! Words of other batch systems, on a command line and in scripts: words in, requests out. They are the options of `qsub`,
//! `qstat` and `qdel` of PBS, Torque and Grid Engine, the words of Slurm, and those of `condor_submit`.
//!
//! | module | contents |
//! |---|---|
//! | [`qsub`](QsubCall) | a call of `qsub`, and the request that it makes |
//! | `qsub_job` | the job of a call, with all of its options |
//! | [`unsubmitted`](UnsubmittedJob) | a job that is read and not submitted |
//! | [`unsubmitted_qsub`](UnsubmittedQsub) | a call of `qsub` of Grid Engine that submits nothing |
//! | [`condor_submit`](UnsubmittedCondorSubmit) | a call of `condor_submit` that submits nothing |
//! | [`place`](SubmitPlace) | the place where a job is typed, and the part of every request that depends on it |
//! | `options` | options of both styles |
//! | `directives` | the lines of a script that have options |
//! | `resources` | resources requested with `-l` |
//! | `chunks` | those of `nodes` and `select` |
//! | `variables` | environment variables named with `-v` |
//! | `job_options` | the job that the options describe |
//! | `begin_date` | the earliest start |
//! | `output_names` | the variables in the names of output files |
//! | `prelude` | its script, with variables known only at its start |
//! | [`slurm`] | the words of Slurm |
//! | [`job_id`] | job numbers in both styles |
//! | [`tool`](FrontendTool) | the tools, and the styles of their options |
//! | [`help`] | the text of `--help` |
//! | [`words`] | words of a line, as a shell splits them |
//! | [`error`](FrontendError) | the errors |
//!
//! Options with the same meaning in both styles are parsed once. An option that cannot be honoured
//! is rejected if the job would differ from the user's expectation. Otherwise a note on standard
//! error says that the option is ignored. Notes come before the answer, so that callers that read
//! both streams together find the job number last.

mod begin_date;
mod chunks;
mod condor_submit;
mod directives;
mod error;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
pub mod help;
pub mod job_id;
mod job_options;
mod options;
mod output_names;
mod place;
mod prelude;
mod qsub;
mod qsub_job;
mod resources;
pub mod slurm;
mod tool;
mod unsubmitted;
mod unsubmitted_qsub;
mod variables;
pub mod words;

pub use condor_submit::{CondorSubmitError, UnsubmittedCondorSubmit};
pub use error::{FrontendError, SubmitOptionError};
pub use place::{SubmitPlace, TypedJobParts};
pub use qsub::{QsubCall, QsubSubmission};
pub use qsub_job::ScriptSource;
pub use tool::{FrontendDialect, FrontendTool};
pub use unsubmitted::UnsubmittedJob;
pub use unsubmitted_qsub::UnsubmittedQsub;

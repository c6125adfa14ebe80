//! Words of other batch systems: the options of `qsub`, `qstat` and `qdel` of PBS, Torque and Grid Engine, on a
//! command line and in scripts.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | options of both styles |
//! | [`directives`] | the lines of a script that have options |
//! | [`resources`](ResourceOptions) | resources requested with `-l` |
//! | `variables` | environment variables named with `-v` |
//! | [`job_options`](JobOptions) | the job that the options describe |
//! | [`begin_date`](BeginDate) | the earliest start |
//! | [`output_names`] | the variables in the names of output files |
//! | [`prelude`](ScriptPrelude) | its script, with variables known only at its start |
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
pub mod directives;
mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod help;
pub mod job_id;
mod job_options;
pub mod options;
pub mod output_names;
mod prelude;
mod resources;
mod tool;
mod variables;
pub mod words;

pub use begin_date::BeginDate;
pub use error::FrontendError;
pub use job_options::JobOptions;
pub use options::ParsedOption;
pub use prelude::ScriptPrelude;
pub use resources::ResourceOptions;
pub use tool::{FrontendDialect, FrontendTool};

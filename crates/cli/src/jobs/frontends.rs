//! Front ends `qsub`, `qstat` and `qdel` for tools and scripts that were written for PBS and Torque
//! or for Grid Engine.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | options of both styles, on a command line or in a script |
//! | [`directives`] | the lines of a script that have options |
//! | [`resources`] | resources requested with `-l` |
//! | [`variables`] | environment variables named with `-v` |
//! | [`job_options`] | the job that the options describe |
//! | [`begin_date`] | the earliest start |
//! | [`output_names`] | the variables in the names of output files |
//! | [`prelude`] | its script, with variables known only at its start |
//! | [`qsub`], [`qstat`], [`qdel`] | the three tools |
//! | [`job_id`] | job numbers in both styles |
//! | [`help`] | the text of `--help` |
//! | [`error`] | the errors |
//!
//! Options with the same meaning in both styles are parsed once. An option that cannot be honoured
//! is rejected if the job would differ from the user's expectation. Otherwise a note on standard
//! error says that the option is ignored. Notes come before the answer, so that callers that read
//! both streams together find the job number last.

mod begin_date;
mod directives;
mod error;
mod help;
mod job_id;
mod job_options;
mod options;
mod output_names;
mod prelude;
mod qdel;
mod qstat;
mod qsub;
mod resources;
mod variables;

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

pub(crate) use self::help::{is_help_requested, options};

/// The words as they are typed: they are not those of other commands.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct FrontendArgs {
    /// Options and operands of PBS or Grid Engine, listed below
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// A front end tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontendTool {
    /// Submits a job.
    Qsub,
    /// Lists jobs.
    Qstat,
    /// Cancels jobs.
    Qdel,
}

/// Parses the options in a script for `qsub`, for the fuzz target. Returns false if they are
/// invalid.
pub(crate) fn check_script(text: &str) -> bool {
    qsub::check_script(text)
}

/// The option style of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrontendDialect {
    /// PBS and Torque.
    Pbs,
    /// Grid Engine.
    GridEngine,
}

impl FrontendTool {
    /// All tools.
    pub(crate) const ALL: [Self; 3] = [Self::Qsub, Self::Qstat, Self::Qdel];

    /// Returns the name of the tool.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Qsub => "qsub",
            Self::Qstat => "qstat",
            Self::Qdel => "qdel",
        }
    }

    /// Returns the tool that the program name stands for. None for any other name.
    pub(crate) fn from_program_name(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?;
        Self::ALL.into_iter().find(|tool| name == tool.name())
    }
}

/// Runs a tool.
pub(crate) fn run(tool: FrontendTool, words: &[String]) -> Result<(), CliFailure> {
    let address = ServiceAddressArgs::default();
    match tool {
        FrontendTool::Qsub => qsub::run(words, &address),
        FrontendTool::Qstat => qstat::run(words, &address),
        FrontendTool::Qdel => qdel::run(words, &address),
    }
}

impl FrontendDialect {
    /// Returns the style of the environment: `TOLLGATE_STYLE`, or else Grid Engine if its tools are
    /// set up.
    fn from_env() -> Option<Self> {
        let said = env::var("TOLLGATE_STYLE").unwrap_or_default();
        match said.as_str() {
            "pbs" => Some(Self::Pbs),
            "sge" => Some(Self::GridEngine),
            _ => env::var_os("SGE_ROOT").map(|_| Self::GridEngine),
        }
    }
}

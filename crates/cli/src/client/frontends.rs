//! Front ends: `qsub`, `qstat` and `qdel` as the tools and scripts call them that were written for PBS
//! and Torque or for Grid Engine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`options`] | options of either, on a command line or in a script |
//! | [`resources`] | what is asked for with `-l` |
//! | [`wishes`] | a job as those options describe it |
//! | [`text`] | its script, with what only its start can tell |
//! | [`qsub`], [`qstat`], [`qdel`] | the three |
//! | [`named`] | numbers of jobs as either writes them |
//! | [`help`] | what `--help` lists |
//! | [`error`] | what can be wrong |
//!
//! Options that mean the same to both are one. What cannot be honoured is refused where a job would not
//! be what it is taken for, and noted on standard error where it would; nothing is dropped in silence.
//! Notes come before the answer, so that who reads both as one finds the number last.

mod error;
mod help;
mod job_id;
mod job_options;
mod options;
mod prelude;
mod qdel;
mod qstat;
mod qsub;
mod resources;

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use super::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

pub(crate) use help::options;

/// The words as they are typed: they are not those of other commands.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct FrontendArgs {
    /// Options and operands of PBS or Grid Engine, listed below
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// Which one is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontendTool {
    /// Hand a job in.
    Qsub,
    /// Say how jobs stand.
    Qstat,
    /// Take jobs back.
    Qdel,
}

/// Reads what a script says of itself to `qsub`, for the fuzz target; false if it makes no sense.
pub(crate) fn check_script(text: &str) -> bool {
    qsub::check_script(text)
}

/// Whose words are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrontendDialect {
    /// PBS and Torque.
    Pbs,
    /// Grid Engine.
    GridEngine,
}

impl FrontendTool {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Qsub, Self::Qstat, Self::Qdel];

    /// What it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Qsub => "qsub",
            Self::Qstat => "qstat",
            Self::Qdel => "qdel",
        }
    }

    /// The one that the program was called by the name of.
    pub(crate) fn from_program_name(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?;
        Self::ALL.into_iter().find(|tool| name == tool.name())
    }
}

/// Does what the tool does.
pub(crate) fn run(tool: FrontendTool, words: &[String]) -> Result<(), CliFailure> {
    if help::is_requested(words) {
        return help::print(tool);
    }
    let address = ServiceAddressArgs::default();
    match tool {
        FrontendTool::Qsub => qsub::run(words, &address),
        FrontendTool::Qstat => qstat::run(words, &address),
        FrontendTool::Qdel => qdel::run(words, &address),
    }
}

impl FrontendDialect {
    /// What the environment says: `TOLLGATE_STYLE`, else Grid Engine where its tools are set up.
    fn from_env() -> Option<Self> {
        let said = env::var("TOLLGATE_STYLE").unwrap_or_default();
        match said.as_str() {
            "pbs" => Some(Self::Pbs),
            "sge" => Some(Self::GridEngine),
            _ => env::var_os("SGE_ROOT").map(|_| Self::GridEngine),
        }
    }
}

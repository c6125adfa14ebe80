//! The tools, and the styles of their options.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// A front end tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontendTool {
    /// Submits a job.
    Qsub,
    /// Lists jobs.
    Qstat,
    /// Cancels jobs.
    Qdel,
}

/// The option style of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontendDialect {
    /// PBS and Torque.
    Pbs,
    /// Grid Engine.
    GridEngine,
}

impl FrontendTool {
    /// All tools.
    pub const ALL: [Self; 3] = [Self::Qsub, Self::Qstat, Self::Qdel];

    /// Returns the name of the tool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qsub => "qsub",
            Self::Qstat => "qstat",
            Self::Qdel => "qdel",
        }
    }

    /// Returns the tool that the program name stands for. None for any other name.
    pub fn from_program_name(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?;
        Self::ALL.into_iter().find(|tool| name == tool.name())
    }
}

impl FrontendDialect {
    /// Returns the style of the environment: `TOLLGATE_STYLE`, or else Grid Engine if its tools are
    /// set up.
    pub fn from_env() -> Option<Self> {
        let style = env::var("TOLLGATE_STYLE").unwrap_or_default();
        match style.as_str() {
            "pbs" => Some(Self::Pbs),
            "sge" => Some(Self::GridEngine),
            _ => env::var_os("SGE_ROOT").map(|_| Self::GridEngine),
        }
    }
}

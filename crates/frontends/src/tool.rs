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
        Self::of_variables(env::var_os)
    }

    /// Returns the style of an environment whose variables `variable` returns, as [`Self::from_env`].
    pub(crate) fn of_variables<T: AsRef<OsStr>>(
        variable: impl Fn(&'static str) -> Option<T>,
    ) -> Option<Self> {
        let style = variable("TOLLGATE_STYLE");
        let style = style.as_ref().map(AsRef::as_ref);
        match style.and_then(OsStr::to_str) {
            Some("pbs") => Some(Self::Pbs),
            Some("sge") => Some(Self::GridEngine),
            Some(_) | None => variable("SGE_ROOT").map(|_| Self::GridEngine),
        }
    }
}

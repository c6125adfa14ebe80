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
    /// Submits a job to Slurm.
    Sbatch,
    /// Lists jobs of Slurm.
    Squeue,
    /// Cancels jobs of Slurm.
    Scancel,
    /// Lists the records of jobs of Slurm.
    Sacct,
    /// Shows and changes jobs, and shows hosts and settings of Slurm.
    Scontrol,
    /// Lists partitions and hosts of Slurm.
    Sinfo,
    /// Runs the processes of a step.
    Srun,
    /// Asks for processors and runs a command there.
    Salloc,
    /// Lists accounts of Slurm.
    Sacctmgr,
    /// Lists shares of Slurm.
    Sshare,
    /// Shows how much of what a job asked for it used.
    Seff,
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
    /// The tools of PBS and Grid Engine.
    pub const QUEUE: [Self; 3] = [Self::Qsub, Self::Qstat, Self::Qdel];
    /// The tools of Slurm. Callers look for some of them to find out whether Slurm is there, so that none is left out.
    pub const SLURM: [Self; 11] = [
        Self::Sbatch,
        Self::Squeue,
        Self::Scancel,
        Self::Sacct,
        Self::Scontrol,
        Self::Sinfo,
        Self::Srun,
        Self::Salloc,
        Self::Sacctmgr,
        Self::Sshare,
        Self::Seff,
    ];

    /// Returns all tools.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::QUEUE.into_iter().chain(Self::SLURM)
    }

    /// Returns the name of the tool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qsub => "qsub",
            Self::Qstat => "qstat",
            Self::Qdel => "qdel",
            Self::Sbatch => "sbatch",
            Self::Squeue => "squeue",
            Self::Scancel => "scancel",
            Self::Sacct => "sacct",
            Self::Scontrol => "scontrol",
            Self::Sinfo => "sinfo",
            Self::Srun => "srun",
            Self::Salloc => "salloc",
            Self::Sacctmgr => "sacctmgr",
            Self::Sshare => "sshare",
            Self::Seff => "seff",
        }
    }

    /// Returns the tool that the program name stands for. None for any other name.
    pub fn from_program_name(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?;
        Self::all().find(|tool| name == tool.name())
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

//! Front ends `qsub`, `qstat` and `qdel` for tools and scripts that were written for PBS and Torque
//! or for Grid Engine, and `sbatch`, `squeue` and others for those of Slurm.
//!
//! | module | contents |
//! |---|---|
//! | [`qsub`], [`qstat`], [`qdel`] | the three tools of PBS and Grid Engine |
//! | [`slurm`] | the tools of Slurm |
//! | `error` | the exit codes |
//!
//! The crate `frontends` parses the options and describes them; here they become requests.

mod error;
mod qdel;
mod qstat;
mod qsub;
mod slurm;

use tollgate_frontends::FrontendTool;

use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

/// The words as they are typed: they are not those of other commands.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct FrontendArgs {
    /// Options and operands of the other system, listed below
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// Runs a tool.
pub(crate) fn run(tool: FrontendTool, words: &[String]) -> Result<(), CliFailure> {
    let address = ServiceAddressArgs::default();
    match tool {
        FrontendTool::Qsub => qsub::run(words, &address),
        FrontendTool::Qstat => qstat::run(words, &address),
        FrontendTool::Qdel => qdel::run(words, &address),
        FrontendTool::Sbatch
        | FrontendTool::Squeue
        | FrontendTool::Scancel
        | FrontendTool::Sacct
        | FrontendTool::Scontrol
        | FrontendTool::Sinfo
        | FrontendTool::Srun
        | FrontendTool::Salloc
        | FrontendTool::Sacctmgr
        | FrontendTool::Sshare
        | FrontendTool::Seff => slurm::run(tool, words, &address),
    }
}

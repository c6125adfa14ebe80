//! Slurm's commands.
//!
//! | module | contents |
//! |---|---|
//! | [`sbatch`], [`squeue`], [`scancel`], [`sacct`] | submit, list, cancel, account |
//! | [`scontrol`], [`sinfo`], [`seff`] | one job or host, all hosts, the use of what was asked for |
//! | [`srun`] | processes in a job |
//! | [`nothing`] | commands about what does not exist here |
//! | [`fetch`] | jobs and tasks as rows |
//! | [`steps`] | the steps of jobs |
//! | [`hosts`] | the hosts of the service |
//! | [`failure`] | errors in Slurm's words |
//! | [`promise_lines`] | the `#TOLLGATE` lines of a script |
//!
//! The words themselves are those of the crate `frontends`.

mod failure;
mod fetch;
mod hosts;
mod nothing;
mod promise_lines;
mod sacct;
mod sbatch;
mod scancel;
mod scontrol;
mod seff;
mod sinfo;
mod squeue;
mod srun;
mod steps;

use std::io::{self, Write};

use tollgate_frontends::FrontendTool;
use tollgate_frontends::slurm::getopt::{self, OptionRule, OptionsEnd, ParsedWords};
use tollgate_frontends::slurm::{FieldContext, MemoryUnit, SlurmClock};

use self::failure::SlurmFailure;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::format;
use crate::parse::time_zone;

/// The version that the commands show: that of the Slurm whose answers theirs are.
pub(super) const SLURM_VERSION: &str = "22.05.8";

/// Runs a command.
pub(super) fn run(
    tool: FrontendTool,
    words: &[String],
    address: &ServiceAddressArgs,
) -> Result<(), CliFailure> {
    let done = match tool {
        FrontendTool::Sbatch => sbatch::run(words, address),
        FrontendTool::Squeue => squeue::run(words, address),
        FrontendTool::Scancel => scancel::run(words, address),
        FrontendTool::Sacct => sacct::run(words, address),
        FrontendTool::Scontrol => scontrol::run(words, address),
        FrontendTool::Sinfo => sinfo::run(words, address),
        FrontendTool::Seff => seff::run(words, address),
        FrontendTool::Srun => srun::run(words, address),
        FrontendTool::Salloc => Err(srun::outside("salloc")),
        FrontendTool::Sacctmgr | FrontendTool::Sshare => nothing::run(tool, words),
        FrontendTool::Qsub | FrontendTool::Qstat | FrontendTool::Qdel => Ok(()),
    };
    done.map_err(SlurmFailure::into_cli)
}

/// Parses the words of a command whose errors have exit code 1.
fn parse(tool: &str, rules: &[OptionRule], words: &[String]) -> Result<ParsedWords, SlurmFailure> {
    let parsed = getopt::parse(tool, rules, words, OptionsEnd::DoubleDash, 1)?;
    Ok(parsed)
}

/// Prints the version of a command.
fn print_version() -> Result<(), SlurmFailure> {
    writeln!(io::stdout().lock(), "slurm {SLURM_VERSION}")?;
    Ok(())
}

/// Returns what fields depend on, now and here.
fn context(units: MemoryUnit) -> FieldContext {
    FieldContext {
        clock: SlurmClock {
            now: format::now().timestamp(),
            zone: time_zone::local(),
        },
        units,
    }
}

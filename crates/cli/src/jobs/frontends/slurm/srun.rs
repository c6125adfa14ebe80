//! `srun`: processes in a job, side by side with those of other calls.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the words of a call |
//! | [`placement`] | how many tasks run on which host |
//! | [`slots`] | processors that steps of a job on one host take turns on |
//! | [`environment`] | the variables of tasks |
//! | [`input`] | standard input of tasks |
//! | [`record`] | the record of a step |
//! | [`signals`] | the signals that are passed on |
//! | [`step`] | the processes of a step, from start to end |

mod environment;
mod input;
mod options;
mod placement;
mod record;
mod signals;
mod slots;
mod step;

use std::io::{self, Write};

use tollgate_frontends::slurm::SlurmError;
use tollgate_spread::hosts::JobHosts;

use self::options::{SrunCall, TOOL};
use self::record::StepRecord;
use self::step::StepOutcome;
use super::failure::SlurmFailure;
use crate::connection::endpoint::ServiceAddressArgs;

/// Runs a command as the tasks of a step, and fails with the greatest of their exit codes.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let call = SrunCall::parse(words)?;
    if call.version {
        return super::print_version();
    }
    if call.help {
        let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Srun);
        return Ok(writeln!(
            io::stdout().lock(),
            "Usage: srun [OPTIONS] COMMAND..\n\n{help}"
        )?);
    }
    let hosts = JobHosts::from_environment().map_err(|_| outside(TOOL))?;
    if !call.unused.is_empty() {
        // A closed standard error is ignored.
        let _ = writeln!(
            io::stderr().lock(),
            "{TOOL}: note: not used here: {}",
            call.unused.join(", ")
        );
    }
    if call.command.is_empty() {
        return Err(SlurmError::of(TOOL, "No command given to execute.").into());
    }
    let tasks = placement::place(&call, &hosts)?;
    let here = tasks.iter().find(|part| part.host == hosts.here);
    let needed = here.map_or(0, |part| part.count * call.cpus_per_task);
    // A step inside a step shares the processors of the outer one.
    let is_inner = std::env::var_os("SLURM_STEP_ID").is_some();
    let held = match call.overlap || is_inner {
        true => slots::HeldSlots::default(),
        false => slots::take(&hosts, needed),
    };
    let record = StepRecord::begin(address, &call, &hosts, &tasks);
    let number = record.as_ref().map(|record| record.number);
    let ended = step::run(&call, &hosts, &tasks, number);
    drop(held);
    if let Some(record) = record {
        // A step whose program cannot be started has this exit code.
        let failed = StepOutcome {
            code: 2,
            signal: None,
        };
        record.end(*ended.as_ref().unwrap_or(&failed));
    }
    match ended?.code {
        0 => Ok(()),
        code => Err(SlurmFailure::Code(code)),
    }
}

/// Returns the failure of a command that needs a job around it.
pub(super) fn outside(tool: &str) -> SlurmFailure {
    let message =
        format!("tollgate runs {tool} inside jobs only: use sbatch, or tollgate session shell");
    SlurmError::of(tool, message).into()
}

//! Commands beside a scheduler that others run: read only.
//!
//! The queue itself is looked at by [`LiveQueue`](tollgate_sites::LiveQueue).
//!
//! | module | contents |
//! |---|---|
//! | [`eta`] | `tollgate eta`: when jobs start and end |
//! | `follow` | `tollgate beside slurm`, `sge` and `htcondor`: the follower |
//! | `engine` | the engines, and their words |
//! | `calibration` | `tollgate beside calibration`: how many statements were kept |
//! | `replay` | `tollgate beside replay`: a record, stated anew |
//! | `jobs` | `tollgate beside jobs`: the jobs of a record, as a table |
//! | `metrics` | the metrics of a follower, as a file |
//! | `shadow` | results of other policies on the jobs |
//! | `listen` | the API's read paths, on a loopback address |
//! | `state_dir` | the directory of what was learned |
//! | `record` | observations and statements, to be replayed |
//! | `request` | a job that is asked about, from the words of its submission |
//! | `reasons` | reasons why jobs wait, in sentences |
//! | `print` | answers as text and JSON |
//! | `error` | the errors |

mod calibration;
mod engine;
mod error;
pub(crate) mod eta;
mod follow;
mod jobs;
mod listen;
mod metrics;
mod print;
mod reasons;
mod record;
mod replay;
mod request;
mod shadow;
mod state_dir;

use clap::Subcommand;
use tollgate_policy::PolicyRegistry;

use self::engine::FollowedEngine;
use crate::exit::CliFailure;

/// The options of `tollgate beside`.
#[derive(Debug, clap::Args)]
pub(crate) struct BesideArgs {
    #[command(subcommand)]
    command: BesideCommand,
}

#[derive(Debug, Subcommand)]
enum BesideCommand {
    /// Follow a Slurm that others run, and learn its waits.
    ///
    /// Asks `squeue` for all jobs in one query, and `sacct` for those that ended unseen. Changes nothing at the
    /// cluster. `tollgate eta` then answers from what was learned, until Ctrl-C and after it.
    Slurm(follow::FollowArgs),
    /// Follow a Grid Engine that others run, and learn its waits.
    ///
    /// Asks `qstat` for all jobs in one query, and reads the accounting file for those that ended. Changes nothing
    /// at the cluster. `tollgate eta` then answers from what was learned, until Ctrl-C and after it.
    Sge(follow::FollowArgs),
    /// Follow an HTCondor that others run, and learn its waits.
    ///
    /// Asks `condor_q` for the jobs of this host's queue in one query, and `condor_history` for those that ended.
    /// Changes nothing. `tollgate eta` then answers from what was learned, until Ctrl-C and after it.
    Htcondor(follow::FollowArgs),
    Calibration(calibration::BesideCalibrationArgs),
    Replay(replay::BesideReplayArgs),
    Jobs(jobs::BesideJobsArgs),
}

/// `tollgate beside`.
pub(crate) fn run(args: &BesideArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    match &args.command {
        BesideCommand::Slurm(args) => follow::run(FollowedEngine::Slurm, args, registry),
        BesideCommand::Sge(args) => follow::run(FollowedEngine::Sge, args, registry),
        BesideCommand::Htcondor(args) => follow::run(FollowedEngine::Htcondor, args, registry),
        BesideCommand::Calibration(args) => calibration::run(args),
        BesideCommand::Replay(args) => replay::run(args, registry),
        BesideCommand::Jobs(args) => jobs::run(args),
    }
}

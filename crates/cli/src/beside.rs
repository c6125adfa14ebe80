//! Commands beside a scheduler that others run: read only.
//!
//! | module | contents |
//! |---|---|
//! | [`eta`] | `tollgate eta`: when jobs start and end |
//! | `follow` | `tollgate beside slurm`: the follower |
//! | `calibration` | `tollgate beside calibration`: how many statements were kept |
//! | `replay` | `tollgate beside replay`: a record, stated anew |
//! | `queue` | the queue of a live engine, and its records |
//! | `round` | one look at the queue, and what it teaches |
//! | `pace` | the pause between two looks |
//! | `state_dir` | what was learned, on disk |
//! | `record` | observations and statements, to be replayed |
//! | `request` | a job that is asked about, from the words of its submission |
//! | `print` | answers as text and JSON |
//! | `error` | the errors |

mod calibration;
mod error;
pub(crate) mod eta;
mod follow;
mod pace;
mod print;
mod queue;
mod record;
mod replay;
mod request;
mod round;
mod state_dir;

use clap::Subcommand;

use crate::exit::CliFailure;

/// The options of `tollgate beside`.
#[derive(Debug, clap::Args)]
pub(crate) struct BesideArgs {
    #[command(subcommand)]
    command: BesideCommand,
}

#[derive(Debug, Subcommand)]
enum BesideCommand {
    Slurm(follow::FollowArgs),
    Calibration(calibration::BesideCalibrationArgs),
    Replay(replay::BesideReplayArgs),
}

/// `tollgate beside`.
pub(crate) fn run(args: &BesideArgs) -> Result<(), CliFailure> {
    match &args.command {
        BesideCommand::Slurm(args) => follow::run(tollgate_batch::EngineKind::Slurm, args),
        BesideCommand::Calibration(args) => calibration::run(args),
        BesideCommand::Replay(args) => replay::run(args),
    }
}

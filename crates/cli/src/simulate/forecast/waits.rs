//! `tollgate forecast --waits`: when jobs start and end.
//!
//! | module | contents |
//! |---|---|
//! | [`records`] | traces, converted to records of waits |
//! | [`learn`] | the queue at the end of a record |
//! | [`waiting`] | the answer about every waiting job |
//! | [`explain`] | the answer about one job |
//! | [`evaluate`] | `tollgate forecast evaluate --waits` |

mod evaluate;
mod explain;
mod learn;
mod records;
mod waiting;

pub(super) use self::evaluate::run as run_evaluation;

use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_site_forecast::ConfidenceLevel;

use super::args::ForecastArgs;
use super::error::ForecastError;
use crate::exit::CliFailure;
use crate::output::messages::Verbosity;

/// Answers about the queue at the end of the records.
pub(super) fn run(args: &ForecastArgs, verbosity: Verbosity) -> Result<(), CliFailure> {
    if args.records.is_empty() {
        return Err(ForecastError::NoRecords.into());
    }
    let levels: Vec<usize> = args
        .levels
        .iter()
        .map(level_idx)
        .collect::<Result<_, _>>()?;
    let jobs = records::read(&args.records, verbosity)?;
    let queue = learn::queue_at_end(&jobs);
    if args.explain {
        explain::run(&jobs, &queue, &args.job, &levels, args.format)
    } else {
        waiting::run(&jobs, &queue, &levels, args.format)
    }
}

/// Returns the index of a level among those of statements.
///
/// # Errors
/// An error for any other level: no offset is learned at it.
fn level_idx(level: &ConfidenceLevel) -> Result<usize, ForecastError> {
    let known = WAIT_LEVELS.iter();
    let mut known = known.map(|known| *known == level.probability().as_f64());
    known
        .position(|same| same)
        .ok_or(ForecastError::WaitLevel(*level))
}

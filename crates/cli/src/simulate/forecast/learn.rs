//! Learns a forecast state from records.

use std::convert::Infallible;
use std::ops::ControlFlow;

use tollgate_site_forecast::{ClassKey, ForecastState, ForecastStateError, LearningStep};

use super::args::ForecastArgs;
use super::error::ForecastError;
use super::records;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::output::progress::CountProgress;

/// Returns the state after the records, starting from the stored state if there is one.
pub(super) fn load_and_learn(
    args: &ForecastArgs,
    verbosity: Verbosity,
) -> Result<ForecastState, CliFailure> {
    let known = match &args.state {
        Some(file) => ForecastState::load(file)?,
        None => None,
    };
    if args.records.is_empty() && known.is_none() {
        return Err(ForecastError::NoRecords.into());
    }
    let mut state = match known {
        Some(state) => check_keys(state, args)?,
        None => ForecastState::new(&args.class_keys.keys()),
    };
    if let (Some(file), true) = (&args.state, state.jobs > 0) {
        let jobs = pluralise(state.jobs as usize, "job");
        verbosity.note(format_args!("{}: {jobs} learned before", file.display()));
    }
    let jobs = records::read(&args.records, &mut state.names, state.until, verbosity)?;
    let fresh = !jobs.entries.is_empty();
    let progress = CountProgress::on_terminal(jobs.entries.len() as u64, "jobs");
    let ControlFlow::Continue(()) = state.learn::<Infallible>(&jobs, |step| {
        if let (Some(progress), LearningStep::Use) = (&progress, step) {
            progress.advance(1);
        }
        ControlFlow::Continue(())
    });
    drop(progress);
    if let (Some(file), true) = (&args.state, fresh) {
        state.save(file)?;
    }
    Ok(state)
}

/// Returns the state, or an error if its classes have other keys than requested.
fn check_keys(
    state: ForecastState,
    args: &ForecastArgs,
) -> Result<ForecastState, ForecastStateError> {
    let requested = args.class_keys.keys();
    if requested.is_empty() || requested == state.names.by {
        return Ok(state);
    }
    let words = |keys: &[ClassKey]| {
        let words: Vec<String> = keys.iter().map(ClassKey::to_string).collect();
        words.join(",")
    };
    let file = args.state.as_ref();
    Err(ForecastStateError::Keys {
        file: file.map_or_else(String::new, |file| file.display().to_string()),
        found: words(state.names.keys()),
        requested: words(&requested),
    })
}

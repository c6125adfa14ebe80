//! `tollgate forecast evaluate`: the accuracy of past forecasts.

mod files;
mod print;

use std::convert::Infallible;
use std::ops::ControlFlow;

use tollgate_site_forecast::{EvaluationPair, ForecastNames, SiteEvaluationSettings};

use super::args::ForecastEvaluateArgs;
use super::error::ForecastError;
use super::{records, verbosity};
use crate::args::OutputFormat;
use crate::exit::CliFailure;

pub(super) fn run(args: &ForecastEvaluateArgs) -> Result<(), CliFailure> {
    if args.cold.is_some() && args.format != OutputFormat::Json {
        return Err(ForecastError::ColdWithoutJson.into());
    }
    let notes = verbosity(args.quiet);
    let mut names = ForecastNames::new(&args.class_keys.keys());
    let jobs = records::read(&args.records, &mut names, None, notes)?;
    let settings = SiteEvaluationSettings {
        min_jobs: args.series,
        n_cold: args.cold,
    };
    let go_on = || ControlFlow::<Infallible>::Continue(());
    let ControlFlow::Continue(evaluated) = EvaluationPair::of(jobs, names, settings, go_on);
    if evaluated.min_jobs < args.series.get() {
        notes.note(format_args!(
            "no class has {} jobs: errors are counted over all of them",
            args.series
        ));
    }
    print::write_answer(&evaluated, args.format)?;
    if let Some(folder) = &args.out {
        files::write(&evaluated, folder)?;
        notes.note(format_args!(
            "the tables and the report are in {}",
            folder.display()
        ));
    }
    Ok(())
}

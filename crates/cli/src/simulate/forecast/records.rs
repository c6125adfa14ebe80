//! Reads the records of a forecast, with notes about them.

use std::path::{Path, PathBuf};

use tollgate_model::Instant;
use tollgate_site_forecast::records::RecordTally;
use tollgate_site_forecast::{ClassKey, ForecastJobs, ForecastNames};
use tollgate_trace::{ColumnSelection, Finding, ReadOptions, Trace, open};

use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Reads the jobs of all files, and numbers their names in `naming`. Jobs that had ended by `until`
/// are left out, because they were learned before.
///
/// # Errors
/// An error if a file cannot be read, or if no job of any file ever ran.
pub(super) fn read(
    files: &[PathBuf],
    naming: &mut ForecastNames,
    until: Option<Instant>,
    verbosity: Verbosity,
) -> Result<ForecastJobs, CliFailure> {
    let traces = files.iter().map(|file| {
        let trace = open_all_columns(file)?;
        print_findings(&trace, verbosity);
        Ok::<_, CliFailure>(trace)
    });
    let jobs = ForecastJobs::of(traces, naming, until)?;
    if !files.is_empty() {
        print_notes(&jobs, naming, verbosity);
    }
    Ok(jobs)
}

/// Prints the findings about the records, without those about missing estimates: no estimate is made
/// up here.
pub(super) fn print_findings(trace: &Trace, verbosity: Verbosity) {
    let mut found = trace.diagnostics.clone();
    found.remove(Finding::RunTimeAsEstimate);
    for finding in found.to_string().lines() {
        verbosity.note(format_args!("{}: {finding}", trace.source));
    }
}

pub(super) fn open_all_columns(file: &Path) -> Result<Trace, CliFailure> {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    Ok(open(file, options)?)
}

/// Prints how many jobs there are, and what is unusual about them.
fn print_notes(jobs: &ForecastJobs, naming: &ForecastNames, verbosity: Verbosity) {
    let sources = jobs.sources.join(", ");
    let RecordTally {
        never_ran,
        duplicates,
        late,
        no_wait,
        no_class,
    } = jobs.tally;
    let left_out = match never_ran {
        0 => String::new(),
        never_ran => format!("; {never_ran} that ran for 0 s or never are left out"),
    };
    verbosity.note(format_args!(
        "{} from {sources}{left_out}",
        pluralise(jobs.entries.len(), "job")
    ));
    if duplicates > 0 {
        verbosity.note(format_args!(
            "{} left out: the same job number, times, processors and class as another one",
            pluralise(duplicates, "record")
        ));
    }
    if late > 0 {
        verbosity.note(format_args!(
            "{} left out: they ended by the end of the last one that the state has learned",
            pluralise(late, "record")
        ));
    }
    if no_wait > 0 {
        verbosity.note(format_args!(
            "the wait of {} is not known: taken to have started at submission",
            pluralise(no_wait, "job")
        ));
    }
    if no_class > 0 {
        let keys: Vec<String> = naming.keys().iter().map(ClassKey::to_string).collect();
        verbosity.note(format_args!(
            "{} of unknown {}: taken as a class of their own",
            pluralise(no_class, "job"),
            keys.join(" or ")
        ));
    }
}

//! The input of a campus replay: traces, or the synthetic campus.

use std::num::NonZeroU32;
use std::path::Path;

use tollgate_sim::campus::from_traces::{self, CampusTraceNotes, CampusTraceOptions};
use tollgate_sim::campus::{CampusConfig, CampusEnvironment};
use tollgate_trace::{ColumnSelection, ReadOptions, logins, open};

use super::args::CampusArgs;
use super::error::CampusError;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Returns the requested campus. The parser demands records and log-ins together.
pub(super) fn environment(
    args: &CampusArgs,
    verbosity: Verbosity,
) -> Result<CampusEnvironment, CliFailure> {
    match (&args.workload, &args.logins) {
        (Some(tasks), Some(logins)) => recorded_environment(args, tasks, logins, verbosity),
        (None, _) | (_, None) => Ok(synthetic_environment(args, verbosity)?),
    }
}

fn recorded_environment(
    args: &CampusArgs,
    tasks: &Path,
    logins: &Path,
    verbosity: Verbosity,
) -> Result<CampusEnvironment, CliFailure> {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let mut trace = open(tasks, options)?;
    if let Some(last) = args.last {
        trace = trace.last(last.get());
    }
    let logins = logins::open(logins)?;
    for finding in trace.diagnostics.to_string().lines() {
        verbosity.note(format_args!("{}: {finding}", trace.source));
    }
    for finding in logins.diagnostics.to_string().lines() {
        verbosity.note(format_args!("{}: {finding}", logins.source));
    }
    // Records already reflect all losses, so no further losses are drawn.
    let options = CampusTraceOptions {
        computers: args.computers.map_or(1, NonZeroU32::get),
        reboot: args.reboot,
        settings: CampusConfig {
            seed: args.seed,
            scale: 1.0,
            ..CampusConfig::default()
        },
    };
    let found = from_traces::environment(&trace, &logins, &options);
    let (campus, notes) = found.ok_or_else(|| CampusError::NothingRan {
        file: trace.source.clone(),
        tasks: trace.jobs.len(),
    })?;
    print_notes(&campus, &notes, verbosity);
    Ok(campus)
}

fn synthetic_environment(
    args: &CampusArgs,
    verbosity: Verbosity,
) -> Result<CampusEnvironment, CampusError> {
    let settings = CampusConfig {
        seed: args.seed,
        scale: args.scale.unwrap_or(1.0),
        ..CampusConfig::history()
    };
    let campus = CampusEnvironment::draw(&settings)?;
    verbosity.note(format_args!(
        "a synthetic campus, calibrated to that of Newcastle University in 2010: {}, {}, {} days",
        pluralise(campus.layout().computers.len(), "computer"),
        pluralise(campus.tasks().len(), "task"),
        settings.days,
    ));
    Ok(campus)
}

/// Prints notes about the changes made to the traces.
fn print_notes(campus: &CampusEnvironment, notes: &CampusTraceNotes, verbosity: Verbosity) {
    let computers = pluralise(campus.layout().computers.len(), "computer");
    let tasks = pluralise(campus.tasks().len(), "task");
    verbosity.note(format_args!("{tasks} on {computers}"));
    let note = |count: usize, what: &str, words: &str| {
        if count > 0 {
            verbosity.note(format_args!("{}: {words}", pluralise(count, what)));
        }
    };
    note(
        notes.removed,
        "task",
        "cancelled by their users, so they count as bad",
    );
    note(
        notes.abandoned,
        "task",
        "evicted and not tried again, so they count as bad",
    );
    note(notes.never_ran, "job", "never ran, left out");
    note(
        notes.wide,
        "job",
        "on several processors, each a task of one computer",
    );
    note(
        notes.ends_drawn,
        "session",
        "no end, so lengths are drawn, 25 minutes in the median",
    );
    note(
        notes.crowded,
        "log-in",
        "at places without a free computer, left out",
    );
    if notes.weeks_moved != 0 {
        let weeks = notes.weeks_moved;
        verbosity.note(format_args!(
            "log-ins are moved by {weeks} weeks, to the time of the tasks"
        ));
    }
}

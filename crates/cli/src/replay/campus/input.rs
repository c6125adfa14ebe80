//! The input of a campus replay: traces, or the synthetic campus.

use tollgate_sim::campus::from_traces::{self, CampusTraceNotes, CampusTraceOptions};
use tollgate_sim::campus::{CampusConfig, CampusEnvironment};
use tollgate_trace::{ColumnSelection, ReadOptions, logins, open};

use crate::exit::CliFailure;
use crate::messages::{Verbosity, pluralise};
use crate::replay::args::ReplayArgs;
use crate::replay::error::ReplayError;

/// Returns the requested campus.
pub(super) fn environment(
    args: &ReplayArgs,
    voice: Verbosity,
) -> Result<CampusEnvironment, CliFailure> {
    let settings = CampusConfig {
        seed: args.seed,
        scale: args.campus.scale,
        ..CampusConfig::history()
    };
    match (&args.workload, &args.campus.logins) {
        (None, None) => Ok(synthetic_environment(&settings, voice)?),
        (Some(_), None) => Err(ReplayError::MissingInput {
            missing: "--logins FILE",
        }
        .into()),
        (None, Some(_)) => Err(ReplayError::MissingInput {
            missing: "a record of tasks",
        }
        .into()),
        (Some(tasks), Some(logins)) => {
            let options = ReadOptions {
                columns: ColumnSelection::All,
            };
            let mut trace = open(tasks, options)?;
            if let Some(last) = args.last {
                trace = trace.last(last.get());
            }
            let logins = logins::open(logins)?;
            for finding in trace.diagnostics.to_string().lines() {
                voice.note(format_args!("{}: {finding}", trace.source));
            }
            for finding in logins.diagnostics.to_string().lines() {
                voice.note(format_args!("{}: {finding}", logins.source));
            }
            // Traces already reflect all losses, so no further losses are drawn.
            let mut reading = CampusTraceOptions {
                computers: args.campus.computers,
                reboot: args.campus.reboot,
                settings: CampusConfig {
                    seed: args.seed,
                    ..CampusConfig::default()
                },
            };
            reading.settings.scale = 1.0;
            let found = from_traces::environment(&trace, &logins, &reading);
            let (campus, notes) = found.ok_or_else(|| ReplayError::NothingRan {
                file: trace.source.clone(),
                jobs: trace.jobs.len(),
            })?;
            print_notes(&campus, &notes, voice);
            Ok(campus)
        }
    }
}

fn synthetic_environment(
    settings: &CampusConfig,
    voice: Verbosity,
) -> Result<CampusEnvironment, ReplayError> {
    let campus = CampusEnvironment::draw(settings)?;
    voice.note(format_args!(
        "a synthetic campus, calibrated to that of Newcastle University in 2010: {}, {}, {} days",
        pluralise(campus.layout().computers.len(), "computer"),
        pluralise(campus.tasks().len(), "task"),
        settings.days,
    ));
    Ok(campus)
}

/// Prints notes about the changes made to the traces.
fn print_notes(campus: &CampusEnvironment, notes: &CampusTraceNotes, voice: Verbosity) {
    let computers = pluralise(campus.layout().computers.len(), "computer");
    let tasks = pluralise(campus.tasks().len(), "task");
    voice.note(format_args!("{tasks} on {computers}"));
    let note = |count: usize, what: &str, words: &str| {
        if count > 0 {
            voice.note(format_args!("{}: {words}", pluralise(count, what)));
        }
    };
    note(
        notes.removed,
        "task",
        "cancelled by their users, so they count as bad",
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
        voice.note(format_args!(
            "log-ins are moved by {weeks} weeks, to the time of the tasks"
        ));
    }
}

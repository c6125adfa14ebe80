//! `tollgate trace check`: every finding, line by line.

use std::io::{self, BufWriter, StdoutLock, Write, stdout};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use tollgate_trace::batches::BatchReadError;
use tollgate_trace::diagnostics::FindingOccurrence;
use tollgate_trace::directory::files_in;
use tollgate_trace::{Finding, FindingAction, RecordField};

use super::error::TraceError;
use super::input::each_batch;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// List every fault in records by line; fail if there is any
#[derive(Debug, clap::Args)]
pub(super) struct TraceCheckArgs {
    /// Records of any known format
    ///
    /// `-` is standard input; every file of a directory is a record.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// List also the findings that sound records have
    ///
    /// These are steps, jobs that have not ended, and values that the format does not have. They do not
    /// change the exit code.
    #[arg(long, short)]
    all: bool,

    /// List only findings with these actions
    #[arg(long, value_enum, value_name = "ACTION,..", value_delimiter = ',')]
    only: Vec<ActionArg>,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,

    /// Print nothing; only set the exit code
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ActionArg {
    /// Lines left out
    Skipped,
    /// Lines that belong to another line's job
    Folded,
    /// Impossible values
    Repaired,
    /// Missing values
    Defaulted,
    /// Unused header lines
    Ignored,
}

pub(super) fn run(args: &TraceCheckArgs) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let mut list = FindingList::begin(args)?;
    let checked = args
        .files
        .iter()
        .try_for_each(|path| check(path, &mut list, verbosity));
    let findings = list.end()?;
    checked?;
    match findings {
        0 => Ok(()),
        findings => Err(TraceError::Findings { findings }.into()),
    }
}

/// Checks a trace. Each file of a directory is a trace of its own here, so that line numbers are
/// those of the file.
fn check(path: &Path, list: &mut FindingList, verbosity: Verbosity) -> Result<(), CliFailure> {
    if !path.is_dir() {
        return Ok(check_file(path, list, verbosity)?);
    }
    for file in files_in(path)? {
        match check_file(&file, list, verbosity) {
            Err(BatchReadError::Input(error)) if error.cause.is_content_error() => {
                let line = 1;
                let finding = Finding::UnusableFile;
                list.add(&error.file, FindingOccurrence { line, finding })?;
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

fn check_file(
    path: &Path,
    list: &mut FindingList,
    verbosity: Verbosity,
) -> Result<(), BatchReadError<CliFailure>> {
    let (before, mut jobs) = ((list.faults, list.others), 0);
    let header = each_batch(path, |batch| {
        jobs += batch.jobs.len();
        let mut each = batch.diagnostics.occurrences().iter();
        Ok(each.try_for_each(|&occurrence| list.add(&batch.source, occurrence))?)
    })?;
    verbosity.note(format_args!(
        "{}: {}, {}, {}",
        header.source,
        pluralise(jobs, "job"),
        pluralise(list.faults - before.0, "fault"),
        pluralise(list.others - before.1, "other finding"),
    ));
    Ok(())
}

/// A writer of the findings.
struct FindingList {
    only: Vec<FindingAction>,
    all: bool,
    out: FindingWriter,
    /// Number of findings that were written.
    written: usize,
    /// Number of faults with one of the actions.
    faults: usize,
    /// Number of other findings with one of the actions.
    others: usize,
}

enum FindingWriter {
    Nothing,
    Lines(BufWriter<StdoutLock<'static>>),
    Json(BufWriter<StdoutLock<'static>>),
    Csv(Box<csv::Writer<StdoutLock<'static>>>),
}

/// A finding with the keys of JSON and the columns of CSV.
#[derive(Serialize)]
struct FindingRow<'a> {
    file: &'a str,
    line: u64,
    action: &'static str,
    fault: bool,
    field: Option<&'static str>,
    finding: String,
}

impl FindingList {
    fn begin(args: &TraceCheckArgs) -> io::Result<Self> {
        Ok(Self {
            only: args.only.iter().map(|action| action.action()).collect(),
            all: args.all,
            out: FindingWriter::begin(args)?,
            written: 0,
            faults: 0,
            others: 0,
        })
    }

    fn add(
        &mut self,
        file: &str,
        FindingOccurrence { line, finding }: FindingOccurrence,
    ) -> io::Result<()> {
        let action = finding.action();
        if !self.only.is_empty() && !self.only.contains(&action) {
            return Ok(());
        }
        let fault = finding.is_fault();
        *if fault {
            &mut self.faults
        } else {
            &mut self.others
        } += 1;
        if !fault && !self.all {
            return Ok(());
        }
        let keys = FindingRow {
            file,
            line,
            action: action.key(),
            fault,
            field: finding.field().map(RecordField::name),
            finding: finding.to_string(),
        };
        self.out.write(&keys, self.written == 0)?;
        self.written += 1;
        Ok(())
    }

    /// Ends the output, and returns the number of faults.
    fn end(self) -> io::Result<usize> {
        self.out.end()?;
        Ok(self.faults)
    }
}

impl FindingWriter {
    fn begin(args: &TraceCheckArgs) -> io::Result<Self> {
        if args.quiet {
            return Ok(Self::Nothing);
        }
        let out = stdout().lock();
        match args.format {
            OutputFormat::Table => Ok(Self::Lines(BufWriter::new(out))),
            OutputFormat::Json => {
                let mut out = BufWriter::new(out);
                write!(out, "{{\n  \"findings\": [")?;
                Ok(Self::Json(out))
            }
            OutputFormat::Csv => {
                let mut rows = csv::WriterBuilder::new()
                    .has_headers(false)
                    .from_writer(out);
                rows.write_record(["file", "line", "action", "fault", "field", "finding"])?;
                Ok(Self::Csv(Box::new(rows)))
            }
        }
    }

    fn write(&mut self, keys: &FindingRow<'_>, first: bool) -> io::Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Lines(out) => {
                let FindingRow {
                    file, line, action, ..
                } = keys;
                writeln!(out, "{file}:{line}: {action}: {}", keys.finding)
            }
            Self::Json(out) => {
                let comma = if first { "" } else { "," };
                write!(out, "{comma}\n    ")?;
                Ok(serde_json::to_writer(out, keys)?)
            }
            Self::Csv(rows) => Ok(rows.serialize(keys)?),
        }
    }

    fn end(self) -> io::Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Lines(mut out) => out.flush(),
            Self::Json(mut out) => {
                writeln!(out, "\n  ]\n}}")?;
                out.flush()
            }
            Self::Csv(mut rows) => rows.flush(),
        }
    }
}

impl ActionArg {
    const fn action(self) -> FindingAction {
        match self {
            Self::Skipped => FindingAction::Skipped,
            Self::Folded => FindingAction::Folded,
            Self::Repaired => FindingAction::Repaired,
            Self::Defaulted => FindingAction::Defaulted,
            Self::Ignored => FindingAction::Ignored,
        }
    }
}

//! `tollgate trace check`: every finding, line by line.

use std::io::{self, BufWriter, StdoutLock, Write, stdout};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use tollgate_workload::batches::Stopped;
use tollgate_workload::diagnostics::Occurrence;
use tollgate_workload::folder::files_in;
use tollgate_workload::{Action, Field, Finding};

use super::error::TraceError;
use super::input::each_batch;
use crate::args::Format;
use crate::exit::Failure;
use crate::voice::{Voice, counted};

/// List every error in records by line; fail if there is any
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Records of any known format
    ///
    /// `-` is standard input; every file of a directory is a record.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// List only findings with these actions
    #[arg(long, value_enum, value_name = "ACTION,..", value_delimiter = ',')]
    only: Vec<ActionArg>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

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

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let voice = Voice::unless(args.quiet);
    let mut list = List::begin(args)?;
    let checked = args
        .files
        .iter()
        .try_for_each(|path| check(path, &mut list, voice));
    let findings = list.end()?;
    checked?;
    match findings {
        0 => Ok(()),
        findings => Err(TraceError::Findings { findings }.into()),
    }
}

/// Every file of a folder is a record of its own here: lines are lines of files.
fn check(path: &Path, list: &mut List, voice: Voice) -> Result<(), Failure> {
    if !path.is_dir() {
        return Ok(check_file(path, list, voice)?);
    }
    for file in files_in(path)? {
        match check_file(&file, list, voice) {
            Err(Stopped::Input(error)) if error.cause.is_of_content() => {
                let line = 1;
                let finding = Finding::UselessFile;
                list.add(&error.file, Occurrence { line, finding })?;
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

fn check_file(path: &Path, list: &mut List, voice: Voice) -> Result<(), Stopped<Failure>> {
    let (before, mut jobs) = (list.count, 0);
    let header = each_batch(path, |batch| {
        jobs += batch.jobs.len();
        let mut each = batch.diagnostics.each().iter();
        Ok(each.try_for_each(|&occurrence| list.add(&batch.source, occurrence))?)
    })?;
    voice.note(format_args!(
        "{}: {}, {}",
        header.source,
        counted(jobs, "job"),
        counted(list.count - before, "finding"),
    ));
    Ok(())
}

/// The findings on their way out.
struct List {
    only: Vec<Action>,
    out: Out,
    count: usize,
}

enum Out {
    Nothing,
    Lines(BufWriter<StdoutLock<'static>>),
    Json(BufWriter<StdoutLock<'static>>),
    Csv(Box<csv::Writer<StdoutLock<'static>>>),
}

/// A finding, as the keys of JSON and the columns of CSV.
#[derive(Serialize)]
struct FindingKeys<'a> {
    file: &'a str,
    line: u64,
    action: &'static str,
    field: Option<&'static str>,
    finding: String,
}

impl List {
    fn begin(args: &Args) -> io::Result<Self> {
        Ok(Self {
            only: args.only.iter().map(|action| action.action()).collect(),
            out: Out::begin(args)?,
            count: 0,
        })
    }

    fn add(&mut self, file: &str, Occurrence { line, finding }: Occurrence) -> io::Result<()> {
        let action = finding.action();
        if !self.only.is_empty() && !self.only.contains(&action) {
            return Ok(());
        }
        let keys = FindingKeys {
            file,
            line,
            action: action.word(),
            field: finding.field().map(Field::name),
            finding: finding.to_string(),
        };
        self.out.write(&keys, self.count == 0)?;
        self.count += 1;
        Ok(())
    }

    /// How many there were.
    fn end(self) -> io::Result<usize> {
        self.out.end()?;
        Ok(self.count)
    }
}

impl Out {
    fn begin(args: &Args) -> io::Result<Self> {
        if args.quiet {
            return Ok(Self::Nothing);
        }
        let out = stdout().lock();
        match args.format {
            Format::Table => Ok(Self::Lines(BufWriter::new(out))),
            Format::Json => {
                let mut out = BufWriter::new(out);
                write!(out, "{{\n  \"findings\": [")?;
                Ok(Self::Json(out))
            }
            Format::Csv => {
                let mut rows = csv::WriterBuilder::new()
                    .has_headers(false)
                    .from_writer(out);
                rows.write_record(["file", "line", "action", "field", "finding"])?;
                Ok(Self::Csv(Box::new(rows)))
            }
        }
    }

    fn write(&mut self, keys: &FindingKeys<'_>, first: bool) -> io::Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Lines(out) => {
                let FindingKeys {
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
    const fn action(self) -> Action {
        match self {
            Self::Skipped => Action::Skipped,
            Self::Folded => Action::Folded,
            Self::Repaired => Action::Repaired,
            Self::Defaulted => Action::Defaulted,
            Self::Ignored => Action::Ignored,
        }
    }
}

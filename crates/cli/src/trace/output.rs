//! Where jobs are written to, and in which format.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tollgate_model::Instant;
use tollgate_workload::{Trace, swf, table};

use super::error::TraceError;
use super::place::Place;
use crate::exit::{Failure, NoParquet};
use crate::voice::Voice;

/// Where to, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Destination {
    /// Output format [default: by the name of OUT]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<Format>,

    /// Output file, compressed if it ends in .gz [default: standard output]
    #[arg(long, short, value_name = "OUT")]
    out: Option<PathBuf>,
}

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Standard Workload Format
    Swf,
    /// Job table
    Csv,
    /// Job table, by columns
    Parquet,
}

/// A format and a place, known to be possible.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) format: Format,
    /// None is standard output.
    path: Option<PathBuf>,
}

/// Jobs on their way out.
pub(super) struct Output {
    /// The name of the file; none for standard output.
    file: Option<String>,
    jobs: Jobs,
    format: Format,
    /// What the jobs had and the format has no place for, in words.
    lost: BTreeSet<&'static str>,
}

enum Jobs {
    Swf(Box<swf::Writer<Place>>),
    Csv(Box<table::Writer<Place>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<table::ParquetWriter<Place>>),
}

impl Destination {
    pub(super) fn target(&self) -> Result<Target, Failure> {
        let path = self.out.clone().filter(|path| path != Path::new("-"));
        let ending = path.as_deref().and_then(Format::of_ending);
        let format = self.to.or(ending).ok_or(TraceError::NoOutputFormat)?;
        if format == Format::Parquet && !cfg!(feature = "parquet") {
            let name = |path: PathBuf| path.display().to_string();
            return Err(NoParquet {
                file: path.map_or_else(|| "--to parquet".to_owned(), name),
            }
            .into());
        }
        Ok(Target { format, path })
    }
}

impl Format {
    /// What the name of a file says.
    fn of_ending(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let (_, ending) = name.rsplit_once('.')?;
        Self::from_str(ending, true).ok()
    }

    /// What `batch` has and the format has no place for. A clock that begins with the Unix epoch
    /// needs none.
    fn loses(self, batch: &Trace) -> impl Iterator<Item = &'static str> {
        let clock = batch.unix_start.is_some_and(|start| start != Instant::ZERO);
        let machine = batch.max_procs.or(batch.max_nodes).is_some();
        let accounts = batch
            .metadata
            .as_ref()
            .is_some_and(|metadata| metadata.account.names().len() > 0);
        let kinds = match self {
            Self::Swf => [
                ("accounts", accounts),
                ("deadlines, budgets and penalty rates", batch.slas.is_some()),
                ("columns that tollgate does not know", batch.extra.is_some()),
            ],
            Self::Csv | Self::Parquet => [
                ("the instant at which the clock of the record begins", clock),
                ("the size of the machine", machine),
                ("the comments of the header", !batch.comments.is_empty()),
            ],
        };
        let lost = kinds.into_iter().filter(|&(_, there)| there);
        lost.map(|(kind, _)| kind)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Swf => "SWF",
            Self::Csv => "the job table",
            Self::Parquet => "Parquet",
        })
    }
}

impl Target {
    /// Opens the place; nothing stands in the file before [`Output::finish`].
    pub(super) fn open(&self) -> Result<Output, Failure> {
        let file = self.path.as_ref().map(|path| path.display().to_string());
        let place = match &self.path {
            None => Place::standard_output(),
            Some(path) => Place::file(path).map_err(|error| failure(file.as_deref(), error))?,
        };
        let jobs = match self.format {
            Format::Swf => Jobs::Swf(Box::new(swf::Writer::new(place))),
            Format::Csv => Jobs::Csv(Box::new(table::Writer::new(place))),
            #[cfg(feature = "parquet")]
            Format::Parquet => Jobs::Parquet(Box::new(table::ParquetWriter::new(place))),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => unreachable!("no target has a format that is not written"),
        };
        Ok(Output {
            file,
            jobs,
            format: self.format,
            lost: BTreeSet::new(),
        })
    }
}

impl Output {
    /// Writes the rows of a batch.
    pub(super) fn write(&mut self, batch: &Trace) -> Result<(), Failure> {
        self.lost.extend(self.format.loses(batch));
        let written = match &mut self.jobs {
            Jobs::Swf(writer) => writer.write(batch),
            Jobs::Csv(writer) => writer.write(batch),
            #[cfg(feature = "parquet")]
            Jobs::Parquet(writer) => writer.write(batch),
        };
        written.map_err(|error| failure(self.file.as_deref(), error))
    }

    /// Writes what is held back, puts the file in its place, and says what was lost on the way.
    pub(super) fn finish(self, voice: Voice) -> Result<(), Failure> {
        for lost in &self.lost {
            voice.note(format_args!("{} has no place for {lost}", self.format));
        }
        let place = match self.jobs {
            Jobs::Swf(writer) => writer.finish(),
            Jobs::Csv(writer) => writer.finish(),
            #[cfg(feature = "parquet")]
            Jobs::Parquet(writer) => writer.finish(),
        };
        place
            .and_then(Place::finish)
            .map_err(|error| failure(self.file.as_deref(), error))
    }
}

fn failure(file: Option<&str>, error: io::Error) -> Failure {
    match file {
        None => error.into(),
        Some(file) => Failure::write(file.to_owned(), error),
    }
}

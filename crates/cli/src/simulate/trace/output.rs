//! The output of jobs, with its file and its format.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tollgate_model::Instant;
use tollgate_trace::{Trace, job_table, swf};

use super::error::TraceError;
use crate::exit::{CliFailure, ParquetUnsupported};
use crate::output::atomic::AtomicOutput;
use crate::output::messages::Verbosity;

/// Where to, and how.
#[derive(Debug, clap::Args)]
pub(super) struct TraceOutputArgs {
    /// Output format [default: by the name of OUT]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<TraceOutputFormat>,

    /// Output file, compressed if it ends in .gz [default: standard output]
    #[arg(long, short, value_name = "OUT")]
    out: Option<PathBuf>,
}

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TraceOutputFormat {
    /// Standard Workload Format
    Swf,
    /// Job table
    Csv,
    /// Job table, by columns
    Parquet,
}

/// A checked combination of a format and a file.
#[derive(Clone, Debug)]
pub(super) struct OutputTarget {
    pub(super) format: TraceOutputFormat,
    /// The path of the file. None for standard output.
    path: Option<PathBuf>,
}

/// A writer of jobs.
pub(super) struct TraceOutput {
    /// The name of the file. None for standard output.
    file: Option<String>,
    jobs: TraceJobWriter,
    format: TraceOutputFormat,
    /// The attributes of the jobs that the format cannot hold, as text.
    lost_columns: BTreeSet<&'static str>,
}

enum TraceJobWriter {
    Swf(Box<swf::SwfWriter<AtomicOutput>>),
    Csv(Box<job_table::JobTableWriter<AtomicOutput>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<job_table::ParquetWriter<AtomicOutput>>),
}

impl TraceOutputArgs {
    pub(super) fn target(&self) -> Result<OutputTarget, CliFailure> {
        let path = self.out.clone().filter(|path| path != Path::new("-"));
        let ending = path.as_deref().and_then(TraceOutputFormat::of_ending);
        let format = self.to.or(ending).ok_or(TraceError::NoOutputFormat)?;
        if format == TraceOutputFormat::Parquet && !cfg!(feature = "parquet") {
            let name = |path: PathBuf| path.display().to_string();
            return Err(ParquetUnsupported {
                file: path.map_or_else(|| "--to parquet".to_owned(), name),
            }
            .into());
        }
        Ok(OutputTarget { format, path })
    }
}

impl TraceOutputFormat {
    /// Returns the format that a file name implies.
    fn of_ending(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let (_, ending) = name.rsplit_once('.')?;
        Self::from_str(ending, true).ok()
    }

    /// Returns the attributes of `batch` that the format cannot hold. A clock that begins with the
    /// Unix epoch loses nothing.
    fn lost_columns(self, batch: &Trace) -> impl Iterator<Item = &'static str> {
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

impl fmt::Display for TraceOutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Swf => "SWF",
            Self::Csv => "the job table",
            Self::Parquet => "Parquet",
        })
    }
}

impl OutputTarget {
    /// Opens the output. The file does not appear before [`TraceOutput::finish`].
    pub(super) fn open(&self) -> Result<TraceOutput, CliFailure> {
        let file = self.path.as_ref().map(|path| path.display().to_string());
        let place = match &self.path {
            None => AtomicOutput::standard_output(),
            Some(path) => {
                AtomicOutput::file(path).map_err(|error| write_error(file.as_deref(), error))?
            }
        };
        let jobs = match self.format {
            TraceOutputFormat::Swf => TraceJobWriter::Swf(Box::new(swf::SwfWriter::new(place))),
            TraceOutputFormat::Csv => {
                TraceJobWriter::Csv(Box::new(job_table::JobTableWriter::new(place)))
            }
            #[cfg(feature = "parquet")]
            TraceOutputFormat::Parquet => {
                TraceJobWriter::Parquet(Box::new(job_table::ParquetWriter::new(place)))
            }
            #[cfg(not(feature = "parquet"))]
            TraceOutputFormat::Parquet => {
                unreachable!("no target has a format that is not written")
            }
        };
        Ok(TraceOutput {
            file,
            jobs,
            format: self.format,
            lost_columns: BTreeSet::new(),
        })
    }
}

impl TraceOutput {
    /// Writes the rows of a batch.
    pub(super) fn write(&mut self, batch: &Trace) -> Result<(), CliFailure> {
        self.lost_columns.extend(self.format.lost_columns(batch));
        let written = match &mut self.jobs {
            TraceJobWriter::Swf(writer) => writer.write(batch),
            TraceJobWriter::Csv(writer) => writer.write(batch),
            #[cfg(feature = "parquet")]
            TraceJobWriter::Parquet(writer) => writer.write(batch),
        };
        written.map_err(|error| write_error(self.file.as_deref(), error))
    }

    /// Writes the buffered rows, puts the file in its place, and prints notes about lost
    /// attributes.
    pub(super) fn finish(self, verbosity: Verbosity) -> Result<(), CliFailure> {
        for lost in &self.lost_columns {
            verbosity.note(format_args!("{} has no place for {lost}", self.format));
        }
        let place = match self.jobs {
            TraceJobWriter::Swf(writer) => writer.finish(),
            TraceJobWriter::Csv(writer) => writer.finish(),
            #[cfg(feature = "parquet")]
            TraceJobWriter::Parquet(writer) => writer.finish(),
        };
        place
            .and_then(AtomicOutput::finish)
            .map_err(|error| write_error(self.file.as_deref(), error))
    }
}

fn write_error(file: Option<&str>, error: io::Error) -> CliFailure {
    match file {
        None => error.into(),
        Some(file) => CliFailure::write_failed(file.to_owned(), error),
    }
}

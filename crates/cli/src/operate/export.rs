//! `tollgate export`: records of the service as files.

mod jobs;
mod rows;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde::de::DeserializeOwned;
use tollgate_client::ApiClient;
use tollgate_client::records::{EvictionPage, JobPage, LedgerPage, LoginPage};

use super::usage::DayArgs;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, ParquetUnsupported};
use crate::output::atomic::AtomicOutput;

/// The options of `tollgate export`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    command: ExportCommand,
}

#[derive(Debug, Subcommand)]
enum ExportCommand {
    /// Write jobs that are over, with each task of an array.
    ///
    /// SWF and the job table (CSV, Parquet) are inputs of `tollgate replay`, `forecast` and `learn`.
    Jobs(ExportTargetArgs),
    /// Write promises that have ended, each against what happened.
    Promises(ExportTargetArgs),
    /// Write the entries of the ledger.
    Ledger(ExportTargetArgs),
    /// Write the evictions from computers that others use.
    Evictions(ExportTargetArgs),
    /// Write the times in which computers were in use, for operators.
    ///
    /// The table is an input of `tollgate campus --logins`.
    Logins(ExportTargetArgs),
}

/// The records to write, their file and its format.
#[derive(Debug, clap::Args)]
struct ExportTargetArgs {
    #[command(flatten)]
    days: DayArgs,
    /// Output file, compressed if it ends in .gz [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format [default: by the name of FILE, else csv]
    #[arg(long, value_enum)]
    format: Option<ExportFormat>,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Comma-separated values
    Csv,
    /// Standard Workload Format, of jobs only
    Swf,
    /// Parquet
    Parquet,
}

/// `tollgate export`.
pub(crate) fn run(args: &ExportArgs) -> Result<(), CliFailure> {
    match &args.command {
        ExportCommand::Jobs(target) => jobs::write(target),
        ExportCommand::Promises(target) => rows::write_promises(target),
        ExportCommand::Ledger(target) => rows::write_ledger(target),
        ExportCommand::Evictions(target) => rows::write_evictions(target),
        ExportCommand::Logins(target) => rows::write_logins(target),
    }
}

impl ExportTargetArgs {
    fn path(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Returns the format: the flag, else that of the file's name, else CSV.
    fn format(&self) -> Result<ExportFormat, CliFailure> {
        let named = self.path().and_then(ExportFormat::of_ending);
        let format = self.format.or(named).unwrap_or(ExportFormat::Csv);
        if format == ExportFormat::Parquet && !cfg!(feature = "parquet") {
            let name = |path: &Path| path.display().to_string();
            let file = self
                .path()
                .map_or_else(|| "--format parquet".to_owned(), name);
            return Err(ParquetUnsupported { file }.into());
        }
        Ok(format)
    }

    fn open(&self) -> Result<AtomicOutput, CliFailure> {
        match self.path() {
            None => Ok(AtomicOutput::standard_output()),
            Some(path) => AtomicOutput::file(path).map_err(|error| self.write_error(error)),
        }
    }

    fn write_error(&self, error: io::Error) -> CliFailure {
        match self.path() {
            None => error.into(),
            Some(path) => CliFailure::write_failed(path.display().to_string(), error),
        }
    }

    /// Calls `write` with each page of the records at `path`, at least once.
    fn each_page<P: RecordPage>(
        &self,
        client: &mut ApiClient,
        path: &str,
        mut write: impl FnMut(P) -> io::Result<()>,
    ) -> Result<(), CliFailure> {
        let days = self.days.query();
        let mut after = String::new();
        loop {
            let mut page: P = client.get(&format!("{path}?limit={PAGE}{after}{days}"))?;
            let next = page.take_next();
            write(page).map_err(|error| self.write_error(error))?;
            match next {
                Some(next) => after = format!("&after={next}"),
                None => return Ok(()),
            }
        }
    }
}

/// Number of records in a page: some hundred kilobytes.
const PAGE: u32 = 1_000;

/// A page of records.
trait RecordPage: DeserializeOwned {
    /// Removes and returns the place of the next page.
    fn take_next(&mut self) -> Option<String>;
}

impl RecordPage for JobPage {
    fn take_next(&mut self) -> Option<String> {
        self.next.take()
    }
}

impl RecordPage for LedgerPage {
    fn take_next(&mut self) -> Option<String> {
        self.next.take()
    }
}

impl RecordPage for EvictionPage {
    fn take_next(&mut self) -> Option<String> {
        self.next.take()
    }
}

impl RecordPage for LoginPage {
    fn take_next(&mut self) -> Option<String> {
        self.next.take()
    }
}

impl ExportFormat {
    /// Returns the format that a file name implies.
    fn of_ending(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let (_, ending) = name.rsplit_once('.')?;
        Self::from_str(ending, true).ok()
    }
}

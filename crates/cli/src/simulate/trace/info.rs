//! `tollgate trace info`: statistics of a trace.
//!
//! | module | contents |
//! |---|---|
//! | [`zone`] | the time zone of the users of a machine |
//! | [`keys`] | the output as JSON and CSV |
//! | [`non_job_records`] | records of something other than jobs |
//! | [`text`] | the output as text |
//! | [`plot`] | pictures made of characters |
//! | [`format`] | formatting of spans, amounts and shares |

mod format;
mod keys;
mod non_job_records;
mod plot;
mod text;
mod zone;

use std::io::{self, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use tollgate_trace::batches::BatchReadError;
use tollgate_trace::statistics::{TraceStatistics, TraceStatisticsBuilder};
use tollgate_trace::{OpenError, ReadError, Trace};

use self::keys::{RecordKeys, TraceInfoKeys};
use self::non_job_records::NonJobKeys;
use self::zone::DisplayZone;
use super::input::each_batch;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Summarise records: jobs, users, sizes, run times, estimates, load
#[derive(Debug, clap::Args)]
pub(super) struct TraceInfoArgs {
    /// Records of any known format
    ///
    /// Jobs or log-ins. A directory is one record; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Time zone of the arrivals, as in Europe/Berlin [default: from the header, else UTC]
    #[arg(long, value_name = "ZONE", value_parser = DisplayZone::parse)]
    zone: Option<DisplayZone>,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,

    /// Print only the number of jobs
    #[arg(long, short)]
    quiet: bool,
}

/// The header and the statistics of a trace.
struct TraceSurvey {
    header: Trace,
    zone: DisplayZone,
    survey: TraceStatistics,
}

pub(super) fn run(args: &TraceInfoArgs) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let mut out = BufWriter::new(stdout().lock());
    let mut keys = TraceInfoKeys::default();
    for (n, path) in args.files.iter().enumerate() {
        let known = survey(path, args.zone.as_ref(), verbosity)?;
        match (args.quiet, args.format) {
            (true, _) => writeln!(out, "{}", known.len())?,
            (false, OutputFormat::Table) => {
                if n > 0 {
                    writeln!(out)?;
                }
                known.write(&mut out)?;
            }
            (false, OutputFormat::Json | OutputFormat::Csv) => match known {
                FileSummary::Jobs(record) => keys.records.push(RecordKeys::new(&record)),
                FileSummary::NonJob(other) => keys.others.push(other),
            },
        }
    }
    match (args.quiet, args.format) {
        (true, _) | (false, OutputFormat::Table) => {}
        (false, OutputFormat::Json) => {
            serde_json::to_writer_pretty(&mut out, &keys).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        (false, OutputFormat::Csv) => {
            if !keys.others.is_empty() {
                let others = pluralise(keys.others.len(), "record");
                verbosity.note(format_args!(
                    "{others} of something else than jobs: left out of CSV"
                ));
            }
            keys::write_csv(&mut out, &keys.records)?;
        }
    }
    Ok(out.flush()?)
}

/// The contents of a file.
enum FileSummary {
    Jobs(Box<TraceSurvey>),
    NonJob(NonJobKeys),
}

impl FileSummary {
    fn len(&self) -> usize {
        match self {
            Self::Jobs(record) => record.survey.summary.jobs,
            Self::NonJob(other) => other.len(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Jobs(record) => text::write(out, record),
            Self::NonJob(other) => other.write(out),
        }
    }
}

/// Prints the JSON schema of `trace info --format json`.
pub(crate) fn print_schema() -> Result<(), CliFailure> {
    let mut out = stdout().lock();
    serde_json::to_writer_pretty(&mut out, &schemars::schema_for!(TraceInfoKeys))
        .map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

fn survey(
    path: &Path,
    zone: Option<&DisplayZone>,
    verbosity: Verbosity,
) -> Result<FileSummary, CliFailure> {
    match survey_jobs(path, zone, verbosity) {
        // Standard input cannot be read a second time.
        Err(BatchReadError::Input(OpenError {
            cause: ReadError::Logins,
            ..
        })) if path != Path::new("-") => {
            Ok(FileSummary::NonJob(NonJobKeys::read(path, verbosity)?))
        }
        outcome => Ok(FileSummary::Jobs(Box::new(outcome?))),
    }
}

fn survey_jobs(
    path: &Path,
    chosen: Option<&DisplayZone>,
    verbosity: Verbosity,
) -> Result<TraceSurvey, BatchReadError<CliFailure>> {
    let mut known = None;
    let header = each_batch(path, |batch| {
        let (_, surveyor) = known.get_or_insert_with(|| {
            let zone = DisplayZone::of(batch, chosen, verbosity);
            (
                zone.clone(),
                TraceStatisticsBuilder::new(move |at| zone.since_monday_s(at)),
            )
        });
        surveyor.add(batch);
        Ok(())
    })?;
    let (zone, surveyor) = known.expect("a record that can be read has a job");
    Ok(TraceSurvey {
        header,
        zone,
        survey: surveyor.finish(),
    })
}

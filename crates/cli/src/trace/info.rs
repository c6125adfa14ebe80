//! `tollgate trace info`: what is in a record.
//!
//! | module | what it holds |
//! |---|---|
//! | [`zone`] | the clock by which the users of a machine live |
//! | [`keys`] | the answer as the keys of JSON and CSV |
//! | [`others`] | records that are none of jobs |
//! | [`text`] | the answer for people |
//! | [`plot`] | pictures made of characters |
//! | [`words`] | spans, amounts and shares as people write them |

mod keys;
mod others;
mod plot;
mod text;
mod words;
mod zone;

use std::io::{self, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use tollgate_workload::batches::Stopped;
use tollgate_workload::survey::{Survey, Surveyor};
use tollgate_workload::{OpenError, ReadError, Trace};

use self::keys::{Keys, RecordKeys};
use self::others::OtherKeys;
use self::zone::Zone;
use super::input::each_batch;
use crate::args::Format;
use crate::exit::Failure;
use crate::voice::{Voice, counted};

/// Summarise records: jobs, users, sizes, run times, estimates, load
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Records of any known format
    ///
    /// Jobs, round-robin databases or log-ins. A directory is one record; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Time zone of the arrivals, as in Europe/Berlin [default: from the header, else UTC]
    #[arg(long, value_name = "ZONE", value_parser = Zone::parse)]
    zone: Option<Zone>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Print only the number of jobs
    #[arg(long, short)]
    quiet: bool,
}

/// A record, and what is in it.
struct Record {
    header: Trace,
    zone: Zone,
    survey: Survey,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let voice = Voice::unless(args.quiet);
    let mut out = BufWriter::new(stdout().lock());
    let mut keys = Keys::default();
    for (n, path) in args.files.iter().enumerate() {
        let known = survey(path, args.zone.as_ref(), voice)?;
        match (args.quiet, args.format) {
            (true, _) => writeln!(out, "{}", known.len())?,
            (false, Format::Table) => {
                if n > 0 {
                    writeln!(out)?;
                }
                known.write(&mut out)?;
            }
            (false, Format::Json | Format::Csv) => match known {
                Known::Jobs(record) => keys.records.push(RecordKeys::new(&record)),
                Known::Other(other) => keys.others.push(other),
            },
        }
    }
    match (args.quiet, args.format) {
        (true, _) | (false, Format::Table) => {}
        (false, Format::Json) => {
            serde_json::to_writer_pretty(&mut out, &keys).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        (false, Format::Csv) => {
            if !keys.others.is_empty() {
                let others = counted(keys.others.len(), "record");
                voice.note(format_args!(
                    "{others} of something else than jobs: left out of CSV"
                ));
            }
            keys::write_csv(&mut out, &keys.records)?;
        }
    }
    Ok(out.flush()?)
}

/// What was found in a file.
enum Known {
    Jobs(Box<Record>),
    Other(OtherKeys),
}

impl Known {
    fn len(&self) -> usize {
        match self {
            Self::Jobs(record) => record.survey.summary.jobs,
            Self::Other(other) => other.len(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Jobs(record) => text::write(out, record),
            Self::Other(other) => other.write(out),
        }
    }
}

/// Prints the schema of the JSON.
pub(super) fn schema() -> Result<(), Failure> {
    let mut out = stdout().lock();
    serde_json::to_writer_pretty(&mut out, &schemars::schema_for!(Keys))
        .map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

fn survey(path: &Path, asked: Option<&Zone>, voice: Voice) -> Result<Known, Failure> {
    match survey_jobs(path, asked, voice) {
        // What came from standard input is gone.
        Err(Stopped::Input(OpenError {
            cause: ReadError::NotJobs { found },
            ..
        })) if path != Path::new("-") => Ok(Known::Other(OtherKeys::read(path, found, voice)?)),
        outcome => Ok(Known::Jobs(Box::new(outcome?))),
    }
}

fn survey_jobs(
    path: &Path,
    asked: Option<&Zone>,
    voice: Voice,
) -> Result<Record, Stopped<Failure>> {
    let mut known = None;
    let header = each_batch(path, |batch| {
        let (_, surveyor) = known.get_or_insert_with(|| {
            let zone = Zone::of(batch, asked, voice);
            (
                zone.clone(),
                Surveyor::new(move |at| zone.since_monday_s(at)),
            )
        });
        surveyor.add(batch);
        Ok(())
    })?;
    let (zone, surveyor) = known.expect("a record that can be read has a job");
    Ok(Record {
        header,
        zone,
        survey: surveyor.finish(),
    })
}

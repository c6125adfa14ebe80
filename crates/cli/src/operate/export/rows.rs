//! Promises and entries of the ledger, as rows.

use std::io;

use tollgate_client::records::{EvictionPage, JobPage, LedgerPage, LoginPage};
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{JobDetails, WireVocabulary, WireWord};

use super::{ExportFormat, ExportTargetArgs, RecordPage};
use crate::exit::CliFailure;
use crate::output::atomic::AtomicOutput;
use crate::output::format;

/// The type of a column, where the format has types.
#[derive(Clone, Copy, Debug)]
enum CellType {
    Text,
    Real,
    Whole,
}

/// The name and the type of a column.
type RowColumn = (&'static str, CellType);

/// The columns of promises.
const PROMISE_COLUMNS: [RowColumn; 18] = [
    ("job", CellType::Text),
    ("user_id", CellType::Whole),
    ("user", CellType::Text),
    ("account", CellType::Text),
    ("name", CellType::Text),
    ("procs", CellType::Whole),
    ("submitted_at", CellType::Text),
    ("decided_at", CellType::Text),
    ("deadline_at", CellType::Text),
    ("probability", CellType::Real),
    ("price", CellType::Real),
    ("estimate_s", CellType::Real),
    ("run_s", CellType::Real),
    ("forecast_finish_at", CellType::Text),
    ("finished_at", CellType::Text),
    ("late_s", CellType::Real),
    ("promise", CellType::Text),
    ("broken_by", CellType::Text),
];

/// The columns of the ledger.
const LEDGER_COLUMNS: [RowColumn; 8] = [
    ("job", CellType::Whole),
    ("task", CellType::Whole),
    ("attempt", CellType::Whole),
    ("kind", CellType::Text),
    ("booked_at", CellType::Text),
    ("user_id", CellType::Whole),
    ("user", CellType::Text),
    ("amount", CellType::Real),
];

/// The columns of evictions.
const EVICTION_COLUMNS: [RowColumn; 7] = [
    ("job", CellType::Whole),
    ("task", CellType::Whole),
    ("attempt", CellType::Whole),
    ("computer", CellType::Text),
    ("evicted_at", CellType::Text),
    ("cause", CellType::Text),
    ("held_s", CellType::Real),
];

/// The columns of the times in which computers were in use.
const LOGIN_COLUMNS: [RowColumn; 4] = [
    ("computer", CellType::Text),
    ("login", CellType::Text),
    ("logout", CellType::Text),
    ("cause", CellType::Text),
];

/// A writer of rows.
enum RowWriter {
    Csv(Box<csv::Writer<AtomicOutput>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<tollgate_trace::job_table::ParquetRowWriter<AtomicOutput>>),
}

/// Writes the promises of the jobs that ended on some days.
pub(super) fn write_promises(target: &ExportTargetArgs) -> Result<(), CliFailure> {
    write::<JobPage, _>(target, "/v1/export/jobs", PROMISE_COLUMNS, |page| {
        let promised = page.jobs.iter().filter(|job| job.promise.is_some());
        promised.map(promise).collect()
    })
}

/// Writes the entries of the ledger.
pub(super) fn write_ledger(target: &ExportTargetArgs) -> Result<(), CliFailure> {
    write::<LedgerPage, _>(target, "/v1/export/ledger", LEDGER_COLUMNS, |page| {
        let rows = page.entries.iter().map(|entry| {
            [
                entry.job.to_string(),
                entry.task.to_string(),
                entry.attempt.to_string(),
                entry.kind.to_string(),
                entry.booked_at.clone(),
                entry.user_id.to_string(),
                entry.user.clone(),
                entry.amount.to_string(),
            ]
        });
        rows.collect()
    })
}

/// Writes the evictions.
pub(super) fn write_evictions(target: &ExportTargetArgs) -> Result<(), CliFailure> {
    write::<EvictionPage, _>(target, "/v1/export/evictions", EVICTION_COLUMNS, |page| {
        let rows = page.evictions.iter().map(|eviction| {
            [
                eviction.job.to_string(),
                eviction.task.to_string(),
                eviction.attempt.to_string(),
                eviction.computer.clone().unwrap_or_default(),
                eviction.at.clone(),
                eviction.cause.to_string(),
                eviction.held_s.to_string(),
            ]
        });
        rows.collect()
    })
}

/// Writes the times in which computers were in use.
pub(super) fn write_logins(target: &ExportTargetArgs) -> Result<(), CliFailure> {
    write::<LoginPage, _>(target, "/v1/export/logins", LOGIN_COLUMNS, |page| {
        let rows = page.logins.iter().map(|login| {
            [
                login.computer.clone(),
                login.login.clone(),
                login.logout.clone().unwrap_or_default(),
                login.cause.to_string(),
            ]
        });
        rows.collect()
    })
}

/// Writes the rows that `rows` returns for each page of the records at `path`.
fn write<P: RecordPage, const N: usize>(
    target: &ExportTargetArgs,
    path: &str,
    columns: [RowColumn; N],
    rows: impl Fn(&P) -> Vec<[String; N]>,
) -> Result<(), CliFailure> {
    let format = target.format()?;
    if format == ExportFormat::Swf {
        let message = "expected csv or parquet: SWF is for jobs";
        return Err(CliFailure::invalid_flag("format", message));
    }
    let mut client = target.address.connect()?;
    let failed = |error| target.write_error(error);
    let mut writer = RowWriter::new(format, target.open()?, &columns).map_err(failed)?;
    target.each_page(&mut client, path, |page: P| writer.write(&rows(&page)))?;
    let place = writer.finish();
    place.and_then(AtomicOutput::finish).map_err(failed)
}

impl RowWriter {
    #[cfg_attr(
        not(feature = "parquet"),
        expect(unused_variables, reason = "CSV is the only format")
    )]
    fn new(format: ExportFormat, place: AtomicOutput, columns: &[RowColumn]) -> io::Result<Self> {
        #[cfg(feature = "parquet")]
        if format == ExportFormat::Parquet {
            return Self::parquet(place, columns);
        }
        let mut csv = csv::Writer::from_writer(place);
        csv.write_record(columns.iter().map(|(name, _)| name))?;
        Ok(Self::Csv(Box::new(csv)))
    }

    #[cfg(feature = "parquet")]
    fn parquet(place: AtomicOutput, columns: &[RowColumn]) -> io::Result<Self> {
        use tollgate_trace::job_table::{ParquetColumnType, ParquetRowWriter};
        let typed = |(name, kind): &RowColumn| match kind {
            CellType::Text => (*name, ParquetColumnType::Text),
            CellType::Real => (*name, ParquetColumnType::Real),
            CellType::Whole => (*name, ParquetColumnType::Whole),
        };
        let columns: Vec<_> = columns.iter().map(typed).collect();
        let writer = ParquetRowWriter::new(place, &columns)?;
        Ok(Self::Parquet(Box::new(writer)))
    }

    fn write<const N: usize>(&mut self, rows: &[[String; N]]) -> io::Result<()> {
        match self {
            Self::Csv(csv) => {
                for row in rows {
                    csv.write_record(row)?;
                }
                Ok(())
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.write(rows),
        }
    }

    fn finish(self) -> io::Result<AtomicOutput> {
        match self {
            Self::Csv(csv) => csv.into_inner().map_err(|error| error.into_error()),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

fn promise(job: &JobDetails) -> [String; 18] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    [
        format::format_job_id(job),
        job.user_id.to_string(),
        job.user.clone(),
        text(&job.account),
        job.name.clone(),
        job.procs.to_string(),
        job.submitted_at.clone(),
        text(&job.decided_at),
        text(&job.deadline_at),
        number(job.probability),
        number(job.price),
        job.estimate_s.to_string(),
        number(job.run_s),
        text(&job.forecast_finish_at),
        text(&job.finished_at),
        number(late_s(job)),
        word_cell(&job.promise),
        word_cell(&job.broken_by),
    ]
}

/// Returns the key of a word; empty without one.
pub(super) fn word_cell<T: WireVocabulary>(word: &Option<WireWord<T>>) -> String {
    let key = word.as_ref().map(WireWord::key);
    key.unwrap_or_default().to_owned()
}

/// Returns the time from the deadline to the end; negative if the job ended before its deadline.
fn late_s(job: &JobDetails) -> Option<f64> {
    let at = |words: &Option<String>| parse_iso(words.as_ref()?).ok();
    let (finish, due) = (at(&job.finished_at)?, at(&job.deadline_at)?);
    Some(finish.since(due).as_secs_f64())
}

//! Jobs as records that `tollgate replay` and `forecast` read.

use std::io;

use tollgate_client::records::JobPage;
use tollgate_client::timestamp::{format_iso, parse_iso};
use tollgate_client::types::{JobDetails, JobEstimateSource, JobState, ServiceStatus};
use tollgate_model::{Bytes, Credits, Instant, Span};
use tollgate_trace::RecordNames;
use tollgate_trace::passthrough_columns::PassthroughColumns;
use tollgate_trace::{
    Trace, TraceJob, TraceMetadata, TraceSla, TraceStatus, TraceUsage, job_table, swf,
};

use super::rows::word_cell;
use super::{ExportFormat, ExportTargetArgs};
use crate::exit::CliFailure;
use crate::output::atomic::AtomicOutput;

/// The columns of the table that other records do not have.
const COLUMNS: [&str; 14] = [
    "task",
    "name",
    "state",
    "exit_code",
    "started_at",
    "finished_at",
    "deadline_at",
    "probability",
    "forecast_finish_at",
    "promise",
    "broken_by",
    "price",
    "attempts",
    "host",
];

/// A run time that is not known: the job never ran.
const UNKNOWN: Span = Span::from_secs(-1);

/// A writer of jobs.
enum JobWriter {
    Swf(Box<swf::SwfWriter<AtomicOutput>>),
    Csv(Box<job_table::JobTableWriter<AtomicOutput>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<job_table::ParquetWriter<AtomicOutput>>),
}

/// Writes the jobs that ended on some days.
pub(super) fn write(target: &ExportTargetArgs) -> Result<(), CliFailure> {
    let format = target.format()?;
    let mut client = target.address.connect()?;
    let status: ServiceStatus = client.get("/v1/status")?;
    let mut writer = JobWriter::new(format, target.open()?);
    let mut clock = RecordClock {
        format,
        origin: None,
        jobs: 0,
    };
    target.each_page(&mut client, "/v1/export/jobs", |page: JobPage| {
        writer.write(&clock.batch(&page.jobs, &status))
    })?;
    let place = writer.finish();
    place
        .and_then(AtomicOutput::finish)
        .map_err(|error| target.write_error(error))
}

impl JobWriter {
    fn new(format: ExportFormat, place: AtomicOutput) -> Self {
        match format {
            ExportFormat::Swf => Self::Swf(Box::new(swf::SwfWriter::new(place))),
            ExportFormat::Csv => Self::Csv(Box::new(job_table::JobTableWriter::new(place))),
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => Self::Parquet(Box::new(job_table::ParquetWriter::new(place))),
            #[cfg(not(feature = "parquet"))]
            ExportFormat::Parquet => unreachable!("no target has a format that is not written"),
        }
    }

    fn write(&mut self, batch: &Trace) -> io::Result<()> {
        match self {
            Self::Swf(writer) => writer.write(batch),
            Self::Csv(writer) => writer.write(batch),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.write(batch),
        }
    }

    fn finish(self) -> io::Result<AtomicOutput> {
        match self {
            Self::Swf(writer) => writer.finish(),
            Self::Csv(writer) => writer.finish(),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

/// The clock and the numbers of a record. SWF counts jobs from 1 and time from the first submission;
/// the table has the service's numbers, and time since 1970.
struct RecordClock {
    format: ExportFormat,
    /// The instant at which the record's clock begins; None before the first job of SWF.
    origin: Option<Instant>,
    /// Number of jobs so far.
    jobs: u64,
}

impl RecordClock {
    fn batch(&mut self, jobs: &[JobDetails], status: &ServiceStatus) -> Trace {
        let mut trace = Trace::empty("the service");
        let mut metadata = TraceMetadata::default();
        let mut extra = PassthroughColumns::new(COLUMNS.map(str::to_owned).to_vec());
        let mut slas = Vec::new();
        for job in jobs {
            let Ok(submit) = parse_iso(&job.submitted_at) else {
                continue;
            };
            let origin = *self
                .origin
                .get_or_insert_with(|| self.format.origin(submit));
            self.jobs += 1;
            let runtime = job.run_s.map_or(UNKNOWN, Span::from_secs_f64);
            let is_estimated = job.estimate_source == JobEstimateSource::User;
            trace.jobs.push(TraceJob {
                number: match self.format {
                    ExportFormat::Swf => self.jobs,
                    ExportFormat::Csv | ExportFormat::Parquet => job.id,
                },
                submit: Instant::ZERO + submit.since(origin),
                runtime,
                estimate: match is_estimated {
                    true => Span::from_secs_f64(job.estimate_s),
                    false => runtime,
                },
                is_estimated,
                procs: job.procs.max(1),
            });
            metadata.push(names(job), usage(job, submit));
            slas.push(sla(job, submit));
            for cell in cells(job) {
                extra.push(&cell);
            }
        }
        trace.metadata = Some(metadata);
        match self.format {
            ExportFormat::Swf => {
                let start = self.origin.unwrap_or(Instant::ZERO);
                trace.unix_start = Some(start);
                trace.max_procs = Some(status.nodes.max(1));
                trace.max_nodes = Some(status.nodes.max(1));
                trace.comments = header(status, start);
            }
            ExportFormat::Csv | ExportFormat::Parquet => {
                trace.slas = Some(slas);
                trace.extra = Some(extra);
            }
        }
        trace
    }
}

impl ExportFormat {
    /// Returns the instant at which the clock of a record begins whose first job was submitted at
    /// `submit`.
    fn origin(self, submit: Instant) -> Instant {
        match self {
            Self::Swf => Instant::from_secs(submit.as_micros().div_euclid(1_000_000)),
            Self::Csv | Self::Parquet => Instant::ZERO,
        }
    }
}

/// Returns the header of SWF; the writer adds the clock and the size.
fn header(status: &ServiceStatus, start: Instant) -> Vec<String> {
    vec![
        " Version: 2.2".to_owned(),
        format!(" Conversion: tollgate {} export", status.version),
        format!(" StartTime: {}", format_iso(start)),
        " TimeZoneString: UTC".to_owned(),
        format!(" Note: policy {}, market {}", status.policy, status.market),
        " Note: each processor is a node; MaxProcs is the size at the time of the export"
            .to_owned(),
        " Note: jobs that are over; each task of an array is a job; job numbers count the lines"
            .to_owned(),
    ]
}

fn names(job: &JobDetails) -> RecordNames<'_> {
    RecordNames {
        user: job.user.as_bytes(),
        group: b"",
        account: job.account.as_deref().unwrap_or_default().as_bytes(),
        executable: job.name.as_bytes().into(),
        queue: job.queue.as_deref().unwrap_or_default().as_bytes(),
    }
}

/// Returns the usage. Of a job with several attempts, the wait is the time until the last of them.
fn usage(job: &JobDetails, submit: Instant) -> TraceUsage {
    let at = |words: &Option<String>| parse_iso(words.as_ref()?).ok();
    let first = at(&job.started_at).map(|start| start.since(submit));
    let wait = match (at(&job.finished_at), job.run_s) {
        (Some(finish), Some(run_s)) if job.attempts > 1 => {
            Some(finish.since(submit) - Span::from_secs_f64(run_s))
        }
        _ => first,
    };
    TraceUsage {
        wait: wait.map(|wait| wait.max(Span::ZERO)),
        held: None,
        cpu_time: job.cpu_s.map(Span::from_secs_f64),
        peak_memory: job.peak_memory_bytes.map(Bytes::new),
        requested_memory: job.memory_bytes.map(Bytes::new),
        status: status(job),
    }
}

fn status(job: &JobDetails) -> TraceStatus {
    let words = job.status.as_deref().unwrap_or_default();
    let Some(state) = job.state.known() else {
        return TraceStatus::Unknown;
    };
    match state {
        JobState::Cancelled | JobState::Rejected => TraceStatus::Cancelled,
        JobState::Lost => TraceStatus::NodeFailed,
        JobState::Abandoned => TraceStatus::Preempted,
        JobState::TimedOut => TraceStatus::TimedOut,
        JobState::OutOfMemory => TraceStatus::OutOfMemory,
        JobState::OutputLimit => TraceStatus::Failed,
        JobState::Finished if words.ends_with("(evicted)") => TraceStatus::Preempted,
        JobState::Finished if words.ends_with("(cancelled)") => TraceStatus::Cancelled,
        JobState::Finished if job.wait_code() == 0 => TraceStatus::Completed,
        JobState::Finished => TraceStatus::Failed,
        JobState::Dependent
        | JobState::Queued
        | JobState::Held
        | JobState::Running
        | JobState::Reserved
        | JobState::Expired => TraceStatus::Unknown,
    }
}

fn sla(job: &JobDetails, submit: Instant) -> TraceSla {
    let due = job.deadline_at.as_ref();
    let due = due.and_then(|words| parse_iso(words).ok());
    TraceSla {
        deadline: due
            .map(|due| due.since(submit))
            .filter(|span| *span > Span::ZERO),
        budget: job.budget.map(Credits::from_f64),
        penalty: None,
    }
}

fn cells(job: &JobDetails) -> [String; 14] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    [
        job.task.map_or_else(String::new, |task| task.to_string()),
        job.name.clone(),
        job.state.key().to_owned(),
        job.exit_code
            .map_or_else(String::new, |code| code.to_string()),
        text(&job.started_at),
        text(&job.finished_at),
        text(&job.deadline_at),
        number(job.probability),
        text(&job.forecast_finish_at),
        word_cell(&job.promise),
        word_cell(&job.broken_by),
        number(job.price),
        job.attempts.to_string(),
        text(&job.host),
    ]
}

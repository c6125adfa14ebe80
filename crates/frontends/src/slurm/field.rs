//! The fields of a row: one list, from which the formats of `squeue` and `sacct` choose.

use tollgate_client::types::{JobDetails, JobState};

use super::environment::DEFAULT_PARTITION;
use super::file_names::NULL_FILE;
use super::hosts::compress;
use super::row::{SlurmClock, SlurmRow};
use super::states::SlurmState;
use super::time::{api_instant, cpu_span, full_span, local_instant, short_span};

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobField {
    /// The same for all jobs, since nothing of the kind exists here.
    Fixed(&'static str),
    Id,
    RawId,
    ArrayId,
    TaskId,
    Name,
    User,
    UserId,
    Group,
    Account,
    Partition,
    Comment,
    StateLong,
    StateCompact,
    StateSacct,
    Reason,
    ReasonOrHost,
    Host,
    Hosts,
    NodeCount,
    Procs,
    Memory,
    MaxMemory,
    Tres,
    Devices,
    SubmitLine,
    SubmitHost,
    GroupId,
    Dependency,
    Dir,
    Command,
    Output,
    ErrorFile,
    InputFile,
    ExitCode,
    Requeues,
    Restarts,
    Time(TimeField),
    Promise(PromiseField),
}

/// A time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeField {
    Used,
    Limit,
    Left,
    Elapsed,
    ElapsedRaw,
    LimitSacct,
    LimitMinutes,
    Submit,
    Start,
    End,
    StartSacct,
    EndSacct,
    Cpu,
    CpuRaw,
    Waited,
}

/// What is promised or expected of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromiseField {
    Deadline,
    Probability,
    Promise,
    EarliestEnd,
    LatestEnd,
}

/// The unit in which memory is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryUnit {
    /// The largest that leaves a whole number, at least K for peaks and M for requests.
    #[default]
    Whole,
    /// This power of 1024, with its letter.
    Fixed(u32, char),
}

impl MemoryUnit {
    /// Parses the value of `--units`. None for another letter.
    pub fn parse(text: &str) -> Option<Self> {
        let letter = text.chars().next().filter(|_| text.len() == 1)?;
        let letter = letter.to_ascii_uppercase();
        let power = "KMGTP".find(letter)?;
        Some(Self::Fixed(u32::try_from(power).ok()? + 1, letter))
    }

    /// Writes memory of a request: `100M`, `4G`.
    fn request(self, bytes: u64) -> String {
        match self {
            Self::Whole => {
                let mebibytes = bytes.div_ceil(1 << 20);
                match mebibytes > 0 && mebibytes.is_multiple_of(1024) {
                    true => format!("{}G", mebibytes / 1024),
                    false => format!("{mebibytes}M"),
                }
            }
            Self::Fixed(power, letter) => in_unit(bytes, power, letter),
        }
    }

    /// Writes a peak: `16384K`.
    fn peak(self, bytes: u64) -> String {
        match self {
            Self::Whole => format!("{}K", bytes.div_ceil(1024)),
            Self::Fixed(power, letter) => in_unit(bytes, power, letter),
        }
    }
}

fn in_unit(bytes: u64, power: u32, letter: char) -> String {
    let unit = 1024_u64.pow(power);
    match bytes % unit {
        0 => format!("{}{letter}", bytes / unit),
        _ => format!("{:.2}{letter}", bytes as f64 / unit as f64),
    }
}

/// What the values of fields depend on besides the row.
#[derive(Clone, Debug)]
pub struct FieldContext {
    /// The clock.
    pub clock: SlurmClock,
    /// The unit of memory.
    pub units: MemoryUnit,
}

impl JobField {
    /// Returns the value in a row.
    pub(crate) fn value(self, row: &SlurmRow, context: &FieldContext) -> String {
        let (job, clock) = (&row.job, &context.clock);
        let or_null = |text: &Option<String>| text.clone().unwrap_or_else(|| "(null)".to_owned());
        match self {
            Self::Fixed(text) => text.to_owned(),
            Self::Id => row.display_id(),
            Self::RawId => row.raw_id().to_string(),
            Self::ArrayId => job.id.to_string(),
            Self::TaskId => match (&row.waiting, job.task) {
                (Some(tasks), _) => tasks.clone(),
                (None, Some(task)) if row.is_of_array => task.to_string(),
                (None, _) => "N/A".to_owned(),
            },
            Self::Name => job.name.clone(),
            Self::User | Self::Group => user_name(job),
            Self::UserId => job.user_id.to_string(),
            Self::Account => or_null(&job.account),
            Self::Partition => partition(job).to_owned(),
            Self::Comment => or_null(&job.comment),
            Self::StateLong => row.status.state.words().0.to_owned(),
            Self::StateCompact => row.status.state.words().1.to_owned(),
            Self::StateSacct => state_of_sacct(row),
            Self::Reason => row.status.reason.clone().into_owned(),
            Self::ReasonOrHost => match shows_reason(row.status.state) {
                true => format!("({})", row.status.reason),
                false => compress(row.hosts()),
            },
            Self::Host => job.host.clone().unwrap_or_else(|| "n/a".to_owned()),
            Self::Hosts => compress(row.hosts()),
            Self::NodeCount => n_hosts(row).to_string(),
            Self::Procs => job.procs.to_string(),
            Self::Memory => match job.memory_bytes {
                Some(bytes) => context.units.request(bytes),
                None => "0".to_owned(),
            },
            Self::MaxMemory => match job.peak_memory_bytes {
                Some(bytes) => context.units.peak(bytes),
                None => String::new(),
            },
            Self::Tres => tres(row),
            Self::Devices => devices(job),
            Self::SubmitLine => job
                .submit_line
                .clone()
                .unwrap_or_else(|| job.command.join(" ")),
            Self::SubmitHost => or_null(&job.submit_host),
            Self::GroupId => job.group_id.unwrap_or(job.user_id).to_string(),
            Self::Dir => job.dir.clone(),
            Self::Command => job.command.join(" "),
            Self::Output => job.output.clone().unwrap_or_else(|| NULL_FILE.to_owned()),
            Self::ErrorFile => {
                let file = job.error.as_ref().or(job.output.as_ref());
                file.map_or_else(|| NULL_FILE.to_owned(), String::clone)
            }
            Self::InputFile => job.input.clone().unwrap_or_else(|| NULL_FILE.to_owned()),
            Self::ExitCode => row.status.exit_words(),
            Self::Dependency => dependency(job),
            Self::Requeues => u8::from(job.requeue).to_string(),
            Self::Restarts => job.attempts.saturating_sub(1).to_string(),
            Self::Promise(field) => field.value(row, clock),
            Self::Time(field) => field.value(row, clock),
        }
    }
}

impl PromiseField {
    fn value(self, row: &SlurmRow, clock: &SlurmClock) -> String {
        let (job, forecast) = (&row.job, row.forecast.as_ref());
        let at = |text: Option<&str>| {
            let at = text.and_then(api_instant);
            at.map_or_else(|| "N/A".to_owned(), |at| local_instant(at, &clock.zone))
        };
        match self {
            Self::Deadline => at(job.deadline_at.as_deref()),
            Self::Probability => {
                let now = forecast.and_then(|forecast| forecast.probability);
                let probability = now.or(job.probability);
                probability.map_or_else(|| "N/A".to_owned(), |chance| format!("{chance:.2}"))
            }
            Self::Promise => match (&job.promise, &job.deadline_at) {
                (Some(promise), _) => promise.key().to_owned(),
                (None, Some(_)) => "open".to_owned(),
                (None, None) => "N/A".to_owned(),
            },
            Self::EarliestEnd => at(forecast.map(|forecast| forecast.earliest_finish_at.as_str())),
            Self::LatestEnd => at(forecast.map(|forecast| forecast.latest_finish_at.as_str())),
        }
    }
}

impl TimeField {
    fn value(self, row: &SlurmRow, clock: &SlurmClock) -> String {
        let job = &row.job;
        let local = |at: Option<jiff::Timestamp>, missing: &str| {
            at.map_or_else(|| missing.to_owned(), |at| local_instant(at, &clock.zone))
        };
        let used = row.used_s(clock);
        let limit = job.time_limit_s.map(|secs| secs.ceil() as u64);
        let unlimited = || "UNLIMITED".to_owned();
        match self {
            Self::Used => short_span(used),
            Self::Limit => limit.map_or_else(unlimited, short_span),
            Self::Left => {
                limit.map_or_else(unlimited, |limit| short_span(limit.saturating_sub(used)))
            }
            Self::Elapsed => full_span(used),
            Self::ElapsedRaw => used.to_string(),
            Self::LimitSacct => limit.map_or_else(unlimited, full_span),
            Self::LimitMinutes => {
                limit.map_or_else(unlimited, |limit| limit.div_ceil(60).to_string())
            }
            Self::Submit => local(api_instant(&job.submitted_at), "N/A"),
            Self::Start => local(row.expected_start(), "N/A"),
            Self::End => local(row.end(), "N/A"),
            Self::StartSacct => local(job.started_at.as_deref().and_then(api_instant), "Unknown"),
            Self::EndSacct => local(job.finished_at.as_deref().and_then(api_instant), "Unknown"),
            Self::Cpu => cpu_span(job.cpu_s.unwrap_or(0.0)),
            Self::CpuRaw => (used * u64::from(job.procs)).to_string(),
            Self::Waited => {
                let begin = job.started_at.as_deref().and_then(api_instant);
                let begin = begin.unwrap_or(clock.now);
                let submitted = api_instant(&job.submitted_at).unwrap_or(begin);
                let waited = begin.duration_since(submitted).as_secs();
                u64::try_from(waited).unwrap_or(0).to_string()
            }
        }
    }
}

/// Returns whether `squeue` shows why, and not where, in its last column.
const fn shows_reason(state: SlurmState) -> bool {
    match state {
        SlurmState::Pending
        | SlurmState::Failed
        | SlurmState::Timeout
        | SlurmState::OutOfMemory
        | SlurmState::Deadline => true,
        SlurmState::Running
        | SlurmState::Suspended
        | SlurmState::Completed
        | SlurmState::Cancelled
        | SlurmState::Preempted
        | SlurmState::NodeFail => false,
    }
}

/// Returns the partition of a job: its queue, or the only one.
pub(crate) fn partition(job: &JobDetails) -> &str {
    job.queue.as_deref().unwrap_or(DEFAULT_PARTITION)
}

/// Returns the name of the owner; an earlier service names none.
pub(crate) fn user_name(job: &JobDetails) -> String {
    match job.user.as_str() {
        "" => job.user_id.to_string(),
        name => name.to_owned(),
    }
}

fn state_of_sacct(row: &SlurmRow) -> String {
    let (long, _) = row.status.state.words();
    let is_by_user = row.job.state == JobState::Cancelled && row.status.exit.1 != 0;
    match is_by_user {
        true => format!("{long} by {}", row.job.user_id),
        false => long.to_owned(),
    }
}

/// Returns the number of hosts of a job; 1 of one that waits.
fn n_hosts(row: &SlurmRow) -> usize {
    row.hosts().len().max(1)
}

/// Returns what a job takes: `cpu=2,mem=100M,node=1,billing=2`.
pub(crate) fn tres(row: &SlurmRow) -> String {
    let job = &row.job;
    let memory = job
        .memory_bytes
        .map(|bytes| MemoryUnit::Whole.request(bytes));
    let memory = memory.map_or_else(String::new, |memory| format!(",mem={memory}"));
    let procs = job.procs;
    format!("cpu={procs}{memory},node={},billing={procs}", n_hosts(row))
}

/// Returns the devices of a job: `gres:gpu:1`.
fn devices(job: &JobDetails) -> String {
    match job.resources.is_empty() {
        true => "N/A".to_owned(),
        false => {
            let all = job.resources.iter();
            let all = all.map(|(name, count)| format!("gres:{name}:{count}"));
            all.collect::<Vec<_>>().join(",")
        }
    }
}

/// Returns the jobs that a job waits for: `afterok:7:8`.
pub(crate) fn dependency(job: &JobDetails) -> String {
    let waits = job.state == JobState::Dependent || job.state == JobState::Held;
    match waits && !job.after.is_empty() {
        true => {
            let jobs = job
                .after
                .iter()
                .map(|id| format!("afterany:{id}(unfulfilled)"));
            jobs.collect::<Vec<_>>().join(",")
        }
        false => "(null)".to_owned(),
    }
}

//! Traces, converted to records of jobs for a forecaster.

use std::collections::HashSet;

use tollgate_forecast::{ClassId, CompletedJob, ForecastJob, JobAttributes};
use tollgate_model::{Instant, Span};
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{Finding, Trace, TraceJob, TraceMetadata};

use crate::class_key::ClassKey;
use crate::names::{ForecastNames, NameIds};

/// A job that ran, with its use of other resources.
#[derive(Clone, Copy, Debug)]
pub struct JobUsageRecord {
    /// The job with its run time.
    pub record: CompletedJob,
    /// Processor time of all processors together.
    pub cpu_time: Option<Span>,
    /// The peak memory of the job, in mebibytes.
    pub memory: Option<f64>,
    /// The memory that the job requested, in mebibytes.
    pub memory_request: Option<f64>,
}

/// The jobs of records that ran.
#[derive(Clone, Debug, Default)]
pub struct ForecastJobs {
    /// The jobs in order of submission. Ties keep the order in which they were read.
    pub entries: Vec<JobUsageRecord>,
    /// The sources of the records.
    pub sources: Vec<String>,
    /// Whether the instants are calendar dates.
    pub has_calendar: bool,
    /// Counts of unusual records.
    pub tally: RecordTally,
}

/// Counts of unusual records.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordTally {
    /// Jobs that ran for 0 s or never, which are left out.
    pub never_ran: usize,
    /// Records of another record's job, which are left out.
    pub duplicates: usize,
    /// Jobs that were learned before, which are left out.
    pub late: usize,
    /// Jobs of unknown wait, which are assumed to have started at once.
    pub no_wait: usize,
    /// Jobs without a value of a key, which are a class of their own.
    pub no_class: usize,
}

/// The threshold in seconds above which instants count as calendar dates: 3 March 1973.
pub const MIN_CALENDAR_S: i64 = 100_000_000;

/// Records without a run time to learn from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sources}: expected at least one job that ran, found {jobs} that never did")]
pub struct NothingToLearn {
    /// The sources of the records.
    pub sources: String,
    /// Number of jobs, of which none ran.
    pub jobs: usize,
}

impl ForecastJobs {
    /// Takes the jobs of traces, and numbers their names in `naming`. Jobs that had ended by `until` are left out,
    /// because they were learned before.
    ///
    /// # Errors
    /// The error of the first trace that has one, or [`NothingToLearn`] if no job of any trace ever ran.
    pub fn of<E: From<NothingToLearn>>(
        traces: impl IntoIterator<Item = Result<Trace, E>>,
        naming: &mut ForecastNames,
        until: Option<Instant>,
    ) -> Result<Self, E> {
        let mut jobs = Self {
            has_calendar: true,
            ..Self::default()
        };
        let mut n_all = 0;
        for trace in traces {
            let trace = trace?;
            n_all += trace.jobs.len();
            jobs.add_trace(&trace, naming, until);
            jobs.sources.push(trace.source);
        }
        if jobs.tally.never_ran == n_all && !jobs.sources.is_empty() {
            return Err(E::from(NothingToLearn {
                sources: jobs.sources.join(", "),
                jobs: n_all,
            }));
        }
        jobs.entries.sort_by_key(|entry| entry.record.submit);
        Ok(jobs)
    }

    fn add_trace(&mut self, trace: &Trace, naming: &mut ForecastNames, until: Option<Instant>) {
        let nameless = TraceMetadata::default();
        let names = trace.metadata.as_ref().unwrap_or(&nameless);
        let origin = trace
            .unix_start
            .unwrap_or(Instant::ZERO)
            .since(Instant::ZERO);
        let first = trace
            .jobs
            .first()
            .map_or(Instant::ZERO, |job| job.submit + origin);
        self.has_calendar &= first >= Instant::from_secs(MIN_CALENDAR_S);
        // The tasks of an array share their number, and often all other values too.
        let arrays = trace.diagnostics.count(Finding::SharedNumber) > 0;
        let mut known = HashSet::new();
        let mut columns = TraceColumns::new(names);
        self.entries.reserve(trace.jobs.len());
        for (row, job) in trace.jobs.iter().enumerate() {
            if job.runtime <= Span::ZERO {
                self.tally.never_ran += 1;
                continue;
            }
            let class = columns.class(row, job, naming);
            let wait = names.usage.get(row).and_then(|usage| usage.wait);
            let submit = job.submit + origin;
            let finish = submit + wait.unwrap_or(Span::ZERO) + job.runtime;
            if until.is_some_and(|until| finish <= until) {
                self.tally.late += 1;
                continue;
            }
            if !arrays && !known.insert((job.number, submit, finish, job.procs, class)) {
                self.tally.duplicates += 1;
                continue;
            }
            self.tally.no_wait += usize::from(wait.is_none());
            let missing = naming.class(class).iter().any(Option::is_none);
            self.tally.no_class += usize::from(missing);
            let request = request(job);
            let record = CompletedJob {
                job: ForecastJob {
                    class,
                    procs: job.procs,
                    request,
                    context: columns.context(row, naming),
                },
                submit,
                finish,
                runtime: job.runtime,
            };
            self.entries.push(columns.entry(row, record));
        }
    }
}

/// The columns of a trace, with the number of each label in the naming.
struct TraceColumns<'a> {
    names: &'a TraceMetadata,
    numbers: [Vec<Option<u32>>; 3],
    /// The class of each user label, for classes by user alone.
    users: Vec<Option<ClassId>>,
}

/// Returns the user's estimate of the run time. None without an estimate.
pub fn request(job: &TraceJob) -> Option<Span> {
    job.is_estimated.then_some(job.estimate)
}

impl<'a> TraceColumns<'a> {
    fn new(names: &'a TraceMetadata) -> Self {
        Self {
            names,
            numbers: Default::default(),
            users: Vec::new(),
        }
    }

    fn class(&mut self, row: usize, job: &TraceJob, naming: &mut ForecastNames) -> ClassId {
        let names = self.names;
        let user = names
            .user
            .id(row)
            .filter(|_| naming.keys() == [ClassKey::User]);
        if let Some(label) = user {
            if self.users.len() <= label.index() {
                self.users.resize(label.index() + 1, None);
            }
            if let Some(class) = self.users[label.index()] {
                return class;
            }
        }
        let text = |labels: &NameColumn| labels.get(row).map(str::to_owned);
        let values = naming.keys().iter().map(|key| match key {
            ClassKey::User => text(&names.user),
            ClassKey::Group => text(&names.group),
            ClassKey::Account => text(&names.account),
            ClassKey::Executable => text(&names.executable),
            ClassKey::Queue => text(&names.queue),
            ClassKey::Procs => Some(job.procs.to_string()),
            ClassKey::Estimate => request(job).map(|estimate| estimate.to_string()),
        });
        let values = values.collect();
        let class = ClassId(naming.classes.id_for(values));
        if let Some(label) = user {
            self.users[label.index()] = Some(class);
        }
        class
    }

    fn context(&mut self, row: usize, naming: &mut ForecastNames) -> JobAttributes {
        let names = self.names;
        let [executables, queues, accounts] = &mut self.numbers;
        JobAttributes {
            executable: number(&names.executable, row, executables, &mut naming.executables),
            queue: number(&names.queue, row, queues, &mut naming.queues),
            account: number(&names.account, row, accounts, &mut naming.accounts),
        }
    }

    fn entry(&self, row: usize, record: CompletedJob) -> JobUsageRecord {
        const MEBI: f64 = 1_048_576.0;
        let usage = self.names.usage.get(row).unwrap_or_default();
        JobUsageRecord {
            record,
            cpu_time: usage.cpu_time,
            memory: usage.peak_memory.map(|bytes| bytes.as_u64() as f64 / MEBI),
            memory_request: usage
                .requested_memory
                .map(|bytes| bytes.as_u64() as f64 / MEBI),
        }
    }
}

/// Returns the number of the name in `row` among `all`. Each label is looked up once.
pub fn number(
    labels: &NameColumn,
    row: usize,
    numbers: &mut Vec<Option<u32>>,
    all: &mut NameIds<String>,
) -> Option<u32> {
    let label = labels.id(row)?;
    if numbers.len() <= label.index() {
        numbers.resize(label.index() + 1, None);
    }
    let number = &mut numbers[label.index()];
    Some(*number.get_or_insert_with(|| all.id_for(labels.name(label).to_owned())))
}

//! Reads traces as records of jobs for a forecaster.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tollgate_forecast::{ClassId, CompletedJob, ForecastJob, JobAttributes};
use tollgate_model::{Instant, Span};
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{ColumnSelection, Finding, ReadOptions, Trace, TraceJob, TraceMetadata, open};

use super::error::ForecastError;
use super::name_ids::{ForecastNames, NameIds};
use super::parse::ClassKey;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// A job that ran, with its use of other resources.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobUsageRecord {
    pub(super) record: CompletedJob,
    /// Processor time of all processors together.
    pub(super) cpu_time: Option<Span>,
    /// The peak memory of the job, in mebibytes.
    pub(super) memory: Option<f64>,
    /// The memory that the job requested, in mebibytes.
    pub(super) memory_request: Option<f64>,
}

/// The jobs of the input files.
#[derive(Default)]
pub(super) struct ForecastJobs {
    /// The jobs in order of submission. Ties keep the order in which they were read.
    pub(super) entries: Vec<JobUsageRecord>,
    pub(super) sources: Vec<String>,
    /// Whether the instants are calendar dates.
    pub(super) has_calendar: bool,
    tally: RecordTally,
}

/// Counts of unusual records, for notes to the user.
#[derive(Default)]
struct RecordTally {
    never_ran: usize,
    duplicates: usize,
    late: usize,
    no_wait: usize,
    no_class: usize,
}

/// The threshold in seconds above which instants count as calendar dates: 3 March 1973.
pub(super) const MIN_CALENDAR_S: i64 = 100_000_000;

/// Reads the jobs of all files, and numbers their names in `naming`. Jobs that had ended by `until`
/// are left out, because they were learned before.
///
/// # Errors
/// An error if a file cannot be read, or if no job of any file ever ran.
pub(super) fn read(
    files: &[PathBuf],
    naming: &mut ForecastNames,
    until: Option<Instant>,
    verbosity: Verbosity,
) -> Result<ForecastJobs, CliFailure> {
    let mut jobs = ForecastJobs {
        has_calendar: true,
        ..ForecastJobs::default()
    };
    let mut all = 0;
    for file in files {
        let trace = open_all_columns(file)?;
        print_findings(&trace, verbosity);
        all += trace.jobs.len();
        jobs.add_trace(&trace, naming, until);
        jobs.sources.push(trace.source);
    }
    let sources = jobs.sources.join(", ");
    if jobs.tally.never_ran == all && !files.is_empty() {
        return Err(ForecastError::NothingToLearn {
            file: sources,
            jobs: all,
        }
        .into());
    }
    jobs.entries.sort_by_key(|entry| entry.record.submit);
    if !files.is_empty() {
        jobs.print_notes(&sources, naming, verbosity);
    }
    Ok(jobs)
}

/// Prints the findings about the records, without those about missing estimates: no estimate is made
/// up here.
pub(super) fn print_findings(trace: &Trace, verbosity: Verbosity) {
    let mut found = trace.diagnostics.clone();
    found.remove(Finding::RunTimeAsEstimate);
    for finding in found.to_string().lines() {
        verbosity.note(format_args!("{}: {finding}", trace.source));
    }
}

pub(super) fn open_all_columns(file: &Path) -> Result<Trace, CliFailure> {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    Ok(open(file, options)?)
}

impl ForecastJobs {
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

    fn print_notes(&self, sources: &str, naming: &ForecastNames, verbosity: Verbosity) {
        let jobs = self.entries.len();
        let RecordTally {
            never_ran,
            duplicates,
            late,
            no_wait,
            no_class,
        } = self.tally;
        let left_out = match never_ran {
            0 => String::new(),
            never_ran => format!("; {never_ran} that ran for 0 s or never are left out"),
        };
        verbosity.note(format_args!(
            "{} from {sources}{left_out}",
            pluralise(jobs, "job")
        ));
        if duplicates > 0 {
            verbosity.note(format_args!(
                "{} left out: the same job number, times, processors and class as another one",
                pluralise(duplicates, "record")
            ));
        }
        if late > 0 {
            verbosity.note(format_args!(
                "{} left out: they ended by the end of the last one that the state has learned",
                pluralise(late, "record")
            ));
        }
        if no_wait > 0 {
            verbosity.note(format_args!(
                "the wait of {} is not known: taken to have started at submission",
                pluralise(no_wait, "job")
            ));
        }
        if no_class > 0 {
            let keys: Vec<String> = naming.keys().iter().map(ClassKey::to_string).collect();
            verbosity.note(format_args!(
                "{} of unknown {}: taken as a class of their own",
                pluralise(no_class, "job"),
                keys.join(" or ")
            ));
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
pub(super) fn request(job: &TraceJob) -> Option<Span> {
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
pub(super) fn number(
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

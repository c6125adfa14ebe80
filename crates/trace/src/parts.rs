//! The parts of jobs that have records of their own: steps, and the tasks of parallel jobs. Each part
//! is merged into its job by number, whether its record comes before or after that of the job.

use std::collections::{BTreeMap, VecDeque};

use tollgate_model::{Bytes, Span};

use crate::diagnostics::Diagnostics;
use crate::finding::Finding;
use crate::parse_field;
use crate::trace::Trace;
use crate::usage::TraceUsage;

/// Maximum number of jobs back from the last one to which a part may still belong. Parts stand
/// before their job or next to it; a longer search would make a damaged file slow.
const RECENT_JOBS: usize = 256;

/// The identity of a job to which parts may belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobKey {
    /// The number of the job.
    pub(crate) number: u64,
    /// The number of the task of an array, from 1, or of another component; 0 for a job of its own.
    pub(crate) component: u64,
}

/// The relation between the usage of a part and the usage in the record of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartUsage {
    /// The record of the job leaves out the usage of its parts: everything adds up.
    Added,
    /// The record of the job counts its parts, as far as it has a value. The parts only fill in an unknown or
    /// zero processor time, and the peak is that of the largest part.
    Covered,
}

/// A part of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JobPart {
    /// The job.
    pub(crate) key: JobKey,
    /// The processor time and the peak memory of the part; nothing else is merged.
    pub(crate) usage: TraceUsage,
    /// The relation to the record of the job.
    pub(crate) relation: PartUsage,
}

/// The sum over the parts of one job.
#[derive(Clone, Copy, Debug, Default)]
struct PartsTotal {
    cpu_time: Option<Span>,
    peak_memory: Option<Bytes>,
}

impl PartsTotal {
    fn add(&mut self, part: &JobPart) {
        self.cpu_time = sum(self.cpu_time, part.usage.cpu_time, |a, b| {
            Span::from_micros(a.as_micros().saturating_add(b.as_micros()))
        });
        self.peak_memory = match part.relation {
            PartUsage::Added => sum(self.peak_memory, part.usage.peak_memory, add_bytes),
            PartUsage::Covered => self.peak_memory.max(part.usage.peak_memory),
        };
    }

    /// Returns the usage of the job whose own record has `own`.
    fn with(self, own: TraceUsage, relation: PartUsage) -> TraceUsage {
        let (cpu_time, peak_memory) = match relation {
            PartUsage::Added => (
                sum(own.cpu_time, self.cpu_time, |a, b| a + b),
                sum(own.peak_memory, self.peak_memory, add_bytes),
            ),
            PartUsage::Covered => {
                let known = own.cpu_time.filter(|&time| time > Span::ZERO);
                (
                    known.or(self.cpu_time).or(own.cpu_time),
                    own.peak_memory.max(self.peak_memory),
                )
            }
        };
        TraceUsage {
            cpu_time,
            peak_memory,
            ..own
        }
    }
}

fn add_bytes(a: Bytes, b: Bytes) -> Bytes {
    Bytes::new(a.as_u64().saturating_add(b.as_u64()))
}

fn sum<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

/// A job that was read, with the usage in its own record.
struct RecentJob {
    key: JobKey,
    row: usize,
    own: TraceUsage,
    parts: PartsTotal,
}

/// Parts whose job has not been read yet, and their lines.
struct WaitingParts {
    total: PartsTotal,
    relation: PartUsage,
    lines: Vec<u64>,
}

/// The jobs and the parts of one file that may still belong together.
#[derive(Default)]
pub(crate) struct JobParts {
    recent: VecDeque<RecentJob>,
    waiting: BTreeMap<JobKey, WaitingParts>,
}

impl JobParts {
    /// Registers the last job of `trace`, and merges its parts that were read before it.
    pub(crate) fn add_job(&mut self, key: JobKey, trace: &mut Trace) {
        let row = trace.jobs.len().saturating_sub(1);
        if row == 0 {
            // The rows of the previous batch are gone.
            self.recent.clear();
        }
        let own = trace.usage(row);
        let mut job = RecentJob {
            key,
            row,
            own,
            parts: PartsTotal::default(),
        };
        if let Some(waiting) = self.waiting.remove(&key) {
            job.parts = waiting.total;
            store(trace, &job, waiting.relation);
            for line in waiting.lines {
                trace.diagnostics.record(Finding::PartOfJob, line);
            }
        }
        if self.recent.len() == RECENT_JOBS {
            self.recent.pop_front();
        }
        self.recent.push_back(job);
    }

    /// Merges a part, which is on `line`, into its job, or keeps it until its job is read.
    pub(crate) fn add_part(&mut self, part: JobPart, line: u64, trace: &mut Trace) {
        let mut jobs = self.recent.iter_mut().rev();
        if let Some(job) = jobs.find(|job| job.key == part.key) {
            job.parts.add(&part);
            store(trace, job, part.relation);
            trace.diagnostics.record(Finding::PartOfJob, line);
            return;
        }
        let waiting = self.waiting.entry(part.key).or_insert(WaitingParts {
            total: PartsTotal::default(),
            relation: part.relation,
            lines: Vec::new(),
        });
        waiting.total.add(&part);
        waiting.lines.push(line);
    }

    /// Reports the parts whose job is not in the file.
    pub(crate) fn finish(self, notes: &mut Diagnostics) {
        let lines = self.waiting.into_values().flat_map(|parts| parts.lines);
        let mut lines: Vec<u64> = lines.collect();
        lines.sort_unstable();
        for line in lines {
            notes.record(Finding::PartWithoutJob, line);
        }
    }
}

/// Stores the usage of a job with its parts.
fn store(trace: &mut Trace, job: &RecentJob, relation: PartUsage) {
    let Some(procs) = trace.jobs.get(job.row).map(|job| job.procs) else {
        return;
    };
    let Some(metadata) = &mut trace.metadata else {
        return;
    };
    let whole = job.parts.with(job.own, relation);
    // An impossible sum counts as missing, like an impossible value; the record of the job is sound.
    let whole = parse_field::resolve_usage(whole, procs, &mut Vec::new());
    metadata.usage.set_measured(job.row, whole);
}

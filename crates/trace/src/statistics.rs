//! Statistics of a trace, for an overview before it is used, gathered a batch at a time.
//!
//! Memory grows by some hundred bytes a job: exact quantiles need all values.

mod arrivals;
mod histogram;
mod name_counts;

use std::collections::BTreeMap;

use tollgate_model::{Instant, Span};

pub use arrivals::SubmissionCounts;
pub use histogram::{SpanBin, SpanHistogram};
pub use name_counts::NameCounts;

use crate::peak_use::ProcessorUse;
use crate::summary::{QuantileSummary, TraceSummary};
use crate::trace::{NodeCountSource, Trace, TraceJob};
use crate::trace_metadata::TraceMetadata;
use crate::usage::{TraceStatus, TraceUsage};

/// A builder that gathers the statistics, a batch of rows at a time.
#[derive(Debug)]
pub struct TraceStatisticsBuilder<F> {
    /// Conversion from an instant of the trace's clock to seconds since a Monday at midnight.
    local: F,
    /// The jobs without names and usage; its header is that of the latest batch.
    core: Trace,
    in_use: ProcessorUse,
    arrivals: SubmissionCounts,
    users: NameCounts,
    groups: NameCounts,
    accounts: NameCounts,
    executables: NameCounts,
    queues: NameCounts,
    estimates_known: EstimateCounts,
    over_ratios: Vec<f64>,
    under_ratios: Vec<f64>,
    waits_s: Vec<f64>,
    cpu_shares: Vec<f64>,
    peak_memory: Vec<f64>,
    requested_memory: Vec<f64>,
    statuses: BTreeMap<TraceStatus, u64>,
}

/// Counts that compare estimates with the run times of the jobs that ran; only jobs whose record
/// has an estimate count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EstimateCounts {
    /// Jobs that have an estimate, including jobs that never ran.
    pub known: u64,
    /// Jobs that ran and have an estimate.
    pub known_of_ran: u64,
    /// Jobs whose estimate is longer than the run time.
    pub over: u64,
    /// Jobs whose estimate is exactly the run time.
    pub exact: u64,
    /// Jobs whose estimate is shorter than the run time.
    pub under: u64,
}

/// The statistics of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStatistics {
    /// The usual metrics. Metrics of estimates take a job without an estimate as estimated exactly.
    pub summary: TraceSummary,
    /// Source of the machine size.
    pub nodes_from: NodeCountSource,
    /// The first and the last submission on the trace's clock; None without jobs.
    pub submitted: Option<(Instant, Instant)>,
    /// Submissions by hour of the week.
    pub arrivals: SubmissionCounts,
    /// Run times of the jobs that ran.
    pub runtimes: SpanHistogram,
    /// Users.
    pub users: NameCounts,
    /// Groups of the users.
    pub groups: NameCounts,
    /// Accounts.
    pub accounts: NameCounts,
    /// Executables.
    pub executables: NameCounts,
    /// Queues.
    pub queues: NameCounts,
    /// Errors of the estimates.
    pub estimates: EstimateCounts,
    /// Estimate over run time of the over-estimated jobs that ran longer than 0 s; above 1.
    pub over_ratios: Option<QuantileSummary>,
    /// Run time over estimate of the under-estimated jobs; above 1.
    pub under_ratios: Option<QuantileSummary>,
    /// Waits in seconds, of jobs whose record has them.
    pub waits_s: Option<QuantileSummary>,
    /// Processor time over the capacity of the job's processors; above 1 if the job used more
    /// processors than it requested.
    pub cpu_shares: Option<QuantileSummary>,
    /// Peak memory of whole jobs in bytes.
    pub peak_memory: Option<QuantileSummary>,
    /// Requested memory of whole jobs, in bytes.
    pub requested_memory: Option<QuantileSummary>,
    /// Jobs by final status; a status without jobs is missing.
    pub statuses: BTreeMap<TraceStatus, u64>,
    /// Number of jobs with one processor.
    pub serial: u64,
    /// Number of jobs with several processors whose number is a power of two.
    pub powers_of_two: u64,
    /// Number of jobs that request more processors than the machine has.
    pub too_wide: u64,
    /// Number of jobs whose number an earlier job has.
    pub shared_numbers: u64,
    /// The longest time without a submission.
    pub longest_gap: Option<Span>,
}

impl<F: Fn(Instant) -> i64> TraceStatisticsBuilder<F> {
    /// Creates an empty builder. `local` converts an instant of the trace's clock to seconds since
    /// a Monday at midnight, in the time zone of its users.
    pub fn new(local: F) -> Self {
        Self {
            local,
            core: Trace::default(),
            in_use: ProcessorUse::default(),
            arrivals: SubmissionCounts::default(),
            users: NameCounts::default(),
            groups: NameCounts::default(),
            accounts: NameCounts::default(),
            executables: NameCounts::default(),
            queues: NameCounts::default(),
            estimates_known: EstimateCounts::default(),
            over_ratios: Vec::new(),
            under_ratios: Vec::new(),
            waits_s: Vec::new(),
            cpu_shares: Vec::new(),
            peak_memory: Vec::new(),
            requested_memory: Vec::new(),
            statuses: BTreeMap::new(),
        }
    }

    /// Adds the rows of `batch`.
    pub fn add(&mut self, batch: &Trace) {
        self.core.max_procs = batch.max_procs;
        self.core.max_nodes = batch.max_nodes;
        for (row, job) in batch.jobs.iter().enumerate() {
            self.arrivals.add((self.local)(job.submit));
            if batch.has_estimate(row) {
                self.estimate(job);
            }
            if let Some(metadata) = &batch.metadata {
                self.names(metadata, row);
                self.usage(job, &batch.usage(row));
            }
        }
        self.core.jobs.extend_from_slice(&batch.jobs);
    }

    /// Returns the statistics of all rows.
    pub fn finish(self) -> TraceStatistics {
        let jobs = &self.core.jobs;
        let header = self.core.header_nodes();
        let in_use = self.in_use;
        let (nodes, nodes_from) = header.unwrap_or_else(|| self.core.least_nodes(in_use.most()));
        let count =
            |is: &dyn Fn(&TraceJob) -> bool| jobs.iter().filter(|job| is(job)).count() as u64;
        let submits = || jobs.iter().map(|job| job.submit);
        let ran = jobs.iter().filter(|job| job.ran()).map(|job| job.runtime);
        TraceStatistics {
            nodes_from,
            submitted: submits().min().zip(submits().max()),
            runtimes: SpanHistogram::of(ran),
            serial: count(&|job| job.procs == 1),
            powers_of_two: count(&|job| job.procs > 1 && job.procs.is_power_of_two()),
            too_wide: count(&|job| job.procs > nodes),
            shared_numbers: shared_numbers(jobs),
            longest_gap: longest_gap(jobs),
            over_ratios: QuantileSummary::of(self.over_ratios.into_iter()),
            under_ratios: QuantileSummary::of(self.under_ratios.into_iter()),
            waits_s: QuantileSummary::of(self.waits_s.into_iter()),
            cpu_shares: QuantileSummary::of(self.cpu_shares.into_iter()),
            peak_memory: QuantileSummary::of(self.peak_memory.into_iter()),
            requested_memory: QuantileSummary::of(self.requested_memory.into_iter()),
            summary: TraceSummary::on_machine(jobs, nodes),
            arrivals: self.arrivals,
            users: self.users,
            groups: self.groups,
            accounts: self.accounts,
            executables: self.executables,
            queues: self.queues,
            estimates: self.estimates_known,
            statuses: self.statuses,
        }
    }

    fn estimate(&mut self, job: &TraceJob) {
        let counts = &mut self.estimates_known;
        counts.known += 1;
        if !job.ran() {
            return;
        }
        counts.known_of_ran += 1;
        let ratio = job.estimate.as_secs_f64() / job.runtime.as_secs_f64();
        match job.estimate.cmp(&job.runtime) {
            std::cmp::Ordering::Greater => {
                counts.over += 1;
                self.over_ratios
                    .extend(Some(ratio).filter(|ratio| ratio.is_finite()));
            }
            std::cmp::Ordering::Equal => counts.exact += 1,
            std::cmp::Ordering::Less => {
                counts.under += 1;
                self.under_ratios.push(ratio.recip());
            }
        }
    }

    fn names(&mut self, metadata: &TraceMetadata, row: usize) {
        for (counts, labels) in [
            (&mut self.users, &metadata.user),
            (&mut self.groups, &metadata.group),
            (&mut self.accounts, &metadata.account),
            (&mut self.executables, &metadata.executable),
            (&mut self.queues, &metadata.queue),
        ] {
            counts.add(labels, row);
        }
    }

    fn usage(&mut self, job: &TraceJob, usage: &TraceUsage) {
        *self.statuses.entry(usage.status).or_default() += 1;
        if let Some(wait) = usage.wait {
            self.waits_s.push(wait.as_secs_f64());
            self.in_use.add(job.submit + wait, job.runtime, job.procs);
        }
        self.peak_memory
            .extend(usage.peak_memory.map(|memory| memory.as_f64()));
        self.requested_memory
            .extend(usage.requested_memory.map(|memory| memory.as_f64()));
        if job.runtime > Span::ZERO {
            let processor_s = job.runtime.as_secs_f64() * f64::from(job.procs);
            self.cpu_shares
                .extend(usage.cpu_time.map(|time| time.as_secs_f64() / processor_s));
        }
    }
}

fn shared_numbers(jobs: &[TraceJob]) -> u64 {
    let mut numbers: Vec<u64> = jobs.iter().map(|job| job.number).collect();
    numbers.sort_unstable();
    let all = numbers.len();
    numbers.dedup();
    (all - numbers.len()) as u64
}

fn longest_gap(jobs: &[TraceJob]) -> Option<Span> {
    let mut submits: Vec<Instant> = jobs.iter().map(|job| job.submit).collect();
    submits.sort_unstable();
    submits.windows(2).map(|pair| pair[1].since(pair[0])).max()
}

//! The result of a reader: the jobs of a file, in file order.

use std::fmt;

use tollgate_model::{Credits, CreditsPerSecond, Instant, Span};

use crate::diagnostics::Diagnostics;
use crate::finding::Finding;
use crate::format::TraceFormat;
use crate::optional_column::retain_rows;
use crate::options::ColumnSelection;
use crate::passthrough_columns::PassthroughColumns;
use crate::peak_use::ProcessorUse;
use crate::trace_metadata::TraceMetadata;
use crate::usage::TraceUsage;

/// A job as a trace records it. This is the truth, which a policy never sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceJob {
    /// The public number of the job.
    pub number: u64,
    /// Submission time, on the trace's own clock. Not negative.
    pub submit: Instant,
    /// Run time on each of its processors; zero if it was shorter than the unit of the record, negative
    /// if the job never ran.
    pub runtime: Span,
    /// Run time that the user estimated; the run time (so perhaps not positive) if the trace has no
    /// estimate.
    pub estimate: Span,
    /// Whether the user estimated the run time. Otherwise the estimate is the run time, which was
    /// unknown at submission.
    pub is_estimated: bool,
    /// Used or requested processors. At least 1.
    pub procs: u32,
}

impl TraceJob {
    /// Returns whether the job ran, be it for less than the unit of the record.
    pub fn ran(&self) -> bool {
        self.runtime >= Span::ZERO
    }
}

/// The SLA of a job in a trace; each part may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSla {
    /// Span after submission by which the job must have finished. Positive.
    pub deadline: Option<Span>,
    /// Maximum that the user pays. Not negative.
    pub budget: Option<Credits>,
    /// Cost to the provider of each second past the deadline. Not negative.
    pub penalty: Option<CreditsPerSecond>,
}

/// The jobs of a file, with the header and the findings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Source of the jobs, for messages.
    pub source: String,
    /// Format of the source; None for a generated trace.
    pub format: Option<TraceFormat>,
    /// The jobs in file order, which is nearly always the order of submission.
    pub jobs: Vec<TraceJob>,
    /// SLAs of the jobs, if the file has any column for them; one row per job.
    pub slas: Option<Vec<TraceSla>>,
    /// Names and usage, if they were requested.
    pub metadata: Option<TraceMetadata>,
    /// Columns that tollgate does not know, if there were any.
    pub extra: Option<PassthroughColumns>,
    /// Comments before the first job of an SWF file, without the semicolon, if names were
    /// requested; comments beyond a mebibyte are dropped.
    pub comments: Vec<String>,
    /// Processors of the machine, from the header.
    pub max_procs: Option<u32>,
    /// Nodes of the machine, from the header.
    pub max_nodes: Option<u32>,
    /// The instant, since the Unix epoch, of the origin of the trace's clock.
    pub unix_start: Option<Instant>,
    /// Data that was skipped, repaired or defaulted. Line numbers are those of the whole file, also
    /// after a cut.
    pub diagnostics: Diagnostics,
}

impl Trace {
    /// Creates a trace without jobs, from `source`.
    pub fn empty(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ..Self::default()
        }
    }

    /// Returns the size of the machine and its source: MaxProcs of the header, else MaxNodes, else
    /// the smallest that can have run the jobs.
    pub fn nodes(&self) -> (u32, NodeCountSource) {
        let header = self.header_nodes();
        header.unwrap_or_else(|| self.least_nodes(self.peak_procs()))
    }

    /// Returns the size of the machine by the header.
    pub(crate) fn header_nodes(&self) -> Option<(u32, NodeCountSource)> {
        let header = [
            (self.max_procs, NodeCountSource::MaxProcs),
            (self.max_nodes, NodeCountSource::MaxNodes),
        ];
        header
            .into_iter()
            .find_map(|(nodes, from)| nodes.map(|nodes| (nodes, from)))
    }

    /// Returns the larger of the widest job (1 without jobs) and `peak`, the most processors in use.
    pub(crate) fn least_nodes(&self, peak: Option<u32>) -> (u32, NodeCountSource) {
        let widest = self.widest_job();
        match peak.filter(|&peak| peak > widest) {
            Some(peak) => (peak, NodeCountSource::PeakUse),
            None => (widest, NodeCountSource::WidestJob),
        }
    }

    /// Returns the most processors that ran jobs at once, by the waits of the record: the machine had at
    /// least as many. None if no wait of a job that ran is known.
    pub fn peak_procs(&self) -> Option<u32> {
        let mut in_use = ProcessorUse::default();
        for (row, job) in self.jobs.iter().enumerate() {
            if let Some(wait) = self.usage(row).wait {
                in_use.add(job.submit + wait, job.runtime, job.procs);
            }
        }
        in_use.most()
    }

    fn widest_job(&self) -> u32 {
        let widths = self.jobs.iter().map(|job| job.procs);
        widths.max().unwrap_or(1)
    }

    /// Keeps the last `n` jobs in file order, or all if there are fewer. Cut before filtering: the
    /// published subsets contain the jobs that never ran. The labels of names stay the same.
    #[must_use]
    pub fn last(mut self, n: usize) -> Self {
        self.drop_first(self.jobs.len().saturating_sub(n));
        self.jobs.shrink_to_fit();
        self
    }

    /// Keeps the first `n` jobs in file order, or all if there are fewer. The labels of names stay the
    /// same.
    #[must_use]
    pub fn first(self, n: usize) -> Self {
        self.retain(|row| row < n)
    }

    /// Keeps the jobs in the rows that `keeps` names, in file order. The labels of names stay the same.
    #[must_use]
    pub(crate) fn retain(mut self, keeps: impl Fn(usize) -> bool) -> Self {
        retain_rows(&mut self.jobs, &keeps);
        if let Some(slas) = &mut self.slas {
            retain_rows(slas, &keeps);
        }
        if let Some(metadata) = &mut self.metadata {
            metadata.retain(&keeps);
        }
        if let Some(extra) = &mut self.extra {
            extra.retain(&keeps);
        }
        self
    }

    /// Returns the name of the time zone in the header of an SWF file, if names were requested.
    pub fn time_zone(&self) -> Option<&str> {
        let directives = self
            .comments
            .iter()
            .filter_map(|comment| comment.split_once(':'));
        let mut zones = directives.filter(|(name, _)| name.trim() == "TimeZoneString");
        zones.next().map(|(_, zone)| zone.trim())
    }

    /// Returns whether the record has an estimate of the job in `row`. Otherwise the run time
    /// replaces the estimate.
    pub fn has_estimate(&self, row: usize) -> bool {
        self.jobs.get(row).is_some_and(|job| job.is_estimated)
    }

    /// Returns the known usage of the job in `row`.
    pub fn usage(&self, row: usize) -> TraceUsage {
        let metadata = self.metadata.as_ref();
        let usage = metadata.and_then(|metadata| metadata.usage.get(row));
        usage.unwrap_or_default()
    }

    /// Removes the first `n` jobs.
    pub(crate) fn drop_first(&mut self, n: usize) {
        self.jobs.drain(..n);
        if let Some(slas) = &mut self.slas {
            slas.drain(..n);
        }
        if let Some(metadata) = &mut self.metadata {
            metadata.drop_first(n);
        }
        if let Some(extra) = &mut self.extra {
            extra.drop_first(n);
        }
    }

    /// Returns the header of the file and the same columns, without the jobs and the findings.
    pub(crate) fn header(&self) -> Self {
        Self {
            source: self.source.clone(),
            format: self.format,
            slas: self.slas.as_ref().map(|_| Vec::new()),
            metadata: self.metadata.as_ref().map(|_| TraceMetadata::default()),
            extra: self
                .extra
                .as_ref()
                .map(|extra| PassthroughColumns::new(extra.names().to_vec())),
            comments: self.comments.clone(),
            max_procs: self.max_procs,
            max_nodes: self.max_nodes,
            unix_start: self.unix_start,
            ..Self::default()
        }
    }

    /// Creates a trace without jobs for a reader that keeps `columns`.
    pub(crate) fn with_columns(columns: ColumnSelection, source: &str) -> Self {
        let mut trace = Self::empty(source);
        trace.metadata = match columns {
            ColumnSelection::Core => None,
            ColumnSelection::All => Some(TraceMetadata::default()),
        };
        trace
    }

    /// Appends a job from `line`, and notes a job that is out of order. `latest` is the latest
    /// submit time so far.
    pub(crate) fn push_job(&mut self, job: TraceJob, line: u64, latest: &mut Instant) {
        if job.submit < *latest {
            self.diagnostics.record(Finding::OutOfOrder, line);
        }
        *latest = job.submit.max(*latest);
        self.jobs.push(job);
    }
}

/// The source of the machine size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeCountSource {
    /// `MaxProcs` in the header of the trace.
    MaxProcs,
    /// `MaxNodes` in the header of the trace.
    MaxNodes,
    /// The most processors that ran jobs at once, if the header has no size and waits are known.
    PeakUse,
    /// The widest job, if the header has no size.
    WidestJob,
}

/// Writes the source in words, to follow "128 nodes (".
impl fmt::Display for NodeCountSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaxProcs => "MaxProcs in the header of the trace",
            Self::MaxNodes => "MaxNodes in the header of the trace",
            Self::PeakUse => {
                "the most that ran jobs at once, by the waits of the record: the machine may be larger"
            }
            Self::WidestJob => "the widest job: the trace does not say",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_metadata::RecordNames;

    #[test]
    fn trace_job_size_is_bounded() {
        assert!(size_of::<TraceJob>() <= 40);
    }

    #[test]
    fn time_zone_is_a_directive_of_the_header() {
        let mut trace = Trace::empty("here");
        trace.comments = vec![" TimeZone: -28800".to_owned()];
        assert_eq!(trace.time_zone(), None);
        trace
            .comments
            .push(" TimeZoneString: US/Pacific".to_owned());
        assert_eq!(trace.time_zone(), Some("US/Pacific"));
    }

    #[test]
    fn peak_counts_jobs_that_run_at_once() {
        let mut trace = Trace::empty("here");
        assert_eq!(trace.peak_procs(), None);
        let mut metadata = TraceMetadata::default();
        // (submission, wait, run time, processors)
        for (submit, wait, runtime, procs) in
            [(0, 0, 10, 3), (1, 9, 5, 4), (2, 7, 4, 2), (3, 0, -1, 90)]
        {
            trace.jobs.push(TraceJob {
                number: 1,
                submit: Instant::from_secs(submit),
                runtime: Span::from_secs(runtime),
                estimate: Span::from_secs(1),
                is_estimated: true,
                procs,
            });
            let usage = TraceUsage {
                wait: Some(Span::from_secs(wait)),
                ..TraceUsage::default()
            };
            metadata.push(RecordNames::default(), usage);
        }
        trace.metadata = Some(metadata);
        assert_eq!(trace.peak_procs(), Some(6));
    }

    #[test]
    fn cutting_keeps_columns_aligned() {
        let mut trace = Trace::empty("here");
        let mut metadata = TraceMetadata::default();
        let mut extra = PassthroughColumns::new(vec!["note".into()]);
        let mut slas = Vec::new();
        for number in 0..5 {
            trace.jobs.push(TraceJob {
                number,
                submit: Instant::from_secs(number as i64),
                runtime: Span::from_secs(1),
                estimate: Span::from_secs(1),
                is_estimated: number % 2 == 0,
                procs: 1,
            });
            let name = number.to_string();
            let [user, group, account, executable, queue] = [name.as_bytes(); 5];
            let names = RecordNames {
                user,
                group,
                account,
                executable: executable.into(),
                queue,
            };
            let usage = TraceUsage {
                wait: Some(Span::from_secs(number as i64)),
                ..TraceUsage::default()
            };
            metadata.push(names, usage);
            extra.push(&name);
            slas.push(TraceSla {
                deadline: Some(Span::from_secs(number as i64 + 1)),
                ..TraceSla::default()
            });
        }
        trace.metadata = Some(metadata);
        trace.extra = Some(extra);
        trace.slas = Some(slas);

        let cut = trace.clone().last(2);
        assert_eq!(cut.jobs[0].number, 3);
        assert_eq!(cut.slas.unwrap()[0].deadline, Some(Span::from_secs(4)));
        let metadata = cut.metadata.unwrap();
        assert_eq!(metadata.queue.get(1), Some("4"));
        assert_eq!(
            metadata.usage.get(1).unwrap().wait,
            Some(Span::from_secs(4))
        );
        assert_eq!(cut.extra.unwrap().row(0).next(), Some("3"));
        assert_eq!(trace.clone().last(9), trace);
        assert!(trace.last(0).jobs.is_empty());
    }
}

//! The metrics by which workloads are compared.

use tollgate_model::{Instant, Span};

use crate::trace::{Trace, TraceJob};

/// The metrics of a trace. Means over "all jobs" count jobs that never ran with their traced run
/// time of -1 second, as the published values do.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSummary {
    /// Number of jobs.
    pub jobs: usize,
    /// Time from the first submission to the last.
    pub span: Span,
    /// Mean time between two submissions; None with fewer than two jobs.
    pub mean_interarrival: Option<Span>,
    /// Mean run time of all jobs; None without jobs.
    pub mean_runtime: Option<Span>,
    /// Mean run time of the jobs that ran; None without such jobs.
    pub mean_runtime_of_ran: Option<Span>,
    /// Run times in seconds of the jobs that ran.
    pub runtimes_s: Option<QuantileSummary>,
    /// Mean processors of a job; None without jobs.
    pub mean_procs: Option<f64>,
    /// Processors of the jobs.
    pub procs: Option<QuantileSummary>,
    /// Number of jobs that never ran.
    pub never_ran: usize,
    /// Number of jobs with an estimate above their run time, including jobs that never ran.
    pub over_estimated: usize,
    /// Number of jobs that ran longer than their estimate.
    pub under_estimated: usize,
    /// Estimate over run time of the over-estimated jobs that ran longer than 0 s; above 1.
    pub over_ratios: Option<QuantileSummary>,
    /// Run time over estimate of the under-estimated jobs; above 1.
    pub under_ratios: Option<QuantileSummary>,
    /// Processors of the machine, against which utilisation is measured.
    pub nodes: u32,
    /// Work of all jobs over the capacity of the machine between the first and the last submission:
    /// the offered load, above 1 for an overload. None if that period is empty.
    pub utilisation: Option<f64>,
}

/// A distribution in a few numbers: each is the value at rank `floor(p (n - 1))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileSummary {
    /// Minimum.
    pub min: f64,
    /// Quantile of 10 %.
    pub p10: f64,
    /// Quantile of 25 %.
    pub p25: f64,
    /// Quantile of 50 %.
    pub median: f64,
    /// Quantile of 75 %.
    pub p75: f64,
    /// Quantile of 90 %.
    pub p90: f64,
    /// Quantile of 99 %.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl TraceSummary {
    /// Computes the metrics of `trace`.
    pub fn of(trace: &Trace) -> Self {
        Self::on_machine(&trace.jobs, trace.nodes().0)
    }

    /// Computes the metrics of `jobs` on a machine of this many processors.
    pub(crate) fn on_machine(jobs: &[TraceJob], nodes: u32) -> Self {
        let ran = || jobs.iter().filter(|job| job.ran());
        let ran_for_long = || ran().filter(|job| job.runtime > Span::ZERO);
        let over = |job: &&TraceJob| job.estimate > job.runtime;
        let under = |job: &&TraceJob| job.estimate < job.runtime;
        let span = span(jobs);
        Self {
            jobs: jobs.len(),
            span,
            mean_interarrival: interarrival(span, jobs.len()),
            mean_runtime: mean(jobs.iter().map(|job| job.runtime.as_secs_f64()))
                .map(Span::from_secs_f64),
            mean_runtime_of_ran: mean_of_ran(jobs),
            runtimes_s: QuantileSummary::of(ran().map(|job| job.runtime.as_secs_f64())),
            mean_procs: mean(jobs.iter().map(|job| f64::from(job.procs))),
            procs: QuantileSummary::of(jobs.iter().map(|job| f64::from(job.procs))),
            never_ran: jobs.iter().filter(|job| !job.ran()).count(),
            over_estimated: jobs.iter().filter(over).count(),
            under_estimated: ran().filter(under).count(),
            over_ratios: QuantileSummary::of(
                ran_for_long().filter(over).map(|job| 1.0 / overrun(job)),
            ),
            under_ratios: QuantileSummary::of(ran().filter(under).map(overrun)),
            nodes,
            utilisation: utilisation(jobs, nodes, span),
        }
    }

    /// Returns `count` jobs as a share of all, 0 without jobs.
    pub fn share(&self, count: usize) -> f64 {
        count as f64 / self.jobs.max(1) as f64
    }
}

impl QuantileSummary {
    /// Computes the quantiles of `values`; None if there are no values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |p: f64| sorted[(p * last as f64) as usize];
        Some(Self {
            min: at(0.0),
            p10: at(0.1),
            p25: at(0.25),
            median: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
        })
    }
}

/// Returns the run time over the estimate.
fn overrun(job: &TraceJob) -> f64 {
    job.runtime.as_secs_f64() / job.estimate.as_secs_f64()
}

fn span(jobs: &[TraceJob]) -> Span {
    let submits = || jobs.iter().map(|job| job.submit);
    let first = submits().min().unwrap_or(Instant::ZERO);
    let last = submits().max().unwrap_or(Instant::ZERO);
    last.since(first)
}

fn interarrival(span: Span, jobs: usize) -> Option<Span> {
    let gaps = jobs.checked_sub(1).filter(|&gaps| gaps > 0)?;
    Some(Span::from_secs_f64(span.as_secs_f64() / gaps as f64))
}

fn utilisation(jobs: &[TraceJob], nodes: u32, span: Span) -> Option<f64> {
    let work: f64 = jobs
        .iter()
        .map(|job| f64::from(job.procs) * job.runtime.max(Span::ZERO).as_secs_f64())
        .sum();
    (span > Span::ZERO).then(|| work / (f64::from(nodes) * span.as_secs_f64()))
}

fn mean_of_ran(jobs: &[TraceJob]) -> Option<Span> {
    let ran: Vec<f64> = jobs
        .iter()
        .filter(|job| job.ran())
        .map(|job| job.runtime.as_secs_f64())
        .collect();
    mean(ran.into_iter()).map(Span::from_secs_f64)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let n = values.len();
    (n > 0).then(|| values.sum::<f64>() / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(submit: i64, runtime: i64, estimate: i64, procs: u32) -> TraceJob {
        TraceJob {
            number: 0,
            submit: Instant::from_secs(submit),
            runtime: Span::from_secs(runtime),
            estimate: Span::from_secs(estimate),
            is_estimated: true,
            procs,
        }
    }

    #[test]
    fn summary_matches_four_hand_computed_jobs() {
        let mut trace = Trace::empty("four jobs");
        trace.jobs = vec![
            job(100, 10, 40, 4),
            job(110, -1, 30, 8),
            job(130, 20, 10, 1),
            job(200, 5, 5, 3),
        ];
        let summary = TraceSummary::of(&trace);
        assert_eq!(summary.span, Span::from_secs(100));
        assert_eq!(
            summary.mean_interarrival,
            Some(Span::from_secs_f64(100.0 / 3.0))
        );
        assert_eq!(summary.mean_runtime, Some(Span::from_secs_f64(8.5)));
        assert_eq!(
            summary.mean_runtime_of_ran,
            Some(Span::from_secs_f64(35.0 / 3.0))
        );
        assert_eq!(summary.runtimes_s.unwrap().median, 10.0);
        assert_eq!(summary.mean_procs, Some(4.0));
        assert_eq!(summary.never_ran, 1);
        assert_eq!((summary.over_estimated, summary.under_estimated), (2, 1));
        assert_eq!(summary.over_ratios.unwrap().max, 4.0);
        assert_eq!(summary.under_ratios.unwrap().max, 2.0);
        assert_eq!(summary.nodes, 8);
        assert_eq!(summary.utilisation, Some((40.0 + 20.0 + 15.0) / 800.0));
        assert_eq!(summary.share(1), 0.25);
    }

    #[test]
    fn means_are_none_without_jobs() {
        let summary = TraceSummary::of(&Trace::empty("nothing"));
        assert_eq!(summary.jobs, 0);
        assert_eq!(summary.mean_runtime, None);
        assert_eq!(summary.utilisation, None);
        assert_eq!(summary.runtimes_s, None);
    }
}

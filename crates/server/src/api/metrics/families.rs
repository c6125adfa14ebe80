//! The metrics: one entry of a table each, from which they are written and documented.

use std::sync::atomic::Ordering::Relaxed;

use tollgate_model::Span;

use super::books::{BookFamily, book_samples, ratio};
use super::text::{self, MetricsText};
use super::{BOUNDS, MetricReadings};

/// A family of samples with one name.
#[derive(Clone, Copy, Debug)]
pub struct MetricFamily {
    /// The name without suffix.
    pub name: &'static str,
    /// The type.
    pub kind: MetricKind,
    /// The unit of its values, in words.
    pub unit: &'static str,
    /// The labels of its samples.
    pub labels: &'static [&'static str],
    /// What it counts or measures.
    pub help: &'static str,
    /// Its samples, in the order in which they are written; no samples, no family.
    samples: fn(&MetricReadings<'_>) -> Vec<MetricSample>,
}

/// The type of a metric in OpenMetrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that rises and falls.
    Gauge,
    /// A sum that only rises. Its samples end in `_total`.
    Counter,
    /// Counts by upper bounds `le`. Its samples end in `_bucket`, `_sum` and `_count`.
    Histogram,
}

impl MetricKind {
    /// Returns the word of OpenMetrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }

    /// Returns the ends of the names of its samples.
    pub const fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Gauge => &[""],
            Self::Counter => &["_total"],
            Self::Histogram => &["_bucket", "_sum", "_count"],
        }
    }
}

/// A sample of a family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MetricSample {
    /// The end of its name: one of [`MetricKind::suffixes`].
    pub(super) suffix: &'static str,
    /// Its label, if it has one.
    pub(super) label: Option<(&'static str, String)>,
    /// Its value.
    pub(super) value: f64,
}

/// Returns the only sample of a gauge.
fn gauge(value: f64) -> Vec<MetricSample> {
    vec![sample("", None, value)]
}

/// Returns the only sample of a counter.
fn counter(value: f64) -> Vec<MetricSample> {
    vec![sample("_total", None, value)]
}

/// Returns a sample.
pub(super) fn sample(
    suffix: &'static str,
    label: Option<(&'static str, &str)>,
    value: f64,
) -> MetricSample {
    MetricSample {
        suffix,
        label: label.map(|(name, value)| (name, value.to_owned())),
        value,
    }
}

/// Every metric, in the order of the response.
pub const METRICS: &[MetricFamily] = &[
    MetricFamily {
        name: "tollgate_nodes",
        kind: MetricKind::Gauge,
        unit: "nodes",
        labels: &[],
        help: "Number of nodes.",
        samples: |now| gauge(now.census.nodes.into()),
    },
    MetricFamily {
        name: "tollgate_nodes_idle",
        kind: MetricKind::Gauge,
        unit: "nodes",
        labels: &[],
        help: "Number of idle nodes.",
        samples: |now| gauge(now.census.idle.into()),
    },
    MetricFamily {
        name: "tollgate_queue_jobs",
        kind: MetricKind::Gauge,
        unit: "tasks",
        labels: &[],
        help: "Number of queued tasks.",
        samples: |now| gauge(now.census.queued.into()),
    },
    MetricFamily {
        name: "tollgate_held_jobs",
        kind: MetricKind::Gauge,
        unit: "tasks",
        labels: &[],
        help: "Number of held tasks.",
        samples: |now| gauge(now.census.held.into()),
    },
    MetricFamily {
        name: "tollgate_running_jobs",
        kind: MetricKind::Gauge,
        unit: "tasks",
        labels: &[],
        help: "Number of running tasks.",
        samples: |now| gauge(now.census.running.into()),
    },
    MetricFamily {
        name: "tollgate_jobs",
        kind: MetricKind::Gauge,
        unit: "jobs",
        labels: &["state"],
        help: "Jobs in the store by state; an array counts once.",
        samples: |now| {
            let states = now.sums.states.iter();
            let samples =
                states.map(|(state, jobs)| sample("", Some(("state", state)), *jobs as f64));
            samples.collect()
        },
    },
    MetricFamily {
        name: "tollgate_admissions",
        kind: MetricKind::Counter,
        unit: "jobs",
        labels: &["verdict"],
        help: "Submitted jobs, by the answer to the submission.",
        samples: |now| {
            let counts = now.counters.decisions();
            let samples = counts
                .map(|(verdict, count)| sample("_total", Some(("verdict", verdict)), count as f64));
            samples.into()
        },
    },
    MetricFamily {
        name: "tollgate_unpredictable_jobs",
        kind: MetricKind::Counter,
        unit: "jobs",
        labels: &[],
        help: "Submitted jobs whose run time cannot be predicted.",
        samples: |now| counter(now.counters.n_unpredictable() as f64),
    },
    MetricFamily {
        name: "tollgate_quote_seconds",
        kind: MetricKind::Histogram,
        unit: "seconds",
        labels: &["le"],
        help: "Time from the request for a quote to its answer.",
        samples: quote_samples,
    },
    MetricFamily {
        name: "tollgate_commits",
        kind: MetricKind::Counter,
        unit: "batches",
        labels: &[],
        help: "Batches committed since the store was created.",
        samples: |now| counter(now.census.commits as f64),
    },
    MetricFamily {
        name: "tollgate_engine_failures",
        kind: MetricKind::Counter,
        unit: "calls",
        labels: &[],
        help: "Failed calls of the engine.",
        samples: |now| counter(now.census.engine_failures as f64),
    },
    MetricFamily {
        name: "tollgate_jobs_expected_kept",
        kind: MetricKind::Counter,
        unit: "jobs",
        labels: &[],
        help: "Of the promises that were kept or broken, those expected to be kept, by their probabilities.",
        samples: |now| counter(now.sums.expected),
    },
    MetricFamily {
        name: "tollgate_forecasts",
        kind: MetricKind::Counter,
        unit: "jobs",
        labels: &[],
        help: "Finished jobs whose estimate was a quantile of the forecast.",
        samples: |now| counter(now.sums.coverage.jobs as f64),
    },
    MetricFamily {
        name: "tollgate_forecasts_covered",
        kind: MetricKind::Counter,
        unit: "jobs",
        labels: &[],
        help: "Finished jobs that ran no longer than that quantile.",
        samples: |now| counter(now.sums.coverage.covered as f64),
    },
    MetricFamily {
        name: "tollgate_class_changes",
        kind: MetricKind::Counter,
        unit: "classes",
        labels: &["runs"],
        help: "Classes of jobs that took longer or less time than expected, or ran as expected again.",
        samples: |now| {
            let counts = now.census.class_changes;
            let samples = [
                ("longer", counts.longer),
                ("shorter", counts.shorter),
                ("as_expected", counts.settled),
            ];
            let samples =
                samples.map(|(runs, count)| sample("_total", Some(("runs", runs)), count as f64));
            samples.into()
        },
    },
    MetricFamily {
        name: "tollgate_jobs_kept",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &[],
        help: "Jobs whose promise was kept.",
        samples: |now| book_samples(&now.sums.books, BookFamily::Kept),
    },
    MetricFamily {
        name: "tollgate_jobs_broken",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &["cause"],
        help: "Jobs whose promise was broken, by the cause.",
        samples: |now| book_samples(&now.sums.books, BookFamily::Broken),
    },
    MetricFamily {
        name: "tollgate_jobs_void",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &[],
        help: "Jobs with a promise that failed by themselves or were cancelled in time.",
        samples: |now| book_samples(&now.sums.books, BookFamily::Void),
    },
    MetricFamily {
        name: "tollgate_jobs_unpromised",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &["outcome"],
        help: "Jobs whose deadline was not promised, by what became of it.",
        samples: |now| book_samples(&now.sums.books, BookFamily::Unpromised),
    },
    MetricFamily {
        name: "tollgate_jobs_without_deadline",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &[],
        help: "Jobs without a deadline that ran.",
        samples: |now| book_samples(&now.sums.books, BookFamily::WithoutDeadline),
    },
    MetricFamily {
        name: "tollgate_jobs_rejected",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &["deadline"],
        help: "Rejected jobs, by whether they asked for a deadline.",
        samples: |now| book_samples(&now.sums.books, BookFamily::Rejected),
    },
    MetricFamily {
        name: "tollgate_sla_ratio",
        kind: MetricKind::Gauge,
        unit: "ratio, 0 to 1",
        labels: &[],
        help: "Kept promises over submitted jobs with a deadline.",
        samples: |now| ratio(now.sums.books.sla_pct()),
    },
    MetricFamily {
        name: "tollgate_reliability_ratio",
        kind: MetricKind::Gauge,
        unit: "ratio, 0 to 1",
        labels: &[],
        help: "Kept promises over kept and broken ones.",
        samples: |now| ratio(now.sums.books.reliability_pct()),
    },
    MetricFamily {
        name: "tollgate_in_time_ratio",
        kind: MetricKind::Gauge,
        unit: "ratio, 0 to 1",
        labels: &[],
        help: "Jobs in time, promised or not, over submitted jobs with a deadline.",
        samples: |now| ratio(now.sums.books.in_time_pct()),
    },
    MetricFamily {
        name: "tollgate_open_promises",
        kind: MetricKind::Gauge,
        unit: "tasks",
        labels: &[],
        help: "Promises that are neither kept, broken nor void yet.",
        samples: |now| gauge(now.census.open_promises.into()),
    },
    MetricFamily {
        name: "tollgate_open_unpromised",
        kind: MetricKind::Gauge,
        unit: "tasks",
        labels: &[],
        help: "Unfinished tasks whose deadline is not promised.",
        samples: |now| gauge(now.census.open_unpromised.into()),
    },
    MetricFamily {
        name: "tollgate_desktops",
        kind: MetricKind::Gauge,
        unit: "hosts",
        labels: &["use"],
        help: "Connected desktops, by whether others use them now.",
        samples: |now| {
            let counts = now.census.desktops;
            let samples = [("free", counts.free), ("in_use", counts.in_use)];
            samples
                .map(|(state, count)| sample("", Some(("use", state)), count.into()))
                .into()
        },
    },
    MetricFamily {
        name: "tollgate_host_slowdown",
        kind: MetricKind::Gauge,
        unit: "ratio, 1 to 100",
        labels: &["host"],
        help: "How many times as long work takes on hosts that load which is not of jobs slows.",
        samples: |now| {
            let hosts = now.census.slowed_hosts.iter();
            let samples = hosts.map(|(host, load)| {
                sample("", Some(("host", host.as_str())), load.slowdown.as_f64())
            });
            samples.collect()
        },
    },
    MetricFamily {
        name: "tollgate_evictions",
        kind: MetricKind::Counter,
        unit: "attempts",
        labels: &["cause"],
        help: "Attempts that were evicted or lost with their computers, by the cause.",
        samples: |now| {
            let counts = now.census.evictions.by_cause.iter();
            let samples = counts.map(|(cause, count, _)| {
                sample("_total", Some(("cause", cause.key())), *count as f64)
            });
            samples.collect()
        },
    },
    MetricFamily {
        name: "tollgate_evicted_seconds",
        kind: MetricKind::Counter,
        unit: "seconds",
        labels: &["cause"],
        help: "Time for which evicted attempts held their computers.",
        samples: |now| {
            let counts = now.census.evictions.by_cause.iter();
            let samples = counts.map(|(cause, _, held)| {
                sample("_total", Some(("cause", cause.key())), held.as_secs_f64())
            });
            samples.collect()
        },
    },
    MetricFamily {
        name: "tollgate_abandoned",
        kind: MetricKind::Counter,
        unit: "tasks",
        labels: &[],
        help: "Evicted tasks that a rule does not try again.",
        samples: |now| counter(now.census.evictions.abandoned as f64),
    },
    MetricFamily {
        name: "tollgate_clock_ahead_seconds",
        kind: MetricKind::Gauge,
        unit: "seconds",
        labels: &[],
        help: "How far the service's clock is ahead of its host's; 0 up to a minute.",
        samples: |now| gauge(now.census.clock_ahead.map_or(0.0, Span::as_secs_f64)),
    },
    MetricFamily {
        name: "tollgate_start_time_seconds",
        kind: MetricKind::Gauge,
        unit: "seconds since 1970",
        labels: &[],
        help: "Start of the service, in seconds since 1970.",
        samples: |now| gauge(now.up_since_s),
    },
];

/// Writes every metric that has a sample.
pub(super) fn write(now: &MetricReadings<'_>) -> String {
    let mut text = MetricsText::new();
    for family in METRICS {
        let samples = (family.samples)(now);
        if !samples.is_empty() {
            text.family(family, &samples);
        }
    }
    text.finish()
}

fn quote_samples(now: &MetricReadings<'_>) -> Vec<MetricSample> {
    let mut count = 0;
    let mut samples = Vec::new();
    let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
    for (quotes, bound) in now.counters.quotes.iter().zip(bounds) {
        count += quotes.load(Relaxed);
        let bound = text::number(bound);
        samples.push(sample("_bucket", Some(("le", &bound)), count as f64));
    }
    let micros = now.counters.quotes_micros.load(Relaxed);
    samples.push(sample("_sum", None, micros as f64 / 1e6));
    samples.push(sample("_count", None, count as f64));
    samples
}

//! Metrics of the whole service as OpenMetrics: counts without users.

mod books;
mod text;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use text::MetricsText;
use tollgate_client::types::{JobDecision, WireWord};
use tollgate_model::{Books, Span};
use tollgate_store::{EstimateCoverage, StoreError};

use super::error::ApiError;
use super::state::{ApiState, ask_controller, query_store};
use crate::controller::{ControllerRequest, StatusSnapshot};

/// Media type of the response.
pub(super) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the quote histogram, in seconds.
const BOUNDS: [f64; 10] = [
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0,
];
/// Maximum age of cached job totals, so that a client that polls every second does not keep the
/// disk busy.
const TOTALS_TTL: Duration = Duration::from_secs(30);

/// Counters since the start of the service.
#[derive(Debug, Default)]
pub struct ServiceMetrics {
    accepted: AtomicU64,
    queued: AtomicU64,
    waitlisted: AtomicU64,
    unpromised: AtomicU64,
    deferred: AtomicU64,
    rejected: AtomicU64,
    /// Number of quotes by latency: one count per bound, then one for longer quotes.
    quotes: [AtomicU64; BOUNDS.len() + 1],
    quotes_micros: AtomicU64,
    totals: Mutex<Option<(Instant, Arc<JobTotals>)>>,
}

/// Totals over all jobs ever submitted.
#[derive(Debug)]
struct JobTotals {
    states: Vec<(String, u64)>,
    /// Expected number of kept promises among those that were kept or broken.
    expected: f64,
    books: Books,
    coverage: EstimateCoverage,
}

impl ServiceMetrics {
    /// Counts a submission.
    pub(super) fn record_decision(&self, decision: &WireWord<JobDecision>) {
        let Some(decision) = decision.known() else {
            return;
        };
        let count = match decision {
            JobDecision::Accepted => &self.accepted,
            JobDecision::Queued => &self.queued,
            JobDecision::Waitlisted => &self.waitlisted,
            JobDecision::Unpromised => &self.unpromised,
            JobDecision::Deferred => &self.deferred,
            JobDecision::Rejected => &self.rejected,
        };
        count.fetch_add(1, Relaxed);
    }

    /// Counts a quote that took `took`.
    pub(super) fn record_quote(&self, took: Duration) {
        let place = BOUNDS.partition_point(|&bound| bound < took.as_secs_f64());
        self.quotes[place].fetch_add(1, Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.quotes_micros.fetch_add(micros, Relaxed);
    }

    fn write(&self, census: &StatusSnapshot, sums: &JobTotals, up_since_s: f64) -> String {
        let mut text = MetricsText::new();
        for (name, help, value) in [
            ("tollgate_nodes", "Number of nodes.", census.nodes),
            ("tollgate_nodes_idle", "Number of idle nodes.", census.idle),
            (
                "tollgate_queue_jobs",
                "Number of queued tasks.",
                census.queued,
            ),
            ("tollgate_held_jobs", "Number of held tasks.", census.held),
            (
                "tollgate_running_jobs",
                "Number of running tasks.",
                census.running,
            ),
        ] {
            text.family(name, "gauge", help)
                .sample(name, &[], f64::from(value));
        }
        let name = "tollgate_jobs";
        text.family(
            name,
            "gauge",
            "Jobs in the store by state; an array counts once.",
        );
        for (state, jobs) in &sums.states {
            text.sample(name, &[("state", state)], *jobs as f64);
        }
        let name = "tollgate_admissions";
        text.family(
            name,
            "counter",
            "Submitted jobs, by the answer to the submission.",
        );
        for (verdict, count) in [
            ("accepted", &self.accepted),
            ("queued", &self.queued),
            ("waitlisted", &self.waitlisted),
            ("unpromised", &self.unpromised),
            ("deferred", &self.deferred),
            ("rejected", &self.rejected),
        ] {
            let count = count.load(Relaxed) as f64;
            text.sample("tollgate_admissions_total", &[("verdict", verdict)], count);
        }
        self.write_quotes(&mut text);
        for (name, help, value) in [
            (
                "tollgate_commits",
                "Batches committed since the store was created.",
                census.commits as f64,
            ),
            (
                "tollgate_engine_failures",
                "Failed calls of the engine.",
                census.engine_failures as f64,
            ),
            (
                "tollgate_jobs_expected_kept",
                "Of the promises that were kept or broken, those expected to be kept, by their probabilities.",
                sums.expected,
            ),
            (
                "tollgate_forecasts",
                "Finished jobs whose estimate was a quantile of the forecast.",
                sums.coverage.jobs as f64,
            ),
            (
                "tollgate_forecasts_covered",
                "Finished jobs that ran no longer than that quantile.",
                sums.coverage.covered as f64,
            ),
        ] {
            text.family(name, "counter", help)
                .sample(&format!("{name}_total"), &[], value);
        }
        books::write(&mut text, &sums.books);
        for (name, help, value) in [
            (
                "tollgate_open_promises",
                "Promises that are neither kept, broken nor void yet.",
                census.open_promises,
            ),
            (
                "tollgate_open_unpromised",
                "Unfinished tasks whose deadline is not promised.",
                census.open_unpromised,
            ),
        ] {
            text.family(name, "gauge", help)
                .sample(name, &[], f64::from(value));
        }
        let name = "tollgate_clock_ahead_seconds";
        let help = "How far the service's clock is ahead of its host's; 0 up to a minute.";
        let ahead_s = census.clock_ahead.map_or(0.0, Span::as_secs_f64);
        text.family(name, "gauge", help).sample(name, &[], ahead_s);
        let name = "tollgate_start_time_seconds";
        let help = "Start of the service, in seconds since 1970.";
        text.family(name, "gauge", help)
            .sample(name, &[], up_since_s);
        text.finish()
    }

    fn write_quotes(&self, text: &mut MetricsText) {
        let name = "tollgate_quote_seconds";
        text.family(
            name,
            "histogram",
            "Time from the request for a quote to its answer.",
        );
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (quotes, bound) in self
            .quotes
            .iter()
            .zip(BOUNDS.into_iter().chain([f64::INFINITY]))
        {
            count += quotes.load(Relaxed);
            text.sample(&bucket, &[("le", &text::number(bound))], count as f64);
        }
        let micros = self.quotes_micros.load(Relaxed);
        text.sample(&format!("{name}_sum"), &[], micros as f64 / 1e6);
        text.sample(&format!("{name}_count"), &[], count as f64);
    }
}

pub(super) async fn metrics(
    State(service): State<ApiState>,
) -> Result<impl IntoResponse, ApiError> {
    let census = |reply| ControllerRequest::Status { user: None, reply };
    let census = ask_controller(&service, census).await?;
    let sums = totals(&service).await?;
    let since_s = service.info.since.as_micros() as f64 / 1e6;
    let text = service.metrics.write(&census, &sums, since_s);
    Ok(([(CONTENT_TYPE, MEDIA_TYPE)], text))
}

async fn totals(service: &ApiState) -> Result<Arc<JobTotals>, ApiError> {
    let kept = &service.metrics.totals;
    if let Some((at, sums)) = &*kept.lock().unwrap_or_else(PoisonError::into_inner)
        && at.elapsed() < TOTALS_TTL
    {
        return Ok(Arc::clone(sums));
    }
    let sums = query_store(service, |reader| -> Result<JobTotals, StoreError> {
        let bins = reader.calibration(None)?;
        Ok(JobTotals {
            states: reader.states()?,
            // Not `sum`, which starts at -0.
            expected: bins.iter().fold(0.0, |sum, (_, bin)| sum + bin.expected),
            books: reader.objective_sums(None)?.books,
            coverage: reader.coverage()?,
        })
    });
    let sums = Arc::new(sums.await?);
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    *kept = Some((Instant::now(), Arc::clone(&sums)));
    Ok(sums)
}

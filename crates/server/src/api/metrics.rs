//! Metrics of the whole service as OpenMetrics: counts without users.
//!
//! | module | contents |
//! |---|---|
//! | `families` | the table of metrics |
//! | `books` | those of the books |
//! | `text` | the text format |

mod books;
mod families;
mod text;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use tollgate_client::types::{JobDecision, SubmitResponse};
use tollgate_model::Books;
use tollgate_store::{EstimateCoverage, StoreError};

use super::error::ApiError;
use super::state::{ApiState, query_controller, query_store};
use crate::controller::{ControllerRequest, StatusSnapshot};

pub use families::{METRICS, MetricFamily, MetricKind};

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
    /// Number of submissions whose run time cannot be predicted.
    unpredictable: AtomicU64,
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
    pub(super) fn record_decision(&self, answer: &SubmitResponse) {
        if answer.unpredictable.is_some() {
            self.unpredictable.fetch_add(1, Relaxed);
        }
        let Some(decision) = answer.decision.known() else {
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

    /// Returns the number of submissions whose run time cannot be predicted.
    fn n_unpredictable(&self) -> u64 {
        self.unpredictable.load(Relaxed)
    }

    /// Counts a quote that took `took`.
    pub(super) fn record_quote(&self, took: Duration) {
        let place = BOUNDS.partition_point(|&bound| bound < took.as_secs_f64());
        self.quotes[place].fetch_add(1, Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.quotes_micros.fetch_add(micros, Relaxed);
    }

    /// Returns the number of submissions by the answer, in the words of the API.
    fn decisions(&self) -> [(&'static str, u64); 6] {
        [
            ("accepted", &self.accepted),
            ("queued", &self.queued),
            ("waitlisted", &self.waitlisted),
            ("unpromised", &self.unpromised),
            ("deferred", &self.deferred),
            ("rejected", &self.rejected),
        ]
        .map(|(verdict, count)| (verdict, count.load(Relaxed)))
    }
}

/// All that metrics are read from.
#[derive(Debug)]
struct MetricReadings<'a> {
    counters: &'a ServiceMetrics,
    census: &'a StatusSnapshot,
    sums: &'a JobTotals,
    /// Start of the service, in seconds since 1970.
    up_since_s: f64,
}

pub(super) async fn metrics(
    State(service): State<ApiState>,
) -> Result<impl IntoResponse, ApiError> {
    let census = |reply| ControllerRequest::Status { user: None, reply };
    let census = query_controller(&service, census).await?;
    let sums = totals(&service).await?;
    let since_s = service.info.since.as_micros() as f64 / 1e6;
    let text = families::write(&MetricReadings {
        counters: &service.metrics,
        census: &census,
        sums: &sums,
        up_since_s: since_s,
    });
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

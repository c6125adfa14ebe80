//! The present of a queue that another scheduler serves: what runs, and what starts next.

use serde::Serialize;
use tollgate_client::PathWithQuery;
use tollgate_client::types::{JobDetails, JobList, JobState, ServiceStatus};
use tollgate_overview::job_facts::job_id;
use tollgate_overview::words::{count, instant};

use super::{PageError, PagePart};
use crate::router::SessionWindow;
use crate::templates;

/// Maximum number of jobs that are asked for: the first to start may be the last in a list by number.
const MAX_JOBS: usize = 10_000;
/// Number of rows of a table.
const SHOWN_ROWS: usize = 25;

/// The answers that the page is made of.
#[derive(Clone, Debug)]
pub struct QueueAnswers {
    /// The state of the cluster.
    pub status: ServiceStatus,
    /// The jobs that are not over, each with what is expected of it.
    pub live: JobList,
}

/// A job that waits or runs.
#[derive(Debug, Serialize)]
struct QueuePageRow {
    id: String,
    user: String,
    queue: Option<String>,
    procs: u32,
    started_at: Option<String>,
    start_at: Option<String>,
    latest_start_at: Option<String>,
    finish_at: Option<String>,
    latest_finish_at: Option<String>,
    why: Option<String>,
}

/// The page.
#[derive(Debug, Serialize)]
struct QueuePageView<'a> {
    status: &'a ServiceStatus,
    in_use: u32,
    waiting: String,
    next: Vec<QueuePageRow>,
    running: Vec<QueuePageRow>,
    /// Number of jobs that the tables leave out.
    more: usize,
}

/// Returns the page.
pub(crate) async fn page(window: &SessionWindow) -> Result<PagePart, PageError> {
    let service = &window.client.service;
    let jobs = PathWithQuery::new("/v1/jobs")
        .with("limit", MAX_JOBS)
        .with("live", true)
        .with("expect", true);
    let status = PathWithQuery::new("/v1/status");
    let (status, live) = tokio::try_join!(service.get(&status), service.get(&jobs))?;
    Ok(PagePart(render(&QueueAnswers { status, live })))
}

/// Renders the page.
pub fn render(answers: &QueueAnswers) -> String {
    let QueueAnswers { status, live } = answers;
    let is = |state: JobState| move |job: &&JobDetails| job.state.known() == Some(state);
    let mut waiting: Vec<&JobDetails> = live.jobs.iter().filter(is(JobState::Queued)).collect();
    let mut running: Vec<&JobDetails> = live.jobs.iter().filter(is(JobState::Running)).collect();
    // Jobs without an expectation come last, those of one instant by number.
    waiting.sort_by_key(|job| {
        let expected = job.expected.as_ref();
        let start = expected.and_then(|expected| instant(&expected.expected_start_at));
        (start.is_none(), start, job.id, job.task)
    });
    running.sort_by_key(|job| {
        let expected = job.expected.as_ref();
        let end = expected.and_then(|expected| instant(&expected.expected_finish_at));
        (end.is_none(), end, job.id, job.task)
    });
    let left_out = |jobs: &[&JobDetails]| jobs.len().saturating_sub(SHOWN_ROWS);
    let rows = |jobs: &[&JobDetails]| jobs.iter().take(SHOWN_ROWS).map(|job| row(job)).collect();
    let view = QueuePageView {
        status,
        in_use: status.nodes.saturating_sub(status.idle_nodes),
        waiting: match status.held {
            0 => "none is held".to_owned(),
            held => format!("{} held beside them", count(u64::from(held), "job")),
        },
        next: rows(&waiting),
        running: rows(&running),
        more: left_out(&waiting) + left_out(&running),
    };
    templates::render("queue", &view)
}

fn row(job: &JobDetails) -> QueuePageRow {
    let expected = job.expected.as_ref();
    QueuePageRow {
        id: job_id(job),
        user: job.user.clone(),
        queue: job.queue.clone(),
        procs: job.procs,
        started_at: job.started_at.clone(),
        start_at: expected.map(|expected| expected.expected_start_at.clone()),
        latest_start_at: expected.and_then(|expected| expected.latest_start_at.clone()),
        finish_at: expected.map(|expected| expected.expected_finish_at.clone()),
        latest_finish_at: expected.map(|expected| expected.latest_finish_at.clone()),
        why: job.waits_for.as_ref().map(|waits| waits.text.clone()),
    }
}

//! The present: promises, the nodes over time, the least sure promises, and what starts next.
//!
//! | module | contents |
//! |---|---|
//! | `rows` | nodes as rows |
//! | `drawing` | the chart of nodes over time |

mod drawing;
mod rows;

use axum::Extension;
use axum::extract::Query;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    JobDetails, JobList, LedgerReport, NodeList, PlacementList, PromiseSelection,
    ServiceObjectives, ServiceStatus, WireVocabulary,
};
use tollgate_client::{ClientError, PathWithQuery};
use tollgate_model::{Instant, Span};
use tollgate_overview::job_facts::job_id;
use tollgate_overview::outlook::{
    OpenPromise, expected_kept, is_waiting, least_sure_promises, waiting_jobs,
};
use tollgate_overview::words::{self, instant, seconds, span};

use self::rows::{ChartNodeRows, NodePart};
use super::{PageError, PagePart, now_in, queue};
use crate::charts::ChartWidth;
use crate::router::{SessionWindow, WindowServer};
use crate::templates;

/// Maximum number of jobs that are asked for, and of rows of the tables.
const MAX_JOBS: usize = 500;
const SHOWN_ROWS: usize = 6;
/// Maximum number of rows of the table that has the same as the chart. A browser is busy with each of them.
const SHOWN_SAME: usize = 100;
/// The least and the greatest time that is shown on either side of the present, in seconds.
const MIN_SIDE_S: f64 = 60.0;
const MAX_SIDE_S: f64 = 7.0 * 86_400.0;
/// The time that is shown of a service without jobs, in seconds.
const IDLE_SIDE_S: f64 = 900.0;
/// The part of the time after the present that is shown before it.
const PAST_PART: f64 = 0.8;

/// The answers that the page is made of.
#[derive(Clone, Debug)]
pub struct NowAnswers {
    /// The state of the service.
    pub status: ServiceStatus,
    /// The books.
    pub objectives: ServiceObjectives,
    /// The ledger.
    pub ledger: LedgerReport,
    /// The nodes.
    pub nodes: NodeList,
    /// The jobs that are not over, each with what is expected of it.
    pub live: JobList,
    /// The jobs that ended lately.
    pub ended: Vec<JobDetails>,
    /// The nodes that jobs take, and took lately.
    pub placements: PlacementList,
    /// The zone of the browser, in seconds east of UTC.
    pub offset_s: i64,
    /// Number of nodes before those in the chart.
    pub first_node: usize,
}

/// A figure with what it is.
#[derive(Debug, Serialize)]
struct Fact {
    name: &'static str,
    value: String,
    words: String,
    time: Option<String>,
    /// The promise of the jobs that the figure counts, for a link to the list.
    promise: Option<&'static str>,
    is_alarm: bool,
}

/// A promise that is among the least sure.
#[derive(Debug, Serialize)]
struct UnsureRow {
    id: String,
    name: String,
    probability: f64,
    due_in: String,
    spare: String,
    is_late: bool,
}

/// A job that is among the next to start.
#[derive(Debug, Serialize)]
struct NextRow {
    id: String,
    name: String,
    procs: u32,
    starts_at: Option<String>,
    why: Option<String>,
}

/// A job in the table that has the same as the chart.
#[derive(Debug, Serialize)]
struct SameRow {
    id: String,
    name: String,
    state: String,
    host: Option<String>,
    started_at: Option<String>,
    finish_at: Option<String>,
    latest_at: Option<String>,
    deadline_at: Option<String>,
    probability: Option<f64>,
}

/// The page.
#[derive(Debug, Serialize)]
struct NowView<'a> {
    status: &'a ServiceStatus,
    facts: Vec<Fact>,
    wide: String,
    narrow: String,
    has_jobs: bool,
    nodes: NodePart,
    unsure: Vec<UnsureRow>,
    next: Vec<NextRow>,
    /// Number of waiting tasks: those of arrays that run, where no job waits as a whole.
    n_waiting: u32,
    same: Vec<SameRow>,
    /// Number of jobs that the table leaves out.
    same_more: usize,
}

/// The nodes that are looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeSelection {
    /// Number of nodes before them.
    nodes: usize,
}

/// Returns the page.
pub(crate) async fn page(
    Extension(window): Extension<SessionWindow>,
    Query(selection): Query<NodeSelection>,
    headers: HeaderMap,
) -> Result<PagePart, PageError> {
    if window.server == WindowServer::Follower {
        return queue::page(&window).await;
    }
    let offset_s = now_in(&headers).offset().seconds().into();
    let answers = answers(&window, offset_s, selection.nodes).await?;
    Ok(PagePart(render(&answers)))
}

async fn answers(
    window: &SessionWindow,
    offset_s: i64,
    first_node: usize,
) -> Result<NowAnswers, ClientError> {
    let path = |path: &str| PathWithQuery::new(path);
    let jobs = || path("/v1/jobs").with("limit", MAX_JOBS);
    let live = jobs().with("live", true).with("expect", true);
    let (service, status) = (&window.client.service, path("/v1/status"));
    let (status, live): (ServiceStatus, JobList) =
        tokio::try_join!(service.get(&status), service.get(&live))?;
    let now = instant(&status.now_at).unwrap_or(Instant::from_micros(0));
    let past = Span::from_secs_f64(past_s(future_s(&live.jobs, now)));
    let since = Instant::from_micros(now.as_micros() - past.as_micros());
    let placements = path("/v1/placements").with("since", format_iso(since));
    let ended = jobs().with("since", format_iso(since));
    let (objectives, ledger, nodes) = (
        path("/v1/objectives"),
        path("/v1/ledger"),
        path("/v1/nodes"),
    );
    let answers: (JobList, _, _, _, _) = tokio::try_join!(
        service.get(&ended),
        service.get(&placements),
        service.get(&objectives),
        service.get(&ledger),
        service.get(&nodes),
    )?;
    let (ended, placements, objectives, ledger, nodes) = answers;
    let ended = ended
        .jobs
        .into_iter()
        .filter(|job| job.finished_at.is_some());
    Ok(NowAnswers {
        ended: ended.collect(),
        placements,
        objectives,
        ledger,
        nodes,
        status,
        live,
        offset_s,
        first_node,
    })
}

/// Returns the time after the present that a chart of these jobs shows, in seconds.
fn future_s(live: &[JobDetails], now: Instant) -> f64 {
    let ends = live.iter().filter_map(|job| {
        let expected = job.expected.as_ref()?;
        Some(seconds(now, instant(&expected.expected_finish_at)?))
    });
    match ends.fold(0.0, f64::max) {
        0.0 if live.is_empty() => IDLE_SIDE_S,
        last => (last * 1.25).clamp(MIN_SIDE_S, MAX_SIDE_S),
    }
}

/// Returns the time before the present that a chart shows, in seconds, from that after it.
fn past_s(future_s: f64) -> f64 {
    (future_s * PAST_PART).max(MIN_SIDE_S)
}

/// Renders the page.
pub fn render(answers: &NowAnswers) -> String {
    let now = instant(&answers.status.now_at).unwrap_or(Instant::from_micros(0));
    let rows = ChartNodeRows::of(&answers.nodes, answers.first_node);
    let nodes = rows.part;
    let chart = drawing::timeline(answers, rows, now);
    let waiting = waiting_jobs(&answers.live.jobs);
    let view = NowView {
        status: &answers.status,
        facts: facts(answers, &waiting),
        has_jobs: !chart.bars.is_empty() || !chart.waiting.is_empty(),
        wide: chart.draw(ChartWidth::Wide),
        narrow: chart.draw(ChartWidth::Narrow),
        nodes,
        unsure: unsure(&answers.live.jobs, now),
        next: waiting
            .iter()
            .take(SHOWN_ROWS)
            .map(|job| next(job))
            .collect(),
        n_waiting: answers.status.queued + answers.status.held,
        same: same(answers, &waiting),
        same_more: (answers.live.jobs.len() + answers.ended.len()).saturating_sub(SHOWN_SAME),
    };
    templates::render("now", &view)
}

fn facts(answers: &NowAnswers, waiting: &[&JobDetails]) -> Vec<Fact> {
    let NowAnswers {
        status, objectives, ..
    } = answers;
    let plain = |name, value: String, words: String| Fact {
        name,
        value,
        words,
        time: None,
        promise: None,
        is_alarm: false,
    };
    let ended = objectives.kept + objectives.broken;
    let waits = status.queued + status.held;
    let done = waiting.iter().filter_map(|job| job.expected.as_ref());
    let done = done.map(|expected| &expected.expected_finish_at).max();
    let today = answers.status.now_at.get(..10).unwrap_or_default();
    let earned = answers
        .ledger
        .accounts
        .iter()
        .filter(|entry| entry.day == today);
    let (earned, penalties) = earned.fold((0.0, 0.0), |(earned, lost), entry| {
        (earned + entry.utility, lost - entry.penalties)
    });
    let mut facts = vec![
        plain(
            "open promises",
            status.open_promises.to_string(),
            expected_kept(&answers.live),
        ),
        Fact {
            is_alarm: status.at_risk > 0,
            promise: Some(PromiseSelection::AtRisk.key()),
            ..plain(
                "at risk",
                status.at_risk.to_string(),
                "less than 80 % sure".to_owned(),
            )
        },
        plain(
            "run",
            status.running.to_string(),
            format!(
                "on {} of {} nodes",
                status.nodes.saturating_sub(status.idle_nodes),
                status.nodes
            ),
        ),
        Fact {
            time: done.cloned(),
            ..plain(
                "wait",
                waits.to_string(),
                match (waits, done) {
                    (0, _) => "nothing waits".to_owned(),
                    (_, Some(_)) => "all should be done by".to_owned(),
                    (_, None) => "end not known".to_owned(),
                },
            )
        },
        Fact {
            promise: Some(PromiseSelection::Kept.key()),
            ..plain(
                "kept so far",
                words::part(objectives.kept, ended),
                format!("of {} with a known end", words::count(ended, "promise")),
            )
        },
    ];
    let lost = words::amount(penalties);
    facts.push(plain(
        "earned today",
        words::amount(earned),
        format!("credits, {lost} lost to penalties"),
    ));
    facts
}

fn unsure(live: &[JobDetails], now: Instant) -> Vec<UnsureRow> {
    let row = |open: OpenPromise<'_>| {
        let left = seconds(now, open.due);
        UnsureRow {
            id: job_id(open.job),
            name: open.job.name.clone(),
            probability: open.probability,
            due_in: match left < 0.0 {
                true => format!("{} ago", span(left)),
                false => span(left),
            },
            spare: open.spare_words(),
            is_late: open.may_be_late(),
        }
    };
    let open = least_sure_promises(live).into_iter();
    open.take(SHOWN_ROWS).map(row).collect()
}

fn next(job: &JobDetails) -> NextRow {
    NextRow {
        id: job_id(job),
        name: job.name.clone(),
        procs: job.procs,
        starts_at: job
            .expected
            .as_ref()
            .map(|all| all.expected_start_at.clone()),
        why: job.waits_for.as_ref().map(|waits| waits.text.clone()),
    }
}

/// Returns the rows of the table with what the chart has: jobs that run, that wait, and that ended lately.
fn same(answers: &NowAnswers, waiting: &[&JobDetails]) -> Vec<SameRow> {
    let live = answers.live.jobs.iter();
    let others = live.filter(|job| !is_waiting(job));
    let all = others.chain(waiting.iter().copied()).chain(&answers.ended);
    let rows = all.take(SHOWN_SAME).map(|job| {
        let expected = job.expected.as_ref();
        let finish = expected.map(|expected| expected.expected_finish_at.clone());
        SameRow {
            id: job_id(job),
            name: job.name.clone(),
            state: job.state.to_string(),
            host: job.hosts.clone().or_else(|| job.host.clone()),
            started_at: job
                .started_at
                .clone()
                .or_else(|| expected.map(|expected| expected.expected_start_at.clone())),
            finish_at: job.finished_at.clone().or(finish),
            latest_at: expected.map(|expected| expected.latest_finish_at.clone()),
            deadline_at: job.deadline_at.clone(),
            probability: expected.and_then(|expected| expected.probability),
        }
    });
    rows.collect()
}

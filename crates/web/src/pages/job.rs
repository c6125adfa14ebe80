//! One job: what happened and why, when it should end, its details and its output.

use axum::extract::{Path, Query};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use tollgate_client::types::{
    JobDetails, JobExplanation, JobForecast, JobHistory, JobList, JobRef, ServiceStatus,
};
use tollgate_client::{ClientError, PathWithQuery};
use tollgate_overview::actions::JobStateChange;
use tollgate_overview::job_facts::{self, ColouredWords, WordTone, job_id};
use tollgate_overview::output::{ShownOutput, read_output};
use tollgate_overview::words;

use super::{ActionDone, PageError, PagePart, grant, now_in};
use crate::charts::ChartWidth;
use crate::charts::expectation::ExpectationChart;
use crate::forwarding::{client_problem, problem};
use crate::router::{SessionWindow, WindowServer};
use crate::templates;

/// The change of the probability that counts as a turn.
const FORECAST_TURN: f64 = 0.15;
/// Maximum number of tasks of an array that are shown.
const SHOWN_TASKS: usize = 100;

/// The job in the address of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobSelection {
    id: String,
}

/// The answers that the page of a job is made of.
#[derive(Clone, Debug)]
pub struct JobAnswers {
    /// The explanation.
    pub explained: JobExplanation,
    /// The tasks of an array; none of another job.
    pub tasks: Option<JobList>,
    /// The turns of the job, and its expectations as time went by.
    pub history: JobHistory,
    /// The output.
    pub output: ShownOutput,
    /// The zone of the browser, in seconds east of UTC.
    pub offset_s: i64,
    /// Whether the user operates the service.
    pub may_operate: bool,
}

/// An event of a job.
#[derive(Debug, Serialize)]
struct HistoryEvent {
    at: String,
    text: String,
}

/// A button of a job.
#[derive(Debug, Serialize)]
struct JobButton {
    action: &'static str,
    words: &'static str,
    class: &'static str,
    question: Option<String>,
}

/// A task of an array.
#[derive(Debug, Serialize)]
struct TaskRow {
    id: String,
    state: ColouredWords,
    started_at: Option<String>,
    finished_at: Option<String>,
    /// The expected start of a task that waits.
    expected_start_at: Option<String>,
    /// The expected end of a task that is not over.
    expected_finish_at: Option<String>,
    host: Option<String>,
}

/// The page of a job.
#[derive(Debug, Serialize)]
struct JobView<'a> {
    id: String,
    job: &'a JobDetails,
    command: String,
    tag: ColouredWords,
    history: Vec<HistoryEvent>,
    chart: Option<[String; 2]>,
    words: Vec<&'a str>,
    expected: Option<&'a JobForecast>,
    promised: Option<f64>,
    chance: Option<f64>,
    is_promised: bool,
    is_over: bool,
    details: Vec<(&'static str, String)>,
    buttons: Vec<JobButton>,
    may_alter: bool,
    may_grant: bool,
    tasks: Vec<TaskRow>,
    more_tasks: bool,
    output: &'a ShownOutput,
}

/// Returns the page.
pub(crate) async fn page(
    Extension(window): Extension<SessionWindow>,
    Query(selection): Query<JobSelection>,
    headers: HeaderMap,
) -> Result<PagePart, PageError> {
    let id = checked_id(&selection.id)?;
    let path = |what: &str| PathWithQuery::new(format!("/v1/jobs/{id}{what}"));
    let explained: JobExplanation = window.client.service.get(&path("/explain")).await?;
    let tasks = match explained.job.array {
        Some(_) => {
            let tasks = path("/tasks")
                .with("limit", SHOWN_TASKS)
                .with("expect", true);
            Some(window.client.service.get(&tasks).await?)
        }
        None => None,
    };
    let output = match window.server {
        WindowServer::Open | WindowServer::Service => {
            let client = &window.client;
            read_output(&client.service, &client.host, &explained.job).await?
        }
        WindowServer::Follower => ShownOutput {
            text: None,
            note: "The outputs of jobs of another scheduler are not read.".to_owned(),
        },
    };
    let status = PathWithQuery::new("/v1/status");
    let status: ServiceStatus = window.client.service.get(&status).await?;
    let answers = JobAnswers {
        history: window.client.service.get(&path("/history")).await?,
        offset_s: now_in(&headers).offset().seconds().into(),
        explained,
        tasks,
        output,
        may_operate: status.may_operate,
    };
    Ok(PagePart(render(&answers, window.read_only)))
}

/// Carries out a button.
pub(crate) async fn act(
    Extension(window): Extension<SessionWindow>,
    Path((id, action)): Path<(String, String)>,
) -> Response {
    let Some(change) = JobStateChange::from_verb(&action) else {
        return problem(StatusCode::NOT_FOUND, "unknown action", None);
    };
    let Ok(id) = checked_id(&id) else {
        return problem(StatusCode::NOT_FOUND, "unknown job", None);
    };
    let path = PathWithQuery::new(format!("/v1/jobs/{id}/{action}"));
    let answer: Result<JobRef, ClientError> = window.client.service.post(&path, &()).await;
    match answer {
        Ok(_) => Json(ActionDone {
            done: change.done(id),
        })
        .into_response(),
        Err(error) => client_problem(&error),
    }
}

/// Returns the number of a job or task, which becomes part of a path.
pub(super) fn checked_id(id: &str) -> Result<&str, PageError> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (job, task) = id.split_once('_').unwrap_or((id, "0"));
    match is_number(job) && is_number(task) {
        true => Ok(id),
        false => Err(PageError::Unknown(
            "expected the number of a job, as in job?id=7".to_owned(),
        )),
    }
}

/// Renders the page of a job.
pub fn render(answers: &JobAnswers, read_only: bool) -> String {
    let JobAnswers {
        explained,
        tasks,
        output,
        ..
    } = answers;
    let job = &explained.job;
    let tasks = tasks.as_ref();
    let view = JobView {
        id: job_id(job),
        job,
        command: job_facts::command_line(&job.command),
        tag: tag(job),
        history: history(&answers.history),
        chart: chart(answers),
        words: sentences(answers),
        expected: explained.expected.as_ref(),
        promised: job.promised_probability,
        chance: explained
            .expected
            .as_ref()
            .and_then(|expected| expected.probability),
        is_promised: job_facts::is_promised(job),
        is_over: job.state.is_over(),
        details: details(job),
        may_grant: answers.may_operate && !read_only && grant::is_possible(job),
        may_alter: !read_only && !job.state.is_over() && job.task.is_none(),
        buttons: if read_only { Vec::new() } else { buttons(job) },
        tasks: tasks.map_or_else(Vec::new, |list| list.jobs.iter().map(task_row).collect()),
        more_tasks: tasks.is_some_and(|list| list.more),
        output,
    };
    templates::render("job", &view)
}

/// Returns the sentences of the explanation that say more than the state and the history.
fn sentences(answers: &JobAnswers) -> Vec<&str> {
    let state = answers.explained.job.state.to_string();
    let words = answers.explained.words.iter().map(String::as_str);
    let is_known = |words: &str| {
        let mut turns = answers.history.turns.iter();
        turns.any(|turn| turn.text.contains(words))
    };
    words
        .filter(|words| *words != state && !is_known(words))
        .collect()
}

/// Returns the words beside the title: what became of the promise, or the state.
fn tag(job: &JobDetails) -> ColouredWords {
    match job_facts::outcome(job) {
        Some(outcome) => ColouredWords {
            text: match outcome.class {
                WordTone::Bad => format!("promise broken: {}", outcome.text),
                WordTone::Plain | WordTone::Good | WordTone::Dim => outcome.text,
            },
            class: outcome.class,
        },
        None => job_facts::state(job),
    }
}

/// Returns the turns of a job, and between them those of its forecast.
fn history(history: &JobHistory) -> Vec<HistoryEvent> {
    let turns = history.turns.iter().map(|turn| HistoryEvent {
        at: turn.at.clone(),
        text: match &turn.tasks {
            Some(tasks) => format!("tasks {tasks}: {}", turn.text),
            None => turn.text.clone(),
        },
    });
    let mut events: Vec<HistoryEvent> = turns.collect();
    let mut before: Option<f64> = None;
    for sample in &history.samples {
        let (Some(now), at) = (sample.probability, &sample.at) else {
            continue;
        };
        match before {
            Some(then) if (now - then).abs() < FORECAST_TURN => continue,
            Some(then) => events.push(HistoryEvent {
                at: at.clone(),
                text: format!(
                    "forecast moved: {} to {} sure",
                    words::percent(then),
                    words::percent(now)
                ),
            }),
            None => {}
        }
        before = Some(now);
    }
    events.sort_by_key(|event| words::instant(&event.at));
    events
}

/// Returns the chart of the expected ends, for both widths. None without enough of them.
fn chart(answers: &JobAnswers) -> Option<[String; 2]> {
    let (job, history) = (&answers.explained.job, &answers.history);
    let at = |words: &Option<String>| words.as_deref().and_then(words::instant);
    let chart = ExpectationChart {
        samples: &history.samples,
        due: at(&job.deadline_at),
        started: at(&job.started_at),
        ended: at(&job.finished_at).filter(|_| job.started_at.is_some()),
        now: words::instant(&history.now_at)?,
        offset_s: answers.offset_s,
    };
    Some([
        chart.draw(ChartWidth::Wide)?,
        chart.draw(ChartWidth::Narrow)?,
    ])
}

/// Returns facts that need no time.
fn details(job: &JobDetails) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    let mut add = |name, text: Option<String>| details.extend(text.map(|text| (name, text)));
    add("user", Some(job.user.clone()));
    add("account", job.account.clone());
    add("queue", job.queue.clone());
    add("remark", job.comment.clone());
    add("processors", Some(job.procs.to_string()));
    add(
        "memory",
        job.memory_bytes
            .map(|most| format!("at most {}", words::bytes(most))),
    );
    let taken = job.resources.iter().map(|(name, n)| format!("{name}:{n}"));
    let taken: Vec<String> = taken.collect();
    add("takes", (!taken.is_empty()).then(|| taken.join(", ")));
    add("time limit", job.time_limit_s.map(words::span));
    add(
        "budget",
        job.budget
            .map(|most| format!("{} credits", words::amount(most))),
    );
    let after: Vec<String> = job.after.iter().map(ToString::to_string).collect();
    add(
        "starts after",
        (!after.is_empty()).then(|| after.join(", ")),
    );
    add("ran", job.run_s.map(words::span));
    add("processor time", job.cpu_s.map(words::span));
    add("peak memory", job.peak_memory_bytes.map(words::bytes));
    add(
        "attempts",
        (job.attempts > 1).then(|| job.attempts.to_string()),
    );
    add("tasks", job.array.as_ref().map(|array| array.tasks.clone()));
    // A job of another scheduler has no command, and nothing is known of its files.
    let is_own = !job.command.is_empty();
    add("directory", is_own.then(|| job.dir.clone()));
    let discarded = || "discarded".to_owned();
    add(
        "output",
        is_own.then(|| job.output.clone().unwrap_or_else(discarded)),
    );
    add("errors", job.error.clone());
    details
}

/// Returns what can be done with a job in its state.
fn buttons(job: &JobDetails) -> Vec<JobButton> {
    let shown = [
        (JobStateChange::Release, "Release", "quiet"),
        (JobStateChange::Hold, "Hold", "quiet"),
        (JobStateChange::Cancel, "Cancel the job", "alarm"),
    ];
    let possible = shown
        .into_iter()
        .filter(|(change, ..)| change.is_possible(job));
    possible
        .map(|(change, words, class)| JobButton {
            action: change.verb(),
            words,
            class,
            question: change.costs_work().then(|| change.question(job)),
        })
        .collect()
}

fn task_row(task: &JobDetails) -> TaskRow {
    let expected = task.expected.as_ref().filter(|_| !task.state.is_over());
    TaskRow {
        id: job_id(task),
        state: job_facts::outcome(task)
            .filter(|outcome| outcome.class == WordTone::Bad)
            .unwrap_or_else(|| job_facts::state(task)),
        started_at: task.started_at.clone(),
        finished_at: task.finished_at.clone(),
        expected_start_at: expected
            .filter(|_| task.started_at.is_none())
            .map(|expected| expected.expected_start_at.clone()),
        expected_finish_at: expected.map(|expected| expected.expected_finish_at.clone()),
        host: task.host.clone(),
    }
}

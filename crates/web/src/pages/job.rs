//! One job: what happened and why, when it should end, its details and its output.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tollgate_client::types::{
    JobDetails, JobExplanation, JobForecast, JobHistory, JobList, JobOutput, JobRef, JobState,
    OutputSource,
};
use tollgate_client::{ClientError, PathWithQuery};

use super::job_facts::{self, ColouredWords, job_id};
use super::{PageError, PagePart, now_in};
use crate::charts::ChartWidth;
use crate::charts::expectation::ExpectationChart;
use crate::forwarding::{client_problem, problem};
use crate::router::WindowState;
use crate::user_host::{OutputTail, RunHost};
use crate::{templates, words};

/// Maximum number of bytes of the output that are read, and of lines that are shown.
const TAIL_BYTES: u64 = 64 * 1024;
const TAIL_LINES: usize = 200;
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
}

/// The end of the output of a job, or why there is none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ShownOutput {
    /// The last lines.
    pub text: Option<String>,
    /// Where these lines stand, or why there are none.
    pub note: String,
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
    tasks: Vec<TaskRow>,
    more_tasks: bool,
    output: &'a ShownOutput,
}

/// Returns the page.
pub(crate) async fn page(
    State(window): State<WindowState>,
    Query(selection): Query<JobSelection>,
    headers: HeaderMap,
) -> Result<PagePart, PageError> {
    let id = checked_id(&selection.id)?;
    let path = |what: &str| PathWithQuery::new(format!("/v1/jobs/{id}{what}"));
    let explained: JobExplanation = window.service.get(&path("/explain")).await?;
    let tasks = match explained.job.array {
        Some(_) => {
            let tasks = path("/tasks").with("limit", SHOWN_TASKS);
            Some(window.service.get(&tasks).await?)
        }
        None => None,
    };
    let output = output(&window, id, &explained.job).await?;
    let answers = JobAnswers {
        history: window.service.get(&path("/history")).await?,
        offset_s: now_in(&headers).offset().seconds().into(),
        explained,
        tasks,
        output,
    };
    Ok(PagePart(render(&answers, window.read_only)))
}

/// Carries out a button.
pub(crate) async fn act(
    State(window): State<WindowState>,
    Path((id, action)): Path<(String, String)>,
) -> Response {
    let done = match action.as_str() {
        "cancel" => "cancelled",
        "hold" => "held",
        "release" => "released",
        "requeue" => "queued again",
        _ => return problem(StatusCode::NOT_FOUND, "unknown action", None),
    };
    let Ok(id) = checked_id(&id) else {
        return problem(StatusCode::NOT_FOUND, "unknown job", None);
    };
    let path = PathWithQuery::new(format!("/v1/jobs/{id}/{action}"));
    let answer: Result<JobRef, ClientError> = window.service.post(&path, &()).await;
    match answer {
        Ok(_) => Json(ActionDone {
            done: format!("Job {id} is {done}."),
        })
        .into_response(),
        Err(error) => client_problem(&error),
    }
}

/// The confirmation of a button.
#[derive(Serialize)]
struct ActionDone {
    done: String,
}

/// Returns the number of a job or task, which becomes part of a path.
fn checked_id(id: &str) -> Result<&str, PageError> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (job, task) = id.split_once('_').unwrap_or((id, "0"));
    match is_number(job) && is_number(task) {
        true => Ok(id),
        false => Err(PageError::Unknown(
            "expected the number of a job, as in job?id=7".to_owned(),
        )),
    }
}

/// Reads the end of the output: from the file if it is on this host, else from the service.
async fn output(
    window: &WindowState,
    id: &str,
    job: &JobDetails,
) -> Result<ShownOutput, PageError> {
    if job.array.is_some() {
        return Ok(ShownOutput::without("Each task has an output of its own."));
    }
    let Some(file) = &job.output else {
        return Ok(ShownOutput::without("The output is discarded."));
    };
    if job.attempts == 0 {
        return Ok(ShownOutput::without(&format!(
            "It will be written to {file}."
        )));
    }
    if let Some(tail) = tail_of_file(window, job, RunHost::Here).await {
        return Ok(ShownOutput::of_tail(file, &tail));
    }
    let path = PathWithQuery::new(format!("/v1/jobs/{id}/output")).with("last", TAIL_BYTES);
    let answer: Result<JobOutput, ClientError> = window.service.get(&path).await;
    match answer {
        Ok(output) if output.source == OutputSource::Host => {
            match tail_of_file(window, job, RunHost::Anywhere).await {
                Some(tail) => Ok(ShownOutput::of_tail(file, &tail)),
                None => Ok(ShownOutput::of_answer(file, &output)),
            }
        }
        Ok(output) => Ok(ShownOutput::of_answer(file, &output)),
        Err(ClientError::Refused { problem, .. }) => Ok(ShownOutput::without(&problem.error)),
        Err(error) => Err(error.into()),
    }
}

async fn tail_of_file(window: &WindowState, job: &JobDetails, run: RunHost) -> Option<OutputTail> {
    let (job, reader) = (job.clone(), window.clone());
    let read = move || reader.host.output_tail(&job, TAIL_BYTES, run);
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

impl ShownOutput {
    fn without(note: &str) -> Self {
        Self {
            text: None,
            note: note.to_owned(),
        }
    }

    fn of_answer(file: &str, output: &JobOutput) -> Self {
        let problem = output.problem.as_deref();
        match output.source.known() {
            Some(OutputSource::Host) => Self::without(&format!(
                "{file} is on the host of the service, and cannot be read from here."
            )),
            Some(OutputSource::Worker | OutputSource::Kept) | None => {
                let tail = OutputTail {
                    bytes: output.content().to_vec(),
                    size: output.size_bytes,
                };
                match problem {
                    Some(problem) if tail.bytes.is_empty() => Self::without(problem),
                    _ => Self::of_tail(file, &tail),
                }
            }
        }
    }

    /// Returns the last lines of an output.
    pub fn of_tail(file: &str, tail: &OutputTail) -> Self {
        let text = String::from_utf8_lossy(&tail.bytes);
        let all: Vec<&str> = text.lines().collect();
        let is_cut = tail.size > tail.bytes.len() as u64 || all.len() > TAIL_LINES;
        // The first line of a part may have lost its beginning.
        let whole = all
            .get(usize::from(is_cut && all.len() > 1)..)
            .unwrap_or_default();
        let shown = &whole[whole.len().saturating_sub(TAIL_LINES)..];
        let size = words::bytes(tail.size);
        if tail.size == 0 {
            return Self::without(&format!("{file} is empty so far."));
        }
        Self {
            text: Some(shown.join("\n")),
            note: match is_cut {
                true => format!("the last {} lines of {file}, {size}", shown.len()),
                false => format!("{file}, {size}"),
            },
        }
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
                "bad" => format!("promise broken: {}", outcome.text),
                _ => outcome.text,
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
    add("directory", Some(job.dir.clone()));
    add(
        "output",
        Some(job.output.clone().unwrap_or_else(|| "discarded".to_owned())),
    );
    add("errors", job.error.clone());
    details
}

/// Returns what can be done with a job in its state.
fn buttons(job: &JobDetails) -> Vec<JobButton> {
    let state = job.state.known();
    let is_over = job.state.is_over();
    let id = job_id(job);
    let mut buttons = Vec::new();
    if state == Some(JobState::Held) {
        buttons.push(JobButton {
            action: "release",
            words: "Release",
            class: "quiet",
            question: None,
        });
    }
    if matches!(state, Some(JobState::Queued | JobState::Dependent)) {
        buttons.push(JobButton {
            action: "hold",
            words: "Hold",
            class: "quiet",
            question: None,
        });
    }
    if !is_over {
        buttons.push(JobButton {
            action: "cancel",
            words: "Cancel the job",
            class: "alarm",
            question: Some(format!("Cancel job {id}? Its work so far is lost.")),
        });
    }
    buttons
}

fn task_row(task: &JobDetails) -> TaskRow {
    TaskRow {
        id: job_id(task),
        state: job_facts::outcome(task)
            .filter(|outcome| outcome.class == "bad")
            .unwrap_or_else(|| job_facts::state(task)),
        started_at: task.started_at.clone(),
        finished_at: task.finished_at.clone(),
        host: task.host.clone(),
    }
}

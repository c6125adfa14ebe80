//! The list of jobs.

use axum::Extension;
use axum::extract::Query;
use serde::{Deserialize, Serialize};
use tollgate_client::PathWithQuery;
use tollgate_client::types::{JobDetails, JobList, JobState, PromiseSelection, WireVocabulary};

use tollgate_overview::outlook::OpenPromise;
use tollgate_overview::words::{count, percent};

use super::{PageError, PagePart};
use crate::router::SessionWindow;
use crate::templates;
use tollgate_overview::job_facts::{ColouredWords, WordTone, is_promised, job_id, outcome, state};

/// The number of jobs on a page.
const PAGE_SIZE: usize = 100;
/// Choices beside the states: jobs that are not over, and jobs that failed.
const LIVE: &str = "live";
const FAILED: &str = "failed";

/// The selection in the address of the page. Empty fields select all.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct JobsSelection {
    /// A state, `live` or `failed`.
    pub state: String,
    /// Name of the jobs.
    pub name: String,
    /// User, by name or number.
    pub user: String,
    /// A promise of [`PromiseSelection`].
    pub promise: String,
    /// Only jobs before this number.
    pub before: Option<u64>,
}

impl JobsSelection {
    /// Returns the path of the API with these jobs.
    fn path(&self) -> PathWithQuery {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let path = PathWithQuery::new("/v1/jobs").with("limit", PAGE_SIZE);
        let path = match self.state.as_str() {
            LIVE => path.with("live", true),
            FAILED => path.with("failed", true),
            state => path.with_some("state", given(state)),
        };
        path.with_some("name", given(&self.name))
            .with_some("user", given(&self.user))
            .with_some("promise", given(&self.promise))
            .with_some("before", self.before)
    }

    /// Returns the address of the page with jobs before a number, or of the first page.
    fn address(&self, before: Option<u64>) -> String {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        PathWithQuery::new("jobs")
            .with_some("state", given(&self.state))
            .with_some("name", given(&self.name))
            .with_some("user", given(&self.user))
            .with_some("promise", given(&self.promise))
            .with_some("before", before)
            .to_string()
    }
}

/// A job in the list.
#[derive(Debug, Serialize)]
struct ListedJobRow {
    id: String,
    name: String,
    user: String,
    state: ColouredWords,
    tasks: Option<String>,
    procs: u32,
    submitted_at: String,
    deadline_at: Option<String>,
    probability: Option<f64>,
    is_promised: bool,
    outcome: Option<ColouredWords>,
}

/// A choice of states or promises in the form.
#[derive(Debug, Serialize)]
struct JobsChoice {
    key: &'static str,
    words: String,
    is_chosen: bool,
}

/// The list of jobs.
#[derive(Debug, Serialize)]
struct JobsView<'a> {
    selection: &'a JobsSelection,
    choices: Vec<JobsChoice>,
    promises: Vec<JobsChoice>,
    rows: Vec<ListedJobRow>,
    is_filtered: bool,
    found: String,
    first: Option<String>,
    next: Option<String>,
}

/// Returns the page.
pub(crate) async fn page(
    Extension(window): Extension<SessionWindow>,
    Query(selection): Query<JobsSelection>,
) -> Result<PagePart, PageError> {
    let list: JobList = window.client.service.get(&selection.path()).await?;
    Ok(PagePart(render(&list, &selection)))
}

/// Renders a list of jobs.
pub fn render(list: &JobList, selection: &JobsSelection) -> String {
    let last = list.jobs.last().map(|job| job.id);
    let address = |before| selection.address(before);
    let view = JobsView {
        selection,
        choices: state_choices(&selection.state),
        promises: promise_choices(&selection.promise),
        rows: list.jobs.iter().map(row).collect(),
        is_filtered: address(None) != "jobs",
        found: found(list, selection),
        first: selection.before.map(|_| address(None)),
        next: last.filter(|_| list.more).map(|last| address(Some(last))),
    };
    templates::render("jobs", &view)
}

/// Returns the number of jobs in words: `3 jobs`, or `the latest 100 of more`.
fn found(list: &JobList, selection: &JobsSelection) -> String {
    let listed = count(list.jobs.len() as u64, "job");
    match (list.more, selection.before) {
        (false, None) => listed,
        (false, Some(_)) => format!("the first {listed}"),
        (true, None) => format!("the latest {listed}, and there are earlier ones"),
        (true, Some(_)) => format!("{listed}, and there are earlier and later ones"),
    }
}

fn row(job: &JobDetails) -> ListedJobRow {
    ListedJobRow {
        id: job_id(job),
        name: job.name.clone(),
        user: job.user.clone(),
        state: state(job),
        tasks: job.array.as_ref().map(|array| array.tasks.clone()),
        procs: job.procs,
        submitted_at: job.submitted_at.clone(),
        deadline_at: job.deadline_at.clone(),
        probability: job.promised_probability,
        is_promised: is_promised(job),
        outcome: outcome(job).or_else(|| chance_now(job)),
    }
}

/// Returns the probability that a promise is kept, by what is known now. None where it is not in the list.
fn chance_now(job: &JobDetails) -> Option<ColouredWords> {
    let open = OpenPromise::of(job)?;
    let tone = match open.is_at_risk() {
        true => WordTone::Bad,
        false => WordTone::Plain,
    };
    let words = format!("{} sure now", percent(open.probability));
    Some(ColouredWords::new(tone, words))
}

fn state_choices(chosen: &str) -> Vec<JobsChoice> {
    let beside = [("", "all"), (LIVE, "not over"), (FAILED, "failed")];
    let beside = beside
        .into_iter()
        .map(|(key, words)| (key, words.to_owned()));
    let states = JobState::ALL
        .iter()
        .map(|state| (state.key(), state.to_string()));
    choices(beside.chain(states), chosen)
}

fn promise_choices(chosen: &str) -> Vec<JobsChoice> {
    let promises = PromiseSelection::ALL.iter();
    let promises = promises.map(|one| (one.key(), one.key().replace('_', " ")));
    choices([("", "all".to_owned())].into_iter().chain(promises), chosen)
}

fn choices(all: impl Iterator<Item = (&'static str, String)>, chosen: &str) -> Vec<JobsChoice> {
    all.map(|(key, words)| JobsChoice {
        key,
        words,
        is_chosen: key == chosen,
    })
    .collect()
}

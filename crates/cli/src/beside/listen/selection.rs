//! The jobs that a request selects.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tollgate_beside::SeenJobKey;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{JobList, JobState, PromiseSelection, WireVocabulary, WireWord};
use tollgate_model::Instant;

use super::jobs::{JobNumber, ShownJob, find, forecast};
use super::paths::ViewProblem;
use super::view::FollowerView;

/// Number of jobs of a list whose limit is left out.
const USUAL_LIMIT: u32 = 100;

/// The requested jobs: those to which all that is given applies. The names are those of a service.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ShownJobsQuery {
    ids: Option<String>,
    name: Option<String>,
    user: Option<String>,
    account: Option<String>,
    queue: Option<String>,
    state: Option<WireWord<JobState>>,
    live: bool,
    expect: bool,
    failed: bool,
    promise: Option<WireWord<PromiseSelection>>,
    since: Option<String>,
    until: Option<String>,
    before: Option<u64>,
    limit: Option<u32>,
}

/// A query whose values are understood.
pub(super) struct ShownJobsSelection {
    query: ShownJobsQuery,
    since: Option<Instant>,
    until: Option<Instant>,
}

impl ShownJobsQuery {
    /// Checks the values.
    pub(super) fn checked(self) -> Result<ShownJobsSelection, ViewProblem> {
        if let Some(WireWord::Unknown(_)) = self.state {
            let states: Vec<&str> = JobState::ALL.iter().map(|state| state.key()).collect();
            let error = format!("state: expected one of {}", states.join(", "));
            return Err(ViewProblem::unprocessable(error));
        }
        if self.failed {
            let error = "failed: how jobs of another scheduler ended is not known";
            return Err(ViewProblem::unprocessable(error));
        }
        let instant = |field: &str, words: &Option<String>| match words {
            Some(words) => parse_iso(words)
                .map(Some)
                .map_err(|error| ViewProblem::unprocessable(format!("{field}: {error}"))),
            None => Ok(None),
        };
        Ok(ShownJobsSelection {
            since: instant("since", &self.since)?,
            until: instant("until", &self.until)?,
            query: self,
        })
    }
}

impl ShownJobsSelection {
    /// Returns the jobs, latest first, with what is expected of them if that is asked for.
    pub(super) fn jobs(&self, view: &FollowerView) -> JobList {
        let found = match &self.query.ids {
            Some(ids) => self.named(view, ids),
            None => self.all(view),
        };
        let limit = self.query.limit.unwrap_or(USUAL_LIMIT).min(MAX_JOBS) as usize;
        let more = found.len() > limit;
        let shown = found.into_iter().take(limit);
        let mut jobs: Vec<_> = shown
            .map(|job| (job.key().clone(), job.details()))
            .collect();
        if self.query.expect {
            let open = jobs.iter().filter(|(_, job)| !job.state.is_over());
            let keys: Vec<SeenJobKey> = open.map(|(key, _)| key.clone()).collect();
            let answers = view.follower.answers(&keys, view.now());
            let mut expected: BTreeMap<_, _> = answers
                .into_iter()
                .filter_map(|answer| Some((answer.key.clone()?, forecast(&answer)?)))
                .collect();
            for (key, job) in &mut jobs {
                job.expected = expected.remove(key);
            }
        }
        JobList {
            jobs: jobs.into_iter().map(|(_, job)| job).collect(),
            array: None,
            more,
        }
    }

    fn named(&self, view: &FollowerView, ids: &str) -> Vec<ShownJob> {
        let names: BTreeSet<&str> = ids.split(',').collect();
        let found = names.into_iter().filter_map(|name| find(view, name));
        found.filter(|job| self.matches(job)).collect()
    }

    fn all(&self, view: &FollowerView) -> Vec<ShownJob> {
        let open = view.follower.open_jobs(None);
        let open = open.iter().filter_map(|key| view.follower.queued_job(key));
        let ended = view.seen.ended().cloned().map(ShownJob::Ended);
        let ended = ended.filter(|_| !self.query.live);
        let all = open.map(ShownJob::Open).chain(ended);
        let mut found: Vec<ShownJob> = all.filter(|job| self.matches(job)).collect();
        found.sort_by_cached_key(|job| {
            std::cmp::Reverse((JobNumber::of(job.key()), job.submitted()))
        });
        found
    }

    fn matches(&self, job: &ShownJob) -> bool {
        let query = &self.query;
        let is = |requested: &Option<String>, actual: &str| {
            requested
                .as_deref()
                .is_none_or(|requested| requested == actual)
        };
        let state = query.state.as_ref().and_then(WireWord::known);
        let promise = query.promise.as_ref().and_then(WireWord::known);
        is(&query.name, &job.key().0)
            && is(&query.user, job.user())
            && is(&query.queue, job.queue())
            // Accounts are not read, and nothing is promised.
            && query.account.is_none()
            && promise.is_none_or(|promise| promise == PromiseSelection::None)
            && state.is_none_or(|state| state == job.state())
            && !(query.live && job.ended().is_some())
            && self.since.is_none_or(|since| job.ended().is_none_or(|ended| ended >= since))
            && self.until.is_none_or(|until| job.submitted() < until)
            && query.before.is_none_or(|before| JobNumber::of(job.key()).id < before)
    }
}

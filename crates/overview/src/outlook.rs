//! The order of jobs: least sure promises first, waiting jobs by their expected start.

use tollgate_client::types::{JobDetails, JobList, JobState};
use tollgate_model::Instant;

use crate::job_facts::is_promised;
use crate::words::{AT_RISK, instant, seconds, span};

/// A promise that is neither kept nor broken yet, with what is expected of it.
#[derive(Clone, Debug)]
pub struct OpenPromise<'a> {
    /// The job.
    pub job: &'a JobDetails,
    /// The probability that it is kept, 0 to 1.
    pub probability: f64,
    /// The deadline.
    pub due: Instant,
    /// The job ends after this instant with a probability of one tenth.
    pub latest_end: Instant,
}

impl<'a> OpenPromise<'a> {
    /// Returns the promise of a job, if the job has one and its end is forecast.
    pub fn of(job: &'a JobDetails) -> Option<Self> {
        let expected = job.expected.as_ref().filter(|_| is_promised(job))?;
        Some(Self {
            job,
            probability: expected.probability?,
            due: job.deadline_at.as_deref().and_then(instant)?,
            latest_end: instant(&expected.latest_finish_at)?,
        })
    }

    /// Returns whether the promise is at risk.
    pub fn is_at_risk(&self) -> bool {
        self.probability < AT_RISK
    }

    /// Returns whether the job may well end too late.
    pub fn may_be_late(&self) -> bool {
        self.latest_end > self.due
    }

    /// Returns the time between the latest likely end and the deadline: `2 min to spare`, `may be late by 5 s`.
    pub fn spare_words(&self) -> String {
        let spare = seconds(self.latest_end, self.due);
        match self.may_be_late() {
            true => format!("may be late by {}", span(spare)),
            false => format!("{} to spare", span(spare)),
        }
    }
}

/// Returns the open promises, the least sure first; ties by the number of the job.
pub fn least_sure_promises(live: &[JobDetails]) -> Vec<OpenPromise<'_>> {
    let mut open: Vec<_> = live.iter().filter_map(OpenPromise::of).collect();
    open.sort_by(|one, other| {
        let by_chance = one.probability.total_cmp(&other.probability);
        by_chance.then((one.job.id, one.job.task).cmp(&(other.job.id, other.job.task)))
    });
    open
}

/// Returns whether a job waits for its start.
pub fn is_waiting(job: &JobDetails) -> bool {
    job.started_at.is_none() && job.state != JobState::Reserved
}

/// Returns the jobs that wait, by their expected start; ties by the number of the job.
pub fn waiting_jobs(live: &[JobDetails]) -> Vec<&JobDetails> {
    let mut waiting: Vec<&JobDetails> = live.iter().filter(|job| is_waiting(job)).collect();
    waiting.sort_by_key(|job| (expected_start(job).unwrap_or(Instant::MAX), job.id));
    waiting
}

/// Returns the expected start of a job, or its start if it has started.
pub fn expected_start(job: &JobDetails) -> Option<Instant> {
    instant(&job.expected.as_ref()?.expected_start_at)
}

/// Returns how many of the open promises should be kept: `8.2 expected to be kept`, the sum of their probabilities.
pub fn expected_kept(live: &JobList) -> String {
    let promised = live.jobs.iter().filter(|job| is_promised(job));
    let chances = promised.map(|job| job.expected.as_ref().and_then(|all| all.probability));
    match chances.sum::<Option<f64>>() {
        Some(kept) if !live.more && kept > 0.0 => format!("{kept:.1} expected to be kept"),
        _ => "neither kept nor broken yet".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns a job with these fields beside, or instead of, those that every job has.
    pub(crate) fn job(id: u64, fields: Value) -> JobDetails {
        let mut job = json!({
            "id": id, "user_id": 1000, "user": "alice", "name": "render", "state": "queued",
            "command": ["true"], "dir": "/", "procs": 1, "submitted_at": "2026-12-01T09:00:00Z",
            "estimate_s": 600.0, "estimate_source": "user", "attempts": 0,
        });
        let given = fields.as_object().expect("fields").clone();
        job.as_object_mut().expect("fields").extend(given);
        serde_json::from_value(job).expect("a job")
    }

    fn promised(id: u64, start: &str, probability: f64) -> JobDetails {
        job(
            id,
            json!({"promised_at": "2026-12-01T09:00:00Z", "deadline_at": "2026-12-01T10:00:00Z", "expected": {
                "expected_start_at": start, "expected_finish_at": "2026-12-01T09:40:00Z",
                "earliest_finish_at": "2026-12-01T09:30:00Z", "latest_finish_at": "2026-12-01T10:00:05Z",
                "probability": probability}}),
        )
    }

    #[test]
    fn least_sure_promise_is_first_and_ties_go_by_number() {
        let jobs = [
            promised(3, "2026-12-01T09:00:00Z", 0.9),
            promised(2, "2026-12-01T09:00:00Z", 0.5),
            promised(1, "2026-12-01T09:00:00Z", 0.9),
            job(4, json!({})),
        ];
        let order = least_sure_promises(&jobs);
        let ids: Vec<u64> = order.iter().map(|open| open.job.id).collect();
        assert_eq!(ids, [2, 1, 3]);
        assert!(order[0].is_at_risk() && !order[1].is_at_risk());
        assert_eq!(order[0].spare_words(), "may be late by 5 s");
    }

    #[test]
    fn waiting_jobs_go_by_expected_start_and_unknown_starts_last() {
        let jobs = [
            job(4, json!({})),
            promised(3, "2026-12-01T09:20:00Z", 0.9),
            promised(2, "2026-12-01T09:10:00Z", 0.9),
            job(
                1,
                json!({"state": "running", "started_at": "2026-12-01T09:00:00Z"}),
            ),
        ];
        let ids: Vec<u64> = waiting_jobs(&jobs).iter().map(|job| job.id).collect();
        assert_eq!(ids, [2, 3, 4]);
    }

    #[test]
    fn kept_promises_are_expected_only_if_all_chances_are_known() {
        let list = |jobs: Vec<JobDetails>, more| JobList {
            jobs,
            array: None,
            more,
        };
        let jobs = vec![
            promised(1, "2026-12-01T09:00:00Z", 0.5),
            promised(2, "2026-12-01T09:00:00Z", 0.75),
        ];
        assert_eq!(
            expected_kept(&list(jobs.clone(), false)),
            "1.2 expected to be kept"
        );
        assert_eq!(
            expected_kept(&list(jobs, true)),
            "neither kept nor broken yet"
        );
    }
}

//! Jobs as the API has them.

use std::collections::BTreeMap;

use tollgate_beside::{JobAnswer, OpenQueueJob, SeenJob, SeenJobKey, StatedLevels};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    JobDetails, JobEstimateSource, JobForecast, JobState, WaitMessage, WaitReason, WireWord,
};
use tollgate_host::UserAccount;
use tollgate_model::{Instant, Span};

use super::view::FollowerView;
use crate::beside::reasons::known_reason;

/// The indices of .1, .5 and .9 among the levels.
const LEVEL_10: usize = 1;
const LEVEL_50: usize = 2;
const LEVEL_90: usize = 3;
/// The number of an owner that this host does not know. No account has it.
const NO_USER: u32 = u32::MAX;

/// A job of the queue, or one that ended lately.
pub(super) enum ShownJob {
    Open(OpenQueueJob),
    Ended(SeenJob),
}

/// The number of a job and that of its task, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JobNumber {
    pub(super) id: u64,
    pub(super) task: Option<u32>,
}

impl JobNumber {
    /// Returns the numbers in a name: `7`, `7_3` of Slurm, or `7.3` of Grid Engine and HTCondor.
    pub(super) fn of(key: &SeenJobKey) -> Self {
        let mut numbers = key.0.split(['_', '.', '+']);
        let id = numbers.next().and_then(|id| id.parse().ok());
        Self {
            id: id.unwrap_or(0),
            task: numbers.next().and_then(|task| task.parse().ok()),
        }
    }
}

/// Returns the job of a name: that of the engine, or its numbers as in `7_3`. None if it is neither in the queue nor among
/// the last that ended.
pub(super) fn find(view: &FollowerView, name: &str) -> Option<ShownJob> {
    let behind = name.split_once('_');
    let names = [
        Some(name.to_owned()),
        behind.map(|(id, task)| format!("{id}.{task}")),
        behind.map(|(id, task)| format!("{id}+{task}")),
    ];
    for key in names.into_iter().flatten().map(SeenJobKey) {
        if let Some(job) = view.follower.queued_job(&key) {
            return Some(ShownJob::Open(job));
        }
        if let Some(job) = view.seen.ended().find(|job| job.key == key) {
            return Some(ShownJob::Ended(job.clone()));
        }
    }
    None
}

impl ShownJob {
    pub(super) fn key(&self) -> &SeenJobKey {
        match self {
            Self::Open(job) => &job.key,
            Self::Ended(job) => &job.key,
        }
    }

    pub(super) fn user(&self) -> &str {
        match self {
            Self::Open(job) => &job.job.user,
            Self::Ended(job) => &job.user,
        }
    }

    pub(super) fn queue(&self) -> &str {
        match self {
            Self::Open(job) => &job.job.queue,
            Self::Ended(job) => &job.queue,
        }
    }

    pub(super) fn submitted(&self) -> Instant {
        match self {
            Self::Open(job) => job.submitted,
            Self::Ended(job) => job.submitted,
        }
    }

    pub(super) fn started(&self) -> Option<Instant> {
        match self {
            Self::Open(job) => job.started,
            Self::Ended(job) => job.started,
        }
    }

    pub(super) fn ended(&self) -> Option<Instant> {
        match self {
            Self::Open(_) => None,
            Self::Ended(job) => job.ended,
        }
    }

    /// Returns the state. How a job ended is not read: one that ran has finished, another one was cancelled.
    pub(super) fn state(&self) -> JobState {
        match self {
            Self::Open(job) if job.started.is_some() => JobState::Running,
            Self::Open(job) if job.is_held => JobState::Held,
            Self::Open(_) => JobState::Queued,
            Self::Ended(job) if job.started.is_some() => JobState::Finished,
            Self::Ended(_) => JobState::Cancelled,
        }
    }

    /// Returns the answer about a job of the queue.
    pub(super) fn answer(&self, view: &FollowerView) -> Option<JobAnswer> {
        match self {
            Self::Open(job) => view.follower.answer(&job.key, view.now()),
            Self::Ended(_) => None,
        }
    }

    /// Returns the job without what is expected of it.
    pub(super) fn details(&self) -> JobDetails {
        let number = JobNumber::of(self.key());
        let (procs, limit, reason) = match self {
            Self::Open(job) => (job.job.procs, job.job.limit, job.reason.as_str()),
            Self::Ended(job) => (job.procs, job.limit, ""),
        };
        let state = self.state();
        let waits = matches!(state, JobState::Queued | JobState::Held);
        let ran = self.started().zip(self.ended());
        let user = Some(self.user()).filter(|user| !user.is_empty());
        JobDetails {
            counts_on_expected_hosts: false,
            id: number.id,
            task: number.task,
            name: self.key().to_string(),
            user: self.user().to_owned(),
            user_id: user.and_then(user_id).unwrap_or(NO_USER),
            queue: Some(self.queue().to_owned()).filter(|queue| !queue.is_empty()),
            state: WireWord::Known(state),
            waits_for: waits.then(|| wait_message(state, reason)).flatten(),
            procs,
            submitted_at: format_iso(self.submitted()),
            estimate_s: limit.map_or(0.0, Span::as_secs_f64),
            estimate_source: WireWord::Known(match limit {
                Some(_) => JobEstimateSource::User,
                None => JobEstimateSource::Default,
            }),
            time_limit_s: limit.map(Span::as_secs_f64),
            started_at: self.started().map(format_iso),
            finished_at: self.ended().map(format_iso),
            run_s: ran.map(|(start, end)| end.since(start).as_secs_f64()),
            attempts: u32::from(self.started().is_some()),
            ..nothing_known()
        }
    }
}

/// Returns what is expected of a job. None if too little is known.
pub(super) fn forecast(answer: &JobAnswer) -> Option<JobForecast> {
    let StatedLevels {
        starts_by, ends_by, ..
    } = answer.stated?;
    let ends_by = ends_by?;
    let start = answer.started.or(starts_by.map(|starts| starts[LEVEL_50]));
    Some(JobForecast {
        expected_start_at: format_iso(start?),
        latest_start_at: starts_by.map(|starts| format_iso(starts[LEVEL_90])),
        expected_finish_at: format_iso(ends_by[LEVEL_50]),
        earliest_finish_at: format_iso(ends_by[LEVEL_10]),
        latest_finish_at: format_iso(ends_by[LEVEL_90]),
        probability: None,
    })
}

fn wait_message(state: JobState, reason: &str) -> Option<WaitMessage> {
    let (key, text) = match known_reason(reason) {
        Some((key, sentence)) => (key, sentence.to_owned()),
        None if !reason.is_empty() => (WaitReason::Resources, reason.to_owned()),
        None if state == JobState::Held => (WaitReason::Held, "it is held".to_owned()),
        None => return None,
    };
    Some(WaitMessage {
        key: WireWord::Known(key),
        text,
    })
}

fn user_id(name: &str) -> Option<u32> {
    let account = UserAccount::by_name(name).ok().flatten();
    account.map(|account| account.uid)
}

/// Returns the fields of a job that no scheduler is asked for.
fn nothing_known() -> JobDetails {
    JobDetails {
        counts_on_expected_hosts: false,
        auto_memory: false,
        unpredictable: None,
        id: 0,
        task: None,
        number: None,
        array: None,
        after: Vec::new(),
        user_id: NO_USER,
        group_id: None,
        user: String::new(),
        name: String::new(),
        account: None,
        queue: None,
        comment: None,
        state: WireWord::Known(JobState::Queued),
        waits_for: None,
        suspended: None,
        expected: None,
        command: Vec::new(),
        dir: String::new(),
        output: None,
        error: None,
        input: None,
        submit_line: None,
        submit_host: None,
        procs: 1,
        resources: BTreeMap::new(),
        one_host: false,
        requested_host: None,
        requeue: false,
        memory_bytes: None,
        submitted_at: String::new(),
        estimate_s: 0.0,
        estimate_source: WireWord::Known(JobEstimateSource::Default),
        time_limit_s: None,
        signal: None,
        deadline_at: None,
        begin_at: None,
        budget: None,
        decided_at: None,
        price: None,
        reasons: Vec::new(),
        probability: None,
        quoted_probability: None,
        promised_probability: None,
        promised_at: None,
        forecast_finish_at: None,
        promise: None,
        broken_by: None,
        started_at: None,
        finished_at: None,
        attempts: 0,
        retries: None,
        give_up: None,
        status: None,
        exit_code: None,
        exit_signal: None,
        host: None,
        hosts: None,
        run_s: None,
        cpu_s: None,
        peak_memory_bytes: None,
        dropped: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_engines_have_numbers() {
        let number = |name: &str| {
            let number = JobNumber::of(&SeenJobKey(name.to_owned()));
            (number.id, number.task)
        };
        assert_eq!(number("7"), (7, None));
        assert_eq!(number("7_3"), (7, Some(3)));
        assert_eq!(number("7.0"), (7, Some(0)));
        assert_eq!(number("7+1"), (7, Some(1)));
    }
}

//! The changes of a job that its state allows, and the words about them.

use tollgate_client::types::{JobDetails, JobState};

use crate::job_facts::job_id;

/// A change of a job that needs no other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStateChange {
    /// Hold it: it does not start.
    Hold,
    /// Release it: it may start again.
    Release,
    /// Cancel it.
    Cancel,
    /// End it, if it runs, and queue it again.
    Requeue,
}

impl JobStateChange {
    /// Every change.
    pub const ALL: [Self; 4] = [Self::Hold, Self::Release, Self::Cancel, Self::Requeue];

    /// Returns the last part of the path of the request.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Cancel => "cancel",
            Self::Requeue => "requeue",
        }
    }

    /// Returns the change whose request has a path with this last part.
    pub fn from_verb(verb: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.verb() == verb)
    }

    /// Returns whether a job in its state can be changed so. The service decides in the end.
    pub fn is_possible(self, job: &JobDetails) -> bool {
        let state = job.state.known();
        match self {
            Self::Hold => matches!(state, Some(JobState::Queued | JobState::Dependent)),
            Self::Release => state == Some(JobState::Held),
            Self::Cancel => !job.state.is_over(),
            Self::Requeue => state == Some(JobState::Running),
        }
    }

    /// Returns whether work is lost by the change.
    pub const fn costs_work(self) -> bool {
        match self {
            Self::Cancel | Self::Requeue => true,
            Self::Hold | Self::Release => false,
        }
    }

    /// Returns the question before the change.
    pub fn question(self, job: &JobDetails) -> String {
        let id = job_id(job);
        match self {
            Self::Cancel if job.attempts > 0 => {
                format!("Cancel job {id}? Its work so far is lost.")
            }
            Self::Cancel => format!("Cancel job {id}?"),
            Self::Requeue => format!("Queue job {id} again? Its work so far is lost."),
            Self::Hold => format!("Hold job {id}?"),
            Self::Release => format!("Release job {id}?"),
        }
    }

    /// Returns what a job is after the change.
    pub const fn participle(self) -> &'static str {
        match self {
            Self::Hold => "held",
            Self::Release => "released",
            Self::Cancel => "cancelled",
            Self::Requeue => "queued again",
        }
    }

    /// Returns the sentence about a job that was changed so.
    pub fn done(self, id: &str) -> String {
        format!("Job {id} is {}.", self.participle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlook::tests::job;

    #[test]
    fn possible_changes_follow_from_the_state() {
        let possible = |state: &str| {
            let job = job(1, serde_json::json!({ "state": state }));
            JobStateChange::ALL.map(|change| change.is_possible(&job))
        };
        assert_eq!(possible("queued"), [true, false, true, false]);
        assert_eq!(possible("held"), [false, true, true, false]);
        assert_eq!(possible("running"), [false, false, true, true]);
        assert_eq!(possible("finished"), [false; 4]);
        assert_eq!(possible("a-later-state"), [false; 4]);
    }

    #[test]
    fn change_is_found_by_its_verb() {
        for change in JobStateChange::ALL {
            assert_eq!(JobStateChange::from_verb(change.verb()), Some(change));
        }
        assert_eq!(JobStateChange::from_verb("signal"), None);
    }
}

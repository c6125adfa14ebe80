//! The state of a job on the wire.

use std::fmt;

use schemars::JsonSchema;
use strum::{IntoStaticStr, VariantArray};
use tollgate_model::{ExceededLimit, JobEndState};

use super::word::{WireVocabulary, WireWord};

/// The state of a job.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JobState {
    /// Waits for other jobs, or for the instant at which it begins; its admission is decided after that.
    Dependent,
    /// Waits for nodes, or for a decision.
    Queued,
    /// Held by its user.
    Held,
    /// Runs.
    Running,
    /// Its program ended by itself, with any exit code, or the site ended it.
    Finished,
    /// Reached its time limit.
    TimedOut,
    /// The kernel killed a process of it for memory.
    OutOfMemory,
    /// Its output became longer than its limit.
    OutputLimit,
    /// Was cancelled.
    Cancelled,
    /// Its end was not observed.
    Lost,
    /// It was evicted from computers that others use, more often than a rule permits.
    Abandoned,
    /// Was not admitted.
    Rejected,
    /// A reserved quote.
    Reserved,
    /// A reserved quote that has expired.
    Expired,
}

impl JobState {
    /// Returns how a job that has run ended; None in every other state.
    pub const fn end(self) -> Option<JobEndState> {
        match self {
            Self::Finished => Some(JobEndState::Finished),
            Self::TimedOut => Some(JobEndState::TimedOut),
            Self::OutOfMemory => Some(JobEndState::OutOfMemory),
            Self::OutputLimit => Some(JobEndState::OutputLimit),
            Self::Cancelled => Some(JobEndState::Cancelled),
            Self::Lost => Some(JobEndState::Lost),
            Self::Abandoned => Some(JobEndState::Abandoned),
            Self::Dependent
            | Self::Queued
            | Self::Held
            | Self::Running
            | Self::Rejected
            | Self::Reserved
            | Self::Expired => None,
        }
    }

    /// Returns the limit that ended the job, if one did.
    pub fn exceeded(self) -> Option<ExceededLimit> {
        self.end()?.exceeded()
    }

    /// Returns whether a job in this state never changes its state again.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Dependent | Self::Queued | Self::Held | Self::Running | Self::Reserved => false,
            Self::Finished
            | Self::TimedOut
            | Self::OutOfMemory
            | Self::OutputLimit
            | Self::Cancelled
            | Self::Lost
            | Self::Abandoned
            | Self::Rejected
            | Self::Expired => true,
        }
    }
}

impl WireWord<JobState> {
    /// Returns the limit that ended the job, if one did.
    pub fn exceeded(&self) -> Option<ExceededLimit> {
        self.known()?.exceeded()
    }

    /// Returns whether a job in this state never changes its state again. Unknown states of a later version
    /// count as final: a job waits or runs in the known states only.
    pub fn is_over(&self) -> bool {
        self.known().is_none_or(JobState::is_over)
    }
}

/// Writes the state as in tables: `timed out`.
impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.pad("timed out"),
            Self::OutOfMemory => f.pad("out of memory"),
            Self::OutputLimit => f.pad("output limit"),
            Self::Dependent
            | Self::Queued
            | Self::Held
            | Self::Running
            | Self::Finished
            | Self::Cancelled
            | Self::Lost
            | Self::Abandoned
            | Self::Rejected
            | Self::Reserved
            | Self::Expired => f.pad(self.key()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_a_later_version_counts_as_over() {
        assert!(WireWord::<JobState>::from_key("suspended").is_over());
    }

    #[test]
    fn ends_of_jobs_have_the_same_keys_everywhere() {
        for end in JobEndState::ALL {
            let state = JobState::from_key(end.key()).unwrap();
            assert_eq!((state.end(), state.key()), (Some(end), end.key()));
            assert!(state.is_over(), "{state}");
        }
    }
}

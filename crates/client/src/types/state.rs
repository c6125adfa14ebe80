//! The state of a job on the wire.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use tollgate_model::{ExceededLimit, JobEndState};

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
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    EnumString,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
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
    /// Was not admitted.
    Rejected,
    /// A reserved quote.
    Reserved,
    /// A reserved quote that has expired.
    Expired,
    /// A state of a later version of the service.
    #[serde(other)]
    Unknown,
}

impl JobState {
    /// Every state that this version knows, in the order of a job's life.
    pub const ALL: [Self; 13] = *Self::VARIANTS.first_chunk().unwrap();

    /// Returns the key in JSON.
    pub fn key(self) -> &'static str {
        self.into()
    }

    /// Returns the state with this key; None for a key that this version does not know.
    pub fn from_key(key: &str) -> Option<Self> {
        let state = key.parse().ok();
        state.filter(|state| *state != Self::Unknown)
    }

    /// Returns how a job that has run ended; None in every other state.
    pub const fn end(self) -> Option<JobEndState> {
        match self {
            Self::Finished => Some(JobEndState::Finished),
            Self::TimedOut => Some(JobEndState::TimedOut),
            Self::OutOfMemory => Some(JobEndState::OutOfMemory),
            Self::OutputLimit => Some(JobEndState::OutputLimit),
            Self::Cancelled => Some(JobEndState::Cancelled),
            Self::Lost => Some(JobEndState::Lost),
            Self::Dependent
            | Self::Queued
            | Self::Held
            | Self::Running
            | Self::Rejected
            | Self::Reserved
            | Self::Expired
            | Self::Unknown => None,
        }
    }

    /// Returns the limit that ended the job, if one did.
    pub fn exceeded(self) -> Option<ExceededLimit> {
        self.end()?.exceeded()
    }

    /// Returns whether a job in this state never changes its state again. A state that this version does
    /// not know is none of those in which a job waits or runs, which are old.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Dependent | Self::Queued | Self::Held | Self::Running | Self::Reserved => false,
            Self::Finished
            | Self::TimedOut
            | Self::OutOfMemory
            | Self::OutputLimit
            | Self::Cancelled
            | Self::Lost
            | Self::Rejected
            | Self::Expired
            | Self::Unknown => true,
        }
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
            | Self::Rejected
            | Self::Reserved
            | Self::Expired
            | Self::Unknown => f.pad(self.key()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_and_read_by_their_keys() {
        for state in JobState::ALL {
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(text, format!("\"{}\"", state.key()));
            assert_eq!(serde_json::from_str::<JobState>(&text).unwrap(), state);
            assert_eq!(JobState::from_key(state.key()), Some(state));
        }
    }

    #[test]
    fn state_of_a_later_version_is_read_as_unknown() {
        let read: JobState = serde_json::from_str("\"suspended\"").unwrap();
        assert_eq!(read, JobState::Unknown);
        assert_eq!(JobState::from_key("suspended"), None);
        assert_eq!(JobState::from_key("unknown"), None);
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

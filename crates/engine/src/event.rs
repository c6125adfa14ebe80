//! Reports about attempts.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use crate::AttemptKey;

/// An event in the life of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptReport {
    /// The attempt.
    pub attempt: AttemptKey,
    /// The event.
    pub event: AttemptEvent,
}

/// An event of an attempt. An attempt starts and then ends or is lost, or it ends or is lost
/// without a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptEvent {
    /// The attempt's program runs.
    Started(AttemptStart),
    /// The attempt has ended.
    Ended(AttemptOutcome),
    /// The attempt's result is unknown: it may have been started, its processes are gone, and no
    /// runner observed their end. The engine never starts it again.
    Lost {
        /// Time at which the loss was noticed.
        #[serde(with = "crate::wire::time::instant")]
        at: Instant,
    },
}

/// The end of an attempt and its resource usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    /// The status with which the attempt ended.
    pub status: AttemptStatus,
    /// The reason why the attempt was killed; None if it ended by itself. An attempt may have ended
    /// by itself at the same moment: `status` is the operating system's report.
    pub killed: Option<KillReason>,
    /// Time of the end.
    #[serde(with = "crate::wire::time::instant")]
    pub at: Instant,
    /// Wall-clock time from the start; zero if the attempt did not start.
    #[serde(with = "crate::wire::time::span")]
    pub wall: Span,
    /// Processor time of all its processes, as far as the engine can measure it.
    #[serde(with = "crate::wire::time::span")]
    pub cpu: Span,
    /// Peak memory in bytes, where the engine can measure it.
    pub peak_memory: Option<u64>,
}

/// The exit status of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptStatus {
    /// The program ended with this code; 0 is success.
    Exited(u8),
    /// A signal ended the program.
    Signalled(u8),
    /// The program never ran, so another attempt repeats no work.
    NotStarted {
        /// The step that failed: `program`, `dir`, `output`, `user`, ..
        step: String,
        /// The cause, as a text.
        reason: String,
    },
}

impl AttemptStatus {
    /// Returns whether the program ran and succeeded.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Exited(0))
    }

    /// Returns the status in the form that a shell uses: the exit code, 128 + n after signal n, 127
    /// if the program never ran.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Exited(code) => *code,
            Self::Signalled(signal) => signal.saturating_add(128),
            Self::NotStarted { .. } => 127,
        }
    }
}

/// Writes `exit 3`, `signal 9`, or `not started: dir: No such file or directory`.
impl fmt::Display for AttemptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
            Self::NotStarted { step, reason } => write!(f, "not started: {step}: {reason}"),
        }
    }
}

/// A reason why an attempt was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KillReason {
    /// The user or an operator cancelled the attempt.
    Cancelled,
    /// The attempt's [`crate::LaunchLimits::wall`] is used up. Engines set this reason themselves.
    TimeLimit,
    /// The attempt used more than its [`crate::LaunchLimits::memory`]. Engines set this reason
    /// themselves.
    MemoryLimit,
    /// The attempt's output is longer than its [`crate::LaunchLimits::output`]. Engines set this
    /// reason themselves.
    OutputLimit,
    /// The attempt's nodes are needed for another job, its lease has ended, or its runner was asked
    /// to end.
    Evicted,
}

/// The start of an attempt: its time and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStart {
    /// The process id, if the engine knows it.
    pub pid: Option<u32>,
    /// Time of the start.
    #[serde(with = "crate::wire::time::instant")]
    pub at: Instant,
}

/// An attempt that was submitted and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAttempt {
    /// The attempt's key.
    pub attempt: AttemptKey,
    /// The attempt's start; None while it waits.
    pub started: Option<AttemptStart>,
    /// Processor time used until now, as far as the engine can measure it.
    #[serde(with = "crate::wire::time::span")]
    pub cpu: Span,
}

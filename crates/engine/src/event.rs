//! What became of an attempt.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use crate::AttemptKey;

/// Something that happened to an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptReport {
    /// To whom.
    pub attempt: AttemptKey,
    /// What.
    pub event: AttemptEvent,
}

/// What can happen to an attempt: it starts, and then it ends or is lost; or it ends or is
/// lost without having started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptEvent {
    /// Its program runs.
    Started(AttemptStart),
    /// It is over.
    Ended(AttemptOutcome),
    /// Nobody knows whether it did its work: it may have been started, its processes are gone,
    /// and nobody saw them end. Never started again by the engine.
    Lost {
        /// When this was noticed.
        #[serde(with = "crate::protocol::time::instant")]
        at: Instant,
    },
}

/// The end of an attempt and what it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    /// How it ended.
    pub status: AttemptStatus,
    /// Who ended it, if it did not end by itself. It may have ended by itself at the same moment:
    /// `status` is what the operating system said.
    pub killed: Option<KillReason>,
    /// When.
    #[serde(with = "crate::protocol::time::instant")]
    pub at: Instant,
    /// Time from its start; zero if it did not start.
    #[serde(with = "crate::protocol::time::span")]
    pub wall: Span,
    /// Processor time of all its processes, as far as the engine sees them.
    #[serde(with = "crate::protocol::time::span")]
    pub cpu: Span,
    /// The most memory it held at once in bytes, where the engine can tell.
    pub peak_memory: Option<u64>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptStatus {
    /// Its program ended with this code; 0 is success.
    Exited(u8),
    /// A signal ended its program.
    Signalled(u8),
    /// Its program never ran, so that another attempt repeats nothing.
    NotStarted {
        /// What could not be done: `program`, `dir`, `output`, `user`, ..
        step: String,
        /// Why, in words.
        reason: String,
    },
}

impl AttemptStatus {
    /// Whether the program ran and succeeded.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Exited(0))
    }

    /// The status as a shell says it: the exit code, 128 + n after signal n, 127 if it never ran.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Exited(code) => *code,
            Self::Signalled(signal) => signal.saturating_add(128),
            Self::NotStarted { .. } => 127,
        }
    }
}

/// `exit 3`, `signal 9`, or `not started: dir: No such file or directory`.
impl fmt::Display for AttemptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
            Self::NotStarted { step, reason } => write!(f, "not started: {step}: {reason}"),
        }
    }
}

/// Why an attempt was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KillReason {
    /// Its user or an operator asked for it.
    Cancelled,
    /// Its [`crate::LaunchLimits::wall`] is used up. Engines say this by themselves.
    TimeLimit,
    /// It used more than its [`crate::LaunchLimits::memory`]. Engines say this by themselves.
    MemoryLimit,
    /// Its output is longer than its [`crate::LaunchLimits::output`]. Engines say this by themselves.
    OutputLimit,
    /// Its nodes are needed for something else, its lease has ended, or what ran it was asked to end.
    Evicted,
}

/// When an attempt started, and as which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStart {
    /// The process, where the engine knows it.
    pub pid: Option<u32>,
    /// When.
    #[serde(with = "crate::protocol::time::instant")]
    pub at: Instant,
}

/// An attempt that was handed in and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAttempt {
    /// Its name.
    pub attempt: AttemptKey,
    /// Its start; none while it waits to be started.
    pub started: Option<AttemptStart>,
    /// Processor time used so far, as far as the engine sees it.
    #[serde(with = "crate::protocol::time::span")]
    pub cpu: Span,
}

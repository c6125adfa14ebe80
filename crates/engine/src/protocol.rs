//! What passes between a [`crate::LocalEngine`] and its runner, and into the runner's journal: one
//! JSON value a line. Either side may be of another release than the other, so fields are only
//! ever added, and unknown ones are passed over.

pub(crate) mod launch;
pub(crate) mod time;

use serde::{Deserialize, Serialize};

use crate::starter::LaunchGuard;
use crate::{
    AttemptKey, AttemptReport, EngineCapacity, EngineError, KillReason, LaunchSpec, RunningAttempt,
};

/// Counts changes that the other side cannot do without. In version 1 an open connection renewed a lease, and
/// a launch of a script named a path.
pub(crate) const VERSION: u32 = 2;

/// From the engine to the runner.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunnerRequest {
    /// Repeated in the answer.
    pub(crate) id: u64,
    pub(crate) ask: RunnerRequestKind,
}

/// What is asked of the runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerRequestKind {
    Capacity,
    Start(Vec<LaunchSpec>),
    SetShares(Vec<(AttemptKey, f64)>),
    Kill(Vec<AttemptKey>, KillReason),
    Acknowledge(Vec<AttemptKey>),
    /// What runs may go on until so many microseconds after the boot of the host.
    RenewLease(u64),
    Running,
}

impl RunnerRequestKind {
    /// The call's name in messages.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Start(_) => "start",
            Self::SetShares(_) => "set_shares",
            Self::Kill(..) => "kill",
            Self::Acknowledge(_) => "acknowledge",
            Self::RenewLease(_) => "renew_lease",
            Self::Running => "running",
        }
    }
}

/// From the runner to the engine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerMessage {
    /// The first word on every connection.
    Hello {
        version: u32,
        pid: u32,
        /// What the runner holds launches to.
        #[serde(default)]
        guard: Option<LaunchGuard>,
    },
    Answer {
        id: u64,
        answer: RunnerResponse,
    },
    Report(AttemptReport),
}

/// The answer to a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerResponse {
    Done,
    Capacity(EngineCapacity),
    Running(Vec<RunningAttempt>),
    /// There is no room to keep a record of more.
    Full(String),
}

impl RunnerResponse {
    /// `Done`, or the error that it is.
    pub(crate) fn expect_done(self) -> Result<(), EngineError> {
        match self {
            Self::Full(reason) => Err(EngineError::Full { reason }),
            Self::Done | Self::Capacity(_) | Self::Running(_) => Ok(()),
        }
    }
}

/// `value` as a line.
pub(crate) fn encode_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("our own types are representable in JSON");
    line.push(b'\n');
    line
}

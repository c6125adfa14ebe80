//! The messages between a [`crate::LocalEngine`] and its runner, also used in the runner's journal:
//! one JSON value per line. The two sides may be of different releases, so fields are only ever
//! added, and unknown fields are ignored.

use serde::{Deserialize, Serialize};
use tollgate_engine::{
    EngineCapacity, EngineError, HostLoad, LaunchSpec, OutputAnswer, OutputRead, RunningAttempt,
    SuspendedAttempt,
};
use tollgate_model::{AttemptId, AttemptReport, KillReason, WarningSignal};

use crate::guard::LaunchGuard;

/// The protocol version, incremented for changes that the other side cannot do without. In version
/// 1 an open connection renewed a lease, and a launch of a script named a path.
pub(crate) const VERSION: u32 = 2;

/// A message from the engine to the runner.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunnerRequest {
    /// The number of the request, repeated in the answer.
    pub(crate) id: u64,
    #[serde(rename = "ask")]
    pub(crate) kind: RunnerRequestKind,
    /// Whether the caller has stored the attempts that it starts, and takes them for lost after a reboot;
    /// then the runner need not wait for the disk. Runners of earlier releases do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_recorded: bool,
}

/// A request to the runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerRequestKind {
    Capacity,
    Start(Vec<LaunchSpec>),
    SetShares(Vec<(AttemptId, f64)>),
    Kill(Vec<AttemptId>, KillReason),
    /// Sends a signal to the processes of attempts that run.
    Signal(Vec<AttemptId>, WarningSignal),
    /// Freezes the processes of attempts.
    Suspend(Vec<AttemptId>),
    /// Lets the processes of attempts go on.
    Resume(Vec<AttemptId>),
    Acknowledge(Vec<AttemptId>),
    /// Renews the lease: tasks may run until this many microseconds after the boot of the host.
    RenewLease(u64),
    Running,
    /// Measures the load of the host.
    Load,
    /// Reads outputs. The answers are messages of their own, because a file system may take its time.
    ReadOutputs(Vec<OutputRead>),
}

impl RunnerRequestKind {
    /// Returns the call's name for messages.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Start(_) => "start",
            Self::SetShares(_) => "set_shares",
            Self::Kill(..) => "kill",
            Self::Signal(..) => "signal",
            Self::Suspend(_) => "suspend",
            Self::Resume(_) => "resume",
            Self::Acknowledge(_) => "acknowledge",
            Self::RenewLease(_) => "renew_lease",
            Self::Running => "running",
            Self::Load => "load",
            Self::ReadOutputs(_) => "read_outputs",
        }
    }
}

/// A message from the runner to the engine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerMessage {
    /// The first message on every connection.
    Hello {
        version: u32,
        pid: u32,
        /// The runner's launch guard.
        #[serde(default)]
        guard: Option<LaunchGuard>,
        /// Whether the runner reads outputs; runners of earlier releases do not.
        #[serde(default)]
        reads_outputs: bool,
        /// Whether attempts can follow others; runners of earlier releases start them at once.
        #[serde(default)]
        keeps_order: bool,
        /// Whether attempts can have files of their own for errors and input, and get signals; runners of earlier
        /// releases know neither.
        #[serde(default)]
        has_streams_and_signals: bool,
        /// Whether attempts can be suspended; runners of earlier releases cannot.
        #[serde(default)]
        suspends: bool,
        /// Whether the load of the host is measured; runners of earlier releases do not measure it.
        #[serde(default)]
        measures_load: bool,
    },
    Answer {
        id: u64,
        answer: RunnerResponse,
    },
    Report(AttemptReport),
    Output(OutputAnswer),
}

/// The answer to a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerResponse {
    Done,
    Capacity(EngineCapacity),
    Running(Vec<RunningAttempt>),
    Suspended(Vec<SuspendedAttempt>),
    /// None if the kernel does not say.
    Load(Option<HostLoad>),
    /// There is no disk space to record more attempts.
    Full(String),
}

impl RunnerResponse {
    /// Returns `Done`, or the error that the answer contains.
    pub(crate) fn expect_done(self) -> Result<(), EngineError> {
        match self {
            Self::Full(reason) => Err(EngineError::Full { reason }),
            Self::Done
            | Self::Capacity(_)
            | Self::Running(_)
            | Self::Suspended(_)
            | Self::Load(_) => Ok(()),
        }
    }
}

/// Returns `value` as a line.
pub(crate) fn encode_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("our own types are representable in JSON");
    line.push(b'\n');
    line
}

//! The messages between a worker and the service: one JSON value a line.

use serde::{Deserialize, Serialize};
use tollgate_engine::{
    EngineCapacity, LaunchSpec, OutputAnswer, OutputRead, PartEvent, PartRequest,
};
use tollgate_model::{
    AttemptId, AttemptReport, EvictionCause, HostSlowdown, Instant, KillReason, WarningSignal,
};

use crate::departure::{LeaveAnswer, LeaveNotice};

/// Protocol version. It counts incompatible changes.
pub const VERSION: u32 = 9;

/// Maximum length of a line, in bytes: several hundred scripts.
pub const MAX_LINE_LEN: usize = 64 << 20;

/// A numbered message of one incarnation. A repeated frame is ignored, a gap in the numbers ends
/// the connection, and a frame of another incarnation is answered without effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerFrame<T> {
    /// The incarnation of the worker that the frame is about; 0 before there is one.
    #[serde(rename = "incarnation")]
    pub incarnation: u32,
    /// Sequence number of the frame on this connection and in this direction, from 1.
    pub seq: u64,
    /// The message.
    pub message: T,
}

/// A message from the worker to the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    /// The first message on every connection.
    Hello(WorkerHello),
    /// The worker's capacity. Sent once no task of any other incarnation than the current one runs.
    Offer {
        /// The capacity.
        capacity: EngineCapacity,
        /// Attempts that were started and have not ended.
        running: Vec<AttemptId>,
        /// The instant at which the worker's host ends it, by the host's clock; None if it is not
        /// known.
        until: Option<Instant>,
        /// How tasks give way on the worker's host; None if no one works at it.
        desktop: Option<DesktopOffer>,
    },
    /// Reports of attempts, repeated until they are acknowledged.
    Reports(Vec<AttemptReport>),
    /// A heartbeat. The answer has the same number.
    Beat(u64),
    /// The worker's host ends it at another instant than it offered, by the host's clock.
    Until(Instant),
    /// The worker's host came into use for this cause, or is free for tasks again. No attempt starts while it is in use.
    InUse(Option<EvictionCause>),
    /// Work takes so much longer on the worker's host because of load that is not of tasks; 1 if there is none.
    Slowed(HostSlowdown),
    /// The worker is about to leave, and is to get no other attempts.
    Leaving(LeaveNotice),
    /// A process on the worker's host asks for a part of its attempt on another host.
    Part {
        /// The worker's number of the request.
        call: u64,
        /// Name of the user whose process asks.
        user: String,
        /// The request.
        request: PartRequest,
    },
    /// The answers to reads of outputs.
    Outputs(Vec<OutputAnswer>),
    /// The worker runs nothing any more and leaves: its incarnation is over.
    Leave,
}

/// A host that people work at, as its worker offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesktopOffer {
    /// Why the host is in use, so that no attempt starts there now; None if it is free.
    pub in_use: Option<EvictionCause>,
    /// Sentences: how its use is observed, and what cannot be.
    pub facts: Vec<String>,
}

/// A worker's identification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHello {
    /// The worker's [`VERSION`].
    pub version: u32,
    /// The worker's unique identity, drawn at random when its directory was created.
    pub identity: String,
    /// The worker's display name.
    pub name: String,
    /// Name of the user that the worker runs as.
    pub user: String,
    /// Whether the worker runs jobs of every user.
    pub all_users: bool,
    /// Whether the worker runs jobs of root.
    pub root_jobs: bool,
    /// Whether the worker is a pilot, which does not come again once it has left or was lost.
    pub is_pilot: bool,
    /// Name of the site that the worker is at, if it has one.
    pub site: Option<String>,
    /// The service that the worker has worked for, if any.
    pub service: Option<String>,
    /// The worker's last incarnation; 0 if none.
    #[serde(rename = "incarnation")]
    pub incarnation: u32,
}

/// A message from the service to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMessage {
    /// The answer to a hello.
    Welcome {
        /// The service's unique identity.
        service: String,
        /// The grace period in milliseconds, after which a silent worker is given up.
        grace_ms: u64,
        /// Whether the worker's incarnation goes on. If not, the worker ends all its tasks before
        /// it offers anything.
        goes_on: bool,
        /// The time in milliseconds between two looks of the worker at the load of its host that is not of tasks. None if it
        /// is not to look.
        load_interval_ms: Option<u64>,
    },
    /// The worker is refused, and need not connect again as it is.
    Refused(String),
    /// The worker's incarnation is over: the worker hangs up, ends its tasks, and connects again.
    Over,
    /// The offer is accepted, for an incarnation with the epoch of this frame.
    Taken,
    /// Attempts to start, unless they are known.
    Start(Vec<WorkerLaunch>),
    /// The shares of attempts on their nodes.
    SetShares(Vec<(AttemptId, f64)>),
    /// Attempts to end.
    Kill(Vec<AttemptId>, KillReason),
    /// A signal to the processes of attempts.
    Signal(Vec<AttemptId>, WarningSignal),
    /// Attempts whose ends need not be reported again.
    Acknowledge(Vec<AttemptId>),
    /// Outputs to read.
    ReadOutputs(Vec<OutputRead>),
    /// An event of a part that a process on the worker's host asked for.
    Part {
        /// The worker's number of the request.
        call: u64,
        /// The event.
        event: PartEvent,
    },
    /// The answer to a heartbeat.
    Beat(u64),
    /// The answer to a worker that is about to leave.
    Leaving(LeaveAnswer),
    /// The batch system ends the worker's host at another instant than the worker offered.
    Until(Instant),
    /// The worker is to finish what it runs and to leave, for this reason.
    Retire(String),
}

/// The launch of one attempt on a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerLaunch {
    /// The launch specification, on nodes as the worker numbers them. It names no user, because
    /// user ids differ from host to host.
    pub launch: LaunchSpec,
    /// Name of the job's owner.
    pub owner: String,
}

/// The sequence counter of one direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct SequenceCounter(u64);

/// The outcome of checking a frame's sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCheck {
    /// The frame is the next one.
    Next,
    /// The frame was received before.
    Duplicate,
    /// A frame before this one is missing.
    Gap,
}

impl SequenceCounter {
    /// Returns the number of the next frame to send.
    pub fn next_number(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    /// Counts a received frame.
    pub fn check(&mut self, seq: u64) -> SequenceCheck {
        match seq {
            seq if seq <= self.0 => SequenceCheck::Duplicate,
            seq if seq == self.0 + 1 => {
                self.0 = seq;
                SequenceCheck::Next
            }
            _ => SequenceCheck::Gap,
        }
    }
}

/// Encodes `frame` as a line.
pub fn encode_line<T: Serialize>(frame: &WorkerFrame<T>) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).expect("our own types are representable in JSON");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdown_that_cannot_be_is_the_nearest_that_can() {
        let read = |text: &str| serde_json::from_str::<WorkerMessage>(text).expect("a message");
        let slowed = |slowdown| WorkerMessage::Slowed(HostSlowdown::nearest(slowdown));
        assert_eq!(read("{\"slowed\":-3e9}"), slowed(1.0));
        assert_eq!(read("{\"slowed\":1e300}"), slowed(HostSlowdown::MAX));
        assert_eq!(read("{\"slowed\":2.5}"), slowed(2.5));
    }

    #[test]
    fn frames_are_accepted_once_and_in_order() {
        let mut event = SequenceCounter::default();
        assert_eq!(event.check(1), SequenceCheck::Next);
        assert_eq!(event.check(1), SequenceCheck::Duplicate);
        assert_eq!(event.check(3), SequenceCheck::Gap);
        assert_eq!(event.check(2), SequenceCheck::Next);
        assert_eq!(event.check(3), SequenceCheck::Next);
    }
}

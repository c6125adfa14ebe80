//! What a worker and the service say to each other: one JSON value a line.

use serde::{Deserialize, Serialize};
use tollgate_engine::{AttemptKey, AttemptReport, EngineCapacity, KillReason, LaunchSpec};

/// Counts changes that the other side cannot do without.
pub const VERSION: u32 = 2;

/// The longest line that is read, in bytes: some hundred scripts.
pub const MAX_LINE_LEN: usize = 64 << 20;

/// One word, and where it belongs. One that was said before is passed over; one that comes too early
/// ends the connection; one of another life is answered, and changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerFrame<T> {
    /// The incarnation of the worker that the frame is about; 0 before there is one.
    #[serde(rename = "incarnation")]
    pub incarnation: u32,
    /// Counts what this side has said on this connection, from 1.
    pub seq: u64,
    /// What is said.
    pub word: T,
}

/// From the worker to the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    /// The first word on every connection.
    Hello(WorkerHello),
    /// What there is to run on. Said once nothing runs any more that belongs to another life than the
    /// one that goes on.
    Offer {
        /// That.
        capacity: EngineCapacity,
        /// What was handed in and has not ended.
        running: Vec<AttemptKey>,
    },
    /// What became of attempts; said until it is acknowledged.
    Reports(Vec<AttemptReport>),
    /// The worker is there. Answered with the same number.
    Beat(u64),
    /// The worker runs nothing any more, and goes: its life is over.
    Leave,
}

/// Who a worker is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHello {
    /// The worker's [`VERSION`].
    pub version: u32,
    /// What tells it from every other: drawn at random when its folder was made.
    pub identity: String,
    /// What it is called, to be shown.
    pub name: String,
    /// The user that it runs as, by name.
    pub user: String,
    /// Whether it runs jobs of every user.
    pub all_users: bool,
    /// Whether it runs jobs of root.
    pub root_jobs: bool,
    /// The service that it has worked for, if it has.
    pub service: Option<String>,
    /// The worker's last incarnation; 0 if none.
    #[serde(rename = "incarnation")]
    pub incarnation: u32,
}

/// From the service to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMessage {
    /// The answer to a hello.
    Welcome {
        /// What tells this service from every other.
        service: String,
        /// After how many milliseconds without a word a worker is given up.
        grace_ms: u64,
        /// Whether its life goes on. If not, it ends all that it runs before it offers anything.
        goes_on: bool,
    },
    /// The worker is not wanted, and need not come again as it is.
    Refused(String),
    /// The life that the worker is spoken to of is over: it hangs up, ends what it runs, and comes again.
    Over,
    /// Its offer is taken, for a life with the epoch of this frame.
    Taken,
    /// Attempts to be started, unless they are known.
    Start(Vec<WorkerLaunch>),
    /// How attempts share their nodes.
    SetShares(Vec<(AttemptKey, f64)>),
    /// Attempts to be ended.
    Kill(Vec<AttemptKey>, KillReason),
    /// Ends that need not be told again.
    Acknowledge(Vec<AttemptKey>),
    /// The answer to a beat.
    Beat(u64),
}

/// An attempt for a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerLaunch {
    /// What is to be run, on nodes as the worker numbers them. It names no user: numbers of users
    /// differ from host to host.
    pub launch: LaunchSpec,
    /// Whose job it is, by name.
    pub owner: String,
}

/// The words of one side of a connection, numbered.
#[derive(Clone, Copy, Debug, Default)]
pub struct SequenceCounter(u64);

/// What to do with a frame, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCheck {
    /// It is the next one.
    Next,
    /// It was heard before.
    Duplicate,
    /// Something before it is missing.
    Gap,
}

impl SequenceCounter {
    /// The number of the word that is said next.
    pub fn next_number(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    /// Counts a word that was heard.
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

/// `frame` as a line.
pub fn encode_line<T: Serialize>(frame: &WorkerFrame<T>) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).expect("our own types are representable in JSON");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_heard_once_and_in_order() {
        let mut heard = SequenceCounter::default();
        assert_eq!(heard.check(1), SequenceCheck::Next);
        assert_eq!(heard.check(1), SequenceCheck::Duplicate);
        assert_eq!(heard.check(3), SequenceCheck::Gap);
        assert_eq!(heard.check(2), SequenceCheck::Next);
        assert_eq!(heard.check(3), SequenceCheck::Next);
    }
}

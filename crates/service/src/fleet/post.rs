//! One worker, as the service knows it, and one connection.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use tollgate_engine::{AttemptKey, Capacity};
use tollgate_gate::WorkerId;
use tollgate_model::NodeRange;

use super::words::{Count, Frame, ToWorker};

/// The service's end of a connection. What is said reaches the worker in order, or not at all.
pub trait Line: Send {
    /// Says something; false if the connection takes no more. Must not block.
    fn say(&mut self, frame: Frame<ToWorker>) -> bool;
}

/// Something that a connection brings.
#[derive(Debug)]
pub struct Heard {
    /// Which connection: a number that no other has, as long as this service runs.
    pub line: u64,
    /// What it brings.
    pub what: What,
}

/// What a connection can bring.
pub enum What {
    /// It is there.
    Opened(Box<dyn Line>),
    /// A word of the worker.
    Said(Frame<super::words::ToService>),
    /// It is gone.
    Closed,
}

impl fmt::Debug for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(_) => f.write_str("Opened"),
            Self::Said(frame) => f.debug_tuple("Said").field(frame).finish(),
            Self::Closed => f.write_str("Closed"),
        }
    }
}

/// A worker.
pub(super) struct Post {
    /// Its life, if the gate counts on it.
    pub(super) life: Option<Life>,
    /// The connection that this life is spoken of on.
    pub(super) line: Option<u64>,
    /// When it was last heard that this life goes on, by the fleet's clock.
    pub(super) heard: Duration,
    /// What it said that it has.
    pub(super) capacity: Option<Capacity>,
    /// A new life that it has offered on this connection.
    pub(super) offer: Option<u64>,
    /// Whether it has said that it runs nothing any more and goes.
    pub(super) has_left: bool,
    /// Whether it has said what it runs, since the service was started. As long as it has not, it may
    /// run what the service does not remember.
    pub(super) is_known: bool,
    /// What it runs, where that was said and nobody has looked at it yet.
    pub(super) running: Option<BTreeSet<AttemptKey>>,
}

/// A life of a worker that goes on.
#[derive(Clone, Copy)]
pub(super) struct Life {
    pub(super) epoch: u32,
    pub(super) nodes: NodeRange,
}

impl Post {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            life: None,
            line: None,
            heard: now,
            capacity: None,
            offer: None,
            has_left: false,
            is_known: false,
            running: None,
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.life.map_or(0, |life| life.epoch)
    }
}

/// A connection.
pub(super) struct Connection {
    pub(super) line: Box<dyn Line>,
    pub(super) heard: Count,
    pub(super) said: Count,
    pub(super) stage: Stage,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nobody has said who it is.
    New,
    /// It is known who it is, and whether its life goes on.
    Greeted(WorkerId, bool),
    /// It has offered what it has.
    Offered(WorkerId),
}

impl Connection {
    pub(super) fn say(&mut self, epoch: u32, word: ToWorker) -> bool {
        let seq = self.said.say();
        self.line.say(Frame { epoch, seq, word })
    }
}

/// A worker, to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// What it is called.
    pub name: String,
    /// Which life this is, or was.
    pub epoch: u32,
    /// Whether it is there.
    pub standing: Standing,
    /// Its nodes.
    pub nodes: NodeRange,
    /// What is enforced there; none before it has come since the service was started.
    pub capacity: Option<Capacity>,
}

/// What the log says of a worker when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerStanding {
    /// Whether it is there.
    pub(crate) standing: Standing,
    /// Which incarnation this is, or was.
    pub(crate) incarnation: u32,
    /// How many nodes it offers, or offered.
    pub(crate) nodes: u32,
}

/// Whether a worker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is connected.
    Here,
    /// It is not, and is waited for: its jobs go on.
    Away,
    /// It was given up.
    Gone,
}

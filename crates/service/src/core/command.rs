//! What the core is told.

use serde::{Deserialize, Serialize};
use tollgate_gate::{Retry, WorkerId};
use tollgate_model::{Credits, CreditsPerSecond, Instant, Span};

/// A try at running a task, named for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptKey {
    /// The public number of the job.
    pub job: u64,
    /// Which task of it; 0 where there is only one.
    pub task: u32,
    /// Which try, from 1.
    pub attempt: u32,
}

/// Something that happened: stored as it is, and handled again after a crash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// A job was handed in.
    Submit(Submission),
    /// The engine says what became of an attempt.
    Report {
        /// Which one.
        attempt: AttemptKey,
        /// What became of it.
        fate: Fate,
    },
    /// A user takes up a quote that is held.
    Claim {
        /// Which one.
        job: u64,
    },
    /// A user takes a job back.
    Cancel {
        /// Which one.
        job: u64,
    },
    /// A user holds a queued job back.
    Hold {
        /// Which one.
        job: u64,
    },
    /// A user lets a held job queue again.
    Release {
        /// Which one.
        job: u64,
    },
    /// A worker offers nodes.
    WorkerUp {
        /// Which one.
        worker: WorkerId,
        /// Which of its lives.
        epoch: u32,
        /// How many nodes.
        nodes: u32,
        /// Bytes of memory that the tasks of each may hold together, where that is known.
        memory: Option<u64>,
    },
    /// A worker vanished, and all that ran on it.
    WorkerGone {
        /// Which one.
        worker: WorkerId,
        /// Which of its lives.
        epoch: u32,
    },
    /// Time has passed.
    Tick,
}

impl Command {
    /// Reports come before requests that are handled at the same instant: what has ended makes room
    /// for who arrives.
    pub(crate) fn is_report(&self) -> bool {
        match self {
            Self::Report { .. } | Self::WorkerUp { .. } | Self::WorkerGone { .. } | Self::Tick => {
                true
            }
            Self::Submit(_)
            | Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Hold { .. }
            | Self::Release { .. } => false,
        }
    }
}

/// A job as its user hands it in, but for what it runs: that decides nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Whose it is: a user id of the system.
    pub user: u32,
    /// What jobs that behave like it are called.
    pub name: String,
    /// Processors it needs at once. At least 1.
    pub procs: u32,
    /// Bytes of memory it needs, where its user says so; it counts as needing none where not.
    pub memory: Option<u64>,
    /// How long its user says that it takes, if they do. Positive.
    pub estimate: Option<Span>,
    /// Span after submission by which it must have finished, if there is a deadline. Positive.
    pub deadline: Option<Span>,
    /// The most its user pays, if there is a limit. Not negative.
    pub budget: Option<Credits>,
    /// What each second past the deadline costs the provider. Not negative.
    pub penalty: CreditsPerSecond,
    /// The least probability of keeping the deadline at which the user wants it let in; in
    /// millionths, at most 1,000,000.
    pub confidence: Option<u32>,
    /// Whether it may be run again after it was lost.
    pub retry: Retry,
    /// If it is a quote that is to be held: for how long. Positive.
    pub hold: Option<Span>,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It runs.
    Started {
        /// Its process, where the engine knows it.
        pid: Option<u32>,
        /// When.
        at: Instant,
    },
    /// It has ended.
    Ended {
        /// How.
        status: ExitStatus,
        /// Who ended it, if it did not end by itself.
        killed: Option<Killed>,
        /// When.
        at: Instant,
        /// How long it ran by the clock on the wall.
        wall: Span,
        /// How much time of processors it took.
        cpu: Span,
        /// The most memory that it used at once, in bytes, where that is known.
        peak_memory: Option<u64>,
    },
    /// Nobody knows how it ended.
    Lost {
        /// When that was noticed.
        at: Instant,
    },
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitStatus {
    /// By itself, with this code.
    Code(u8),
    /// By this signal.
    Signal(u8),
    /// Its program never ran.
    NotStarted {
        /// What could not be done.
        step: String,
        /// Why, in words.
        reason: String,
    },
}

/// Why an attempt was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Killed {
    /// Its user or an operator asked for it.
    Cancelled,
    /// It ran for as long as it was allowed to.
    TimeLimit,
    /// It used more memory than it was allowed to.
    MemoryLimit,
    /// Its nodes were needed for something else.
    Evicted,
}

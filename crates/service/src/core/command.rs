//! What the core is told.

use serde::{Deserialize, Serialize};
use tollgate_gate::{OnEviction, WorkerId};
use tollgate_model::{Credits, CreditsPerSecond, Instant, Span};

use super::task_ranges::TaskRanges;

/// A task, named for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskKey {
    /// The public number of the job.
    pub job: u64,
    /// Its number in its array; 0 in a job that is none.
    pub task: u32,
}

/// The only task of a job that is no array.
impl From<u64> for TaskKey {
    fn from(job: u64) -> Self {
        Self { job, task: 0 }
    }
}

/// A try at running a task, named for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskAttemptKey {
    /// The public number of the job.
    pub job: u64,
    /// Which task of it: its number in its array; 0 in a job that is none.
    pub task: u32,
    /// Which try, from 1.
    pub attempt: u32,
}

impl TaskAttemptKey {
    /// What it is a try at.
    pub const fn task(self) -> TaskKey {
        TaskKey {
            job: self.job,
            task: self.task,
        }
    }
}

/// Something that happened: stored as it is, and handled again after a crash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ServiceCommand {
    /// A job was handed in.
    Submit(Submission),
    /// The engine says what became of an attempt.
    Report {
        /// Which one.
        attempt: TaskAttemptKey,
        /// What became of it.
        progress: AttemptProgress,
    },
    /// A user takes up a quote that is held.
    Claim {
        /// Which one.
        job: u64,
    },
    /// A user takes a job back, or tasks of an array.
    Cancel {
        /// Which one.
        job: u64,
        /// Which tasks of it; none for all.
        tasks: Option<TaskRanges>,
    },
    /// A user holds a queued job back, or tasks of an array.
    Hold {
        /// Which one.
        job: u64,
        /// Which tasks of it; none for all.
        tasks: Option<TaskRanges>,
    },
    /// A user lets a held job queue again, or tasks of an array.
    Release {
        /// Which one.
        job: u64,
        /// Which tasks of it; none for all.
        tasks: Option<TaskRanges>,
    },
    /// A worker offers nodes.
    WorkerUp {
        /// Which one.
        worker: WorkerId,
        /// Which of its lives.
        incarnation: u32,
        /// How many nodes.
        nodes: u32,
        /// Bytes of memory that the tasks of each may hold together, where that is known.
        memory: Option<u64>,
    },
    /// A worker vanished, and all that ran on it.
    WorkerLost {
        /// Which one.
        worker: WorkerId,
        /// Which of its lives.
        incarnation: u32,
    },
    /// Time has passed.
    Tick,
}

impl ServiceCommand {
    /// Reports come before requests that are handled at the same instant: what has ended makes room
    /// for who arrives.
    pub(crate) fn is_report(&self) -> bool {
        match self {
            Self::Report { .. } | Self::WorkerUp { .. } | Self::WorkerLost { .. } | Self::Tick => {
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
    pub retry: OnEviction,
    /// If it is a quote that is to be held: for how long. Positive.
    pub reserve_for: Option<Span>,
    /// Whether it is many tasks, and what it waits for before it is decided about.
    pub options: SubmissionOptions,
}

impl Submission {
    /// How many tasks it is.
    pub fn n_tasks(&self) -> u64 {
        let array = self.options.array.as_ref();
        array.map_or(1, |array| array.tasks.len())
    }
}

/// What is beside one task that may start at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubmissionOptions {
    /// If it is an array: which tasks, and how many of them at a time.
    pub array: Option<ArraySpec>,
    /// Jobs of the same user that have to be over first.
    pub dependencies: Vec<JobDependency>,
    /// Whether it waits for its user to release it.
    pub held: bool,
    /// When it was handed in, if it had to wait since: its deadline counts from there.
    pub submitted: Option<Instant>,
}

/// Tasks that are the same but for their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Their numbers; at least one.
    pub tasks: TaskRanges,
    /// At most so many of them are before the gate at a time, if there is a limit. Positive.
    pub max_at_once: Option<u32>,
}

/// A job that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDependency {
    /// Its number.
    pub job: u64,
    /// How it has to be over.
    pub condition: DependencyCondition,
}

/// How a job has to be over for another one to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DependencyCondition {
    /// Every task of it ended with exit code 0.
    Success,
    /// In whichever way.
    AnyEnd,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptProgress {
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
        status: AttemptExit,
        /// Who ended it, if it did not end by itself.
        killed: Option<KillCause>,
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
pub enum AttemptExit {
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
pub enum KillCause {
    /// Its user or an operator asked for it.
    Cancelled,
    /// It ran for as long as it was allowed to.
    TimeLimit,
    /// It used more memory than it was allowed to.
    MemoryLimit,
    /// Its nodes were needed for something else.
    Evicted,
    /// Its output became longer than it was allowed to. (The last one: what is stored counts them.)
    OutputLimit,
}

impl AttemptExit {
    /// The status as a shell says it: the exit code, 128 + n after signal n, 127 if it never ran.
    pub const fn shell_code(&self) -> u8 {
        match self {
            Self::Code(code) => *code,
            Self::Signal(signal) => signal.saturating_add(128),
            Self::NotStarted { .. } => 127,
        }
    }
}

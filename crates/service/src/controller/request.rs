//! What the keeper is asked, and how it answers.

use tokio::sync::oneshot;
use tollgate_engine::EngineCapacity;
use tollgate_model::Instant;

use crate::core::{
    CommandError, JobPrediction, PolicyComparison, ServiceCommand, Submission, SubmitOutcome,
    TaskKey,
};
use crate::store::{JobProgram, StoreError};
use crate::workers::{self, ConnectionEvent};

/// Where an answer goes. Nobody need be there any more.
pub type Responder<T> = oneshot::Sender<Result<T, RequestError>>;

/// Something to be answered or done.
#[derive(Debug)]
pub enum ControllerRequest {
    /// A job is handed in.
    Submit {
        /// What decisions depend on.
        submission: Submission,
        /// By when it must have finished, if that was said as an instant: then its deadline follows
        /// from this, by the clock that the answer is decided by.
        due: Option<Instant>,
        /// What it runs.
        program: Box<JobProgram>,
        /// Its number and what it is told.
        reply: Responder<SubmittedJob>,
    },
    /// A quote that is held is taken up.
    Claim {
        /// Whose it must be.
        user: u32,
        /// Its number.
        job: u64,
        /// What it runs.
        program: Box<JobProgram>,
        /// That it is a job now.
        reply: Responder<()>,
    },
    /// What would a job be told, and for how long will that be kept?
    Reserve {
        /// What decisions depend on; it says for how long.
        submission: Submission,
        /// As of a job that is submitted.
        due: Option<Instant>,
        /// Its number, if it is held, and what it is told.
        reply: Responder<(Option<u64>, SubmitOutcome)>,
    },
    /// What would a job be told?
    Quote {
        /// What decisions depend on.
        submission: Submission,
        /// As of a job that is submitted.
        due: Option<Instant>,
        /// What it would be told.
        reply: Responder<SubmitOutcome>,
    },
    /// A user wants something done with a job: cancelled, held, released.
    Command {
        /// Whose the job must be; none for an operator.
        user: Option<u32>,
        /// What is to be done.
        command: ServiceCommand,
        /// That it is.
        reply: Responder<()>,
    },
    /// Is the keeper there?
    Ping {
        /// That it is.
        reply: Responder<()>,
    },
    /// How do things stand?
    Status {
        /// So.
        reply: Responder<StatusSnapshot>,
    },
    /// What is there to run on?
    Nodes {
        /// That.
        reply: Responder<ClusterInfo>,
    },
    /// What will become of a job that is not over?
    Explain {
        /// Which one; of an array, with a task.
        task: TaskKey,
        /// Its story; none if it is over, or there is no such job.
        reply: Responder<Option<TaskOutlook>>,
    },
    /// Tell me when a job is over, or, with `decided`, let in or kept out.
    Wait {
        /// Which one.
        job: u64,
        /// Which task of it, if it is an array and only one is waited for.
        task: Option<u32>,
        /// At once if it is so already, or there is no such job.
        reply: Responder<()>,
        /// Whether to be let in is enough.
        decided: bool,
    },
    /// A connection of a worker brings something.
    Worker {
        /// What.
        event: ConnectionEvent,
        /// Whether the connection is still of use.
        reply: oneshot::Sender<bool>,
    },
    /// The engine may have something to report.
    EngineReady,
    /// Stop.
    Stop,
}

impl ControllerRequest {
    /// The job that is handed in, if one is.
    pub(super) fn submission(&self) -> Option<&Submission> {
        match self {
            Self::Submit { submission, .. } | Self::Reserve { submission, .. } => Some(submission),
            Self::Claim { .. }
            | Self::Quote { .. }
            | Self::Command { .. }
            | Self::Ping { .. }
            | Self::Status { .. }
            | Self::Nodes { .. }
            | Self::Explain { .. }
            | Self::Wait { .. }
            | Self::Worker { .. }
            | Self::EngineReady
            | Self::Stop => None,
        }
    }

    /// Answers what would hand in a job that it is not taken in.
    pub(super) fn fail(self, failed: RequestError) {
        match self {
            Self::Submit { reply, .. } => drop(reply.send(Err(failed))),
            Self::Reserve { reply, .. } => drop(reply.send(Err(failed))),
            Self::Claim { reply, .. } => drop(reply.send(Err(failed))),
            Self::Quote { .. }
            | Self::Command { .. }
            | Self::Ping { .. }
            | Self::Status { .. }
            | Self::Nodes { .. }
            | Self::Explain { .. }
            | Self::Wait { .. }
            | Self::Worker { .. }
            | Self::EngineReady
            | Self::Stop => {}
        }
    }
}

/// A job's number and what it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedJob {
    /// Its number.
    pub job: u64,
    /// What it is told.
    pub answer: SubmitOutcome,
}

/// How things stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// When this was so.
    pub now: Instant,
    /// Nodes that are there.
    pub nodes: u32,
    /// Those of them that nothing runs on.
    pub idle: u32,
    /// Tasks that wait.
    pub queued: u32,
    /// Tasks that are held back.
    pub held: u32,
    /// Tasks that run.
    pub running: u32,
    /// Workers that are connected.
    pub workers: u32,
    /// Workers that are not, and are waited for.
    pub workers_disconnected: u32,
    /// Batches that were committed since the store was made.
    pub commits: u64,
    /// How often the engine could not be told what to do, since the service was started.
    pub engine_failures: u64,
    /// What the policy on paper would have done beside what was done, if there is one.
    pub shadow: Option<PolicyComparison>,
}

/// What there is to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInfo {
    /// What is enforced there.
    pub capacity: EngineCapacity,
    /// By number: none if the node is down, else how many tasks it has.
    pub nodes: Vec<Option<u32>>,
    /// Workers on other hosts, and which of these nodes are theirs.
    pub workers: Vec<workers::WorkerInfo>,
}

/// How a task stands that is not over, and what is to be expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutlook {
    /// When this was so.
    pub now: Instant,
    /// How many tasks that wait come before it, as far as they have come into being.
    pub queued_ahead: u32,
    /// Processors that are idle.
    pub idle: u32,
    /// For when processors are reserved for it.
    pub reserved: Option<Instant>,
    /// When it starts and ends and how sure that is.
    pub prediction: Option<JobPrediction>,
    /// Jobs that it waits for.
    pub dependencies: Vec<u64>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It changes nothing.
    #[error(transparent)]
    Ignored(#[from] CommandError),
    /// There is no room on the disk.
    #[error("the disk of the service is full: no new jobs until there is room")]
    DiskFull,
    /// What runs the jobs does not answer.
    #[error("the engine does not answer: {0}")]
    Engine(String),
    /// The user has as many jobs as one user may.
    #[error("job limit reached: a user may have {0} unfinished jobs (each array task counts)")]
    JobLimit(u32),
    /// The instant by which a job must have finished is past, or too far away; the present is said.
    #[error("deadline_at: expected an instant that is still to come")]
    DeadlinePassed(Instant),
    /// The user has as much stored as one user may.
    #[error(
        "expected at most {0} bytes of commands, environments and scripts of one user's jobs that \
         are not over"
    )]
    StorageLimit(u64),
    /// The user has no job of that number to start after.
    #[error("after: no such job: {0}")]
    UnknownDependency(u64),
    /// The job to start after has ended, and not as it should.
    #[error("after: job {0} did not end with exit code 0, so this job would never start")]
    DependencyFailed(u64),
    /// What was decided could not be written down, so it was not decided.
    #[error("the service cannot write to its store: {0}")]
    Store(String),
}

impl From<&StoreError> for RequestError {
    fn from(error: &StoreError) -> Self {
        if error.is_full() {
            return Self::DiskFull;
        }
        Self::Store(error.to_string())
    }
}

//! Requests to the controller, and their responses.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tollgate_engine::EngineCapacity;
use tollgate_engine::output::OutputPosition;
use tollgate_model::{
    AttemptId, Instant, MaintenanceCalendar, MaintenanceWindow, NodeRange, Probability, Span,
    TaskId,
};
use tollgate_service::{
    ArrayOutlook, CommandError, EngineWait, FailedLaunches, JobChange, JobPrediction,
    NamedResources, PolicyComparison, PromiseAtRisk, PromiseRisk, RunRecord, ServiceCommand,
    Submission, SubmitOutcome, UnfinishedCounts,
};
use tollgate_store::{JobProgram, RemovalProgress, StoreError};
use tollgate_workers::{ConnectionEvent, PartCall};

use super::keys::KeyedRequest;
use super::outputs::OutputLookup;
use super::requested_times::RequestedTimes;

/// The channel for a response. The receiver may be gone already.
pub type Responder<T> = oneshot::Sender<Result<T, RequestError>>;

/// A request to the controller.
#[derive(Debug)]
pub enum ControllerRequest {
    /// Submits jobs of one user, all or none of them, in one transaction.
    Submit {
        /// The jobs, in the order of their numbers. At least one.
        jobs: Vec<NewJob>,
    },
    /// Carries out a request that its client may send again.
    Keyed(Box<KeyedRequest>),
    /// Claims a reserved quote.
    Claim {
        /// The user that the quote must belong to.
        user: u32,
        /// The number of the quote.
        job: u64,
        /// The job's program.
        program: Box<JobProgram>,
        /// Receives a confirmation that the quote is now a job.
        reply: Responder<()>,
    },
    /// Asks for a quote with a reservation.
    Reserve {
        /// The job's properties that the decision depends on, with the duration of the reservation.
        submission: Submission,
        /// Its times, as for a submitted job.
        times: RequestedTimes,
        /// Receives the outcome, and the quote's number if it is reserved.
        reply: Responder<(Option<u64>, SubmitOutcome)>,
    },
    /// Asks for a quote without a reservation.
    Quote {
        /// The job's properties that the decision depends on.
        submission: Submission,
        /// Its times, as for a submitted job.
        times: RequestedTimes,
        /// Whether surer promises and their prices are told.
        with_levels: bool,
        /// Receives the outcome that the job would get.
        reply: Responder<SubmitOutcome>,
    },
    /// Cancels, holds or releases a job for a user.
    Command {
        /// The user that the job must belong to; None for an operator.
        user: Option<u32>,
        /// The command.
        command: ServiceCommand,
        /// Receives a confirmation.
        reply: Responder<()>,
    },
    /// Changes a job that waits.
    Alter {
        /// The user that the job must belong to; None for an operator.
        user: Option<u32>,
        /// The number of the job.
        job: u64,
        /// What is to be different.
        change: JobChange,
        /// The new deadline as an instant, if the user gave one.
        due: Option<Instant>,
        /// Receives whether the job was changed, and the decision about the changed job.
        reply: Responder<(bool, SubmitOutcome)>,
    },
    /// Drains a worker's nodes, or lets jobs start there again.
    Drain {
        /// The name of the workers; None for this host.
        worker: Option<String>,
        /// Whether no other job starts there.
        drained: bool,
        /// Receives a confirmation.
        reply: Responder<()>,
    },
    /// Passes on the ends that batch systems have for workers.
    MoveEnds {
        /// The ends, by the names of the workers.
        ends: Vec<(String, Instant)>,
        /// Receives the names of the workers that had another end.
        reply: Responder<Vec<String>>,
    },
    /// Sets the weights of users in the fair order, if they differ.
    WeighUsers {
        /// The user ids with their weights, ascending; 1 of all others.
        weights: Vec<(u32, f64)>,
    },
    /// Plans maintenance.
    Maintain {
        /// The times in which no job runs.
        calendar: MaintenanceCalendar,
    },
    /// Sets the licences of the site.
    SetLicences {
        /// Number of each.
        licences: NamedResources,
    },
    /// Learns from records of earlier jobs.
    Learn {
        /// The records.
        records: Vec<RunRecord>,
        /// Receives the numbers of records that were learned now, and before.
        reply: Responder<(u32, u32)>,
    },
    /// Checks that the controller is alive.
    Ping {
        /// Receives a confirmation.
        reply: Responder<()>,
    },
    /// Asks for the state of the service.
    Status {
        /// The user whose open promises are counted; None for those of all users.
        user: Option<u32>,
        /// Receives the state.
        reply: Responder<StatusSnapshot>,
    },
    /// Asks for the cluster's capacity.
    Nodes {
        /// Receives the capacity.
        reply: Responder<ClusterInfo>,
    },
    /// Asks for the outlook of an unfinished job.
    Explain {
        /// The task; for an array, one of its tasks.
        task: TaskId,
        /// Receives the outlook; None if the task has finished or does not exist.
        reply: Responder<Option<TaskOutlook>>,
    },
    /// Asks for the outlook of an unfinished array.
    ExplainArray {
        /// The number of the array.
        job: u64,
        /// Receives the outlook; None if the array has finished, is not decided yet or does not exist.
        reply: Responder<Option<ArrayOutlook>>,
    },
    /// Asks for the risk of a promise, if its chance is below a level.
    PromiseRisk {
        /// The number of the job.
        job: u64,
        /// The level.
        level: Probability,
        /// Receives the chance and the instant of it; None if it is not below the level, or there is no open promise.
        reply: Responder<Option<(PromiseAtRisk, Instant)>>,
    },
    /// Waits until a job has finished or, with `decided`, is admitted or rejected.
    Wait {
        /// The number of the job.
        job: u64,
        /// The task to wait for, if only one task of an array matters.
        task: Option<u32>,
        /// Receives a confirmation: at once if the condition holds already or there is no such job.
        reply: Responder<()>,
        /// Whether an admission or a rejection ends the wait.
        decided: bool,
    },
    /// Removes some of the jobs that ended before an instant.
    Prune {
        /// The instant.
        before: Instant,
        /// Receives the progress. The request is repeated until nothing is left to remove, so that
        /// other requests are served in between.
        reply: Responder<RemovalProgress>,
    },
    /// Passes an event on a worker's connection.
    Worker {
        /// The event.
        event: ConnectionEvent,
        /// Receives false if the connection is to be closed.
        reply: oneshot::Sender<bool>,
    },
    /// Reads some of the output of an attempt on another host.
    ReadOutput {
        /// The attempt.
        attempt: AttemptId,
        /// The owner of its job.
        user: u32,
        /// The position of the first byte.
        from: OutputPosition,
        /// Receives what was read, once the worker has answered.
        reply: Responder<OutputLookup>,
    },
    /// Asks for a part of a running attempt on another of its hosts.
    Part(Box<PartCall>),
    /// Wakes the controller: the engine may have new reports.
    EngineReady,
    /// Stops the controller.
    Stop,
}

impl ControllerRequest {
    /// Returns the request to submit one job.
    pub fn submit(job: NewJob) -> Self {
        Self::Submit { jobs: vec![job] }
    }

    /// Returns the numbers of jobs and tasks that the request submits.
    pub(super) fn submits(&self) -> UnfinishedCounts {
        match self {
            Self::Reserve { submission, .. } => submission.counts(),
            Self::Submit { jobs } => jobs.iter().map(|job| job.submission.counts()).sum(),
            Self::Keyed(keyed) => keyed.request.submits(),
            Self::Claim { .. }
            | Self::Quote { .. }
            | Self::Command { .. }
            | Self::Alter { .. }
            | Self::Drain { .. }
            | Self::MoveEnds { .. }
            | Self::Maintain { .. }
            | Self::WeighUsers { .. }
            | Self::SetLicences { .. }
            | Self::Learn { .. }
            | Self::Ping { .. }
            | Self::Status { .. }
            | Self::Nodes { .. }
            | Self::Explain { .. }
            | Self::ExplainArray { .. }
            | Self::PromiseRisk { .. }
            | Self::Wait { .. }
            | Self::Prune { .. }
            | Self::Worker { .. }
            | Self::ReadOutput { .. }
            | Self::Part(_)
            | Self::EngineReady
            | Self::Stop => UnfinishedCounts::default(),
        }
    }

    /// Fails a request that would store something with `failed`.
    pub(super) fn fail(self, failed: RequestError) {
        match self {
            Self::Reserve { reply, .. } => drop(reply.send(Err(failed))),
            Self::Learn { reply, .. } => drop(reply.send(Err(failed))),
            Self::Submit { jobs } => {
                for job in jobs {
                    let _ = job.reply.send(Err(failed.clone()));
                }
            }
            Self::Keyed(keyed) => keyed.request.fail(failed),
            Self::Claim { reply, .. } | Self::Command { reply, .. } => {
                drop(reply.send(Err(failed)));
            }
            Self::Alter { reply, .. } => drop(reply.send(Err(failed))),
            Self::Quote { .. }
            | Self::Drain { .. }
            | Self::MoveEnds { .. }
            | Self::Maintain { .. }
            | Self::WeighUsers { .. }
            | Self::SetLicences { .. }
            | Self::Ping { .. }
            | Self::Status { .. }
            | Self::Nodes { .. }
            | Self::Explain { .. }
            | Self::ExplainArray { .. }
            | Self::PromiseRisk { .. }
            | Self::Wait { .. }
            | Self::Prune { .. }
            | Self::Worker { .. }
            | Self::ReadOutput { .. }
            | Self::Part(_)
            | Self::EngineReady
            | Self::Stop => {}
        }
    }
}

/// A job to submit.
#[derive(Debug)]
pub struct NewJob {
    /// The job's properties that the decision depends on.
    pub submission: Submission,
    /// Its times that depend on the clock of the decision.
    pub times: RequestedTimes,
    /// The job's program.
    pub program: Box<JobProgram>,
    /// Receives the job's number and the outcome.
    pub reply: Responder<SubmittedJob>,
}

/// The response to a submission.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedJob {
    /// The number of the job.
    pub job: u64,
    /// The outcome of the submission.
    pub answer: SubmitOutcome,
}

/// The state of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// The instant of this state.
    pub now: Instant,
    /// How far the service's clock is ahead of its host's, if by more than a minute.
    pub clock_ahead: Option<Span>,
    /// The numbers of promises at risk by cause; an array is one.
    pub at_risk: BTreeMap<PromiseRisk, u32>,
    /// Number of promises that are neither kept, broken nor void yet.
    pub open_promises: u32,
    /// Number of unfinished tasks whose deadline is not promised.
    pub open_unpromised: u32,
    /// Nodes that are up.
    pub nodes: u32,
    /// Nodes that are up and run nothing.
    pub idle: u32,
    /// Tasks that wait in the queue.
    pub queued: u32,
    /// Tasks that are held by their user.
    pub held: u32,
    /// Tasks that run.
    pub running: u32,
    /// Workers that are connected.
    pub workers: u32,
    /// Workers that are disconnected, within their grace period.
    pub workers_disconnected: u32,
    /// The maintenance window at this instant, or the next one.
    pub maintenance: Option<MaintenanceWindow>,
    /// Batches that were committed since the store was created.
    pub commits: u64,
    /// The number of times the engine could not carry out a command since the service was started.
    pub engine_failures: u64,
    /// The comparison of the shadow policy with the real one, if a shadow policy is configured.
    pub shadow: Option<PolicyComparison>,
}

/// The capacity of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInfo {
    /// The capacity that the engine enforces.
    pub capacity: EngineCapacity,
    /// The number of tasks on each node, by node number; None if the node is down.
    pub nodes: Vec<Option<u32>>,
    /// The drained nodes.
    pub drained: Vec<NodeRange>,
    /// Whether the service offers nodes of its own host.
    pub offers_local_nodes: bool,
    /// The workers on other hosts, with their ranges of these nodes.
    pub workers: Vec<tollgate_workers::WorkerInfo>,
    /// Devices of hosts that are up, and licences.
    pub resources: Vec<ResourceUse>,
}

/// How much of a generic resource is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// The name.
    pub name: String,
    /// The host whose devices they are; None for licences of the site.
    pub host: Option<String>,
    /// Number of units.
    pub total: u8,
    /// Number of units that running jobs take.
    pub taken: u8,
}

/// A host that a waiting task asks for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHost {
    /// The name.
    pub name: String,
    /// The number of idle processors there, the most of several hosts of this name; None if none of them
    /// takes jobs now.
    pub idle: Option<u32>,
}

/// The state of an unfinished task, with its prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutlook {
    /// The instant of this state.
    pub now: Instant,
    /// The number of waiting tasks ahead of this one, without tasks that are not yet materialised.
    pub queued_ahead: u32,
    /// What stands before the task, if the policy tells.
    pub order: Option<tollgate_policy::WaitOrder>,
    /// Idle processors.
    pub idle: u32,
    /// Whether the service has nodes, idle or not.
    pub has_nodes: bool,
    /// Number of tasks of its array that are submitted to the gate before this one. None if it is there.
    pub tasks_ahead: Option<u64>,
    /// The number of tasks of its array that may run at once, if as many run.
    pub reached_limit: Option<u32>,
    /// The host that the task asks for by name, if it does.
    pub host: Option<NamedHost>,
    /// The instant for which processors are reserved for the task.
    pub reserved: Option<Instant>,
    /// The predicted start and end, with their uncertainty.
    pub prediction: Option<JobPrediction>,
    /// Jobs that the task depends on.
    pub dependencies: Vec<u64>,
    /// The instant for which the task waits before its decision.
    pub begin: Option<Instant>,
    /// Number of jobs of its class that have failed by themselves.
    pub failures: u64,
    /// The launches since its last start that the site could not carry out.
    pub failed_launches: Option<FailedLaunches>,
    /// The wait of the current attempt for the start of its program, if the engine has not reported it.
    pub engine_wait: Option<EngineWait>,
    /// The end of its host, if the promise of the running task is at risk because of that.
    pub closes_before_end: Option<Instant>,
    /// The risk of the promise to the job, if it is at risk.
    pub risk: Option<PromiseAtRisk>,
}

/// The reason for failing a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The command changes nothing.
    #[error(transparent)]
    Ignored(#[from] CommandError),
    /// The same request was carried out before. Its answer is in the store.
    #[error("this request was carried out before")]
    AnsweredBefore,
    /// The disk is full.
    #[error("the disk of the service is full: no new jobs until there is room")]
    DiskFull,
    /// The engine does not answer.
    #[error("the engine does not answer: {0}")]
    Engine(String),
    /// The user has reached the limit of unfinished jobs, given here.
    #[error("job limit reached: a user may have {0} unfinished jobs; an array counts as one")]
    JobLimit(u64),
    /// The user has reached the limit of unfinished tasks, given here.
    #[error("task limit reached: a user may have {0} unfinished tasks")]
    TaskLimit(u64),
    /// No job number is left: from the next number on they are those of tasks.
    #[error("no job number is left: the greatest is 999999999")]
    NoJobNumber,
    /// The deadline is past or too far away. Contains the present instant.
    #[error("deadline_at: expected an instant that is still to come")]
    DeadlinePassed(Instant),
    /// The job would begin at its deadline, which is given here, or later; or too far away.
    #[error("begin_at: expected an instant before the deadline")]
    BeginTooLate(Instant),
    /// The user has reached the limit of stored bytes, given here.
    #[error(
        "expected at most {0} bytes of commands, environments and scripts of one user's jobs that \
         are not over"
    )]
    StorageLimit(u64),
    /// The user has no job of this number to start after.
    #[error("after: no such job: {0}")]
    UnknownDependency(u64),
    /// The job to start after has ended without success.
    #[error("after: job {0} did not end with exit code 0, so this job would never start")]
    DependencyFailed(u64),
    /// No worker has this name.
    #[error("no such worker: {0}")]
    UnknownWorker(String),
    /// The decision could not be stored, so it does not hold.
    #[error("the service cannot write to its store: {0}")]
    Store(String),
}

impl RequestError {
    /// Returns the next step of the user, if there is one.
    pub(crate) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::JobLimit(_) => {
                Some("wait for some to end; the setting `limits.jobs` allows more")
            }
            Self::TaskLimit(_) => {
                Some("wait for some to end; the setting `limits.tasks` allows more")
            }
            Self::StorageLimit(_) => {
                Some("wait for some to end; the setting `limits.stored_bytes` allows more")
            }
            Self::NoJobNumber => {
                Some("an operator starts a service with a new data directory (`--data`)")
            }
            Self::Ignored(_)
            | Self::AnsweredBefore
            | Self::DiskFull
            | Self::Engine(_)
            | Self::DeadlinePassed(_)
            | Self::BeginTooLate(_)
            | Self::UnknownDependency(_)
            | Self::DependencyFailed(_)
            | Self::UnknownWorker(_)
            | Self::Store(_) => None,
        }
    }
}

impl From<&StoreError> for RequestError {
    fn from(error: &StoreError) -> Self {
        if error.is_full() {
            return Self::DiskFull;
        }
        Self::Store(error.to_string())
    }
}

//! Requests to the controller, and their responses.

use tokio::sync::oneshot;
use tollgate_engine::output::{AttemptOutput, OutputPosition};
use tollgate_model::{
    AttemptId, EvictionCause, HostSlowdown, Instant, MaintenanceCalendar, Probability, TaskId,
    WarningSignal,
};
use tollgate_service::{
    ArrayOutlook, JobChange, JobPrediction, NamedResources, PromiseAtRisk, RunRecord,
    ServiceCommand, SiteStatement, Submission, SubmitOutcome, TaskRanges, UnfinishedCounts,
};
use tollgate_store::{JobProgram, NewStep, RemovalProgress, StepEnding};
use tollgate_workers::{ConnectionEvent, PartCall, SignalReach};

use super::keys::KeyedRequest;
use super::outputs::OutputLookup;
use super::request_error::RequestError;
use super::requested_times::RequestedTimes;
use super::snapshots::{ClusterInfo, StatusSnapshot, TaskOutlook, WaitFacts};

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
        /// Whether the answer has surer promises and their prices.
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
    /// Sends a signal to the running attempts of a job.
    Signal {
        /// The user that the job must belong to; None for an operator.
        user: Option<u32>,
        /// The number of the job.
        job: u64,
        /// The tasks of an array; None for all of them.
        tasks: Option<TaskRanges>,
        /// The signal.
        signal: WarningSignal,
        /// Receives how many attempts the signal reached.
        reply: Responder<SignalReach>,
    },
    /// Records the start of a step of a running attempt.
    BeginStep {
        /// The user that the job must belong to; None for an operator.
        user: Option<u32>,
        /// The step.
        step: Box<NewStep>,
        /// Receives the number of the step.
        reply: Responder<u32>,
    },
    /// Records the end of a step.
    EndStep {
        /// The user that the job must belong to; None for an operator.
        user: Option<u32>,
        /// The attempt.
        attempt: AttemptId,
        /// The number of the step.
        step: u32,
        /// How it ended.
        ending: StepEnding,
        /// Receives a confirmation.
        reply: Responder<()>,
    },
    /// Changes a job that waits.
    Alter {
        /// The user that the job must belong to; None for an operator.
        user: Option<u32>,
        /// The number of the job.
        job: u64,
        /// The requested change.
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
    /// Asks pilots that run nothing to leave.
    ReleaseWorkers {
        /// The names of the workers.
        workers: Vec<String>,
        /// Receives the names of those that were asked.
        reply: Responder<Vec<String>>,
    },
    /// Sets the hosts that are expected at a site.
    ExpectHosts {
        /// The site.
        site: String,
        /// The hosts.
        statement: SiteStatement,
        /// Receives the outcome.
        reply: Responder<()>,
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
    /// Asks for the current instant by the service's clock.
    Now {
        /// Receives the instant.
        reply: Responder<Instant>,
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
    /// Asks what jobs and tasks wait for first.
    WaitCauses {
        /// The jobs, each with the task if it is one of an array.
        jobs: Vec<(u64, Option<u32>)>,
        /// Receives the cause of each, in this order; None for one that does not wait.
        reply: Responder<Vec<Option<WaitFacts>>>,
    },
    /// Asks which jobs and tasks are suspended on computers that others use.
    Suspensions {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// Receives the cause of each, in this order; None for one that is not suspended.
        reply: Responder<Vec<Option<EvictionCause>>>,
    },
    /// Asks for the predictions for jobs and tasks, all from one look ahead.
    Predict {
        /// The jobs, each with the task if it is one of an array.
        jobs: Vec<(u64, Option<u32>)>,
        /// Receives the prediction for each, in this order; None for one that has none.
        reply: Responder<Vec<Option<JobPrediction>>>,
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
    /// Takes note of the slowdown of a host that its exporter shows.
    HostSlowed {
        /// Name of the host.
        host: String,
        /// How much longer work takes there; None if it is not known any more.
        slowdown: Option<HostSlowdown>,
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
        /// The attempt, and which of its streams.
        output: AttemptOutput,
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
            | Self::Signal { .. }
            | Self::BeginStep { .. }
            | Self::EndStep { .. }
            | Self::Drain { .. }
            | Self::MoveEnds { .. }
            | Self::ReleaseWorkers { .. }
            | Self::ExpectHosts { .. }
            | Self::Maintain { .. }
            | Self::WeighUsers { .. }
            | Self::HostSlowed { .. }
            | Self::SetLicences { .. }
            | Self::Learn { .. }
            | Self::Ping { .. }
            | Self::Now { .. }
            | Self::Status { .. }
            | Self::Nodes { .. }
            | Self::Explain { .. }
            | Self::WaitCauses { .. }
            | Self::Suspensions { .. }
            | Self::Predict { .. }
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
            | Self::Signal { .. }
            | Self::BeginStep { .. }
            | Self::EndStep { .. }
            | Self::Drain { .. }
            | Self::MoveEnds { .. }
            | Self::ReleaseWorkers { .. }
            | Self::ExpectHosts { .. }
            | Self::Maintain { .. }
            | Self::WeighUsers { .. }
            | Self::HostSlowed { .. }
            | Self::SetLicences { .. }
            | Self::Ping { .. }
            | Self::Now { .. }
            | Self::Status { .. }
            | Self::Nodes { .. }
            | Self::Explain { .. }
            | Self::WaitCauses { .. }
            | Self::Suspensions { .. }
            | Self::Predict { .. }
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

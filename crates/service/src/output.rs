//! The output of the core: replies, changes for the store, and actions for the engine.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_gate::{BookingKind, JobEnding, JobPrediction, WorkerId};
use tollgate_model::{
    AttemptId, AttemptReport, Credits, Instant, JobSpec, NodeId, Probability, Reason, Span,
};

use crate::array::TaskCounts;
use crate::command::Submission;
use crate::promise::PromiseOutcome;
use crate::runtime_forecast::ForecastBasis;
use crate::task_ranges::TaskRanges;

/// The output of one step. It is stored in one transaction before it has any outside effect.
#[derive(Clone, Debug, Default)]
pub struct StepOutput {
    /// One reply for each command, in their order.
    pub results: Vec<CommandResult>,
    /// Changes of the rows that queries read from the store.
    pub changes: Vec<RowChange>,
    /// Actions for the engine.
    pub actions: Vec<EngineAction>,
}

/// The reply to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandResult {
    /// A job was submitted and got this number.
    Submitted {
        /// Its public number.
        job: u64,
        /// The outcome of the submission.
        answer: SubmitOutcome,
    },
    /// A quote was not reserved, because the job would not be admitted now.
    NotReserved {
        /// The outcome that the job would get.
        answer: SubmitOutcome,
    },
    /// A job was changed.
    Altered {
        /// The decision about the changed job.
        answer: SubmitOutcome,
    },
    /// A job stays as it was.
    Unaltered {
        /// The decision about the changed job.
        answer: SubmitOutcome,
    },
    /// Records of earlier jobs were read.
    Learned {
        /// The number of records that were learned.
        learned: u32,
        /// The number of records that had been learned before.
        known: u32,
    },
    /// The command was carried out.
    Done,
    /// The command changed nothing.
    Ignored(CommandError),
}

/// The reason why a command changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The job is unknown or has finished.
    #[error("no such job, or the job is over")]
    UnknownJob,
    /// The job is not a reserved quote.
    #[error("no such reserved quote, or the quote has expired")]
    NoQuote,
    /// An array cannot be changed.
    #[error("the tasks of an array cannot be changed: cancel those that wait, and submit others")]
    ArrayUnalterable,
    /// The job runs or has run, or is a reserved quote.
    #[error("only a job that waits and has never run can be changed")]
    RunningUnalterable,
    /// The job waits for no promise.
    #[error("the job does not wait for a promise")]
    NotWaitlisted,
    /// None of these tasks is in a state that allows the command.
    #[error("no task is in a state that allows this")]
    NoTask,
    /// The job is not in a state that allows the command.
    #[error("{0}")]
    Gate(#[from] tollgate_gate::InputError),
}

/// The outcome of a submission or of a quote.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitOutcome {
    /// The admission state.
    pub admission: AdmissionState,
    /// The specification that the decision was based on.
    pub spec: JobSpec,
    /// The source of its estimate.
    pub source: EstimateSource,
    /// The basis of the run-time expectation.
    pub basis: ForecastBasis,
    /// The prediction, if the policy would admit the job and the look-ahead did not give up.
    pub prediction: Option<JobPrediction>,
    /// Counter-offers to a rejected job, at most one for each axis; of a quote that asks for them, surer
    /// promises.
    pub offers: Vec<CounterOffer>,
    /// Of an array that cannot be promised whole: the number of its tasks that could be promised now.
    pub promisable: Option<u32>,
    /// Expiry of the reservation, if this is a reserved quote.
    pub reserved_until: Option<Instant>,
    /// The outcomes of an array's tasks, ascending; all other fields are those of its first task.
    pub groups: Vec<TaskGroupOutcome>,
}

/// Tasks of an array with the same outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskGroupOutcome {
    /// The tasks.
    pub tasks: TaskRanges,
    /// The admission state; its price is the total of these tasks.
    pub admission: AdmissionState,
}

/// A counter-offer: a job that would be admitted now and differs from the rejected one on one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterOffer {
    /// The axis of the change.
    pub axis: OfferAxis,
    /// The deadline, as a span after submission.
    pub deadline: Option<Span>,
    /// The user's maximum price.
    pub budget: Option<Credits>,
    /// Processors that the job needs.
    pub procs: u32,
    /// The minimum probability of keeping the deadline, if the offer has one.
    pub confidence: Option<Probability>,
    /// Maximum price; None if it is decided at the start.
    pub price: Option<Credits>,
    /// Probability of keeping the deadline, if there is one.
    pub probability: Option<Probability>,
}

/// The axis on which an offer differs from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferAxis {
    /// A later deadline.
    Deadline,
    /// A higher budget.
    Budget,
    /// Fewer processors.
    Procs,
    /// More confidence.
    Confidence,
}

impl OfferAxis {
    /// Returns the key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::Procs => "procs",
            Self::Confidence => "confidence",
        }
    }
}

/// The admission state of a submitted job.
#[derive(Clone, Debug, PartialEq)]
pub enum AdmissionState {
    /// The job is admitted.
    Accepted {
        /// Maximum price.
        price: Credits,
    },
    /// The job waits, and its admission is decided at its start.
    Queued,
    /// The job waits for a promise, which may become possible when others end early.
    Waitlisted {
        /// The last instant at which it can be promised; it is rejected then.
        until: Instant,
    },
    /// The job runs without a promise, as its user wants: its deadline could not be promised, for these
    /// reasons.
    Unpromised(Vec<RejectReason>),
    /// The job waits for other jobs or for its user, and its admission is decided after that.
    Deferred,
    /// The job is rejected, for these reasons.
    Rejected(Vec<RejectReason>),
}

/// The reason for a job's rejection.
#[derive(Clone, Debug, PartialEq)]
pub enum RejectReason {
    /// The policy rejects the job.
    Policy(Reason),
    /// The probability of keeping the deadline is below the minimum of the user or the site.
    Confidence {
        /// The probability of keeping the deadline.
        probability: Probability,
        /// The required minimum.
        threshold: ConfidenceThreshold,
    },
    /// The user has reached the maximum number of reserved quotes.
    ReservationLimit,
    /// The job asks for no processor, or for no time.
    Malformed,
    /// The job needs more of a resource than any host has, or the site.
    Resource(ResourceShortage),
    /// The job asks for a host by a name that no host has.
    UnknownHost(HostMismatch),
    /// The job names resources, a host or a single host, and the policy chooses no hosts.
    HostsUnplanned,
}

/// Too little of a generic resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceShortage {
    /// The name of the resource.
    pub name: String,
    /// The most units that one host has, or the site.
    pub most: u8,
}

/// A name that no host has, with those that hosts have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMismatch {
    /// The name that the job asks for.
    pub wanted: String,
    /// The names of the hosts, in order.
    pub known: Vec<String>,
}

/// Maximum number of names that [`HostMismatch`] shows.
const MAX_SHOWN_HOSTS: usize = 8;

/// Formats the mismatch to follow the word "rejected:".
impl fmt::Display for HostMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no host is called {}", self.wanted)?;
        let shown = self.known.len().min(MAX_SHOWN_HOSTS);
        match (&self.known[..shown], self.known.len() - shown) {
            ([], _) => Ok(()),
            (names, 0) => write!(f, "; there is {}", names.join(", ")),
            (names, more) => write!(f, "; there is {} and {more} more", names.join(", ")),
        }
    }
}

/// The minimum probability of keeping a deadline, with its source. In millionths, at most
/// 1,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfidenceThreshold {
    /// The user's minimum.
    User(u32),
    /// The site's minimum for a promise.
    Site(u32),
}

impl ConfidenceThreshold {
    /// Returns the minimum probability.
    pub fn min_probability(self) -> f64 {
        match self {
            Self::User(millionths) | Self::Site(millionths) => f64::from(millionths) / 1e6,
        }
    }
}

/// The source of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EstimateSource {
    /// The user.
    User,
    /// Similar jobs.
    Class,
    /// The median estimate of the user's jobs, because no similar job is known.
    UserJobs,
    /// The median estimate of all jobs, because no job of the user is known.
    Site,
    /// The site's setting, because no job with an estimate is known.
    Default,
}

/// A change of the rows that queries read from the store.
#[derive(Clone, Debug, PartialEq)]
pub enum RowChange {
    /// A job was submitted.
    Submitted {
        /// Its public number.
        job: u64,
        /// The submission.
        submission: Box<Submission>,
        /// The outcome of the submission.
        answer: SubmitOutcome,
    },
    /// A job that had to wait got its admission decision.
    Decided {
        /// The number of the job.
        job: u64,
        /// The outcome.
        answer: SubmitOutcome,
    },
    /// An operator let a job go beyond its user's share.
    Granted {
        /// The number of the job.
        job: u64,
        /// The user id of the operator.
        by: u32,
        /// The operator's reason.
        reason: String,
    },
    /// A waiting job was changed by its user.
    Altered {
        /// The number of the job.
        job: u64,
        /// Its name.
        name: String,
        /// The estimate that decisions use.
        estimate: Span,
        /// Its deadline.
        due: Option<Instant>,
    },
    /// A waiting job was held or released by its user.
    Deferred {
        /// The number of the job.
        job: u64,
        /// Whether the job is now held.
        held: bool,
    },
    /// A job was cancelled because its predecessor did not end with success.
    DependencyFailed {
        /// The number of the job.
        job: u64,
        /// The number of the predecessor.
        by: u64,
    },
    /// Tasks of an array will never run.
    TasksDropped {
        /// The number of the array.
        job: u64,
        /// The tasks.
        tasks: TaskRanges,
        /// The reasons for the rejection; empty if the user cancelled the tasks.
        reasons: Vec<RejectReason>,
    },
    /// The set of an array's held tasks has changed.
    HeldTasks {
        /// The number of the array.
        job: u64,
        /// All tasks that are now held.
        tasks: TaskRanges,
    },
    /// A started task of an array has finished.
    TaskEnded {
        /// The task's last attempt.
        attempt: AttemptId,
        /// The task's ending.
        ending: JobEnding,
    },
    /// The counts of an array's tasks have changed.
    ArrayCounts {
        /// The number of the array.
        job: u64,
        /// The new counts.
        counts: TaskCounts,
    },
    /// A reserved quote was claimed and is now a job.
    Claimed {
        /// The number of the job.
        job: u64,
    },
    /// A reserved quote has expired or was cancelled.
    Expired {
        /// The number of the quote.
        job: u64,
    },
    /// A queued job was admitted.
    Accepted {
        /// The number of the job.
        job: u64,
        /// The price.
        price: Credits,
    },
    /// A promise was made to a job that had waited for it.
    Promised {
        /// The number of the job.
        job: u64,
        /// The probability of keeping it; of an array the mean over the tasks that had waited.
        probability: Probability,
    },
    /// A job that had waited was rejected.
    Rejected {
        /// The number of the job.
        job: u64,
        /// The reason.
        reason: Reason,
    },
    /// A job waits again, or still.
    Queued {
        /// The number of the job.
        job: u64,
    },
    /// A job was held.
    Held {
        /// The number of the job.
        job: u64,
    },
    /// An attempt is to run.
    Started {
        /// The attempt.
        attempt: AttemptId,
        /// Whether its task belongs to an array.
        of_array: bool,
    },
    /// The engine reported an event of an attempt.
    AttemptReported(AttemptReport),
    /// The work of an attempt that has ended was measured.
    WorkMeasured {
        /// The attempt.
        attempt: AttemptId,
        /// Its work.
        work: Span,
    },
    /// An attempt was lost with its worker.
    WorkerLost {
        /// The attempt.
        attempt: AttemptId,
        /// Its worker.
        worker: WorkerId,
    },
    /// An amount was booked.
    Booked {
        /// The attempt that caused the booking.
        attempt: AttemptId,
        /// The user id of the owner.
        user: u32,
        /// The kind of the booking.
        entry: BookingKind,
        /// The amount, positive for the provider.
        amount: Credits,
    },
    /// A promise was judged: its deadline has passed, or its task has ended before.
    PromiseEnded {
        /// The task's last attempt; number 0 if the task has not started.
        attempt: AttemptId,
        /// The ending of the promise.
        outcome: PromiseOutcome,
        /// Whether the task belongs to an array.
        of_array: bool,
    },
    /// A job has finished.
    JobEnded {
        /// The number of the job.
        job: u64,
        /// The job's ending.
        ending: JobEnding,
    },
}

/// An action for the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineAction {
    /// Starts an attempt.
    Start {
        /// The attempt.
        attempt: AttemptId,
        /// The nodes, ascending.
        nodes: Vec<NodeId>,
        /// The attempt that it follows on these nodes; None if it starts at once.
        after: Option<AttemptId>,
    },
    /// Tells where an attempt runs that followed another one and has begun. There is nothing to do.
    Continued {
        /// The attempt.
        attempt: AttemptId,
        /// The nodes, ascending.
        nodes: Vec<NodeId>,
    },
    /// Ends an attempt that follows another one, unless it has started.
    Withdraw {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Changes the rate of an attempt.
    SetShare {
        /// The attempt.
        attempt: AttemptId,
        /// The average share of its nodes that the attempt gets; above 0, at most 1.
        rate: f64,
    },
    /// Ends an attempt.
    Kill {
        /// The attempt.
        attempt: AttemptId,
    },
}

impl RowChange {
    /// Returns the public number of the change's job.
    pub const fn job(&self) -> u64 {
        match self {
            Self::Submitted { job, .. }
            | Self::Decided { job, .. }
            | Self::Altered { job, .. }
            | Self::Granted { job, .. }
            | Self::Deferred { job, .. }
            | Self::DependencyFailed { job, .. }
            | Self::TasksDropped { job, .. }
            | Self::HeldTasks { job, .. }
            | Self::ArrayCounts { job, .. }
            | Self::Claimed { job }
            | Self::Expired { job }
            | Self::Accepted { job, .. }
            | Self::Promised { job, .. }
            | Self::Rejected { job, .. }
            | Self::Queued { job }
            | Self::Held { job }
            | Self::JobEnded { job, .. } => *job,
            Self::TaskEnded { attempt, .. }
            | Self::WorkMeasured { attempt, .. }
            | Self::WorkerLost { attempt, .. }
            | Self::Started { attempt, .. }
            | Self::PromiseEnded { attempt, .. }
            | Self::Booked { attempt, .. } => attempt.job,
            Self::AttemptReported(report) => report.attempt.job,
        }
    }
}

impl EstimateSource {
    /// Returns the key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Class => "class",
            Self::UserJobs => "user_jobs",
            Self::Site => "site",
            Self::Default => "default",
        }
    }
}

impl RejectReason {
    /// Returns the key in JSON.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Policy(reason) => reason.key(),
            Self::Confidence { .. } => "confidence",
            Self::ReservationLimit => "holds",
            Self::Malformed => "malformed",
            Self::Resource(_) => "no_resource",
            Self::UnknownHost(_) => "unknown_host",
            Self::HostsUnplanned => "hosts_unplanned",
        }
    }
}

/// Formats the reason to follow the word "rejected:".
impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(reason) => reason.fmt(f),
            Self::Confidence {
                probability,
                threshold: floor,
            } => {
                let least = floor.min_probability();
                let minimum = match floor {
                    ConfidenceThreshold::User(_) => "the minimum that the job asks for",
                    ConfidenceThreshold::Site(_) => "the minimum of this service",
                };
                write!(
                    f,
                    "it would meet its deadline with a probability of {probability}, below {least}, {minimum}"
                )
            }
            Self::ReservationLimit => {
                f.write_str("its user has the maximum number of reserved quotes already")
            }
            Self::Malformed => {
                f.write_str("expected at least one processor and a positive estimate")
            }
            Self::Resource(ResourceShortage { name, most: 0 }) => {
                write!(f, "there is no {name} here")
            }
            Self::Resource(ResourceShortage { name, most }) => {
                write!(
                    f,
                    "it needs more of {name} than one host or the site has, which is {most}"
                )
            }
            Self::UnknownHost(mismatch) => mismatch.fmt(f),
            Self::HostsUnplanned => f.write_str(
                "this service's policy chooses no hosts, so it counts no resources; `plan` does",
            ),
        }
    }
}

//! The output of the core: replies, changes for the store, and actions for the engine.

mod action;
mod change;
mod rejection;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{BeliefBasis, ClassChange, UnpredictableJob};
use tollgate_gate::JobPrediction;
use tollgate_model::{
    Credits, Distribution, EvictionCause, HostSlowdown, Instant, JobSpec, Probability, Span,
};

use crate::command::Submission;
use crate::expected_usage::ExpectedUsage;
use crate::task_ranges::TaskRanges;
pub use action::EngineAction;
pub use change::{PromiseAtRisk, PromiseRisk, RowChange, TaskDropCause};
pub use rejection::{
    ConfidenceThreshold, HostMismatch, RejectReason, ResourceShortage, text_of_reason,
};

/// The output of one step. It is stored in one transaction before it has any outside effect.
#[derive(Clone, Debug, Default)]
pub struct StepOutput {
    /// One reply for each command, in their order.
    pub results: Vec<CommandResult>,
    /// Changes of the rows that queries read from the store.
    pub changes: Vec<RowChange>,
    /// Actions for the engine.
    pub actions: Vec<EngineAction>,
    /// Computers that came into use, or are free again.
    pub host_uses: Vec<HostUse>,
    /// The classes that do not run as believed any more, or do again, each with the job whose end showed it.
    pub class_changes: Vec<(u64, ClassChange)>,
}

/// A computer that came into use, or is free for tasks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostUse {
    /// The name of the computer.
    pub host: String,
    /// Why it is in use; None if it is free.
    pub cause: Option<EvictionCause>,
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
    /// Tasks are named of a job that is no array, or a limit of how many run.
    #[error("the job is not an array: it has no tasks")]
    NoArray,
    /// A limit of running tasks was asked for tasks that have a promise without one.
    #[error(
        "its tasks are promised together, which a limit of running tasks does not allow: `--deadline none` gives their promises up"
    )]
    LimitOfPromised,
    /// The job runs or has run, or is a reserved quote.
    #[error("only a job that waits and has never run can be changed")]
    RunningUnalterable,
    /// No attempt of the job, or of its tasks, runs.
    #[error("the job does not run: only a running job is queued again")]
    NotRunning,
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
    /// The run time that is expected.
    pub distribution: Distribution,
    /// The basis of the run-time expectation.
    pub basis: BeliefBasis,
    /// The prediction, if the policy would admit the job and the look-ahead did not give up.
    pub prediction: Option<JobPrediction>,
    /// Counter-offers to a rejected job, at most one for each axis; of a quote that asks for them, surer
    /// promises.
    pub offers: Vec<CounterOffer>,
    /// Of an array that cannot be promised whole: the number of its tasks that could be promised now.
    pub promisable: Option<u32>,
    /// Expiry of the reservation, if this is a reserved quote.
    pub reserved_until: Option<Instant>,
    /// The instant before which a deferred job is not decided about, if it waits for one.
    pub begin: Option<Instant>,
    /// The outcomes of an array's tasks, ascending; all other fields are those of its first task.
    pub groups: Vec<TaskGroupOutcome>,
    /// Its run times and its treatment, if its run time cannot be predicted.
    pub unpredictable: Option<UnpredictableJob>,
    /// The time after which a task is ended, if any.
    pub time_limit: Option<Span>,
    /// The use of memory and of processors by jobs like it. Only in the answer to a submission or a quote.
    pub usage: Option<ExpectedUsage>,
    /// How much longer work takes on the host that load which is not of jobs slows most.
    pub slowest_host: HostSlowdown,
}

impl SubmitOutcome {
    /// Returns the number of jobs that count as requested, by which a user's share leaves room for other
    /// users. It is 0 or 1 of a single job, else tasks of the array.
    pub(crate) fn n_requested(&self, submission: &Submission) -> u64 {
        if self.groups.is_empty() {
            let array = submission.options.array.as_ref();
            let n_tasks = array.map_or(1, |array| array.tasks.len());
            return if self.admission.is_requested() {
                n_tasks
            } else {
                0
            };
        }
        let counted = self
            .groups
            .iter()
            .filter(|part| part.admission.is_requested());
        counted.map(|part| part.tasks.len()).sum()
    }
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
        /// Whether its promise counts on hosts that are not there yet.
        on_expected: bool,
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
    /// The job waits for other jobs, for an instant or for its user, and its admission is decided after that.
    Deferred,
    /// The job is rejected, for these reasons.
    Rejected(Vec<RejectReason>),
}

impl AdmissionState {
    /// Returns whether the job counts as work that its user asked for. A job that was rejected because others
    /// occupy the nodes counts: else a user who only asks for promises would never get nodes from the others.
    /// A job that is too large or too long for its deadline does not count.
    fn is_requested(&self) -> bool {
        match self {
            Self::Accepted { .. }
            | Self::Queued
            | Self::Waitlisted { .. }
            | Self::Unpromised(_)
            | Self::Deferred => true,
            Self::Rejected(reasons) => reasons.iter().any(
                |reason| matches!(reason, RejectReason::Policy(reason) if reason.is_lack_of_room()),
            ),
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
    /// Other jobs of the user, because no similar job is known.
    UserJobs,
    /// All jobs, because no job of the user is known.
    Site,
    /// The site's setting, because no job is known.
    Default,
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

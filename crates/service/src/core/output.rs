//! What the core answers, what it wants stored, and what it wants done.

use std::fmt;

use tollgate_gate::{BookingKind, JobEnding, WorkerId};
use tollgate_model::{Credits, Instant, JobSpec, NodeId, Probability, Reason, Span};

use super::array::TaskCounts;
use super::command::{AttemptProgress, Submission, TaskAttemptKey};
use super::runtime_forecast::ForecastBasis;
use super::task_ranges::TaskRanges;

/// All that follows from one step: to be stored in one transaction, and only then said and done.
#[derive(Clone, Debug, Default)]
pub struct StepOutput {
    /// One a command, in the order of the commands.
    pub results: Vec<CommandResult>,
    /// What has changed for those who ask the store.
    pub changes: Vec<RowChange>,
    /// What the engine is to do.
    pub actions: Vec<EngineAction>,
}

/// What a command is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandResult {
    /// A job was handed in; it was given this number.
    Submitted {
        /// Its public number.
        job: u64,
        /// What it is told.
        answer: SubmitOutcome,
    },
    /// A quote was to be held, and there is nothing to hold: the job would not be let in now.
    NotReserved {
        /// What it is told.
        answer: SubmitOutcome,
    },
    /// It is done.
    Done,
    /// It changed nothing.
    Ignored(CommandError),
}

/// Why a command changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No such job is known, or it is over.
    #[error("no such job, or the job is over")]
    UnknownJob,
    /// The job is no quote that is held.
    #[error("no such reserved quote, or the quote has expired")]
    NoQuote,
    /// None of these tasks is in a state that allows it.
    #[error("no task is in a state that allows this")]
    NoTask,
    /// The job is not in a state that allows it.
    #[error("{0}")]
    Gate(#[from] tollgate_gate::InputError),
}

/// What a job is told when it is handed in, or would be told.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitOutcome {
    /// Whether it is let in.
    pub admission: AdmissionState,
    /// What was decided on.
    pub spec: JobSpec,
    /// Where its estimate comes from.
    pub source: EstimateSource,
    /// What the expectation is known from.
    pub basis: ForecastBasis,
    /// What is to be expected of it, if the policy would let it in and it could be found out.
    pub prediction: Option<JobPrediction>,
    /// If it is rejected: what would be let in now, at most one an axis.
    pub offers: Vec<CounterOffer>,
    /// If it is a quote that is held: until when it can be taken up.
    pub reserved_until: Option<Instant>,
    /// If it is an array: what its tasks are told, ascending; all else is said of its first task.
    pub groups: Vec<TaskGroupOutcome>,
}

/// Tasks of an array that are told the same.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskGroupOutcome {
    /// Which ones.
    pub tasks: TaskRanges,
    /// What they are told; a price is that of all of them together.
    pub admission: AdmissionState,
}

/// A job that would be let in now instead of one that is kept out: that one, but for one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterOffer {
    /// What has changed.
    pub axis: OfferAxis,
    /// Its deadline, as a span after submission.
    pub deadline: Option<Span>,
    /// The most its user pays.
    pub budget: Option<Credits>,
    /// Processors it needs.
    pub procs: u32,
    /// The most it will cost; none where that is decided at its start.
    pub price: Option<Credits>,
    /// How sure it would be to keep its deadline, if it has one.
    pub probability: Option<Probability>,
}

/// In what an offer differs from what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferAxis {
    /// A later deadline.
    Deadline,
    /// A higher budget.
    Budget,
    /// Fewer processors.
    Procs,
}

impl OfferAxis {
    /// The key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::Procs => "procs",
        }
    }
}

/// Where a job stands after it was handed in.
#[derive(Clone, Debug, PartialEq)]
pub enum AdmissionState {
    /// Let in.
    Accepted {
        /// The most it will cost.
        price: Credits,
    },
    /// It waits; whether it is let in is decided at its start.
    Queued,
    /// It waits for other jobs, or for its user, and is decided about then.
    Deferred,
    /// Kept out, for these reasons.
    Rejected(Vec<RejectReason>),
}

/// Why a job is kept out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RejectReason {
    /// By the policy.
    Policy(Reason),
    /// It is less sure to keep its deadline than its user wants, or the site promises.
    Confidence {
        /// How sure.
        probability: Probability,
        /// How sure it must be.
        threshold: ConfidenceThreshold,
    },
    /// Its user holds as many quotes already as one user may.
    ReservationLimit,
    /// It asks for no processor, or for no time.
    Malformed,
}

/// How sure a job must be to keep its deadline, and who says so. In millionths, at most 1,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfidenceThreshold {
    /// Its user.
    User(u32),
    /// The site: it promises nothing below.
    Site(u32),
}

impl ConfidenceThreshold {
    /// The least probability.
    pub fn min_probability(self) -> f64 {
        match self {
            Self::User(millionths) | Self::Site(millionths) => f64::from(millionths) / 1e6,
        }
    }
}

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimateSource {
    /// Its user.
    User,
    /// Jobs that were like it.
    Class,
    /// The site's setting: nothing is known of such jobs.
    Default,
}

/// What is to be expected of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobPrediction {
    /// When it starts.
    pub start: Instant,
    /// When it finishes.
    pub finish: Instant,
    /// It finishes before this with a probability of one tenth.
    pub earliest: Instant,
    /// It finishes after this with a probability of one tenth.
    pub latest: Instant,
    /// How sure it is to keep its deadline, if it has one.
    pub probability: Option<Probability>,
}

/// What has changed for those who ask the store.
#[derive(Clone, Debug, PartialEq)]
pub enum RowChange {
    /// A job was handed in.
    Submitted {
        /// Its public number.
        job: u64,
        /// As it was handed in.
        submission: Box<Submission>,
        /// What it was told.
        answer: SubmitOutcome,
    },
    /// A job is decided about that had to wait for others, or for its user.
    Decided {
        /// Which one.
        job: u64,
        /// What it is told.
        answer: SubmitOutcome,
    },
    /// What a job waits for has changed: whether its user holds it back.
    Deferred {
        /// Which one.
        job: u64,
        /// Whether that is so.
        held: bool,
    },
    /// A job is cancelled: the one that it was to start after did not end as it should.
    DependencyFailed {
        /// Which one.
        job: u64,
        /// Which one it was to start after.
        by: u64,
    },
    /// Tasks of an array will never run.
    TasksDropped {
        /// Which array.
        job: u64,
        /// Which tasks.
        tasks: TaskRanges,
        /// Why: none if their user took them back.
        reasons: Vec<RejectReason>,
    },
    /// These tasks of an array, and no others, are held back.
    HeldTasks {
        /// Which array.
        job: u64,
        /// Which tasks.
        tasks: TaskRanges,
    },
    /// A task of an array that was started is over.
    TaskEnded {
        /// Its last try.
        attempt: TaskAttemptKey,
        /// How it ended.
        ending: JobEnding,
    },
    /// How the tasks of an array stand.
    ArrayCounts {
        /// Which array.
        job: u64,
        /// So.
        counts: TaskCounts,
    },
    /// A quote that was held is taken up: it is a job from now on.
    Claimed {
        /// Which one.
        job: u64,
    },
    /// A quote that was held is not taken up any more.
    Expired {
        /// Which one.
        job: u64,
    },
    /// A queued job was let in.
    Accepted {
        /// Which one.
        job: u64,
        /// At this price.
        price: Credits,
    },
    /// A job that had waited was kept out.
    Rejected {
        /// Which one.
        job: u64,
        /// Why.
        reason: Reason,
    },
    /// A job waits again, or still.
    Queued {
        /// Which one.
        job: u64,
    },
    /// A job is held back.
    Held {
        /// Which one.
        job: u64,
    },
    /// An attempt is to run.
    Started {
        /// Which one.
        attempt: TaskAttemptKey,
        /// Whether it is at a task of an array.
        of_array: bool,
    },
    /// The engine said what became of an attempt.
    AttemptProgressed {
        /// Which one.
        attempt: TaskAttemptKey,
        /// What became of it.
        progress: AttemptProgress,
    },
    /// An attempt is lost because its worker is.
    WorkerLost {
        /// The attempt.
        attempt: TaskAttemptKey,
        /// Its worker.
        worker: WorkerId,
    },
    /// Money changed hands.
    Booked {
        /// For which attempt.
        attempt: TaskAttemptKey,
        /// Whose job it is.
        user: u32,
        /// What for.
        entry: BookingKind,
        /// How much the provider gets.
        amount: Credits,
    },
    /// A job is over.
    JobEnded {
        /// Which one.
        job: u64,
        /// How it ended.
        ending: JobEnding,
    },
}

/// What the engine is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineAction {
    /// Run an attempt.
    Start {
        /// Which one.
        attempt: TaskAttemptKey,
        /// On these nodes, ascending.
        nodes: Vec<NodeId>,
        /// Whether it has its nodes to itself.
        exclusive: bool,
    },
    /// Let an attempt progress at another rate.
    SetShare {
        /// Which one.
        attempt: TaskAttemptKey,
        /// The part of each of its nodes that it gets, on the average; above 0, at most 1.
        rate: f64,
    },
    /// End an attempt.
    Kill {
        /// Which one.
        attempt: TaskAttemptKey,
    },
}

impl RowChange {
    /// The public number of the job that it is about.
    pub const fn job(&self) -> u64 {
        match self {
            Self::Submitted { job, .. }
            | Self::Decided { job, .. }
            | Self::Deferred { job, .. }
            | Self::DependencyFailed { job, .. }
            | Self::TasksDropped { job, .. }
            | Self::HeldTasks { job, .. }
            | Self::ArrayCounts { job, .. }
            | Self::Claimed { job }
            | Self::Expired { job }
            | Self::Accepted { job, .. }
            | Self::Rejected { job, .. }
            | Self::Queued { job }
            | Self::Held { job }
            | Self::JobEnded { job, .. } => *job,
            Self::TaskEnded { attempt, .. }
            | Self::WorkerLost { attempt, .. }
            | Self::Started { attempt, .. }
            | Self::AttemptProgressed { attempt, .. }
            | Self::Booked { attempt, .. } => attempt.job,
        }
    }
}

impl EstimateSource {
    /// The key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Class => "class",
            Self::Default => "default",
        }
    }
}

impl RejectReason {
    /// The key in JSON.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Policy(reason) => reason.key(),
            Self::Confidence { .. } => "confidence",
            Self::ReservationLimit => "holds",
            Self::Malformed => "malformed",
        }
    }
}

/// In words, to stand after "rejected:".
impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(reason) => reason.fmt(f),
            Self::Confidence {
                probability,
                threshold: floor,
            } => {
                // Rounded down: what is less than the least must not look like it.
                let sure = (probability.as_f64() * 1e3).floor() / 1e3;
                let least = floor.min_probability();
                let minimum = match floor {
                    ConfidenceThreshold::User(_) => "the minimum that the job asks for",
                    ConfidenceThreshold::Site(_) => "the minimum of this service",
                };
                write!(
                    f,
                    "it would meet its deadline with a probability of {sure:.3}, below {least}, {minimum}"
                )
            }
            Self::ReservationLimit => {
                f.write_str("its user has the maximum number of reserved quotes already")
            }
            Self::Malformed => {
                f.write_str("expected at least one processor and a positive estimate")
            }
        }
    }
}

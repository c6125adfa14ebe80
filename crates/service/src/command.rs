//! The commands of the core.

use serde::{Deserialize, Serialize};
use tollgate_forecast::{UnpredictableAction, UnpredictableJob};
use tollgate_gate::{OnEviction, WorkerId};
use tollgate_grid_policies::retry::RetryPolicy;
use tollgate_model::{
    AttemptReport, Credits, CreditsPerSecond, EvictionCause, HostSlowdown, Instant, JobSpec,
    LimitOwner, LimitOwners, MaintenanceCalendar, Otherwise, Probability, Span,
};

use crate::expected_usage::AutoMemory;
use crate::host_arrival::SiteStatement;
use crate::output::ConfidenceThreshold;
use crate::resources::{HostOffer, NamedResources};
use crate::retry_rule::RetryRule;
use crate::run_record::RunRecord;
use crate::task_ranges::TaskRanges;

/// A command. Commands are stored unchanged, and replayed after a crash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ServiceCommand {
    /// Submits a job.
    Submit(Box<Submission>),
    /// Reports an event of an attempt, as the engine saw it.
    Report(AttemptReport),
    /// Claims a reserved quote for its user.
    Claim {
        /// The number of the quote.
        job: u64,
    },
    /// Cancels a job, or tasks of an array, for its user.
    Cancel {
        /// The number of the job.
        job: u64,
        /// The tasks; None for all.
        tasks: Option<TaskRanges>,
    },
    /// Holds a queued job, or tasks of an array, for its user.
    Hold {
        /// The number of the job.
        job: u64,
        /// The tasks; None for all.
        tasks: Option<TaskRanges>,
    },
    /// Releases a held job, or tasks of an array, for its user.
    Release {
        /// The number of the job.
        job: u64,
        /// The tasks; None for all.
        tasks: Option<TaskRanges>,
    },
    /// Changes a job that waits, for its user.
    Alter {
        /// The number of the job.
        job: u64,
        /// The requested change.
        change: JobChange,
    },
    /// Lets a job that waits for a promise go beyond its user's share.
    Grant {
        /// The number of the job.
        job: u64,
        /// The user id of the operator.
        by: u32,
        /// The operator's reason.
        reason: String,
    },
    /// Registers a worker's nodes.
    WorkerUp {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// The number of its nodes.
        nodes: u32,
        /// Memory of each node for its tasks, in bytes; None if it is not known.
        memory: Option<u64>,
        /// The resources that its host offers beside processors and memory.
        offer: HostOffer,
    },
    /// Sets the licences of the site.
    SetLicences {
        /// Number of each.
        licences: NamedResources,
    },
    /// Removes a worker with all that runs on it.
    WorkerLost {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
    },
    /// A worker's host is in use by others, or it is free for tasks again.
    WorkerInUse {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// Why no task starts there; None if the host is free.
        cause: Option<EvictionCause>,
    },
    /// Load that is not of jobs slows a worker's host, or slows it no longer.
    WorkerSlowed {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// How much longer work takes there.
        slowdown: HostSlowdown,
    },
    /// Moves the end of a worker's host.
    WorkerCloses {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// The instant by which everything there has to have ended.
        closes: Instant,
    },
    /// Hosts are expected at a site, in place of those that were.
    ExpectHosts {
        /// The site.
        site: String,
        /// The hosts.
        statement: SiteStatement,
    },
    /// Drains a worker's nodes, or lets jobs start there again.
    Drain {
        /// The worker.
        worker: WorkerId,
        /// Whether no other job starts on its nodes.
        drained: bool,
    },
    /// Plans maintenance.
    Maintain {
        /// The times in which no job runs.
        calendar: MaintenanceCalendar,
    },
    /// Sets the weights of users in the fair order.
    WeighUsers {
        /// The user ids with their weights, ascending; 1 of all others.
        weights: Vec<(u32, f64)>,
    },
    /// Lets time pass.
    Tick,
    /// Learns from records of earlier jobs.
    Learn {
        /// The records.
        records: Vec<RunRecord>,
    },
    /// Ends the running attempts of a job, or of tasks of an array, and queues it again, for its user.
    Requeue {
        /// The number of the job.
        job: u64,
        /// The tasks; None for all.
        tasks: Option<TaskRanges>,
    },
}

impl ServiceCommand {
    /// Returns whether the command is a report. Reports come before requests at the same instant,
    /// because ended tasks free nodes for new jobs.
    pub(crate) fn is_report(&self) -> bool {
        match self {
            Self::Report { .. }
            | Self::WorkerUp { .. }
            | Self::WorkerLost { .. }
            | Self::WorkerCloses { .. }
            | Self::WorkerSlowed { .. }
            | Self::WorkerInUse { .. }
            | Self::ExpectHosts { .. }
            | Self::Tick => true,
            Self::Submit(_)
            | Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Hold { .. }
            | Self::Release { .. }
            | Self::Alter { .. }
            | Self::Grant { .. }
            | Self::Drain { .. }
            | Self::Maintain { .. }
            | Self::WeighUsers { .. }
            | Self::SetLicences { .. }
            | Self::Requeue { .. }
            | Self::Learn { .. } => false,
        }
    }
}

/// A job as its user submits it, without its program, which decides nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The user id of the owner.
    pub user: u32,
    /// Name of the class of jobs that behave like this one.
    pub name: String,
    /// The file name of the program or script.
    pub executable: Option<String>,
    /// The account that the user names, if any: a label.
    pub account: Option<String>,
    /// The queue that the user names, if any: a label.
    pub queue: Option<String>,
    /// Processors that the job needs at once. At least 1.
    pub procs: u32,
    /// Memory that the job needs, in bytes; None counts as 0.
    pub memory: Option<u64>,
    /// The user's estimate of the run time, if any. Positive.
    pub estimate: Option<Span>,
    /// Span from submission to the deadline, if there is one. Positive.
    pub deadline: Option<Span>,
    /// The user's maximum price, if any. Not negative.
    pub budget: Option<Credits>,
    /// The provider's cost of each second past the deadline. Not negative.
    pub penalty: CreditsPerSecond,
    /// The user's minimum probability of keeping the deadline, in millionths; at most 1,000,000.
    pub confidence: Option<u32>,
    /// The probability at which a promise is enough for its user, in millionths, if that is less than the
    /// level of the policy.
    pub at_least: Option<u32>,
    /// Whether the job may run again after it was lost.
    pub retry: OnEviction,
    /// Duration of the reservation, if this is a quote to reserve. Positive.
    pub reserve_for: Option<Span>,
    /// The array's tasks, and the conditions for the decision.
    pub options: SubmissionOptions,
}

impl Submission {
    /// Returns the user's minimum probability of keeping the deadline.
    pub(crate) fn least_probability(&self) -> Option<Probability> {
        let least = self.confidence.map(ConfidenceThreshold::User)?;
        Probability::new(least.min_probability())
    }

    /// Returns the level at which the job is to be promised, if its user names another than that of the policy,
    /// `usual`.
    pub(crate) fn promise_level(&self, usual: Option<Probability>) -> Option<Probability> {
        let at_least = self.at_least.map(|least| f64::from(least) / 1e6);
        let lower = at_least.and_then(Probability::new);
        let higher = self.least_probability();
        higher
            .filter(|&level| usual.is_none_or(|usual| level > usual))
            .or(lower)
    }

    /// Returns the submission without its deadline, for a job that runs without a promise.
    pub(crate) fn without_deadline(&self) -> Self {
        Self {
            deadline: None,
            confidence: None,
            at_least: None,
            ..self.clone()
        }
    }

    /// Returns the memory that is set aside for the job, in bytes; None if it has that of its processors.
    pub(crate) fn booked_memory(&self) -> Option<u64> {
        let auto = self.options.auto_memory.and_then(|auto| auto.amount);
        self.memory.or(auto)
    }

    /// Returns the owners of the limits of the job, whose specification is `spec`.
    pub(crate) fn limit_owners(&self, spec: &JobSpec) -> LimitOwners {
        let owners = LimitOwners::of(spec);
        match self.options.auto_memory {
            Some(_) => LimitOwners {
                memory: LimitOwner::Site,
                ..owners
            },
            None => owners,
        }
    }

    /// Returns the submission of the first tasks of an array alone.
    pub(crate) fn of_first_tasks(&self, n_tasks: u32) -> Self {
        let mut part = self.clone();
        if let Some(array) = &mut part.options.array {
            array.tasks = array.tasks.first_n(n_tasks);
        }
        part
    }

    /// Returns the run time that its user asks for: the estimate, else the time limit.
    pub(crate) fn request(&self) -> Option<Span> {
        self.estimate.or(self.options.time_limit)
    }

    /// Returns whether a task may still run, as far as its array was not decided about; 0 is the whole job.
    pub fn has_task(&self, task: u32) -> bool {
        let array = self.options.array.as_ref();
        task == 0 || array.is_some_and(|array| array.tasks.contains(task))
    }

    /// Returns the number of its tasks.
    pub fn n_tasks(&self) -> u64 {
        let array = self.options.array.as_ref();
        array.map_or(1, |array| array.tasks.len())
    }
}

/// A change to a job. None leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobChange {
    /// The name.
    pub name: Option<String>,
    /// The user's estimate of the run time. Positive.
    pub estimate: Option<Span>,
    /// The span from now to the deadline, which is positive, or the job's having none.
    pub deadline: Option<Option<Span>>,
    /// Maximum number of tasks of an array that may run at once, which is positive, or its having no limit.
    pub max_at_once: Option<Option<u32>>,
    /// The time limit, which is positive, or its having none. An estimate above it becomes as long as the limit.
    pub time_limit: Option<Option<Span>>,
    /// The remark, which decides nothing.
    pub comment: Option<String>,
}

impl JobChange {
    /// Returns the changed submission of a job that was submitted `ago`. Its deadline counts from then.
    pub(crate) fn apply(&self, submission: &Submission, ago: Span) -> Submission {
        let mut changed = submission.clone();
        if let Some(name) = &self.name {
            changed.name.clone_from(name);
        }
        changed.estimate = self.estimate.or(changed.estimate);
        if let Some(limit) = self.time_limit {
            changed.options.time_limit = limit;
        }
        if let (Some(estimate), Some(limit)) = (changed.estimate, changed.options.time_limit) {
            changed.estimate = Some(estimate.min(limit));
        }
        if let (Some(limit), Some(array)) = (self.max_at_once, &mut changed.options.array) {
            array.max_at_once = limit;
        }
        match self.deadline {
            None => changed,
            Some(None) => changed.without_deadline(),
            Some(Some(left)) => Submission {
                deadline: Some(ago + left),
                ..changed
            },
        }
    }
}

/// The options of a submission beyond one task that may start at once and run to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubmissionOptions {
    /// The tasks of an array and their concurrency limit; None for a single job.
    pub array: Option<ArraySpec>,
    /// Jobs of the same user that have to finish first.
    pub dependencies: Vec<JobDependency>,
    /// The instant before which the job is not decided about; None if there is none to wait for.
    pub begin: Option<Instant>,
    /// Whether the job is held until its user releases it.
    pub held: bool,
    /// The instant of submission of a job that had to wait: its deadline counts from there.
    pub submitted: Option<Instant>,
    /// The treatment of the job if it cannot be promised now.
    pub otherwise: Otherwise,
    /// Whether the job, while it has no promise, is cancelled once it could hardly end in time.
    pub drop_late: bool,
    /// Whether as many tasks of an array as possible are promised if all of them cannot be. The rest goes
    /// the way of `otherwise`.
    pub partial: bool,
    /// Wall-clock time from the start after which a task is ended, if there is a limit. Positive, and at
    /// least the estimate.
    pub time_limit: Option<Span>,
    /// Whether all processors have to be on one host.
    pub one_host: bool,
    /// The name of the host on which all processors have to be; None if any host will do.
    pub host: Option<String>,
    /// Devices and licences that each of its tasks takes.
    pub resources: NamedResources,
    /// The failed ends of a task that are followed by another try; None without retries.
    pub retries: Option<RetryRule>,
    /// The rule of its user for evicted tasks, beside that of the site; None if there is none.
    pub give_up: Option<RetryPolicy>,
    /// Its run times and its treatment, if the site found that its run time cannot be predicted.
    pub unpredictable: Option<UnpredictableJob>,
    /// The memory that the service sets aside, if the user leaves the amount to it; `memory` is then None.
    pub auto_memory: Option<AutoMemory>,
    /// The tasks of an array that its user cancelled or held before the decision about it.
    pub early: EarlyTasks,
}

/// Tasks of an array that their user cancelled or held one by one before the decision about the array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyTasks {
    /// The cancelled ones, which are no tasks of the array any more.
    pub cancelled: TaskRanges,
    /// The held ones. Empty if the array is held as a whole.
    pub held: TaskRanges,
}

impl SubmissionOptions {
    /// Returns true if only a policy that chooses hosts can run the job.
    pub(crate) fn needs_hosts(&self) -> bool {
        self.one_host || self.host.is_some() || !self.resources.is_empty()
    }

    /// Returns the time after which a task is ended, by its user or by the site for jobs like it.
    pub(crate) fn shortest_limit(&self) -> Option<Span> {
        let of_site = self.unpredictable.and_then(|found| found.limit());
        self.time_limit.into_iter().chain(of_site).min()
    }

    /// Returns whether the job runs on hosts that are set aside for jobs like it.
    pub(crate) fn is_set_aside(&self) -> bool {
        let action = self.unpredictable.map(|found| found.action);
        action == Some(UnpredictableAction::Dedicated)
    }

    /// Returns whether the site promises no deadline of the job.
    pub(crate) fn is_unpromised(&self) -> bool {
        let action = self.unpredictable.map(|found| found.action);
        action == Some(UnpredictableAction::NoPromise)
    }

    /// Returns whether the decision about the job waits neither for other jobs, nor for an instant, nor for
    /// its user.
    pub(crate) fn is_ready(&self) -> bool {
        !self.held && self.begin.is_none() && self.dependencies.is_empty()
    }

    /// Returns the number of tasks that are decided together: all of an array without a limit.
    pub(crate) fn n_together(&self) -> u32 {
        let array = self.array.as_ref();
        let unlimited = array.filter(|array| array.max_at_once.is_none());
        unlimited.map_or(1, |array| {
            u32::try_from(array.tasks.len()).unwrap_or(u32::MAX)
        })
    }
}

/// The tasks of an array, which differ only in their index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// The tasks' indices; at least one.
    pub tasks: TaskRanges,
    /// Maximum number of the tasks in the gate at a time, if there is a limit. Positive.
    pub max_at_once: Option<u32>,
}

/// A job that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDependency {
    /// The number of the job.
    pub job: u64,
    /// The required end of the job.
    pub condition: DependencyCondition,
}

/// The condition on a job's end for its dependents to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DependencyCondition {
    /// Every task of the job ended with exit code 0.
    Success,
    /// The job has finished in any way.
    AnyEnd,
    /// The job ended in another way than with success.
    Failure,
}

impl DependencyCondition {
    /// Returns whether the end of a job fulfils the condition.
    pub const fn is_met_by(self, succeeded: bool) -> bool {
        match self {
            Self::Success => succeeded,
            Self::AnyEnd => true,
            Self::Failure => !succeeded,
        }
    }
}

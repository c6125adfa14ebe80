//! An unfinished task in the gate.

use serde::{Deserialize, Serialize};
use tollgate_forecast::{BeliefJob, ClassId, ForecastJob, JobAttributes};
use tollgate_grid_policies::retry::TaskHistory;
use tollgate_model::{
    AttemptEnding, AttemptId, BookEntry, Instant, JobId, JobSpec, LimitOwners, Probability, Span,
    TaskId, UserId,
};

use crate::abandonment::Abandonment;
use crate::command::Submission;
use crate::followers::Follower;
use crate::late_start::EngineWait;
use crate::runtime_forecast::{RuntimeForecast, belief_job};

/// The service's knowledge of a task in the gate, besides the gate's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActiveTask {
    /// The task's slot in the gate.
    pub slot: JobId,
    /// The user id of the owner.
    pub user: u32,
    /// The submission, as its user may change it while it waits; None of a task of an array.
    pub(crate) submission: Option<Box<Submission>>,
    /// The instant of submission.
    pub submitted: Instant,
    /// The specification at the decision, in the user's credits.
    pub spec: JobSpec,
    /// The run-time forecast at the submission.
    pub forecast: RuntimeForecast,
    /// The class of jobs that behave alike.
    pub(crate) class: ClassId,
    /// The labels of the job within its class.
    pub(crate) attributes: JobAttributes,
    /// The run time that the user asks for.
    pub(crate) user_estimate: Option<Span>,
    /// The time limit, if any.
    pub time_limit: Option<Span>,
    /// The owners of its limits.
    pub(crate) limit_owners: LimitOwners,
    /// The number of the current or last attempt; 0 before the first.
    pub attempt: u32,
    /// The gate's number of that attempt.
    pub(crate) gate_attempt: u32,
    /// Start of the current attempt, if any: of its program if the engine was slow to start it.
    pub started: Option<Instant>,
    /// The work that the gate accounted to a reserved quote before it was claimed.
    pub(crate) work_before: Span,
    /// Expiry of an unclaimed quote; None for a job. Nothing runs for a quote, although the gate
    /// may have given it nodes.
    pub reserved_until: Option<Instant>,
    /// The exit code of `wait` after the last attempt.
    pub(crate) wait_code: Option<u8>,
    /// The ending of the last attempt.
    pub(crate) ending: Option<AttemptEnding>,
    /// The raw probability with which its deadline was promised, before it was corrected by what had become of earlier
    /// promises. None without a promise, under a policy that plays no futures, and of tasks of an array.
    pub(crate) promised_at: Option<Probability>,
    /// Whether its promise counted on hosts that were not there when it was made.
    pub(crate) on_expected: bool,
    /// The entry in the books, if the deadline of a promise has passed already.
    pub(crate) entry: Option<BookEntry>,
    /// The run time that was planned for the task when it was promised, or submitted.
    pub(crate) planned_run: Span,
    /// Whether the task is held by its user.
    pub(crate) held: bool,
    /// The attempt that the task follows, if the engine starts it after another one.
    pub(crate) follows: Option<Follower>,
    /// Whether its user held the task before the attempt before it ended: it is held if it turns out that the
    /// engine has taken it back.
    pub(crate) hold_if_withdrawn: bool,
    /// Whether the gate holds the task until fewer tasks of its array are queued or run: as many as may run
    /// at once are before it.
    pub(crate) awaits_turn: bool,
    /// Whether the engine lost the task while it followed another one.
    pub(crate) is_lost: bool,
    /// Whether the task has no promise because its deadline could not be promised. The deadline is left out of
    /// `spec` if the policy runs no such jobs.
    pub(crate) unpromised: bool,
    /// The deadline that `spec` leaves out.
    pub(crate) withdrawn_due: Option<Instant>,
    /// Whether the task was submitted without a decision and has none yet.
    pub(crate) undecided: bool,
    /// Whether its user has the current attempt ended in order to queue the task again.
    pub(crate) is_requeued: bool,
    /// The number of tries after the first that followed failed ends.
    pub(crate) retries: u32,
    /// Its evictions.
    pub(crate) evictions: TaskHistory,
    /// Whether a rule for evictions has sent it to computers without users.
    pub(crate) is_dedicated: bool,
    /// Why the task is not tried again after its last eviction, if so.
    pub(crate) abandonment: Option<Abandonment>,
    /// The number of launches in a row that the site could not carry out.
    pub(crate) failed_launches: u32,
    /// The time of the next launch, for which the task is held.
    pub(crate) launch_retry_at: Option<Instant>,
    /// The wait of the current attempt for the start of its program. None once the engine has reported it.
    pub engine_wait: Option<EngineWait>,
}

impl ActiveTask {
    pub(crate) fn new(
        submission: &Submission,
        features: ForecastJob,
        forecast: RuntimeForecast,
        spec: JobSpec,
    ) -> Self {
        Self {
            slot: JobId(u32::MAX),
            user: submission.user,
            submission: submission
                .options
                .array
                .is_none()
                .then(|| Box::new(submission.clone())),
            submitted: submission.options.submitted.unwrap_or(spec.submit),
            spec,
            forecast,
            class: features.class,
            attributes: features.context,
            user_estimate: features.request,
            time_limit: submission.options.shortest_limit(),
            limit_owners: submission.limit_owners(&spec),
            attempt: 0,
            gate_attempt: 0,
            started: None,
            work_before: Span::ZERO,
            reserved_until: None,
            wait_code: None,
            ending: None,
            promised_at: None,
            on_expected: false,
            entry: None,
            planned_run: spec.estimate,
            held: false,
            follows: None,
            hold_if_withdrawn: false,
            awaits_turn: false,
            is_lost: false,
            unpromised: false,
            withdrawn_due: None,
            undecided: false,
            is_requeued: false,
            retries: 0,
            evictions: TaskHistory::default(),
            is_dedicated: false,
            abandonment: None,
            failed_launches: 0,
            launch_retry_at: None,
            engine_wait: None,
        }
    }

    /// Returns whether the task runs without a promise of its deadline.
    pub fn is_unpromised(&self) -> bool {
        self.unpromised
    }

    /// Returns whether the gate has given the task nodes.
    pub fn has_nodes(&self) -> bool {
        self.started.is_some()
    }

    /// Returns whether the gate holds the task: for its user, until its turn, or until the end of the
    /// attempt that it follows.
    pub fn is_held_in_gate(&self) -> bool {
        self.held || self.awaits_turn || self.follows.is_some()
    }

    /// Returns whether an attempt at the task is running.
    pub fn is_running(&self) -> bool {
        self.has_nodes() && self.reserved_until.is_none()
    }

    /// Returns the task in the terms of beliefs. Its user requested `procs` processors; it may have got more for its memory.
    /// `array` is the number of its array, if it is in one.
    pub(crate) fn belief_job(&self, procs: u32, array: Option<u64>) -> BeliefJob {
        let features = ForecastJob {
            class: self.class,
            procs,
            request: self.user_estimate,
            context: self.attributes,
        };
        BeliefJob {
            array,
            ..belief_job(UserId(self.user), &features)
        }
    }

    pub(crate) fn attempt_key(&self, task: TaskId) -> AttemptId {
        AttemptId {
            job: task.job,
            task: task.task,
            attempt: self.attempt,
        }
    }

    /// Returns the attempt that begins with the next start.
    pub(crate) fn next_attempt_key(&self, task: TaskId) -> AttemptId {
        AttemptId {
            attempt: self.attempt + 1,
            ..self.attempt_key(task)
        }
    }

    /// Returns whether the engine may start the attempt: it runs, or follows another one.
    pub fn is_ordered(&self, key: AttemptId) -> bool {
        let follows = self.follows.is_some() && self.attempt + 1 == key.attempt;
        follows || self.is_current_attempt(key)
    }

    /// Returns whether `key` is the current attempt.
    pub(crate) fn is_current_attempt(&self, key: AttemptId) -> bool {
        self.is_running() && self.attempt == key.attempt
    }

    /// Returns whether the last attempt succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        self.ending == Some(AttemptEnding::Succeeded)
    }

    pub(crate) fn start(&mut self, gate_attempt: u32, now: Instant) {
        self.attempt += 1;
        self.gate_attempt = gate_attempt;
        self.started = Some(now);
    }

    pub(crate) fn stop(&mut self) {
        self.is_requeued = false;
        self.work_before = Span::ZERO;
        self.started = None;
    }
}

//! Jobs as their users see them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_model::{ABANDONED_WAIT_CODE, ExceededLimit};

use super::array::{TaskFailures, TasksOutlook};
use super::decision::{
    JobEstimateSource, JobForecast, ReasonMessage, SubmitResponse, UnpredictableRun,
};
use super::nodes::HostUseCause;
use super::promise::{BrokenPromiseCause, PromiseOutcome};
use super::request::JobSignal;
use super::state::JobState;
use super::wait_reason::WaitMessage;
use super::word::WireWord;

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDetails {
    /// Number of the job.
    pub id: u64,
    /// Number of the task, if this is a task of an array; its name is `id`, `_` and this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Whole number of the task, if this is a task of an array: at least 1,000,000,000, and never given twice. It stands
    /// for the task wherever the number of a job is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The states of its tasks, if the job is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayStatus>,
    /// The jobs to start after, without those that had finished at the submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u64>,
    /// User id of the owner.
    pub user_id: u32,
    /// Id of the owner's main group; None if the system does not know the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<u32>,
    /// Name of the owner; the number of a user without a name.
    #[serde(default)]
    pub user: String,
    /// Name of the job.
    pub name: String,
    /// Account that the user named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Queue that the user named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Remark of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// State.
    pub state: WireWord<JobState>,
    /// The first cause for which a job waits; of an array that of its first task that waits. None for a job that runs
    /// or is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitMessage>,
    /// Why it is suspended, or about to be evicted, if it runs on a computer that others use now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<WireWord<HostUseCause>>,
    /// Of a job whose run time cannot be predicted: the run times of its class, and its treatment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpredictable: Option<UnpredictableRun>,
    /// Expected start and end with their interval, and the probability of meeting the deadline, by what is known now. Only
    /// in a list with `expect`, of a job that is not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobForecast>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Working directory.
    pub dir: String,
    /// Output file, if any; of an array with `%a` for the number of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// File of standard error, if it is not that of the output; of an array with `%a` for the number of the
    /// task. `/dev/null` if standard error is discarded and the output is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// File of standard input, if any; of an array with `%a` for the number of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The command line of the submission, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_line: Option<String>,
    /// Host on which the job was submitted, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_host: Option<String>,
    /// Number of processors.
    pub procs: u32,
    /// Devices and licences that the job, or each task of it, takes while it runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u8>,
    /// Whether all processors have to be on one host.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_host: bool,
    /// Name of the host on which the job has to run, if its user named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_host: Option<String>,
    /// Whether the job may run again from its start after it was lost.
    #[serde(default, skip_serializing_if = "is_false")]
    pub requeue: bool,
    /// Maximum memory, if the job names one; of a job with `auto_memory` what is set aside for it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Whether the service sets aside memory by what jobs like it used.
    #[serde(default, skip_serializing_if = "is_false")]
    pub auto_memory: bool,
    /// Instant of the submission.
    pub submitted_at: String,
    /// Run time that the decision assumed.
    pub estimate_s: f64,
    /// Source of the estimate.
    pub estimate_source: WireWord<JobEstimateSource>,
    /// Time limit of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// Signal before the time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<JobSignal>,
    /// Deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The instant before which the job was not to start, if its user named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_at: Option<String>,
    /// Budget, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Instant of the admission or rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// Maximum cost, in credits, of an admitted job; of an array the sum over its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Why the job was rejected, was cancelled with a job that it depends on, or runs without a promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonMessage>,
    /// Probability of meeting the deadline as promised, or as quoted if nothing is promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Probability of meeting the deadline in the answer to the submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted_probability: Option<f64>,
    /// Probability of meeting the deadline at which it was promised, which counts for calibration; of an array the mean of
    /// its tasks. A policy that admits jobs only when they start promises then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised_probability: Option<f64>,
    /// Instant of the promise; of an array that of the last task that was promised after the submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised_at: Option<String>,
    /// Whether the promise counted on hosts that were not there when it was made: pilots in the queue of a batch system.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_on_expected_hosts: bool,
    /// End that was forecast when the job was decided about; none for an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_finish_at: Option<String>,
    /// The outcome of the deadline, promised or not. None before, without a deadline, for a job that was
    /// never admitted or started, and for an array, whose tasks have one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<WireWord<PromiseOutcome>>,
    /// The cause of a broken promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_by: Option<WireWord<BrokenPromiseCause>>,
    /// Instant of the first start. Absent of a running job as long as the batch system that runs it has not started
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Instant of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// How often, and after which ends, a task that fails is tried again, as in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<String>,
    /// The user's rule for evicted tasks, as in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_up: Option<String>,
    /// End of the last attempt: `exit 0`, `signal 9 (memory limit)`, `lost`, ..; of a finished array `exit`
    /// and the greatest exit code of its tasks, as of `wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The exit code of the program as in a shell, also if a limit ended it: 128 + n after signal n, 127 if
    /// the program never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The signal that ended the program, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_signal: Option<u8>,
    /// Host of the last attempt: the name of a worker, or of the service's host. None for an array,
    /// whose tasks have one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Hosts of the last attempt with the number of its processors on each, as in `n1:4,n2:2`, if there are
    /// several. None for an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<String>,
    /// Wall-clock time of the last attempt, once it has ended; none for an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_s: Option<f64>,
    /// Processor time of all attempts that have ended; of an array of all its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Peak memory of an attempt or task that has ended, the greatest of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Texts that came with the job and are no longer kept, because the job is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<WireWord<DroppedText>>,
}

impl JobDetails {
    /// Returns the exit code that the job stands for, in `wait` and its like. It is 0 after a success, or if
    /// the job is not over. A limit that ended the job gives 124 (time), 137 (memory) or 153 (output). Else
    /// it is that of its program, or 1 if the job, or a task of the array, did not run to an end.
    pub fn wait_code(&self) -> u8 {
        let Some(state) = self.state.known() else {
            return 1;
        };
        match state {
            JobState::TimedOut | JobState::OutOfMemory | JobState::OutputLimit => {
                let limit = state.exceeded().map(ExceededLimit::wait_code);
                // The exit code of an array is the greatest of those of its tasks.
                let greatest = self.exit_code.filter(|_| self.array.is_some());
                limit.max(greatest).unwrap_or(1)
            }
            JobState::Abandoned => ABANDONED_WAIT_CODE,
            JobState::Rejected | JobState::Cancelled | JobState::Lost => 1,
            JobState::Finished if self.lacks_tasks() => 1,
            JobState::Finished => match self.exit_code {
                // The site has ended it: a program that ends with 0 when it is asked to end did not succeed.
                Some(0) if !self.has_plain_status() => 1,
                code => code.unwrap_or(0),
            },
            JobState::Dependent
            | JobState::Queued
            | JobState::Held
            | JobState::Running
            | JobState::Reserved
            | JobState::Expired => u8::from(self.lacks_tasks()),
        }
    }

    fn lacks_tasks(&self) -> bool {
        let array = self.array.as_ref();
        array.is_some_and(|array| {
            array.rejected + array.cancelled + array.lost + array.abandoned > 0
        })
    }

    fn has_plain_status(&self) -> bool {
        self.status.as_deref() == Some("exit 0")
    }

    /// Returns the status without the limit that the state names already: `signal 15` of
    /// `signal 15 (time limit)`.
    pub fn short_status(&self) -> Option<&str> {
        let status = self.status.as_deref()?;
        let words = match self.state.exceeded() {
            Some(_) => status.split_once(" (").map_or(status, |(words, _)| words),
            None => status,
        };
        Some(words)
    }
}

/// A text that came with a job.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DroppedText {
    /// The program and its arguments; the first word is left.
    Command,
    /// The environment.
    Environment,
    /// The script.
    Script,
}

/// The tasks of an array, counted by state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayStatus {
    /// Numbers of the tasks: `1-1000`.
    pub tasks: String,
    /// Maximum number of tasks at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running: Option<u32>,
    /// Queued tasks.
    pub queued: u64,
    /// Held tasks.
    pub held: u64,
    /// Running tasks.
    pub running: u64,
    /// Finished tasks.
    pub finished: u64,
    /// Tasks that reached their time limit.
    #[serde(default)]
    pub timed_out: u64,
    /// Tasks that the kernel ended for memory.
    #[serde(default)]
    pub out_of_memory: u64,
    /// Tasks that the limit of their output ended.
    #[serde(default)]
    pub output_limit: u64,
    /// Cancelled tasks.
    pub cancelled: u64,
    /// Lost tasks: their end was not observed.
    pub lost: u64,
    /// Tasks that were evicted more often than a rule permits.
    #[serde(default)]
    pub abandoned: u64,
    /// Rejected tasks.
    pub rejected: u64,
    /// Tasks whose promise was kept.
    pub kept: u64,
    /// Tasks whose promise was broken, also unfinished ones.
    pub broken: u64,
    /// Tasks whose promise became void.
    pub void: u64,
    /// Tasks that are over and had a deadline that was not promised.
    pub unpromised: u64,
    /// Those of them that succeeded by it.
    #[serde(default)]
    pub unpromised_in_time: u64,
    /// The tasks that failed, by how they ended; absent in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<TaskFailures>,
    /// The outlook of the tasks of an unfinished array; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Box<TasksOutlook>>,
}

/// A list of jobs, latest first; or of the tasks of an array, ascending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<JobDetails>,
    /// The array, if these are tasks of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Box<JobDetails>>,
    /// True if there are more than the list has, because of its limit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
}

/// Returns whether a field is left out because it is false.
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The explanation of the state of a job, with a forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobExplanation {
    /// The job.
    pub job: JobDetails,
    /// Sentences: why the job waits and for what, or how it ended.
    pub words: Vec<String>,
    /// The forecast, if the job is unfinished; of an array as in its outlook.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobForecast>,
    /// Of a rejected job: what the same submission would get now, with what would be accepted instead. A deadline
    /// that has passed counts anew from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<SubmitResponse>,
}

/// The confirmation of a request about a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobRef {
    /// Number of the job.
    pub id: u64,
}

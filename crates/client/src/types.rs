//! The requests and responses of the API. Field names, units and meanings are a contract: instants
//! are ISO 8601 in UTC (`_at`), spans are seconds (`_s`), memory is bytes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::{
    ABSOLUTE_PATH, MAX_AFTER, MAX_BATCH, MAX_CREDITS, MAX_HOLD_S, MAX_NAME, MAX_NOTICES,
    MAX_SPAN_S, MIN_SPAN_S, NO_CONTROL, NO_NUL, NOTICE, PREDECESSOR, RESOURCE, TASK_NUMBERS,
    VARIABLE,
};
use crate::whole_number::{optional_whole, whole};

/// A job to submit, or to quote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The program and its arguments. A quote needs none.
    #[serde(default)]
    #[schemars(inner(regex(pattern = NO_NUL)))]
    pub command: Vec<String>,
    /// Text of the script that `command` names first, at most 1 MiB. The service keeps a copy and runs
    /// the copy, because the file may change or disappear before the job starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Name of the job; jobs of one user with the same name are forecast alike. Default: the name of
    /// the program. At most 128 characters, none of them a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub name: Option<String>,
    /// Account to charge the job to: a label, by which jobs of one name are told apart in forecasts. At
    /// most 128 characters, none of them a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub account: Option<String>,
    /// Queue of the job: a label like `account`. All jobs wait in one queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub queue: Option<String>,
    /// Number of processors, at least 1.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub procs: u32,
    /// Maximum memory.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_whole"
    )]
    #[schemars(range(min = 1))]
    pub memory_bytes: Option<u64>,
    /// Whether all processors have to be on one host. Only under policies that choose hosts, as `plan`.
    #[serde(default)]
    pub one_host: bool,
    /// The name of the host on which all processors have to be, as `tollgate nodes` shows it. Only under
    /// policies that choose hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub host: Option<String>,
    /// Devices and licences that the job, or each task of it, takes while it runs: their names, and the
    /// number of each. A job that takes devices runs on one host. Only under policies that choose hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "propertyNames" = {"pattern": RESOURCE},
        "additionalProperties" = {"type": "integer", "minimum": 1, "maximum": 255},
    ))]
    pub resources: BTreeMap<String, u8>,
    /// Run time that the user expects. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub estimate_s: Option<f64>,
    /// Wall-clock time from the start after which a task is ended. Positive, and at least the estimate.
    /// Without an estimate it is one. Policies that share nodes among tasks do not enforce it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub time_limit_s: Option<f64>,
    /// Deadline as a span after submission. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub deadline_s: Option<f64>,
    /// Deadline as an instant; instead of `deadline_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Maximum cost, in credits. Not negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = MAX_CREDITS))]
    pub budget: Option<f64>,
    /// Cost to the provider of each second past the deadline, in credits. Not negative.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = MAX_CREDITS))]
    pub penalty_per_s: f64,
    /// Minimum probability of meeting the deadline; the job is rejected below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// Whether the job may run again from its start after it was lost.
    #[serde(default)]
    pub requeue: bool,
    /// What the user is told of, if the service has a command for notices: `end`, `late`, `lost`, and
    /// `at-risk:0.8` once the probability of meeting the deadline falls below that (not of an array).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_NOTICES), inner(regex(pattern = NOTICE)))]
    pub notify: Vec<String>,
    /// Of a quote: the span to reserve the room for, if the job would be accepted. Positive, at most
    /// an hour. The reserved quote then expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_HOLD_S))]
    pub hold_s: Option<f64>,
    /// Of a quote: whether surer promises and their prices are told as offers.
    #[serde(default)]
    pub levels: bool,
    /// Tasks of an array: `1-1000`, `1,3,7-9` or `0-99:3`; `%4` at the end runs at most four of them at
    /// a time. The tasks differ only in their number, `TOLLGATE_TASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = TASK_NUMBERS))]
    pub array: Option<String>,
    /// Jobs of the same user to start after: `7` or `ok:7` if job 7 must end with exit code 0 (all
    /// tasks of an array), `any:7` if it may end in any way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_AFTER), inner(regex(pattern = PREDECESSOR)))]
    pub after: Vec<String>,
    /// Whether the job is held until the user releases it.
    #[serde(default)]
    pub held: bool,
    /// Environment of the job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "propertyNames" = {"pattern": VARIABLE},
        "additionalProperties" = {"type": "string", "pattern": NO_NUL},
    ))]
    pub env: BTreeMap<String, String>,
    /// Working directory; absolute.
    #[serde(default = "root")]
    #[schemars(regex(pattern = ABSOLUTE_PATH))]
    pub dir: String,
    /// Output file, relative to `dir`; `%j` stands for the number of the job, `%a` for that of the task
    /// (required for arrays). Without it the output is discarded.
    /// A missing directory of the file is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), regex(pattern = NO_NUL))]
    pub output: Option<String>,
    /// What becomes of the job if its deadline cannot be promised at once.
    #[serde(default)]
    pub otherwise: JobOtherwise,
    /// Of an array that cannot be promised whole: whether as many of its tasks as possible are promised.
    /// The rest goes the way of `otherwise`.
    #[serde(default)]
    pub partial: bool,
    /// Permission bits that new files of the job do not get.
    #[serde(default = "umask", deserialize_with = "whole")]
    #[schemars(range(max = 0o777))]
    pub umask: u32,
}

fn one() -> u32 {
    1
}

fn root() -> String {
    "/".to_owned()
}

fn umask() -> u32 {
    0o022
}

/// Jobs to submit together. All of them are taken up in one transaction, or none is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBatch {
    /// Fields that the jobs have in common.
    #[serde(default)]
    #[schemars(with = "JobRequest")]
    pub common: Map<String, Value>,
    /// The fields of each job beside those, or instead of them.
    #[schemars(with = "Vec<JobRequest>", length(min = 1, max = MAX_BATCH))]
    pub jobs: Vec<Map<String, Value>>,
}

/// A change to a job that waits. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlterRequest {
    /// Name of the job, as in a submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub name: Option<String>,
    /// Run time that the user expects. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub estimate_s: Option<f64>,
    /// Deadline as a span from now. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub deadline_s: Option<f64>,
    /// Deadline as an instant; instead of `deadline_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Whether the job has no deadline any more.
    #[serde(default)]
    pub no_deadline: bool,
}

/// Nodes to drain, or to use again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainRequest {
    /// Name of the worker; without it, the service's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Whether no other task starts there. False lets tasks start again.
    pub drained: bool,
}

/// The answer to a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlterResponse {
    /// Whether the job was changed. If not, it stays as it was, with its promise.
    pub altered: bool,
    /// The decision about the changed job, as about a new one.
    pub answer: SubmitResponse,
}

/// The answer to jobs that were submitted together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchResponse {
    /// The answers, in the order of the jobs.
    pub jobs: Vec<SubmitResponse>,
}

/// What becomes of a job with a deadline that cannot be promised at once, where the policy promises at
/// submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobOtherwise {
    /// It waits until it can be promised, or no longer can be.
    #[default]
    Wait,
    /// It runs without a promise.
    Run,
    /// It is rejected.
    Reject,
}

/// The decision about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobDecision {
    /// Admitted: the deadline is promised, or, without a deadline, that the job will run.
    Accepted,
    /// Queued without a promise: the policy decides when the job could start.
    Queued,
    /// Waits for a promise, which may become possible when others end early; at `decided_by_at` it is
    /// rejected.
    Waitlisted,
    /// Runs without a promise, as `otherwise` asks for: its deadline cannot be promised.
    Unpromised,
    /// Decided later: once the jobs before it have finished, or once it is released.
    Deferred,
    /// Not admitted.
    Rejected,
}

/// A reason why a job is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonMessage {
    /// Stable key.
    pub key: String,
    /// Text to stand after "rejected:".
    pub text: String,
}

/// The answer to a submission or a quote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitResponse {
    /// Number of the job; none for a quote that is not reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The decision.
    pub decision: JobDecision,
    /// Why the job is rejected, or runs without a promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonMessage>,
    /// Maximum cost, in credits; only of an accepted job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Instant of the decision, by the service's clock.
    pub now_at: String,
    /// Deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Of a waitlisted job: the instant by which it is promised or rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by_at: Option<String>,
    /// Run time that the decision assumes.
    pub estimate_s: f64,
    /// Source of the estimate: `user`, `class` (similar jobs), `user_jobs` (the median of the user's
    /// jobs), `site` (the median of all jobs) or `default` (the setting).
    pub estimate_source: String,
    /// Wall-clock time from the start after which the job is ended: the time limit of the request, where
    /// the policy enforces one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// Source of the forecast, in words: `few jobs of this class`.
    pub forecast_from: String,
    /// The forecast for the job.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobForecast>,
    /// Of an array that cannot be promised whole: the number of its tasks that could be promised now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promisable_tasks: Option<u32>,
    /// Of a job that is not promised whole: what would be accepted now instead. Of an accepted quote with
    /// `levels`: surer promises.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<JobOffer>,
    /// Of a reserved quote: the instant at which it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until_at: Option<String>,
    /// Of an array: the decisions about its tasks, ascending. The other fields are about its first
    /// task, except for the price, which is the sum over all tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRangeDecision>,
}

/// Tasks of an array with the same decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRangeDecision {
    /// Numbers of the tasks: `1-640`.
    pub tasks: String,
    /// Number of tasks.
    pub count: u64,
    /// The decision.
    pub decision: JobDecision,
    /// Why the tasks are rejected, or run without a promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonMessage>,
    /// Maximum cost of all of them, in credits; only of accepted tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

/// A job that would be accepted now: the requested one with one change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobOffer {
    /// Changed field: `deadline`, `budget`, `procs` or `confidence`.
    pub change: String,
    /// Deadline of the offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The deadline as a span after submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<f64>,
    /// Budget of the offer, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Number of processors of the offer.
    pub procs: u32,
    /// Minimum probability of meeting the deadline, as requested or of the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Maximum cost, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Probability of meeting the deadline, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// The forecast for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobForecast {
    /// Expected start, or the start if the job has started.
    pub expected_start_at: String,
    /// Expected finish.
    pub expected_finish_at: String,
    /// The job finishes before this instant with a probability of one tenth.
    pub earliest_finish_at: String,
    /// The job finishes after this instant with a probability of one tenth.
    pub latest_finish_at: String,
    /// Probability of meeting the deadline, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDetails {
    /// Number of the job.
    pub id: u64,
    /// Number of the task, if this is a task of an array; its name is `id`, `_` and this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The states of its tasks, if the job is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayStatus>,
    /// The jobs to start after, without those that had finished at the submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u64>,
    /// User id of the owner.
    pub user_id: u32,
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
    /// State: `dependent` (on other jobs), `queued`, `held`, `running`, `finished`, `cancelled`, `lost` or
    /// `rejected`; of a reserved quote, `reserved` or `expired`.
    pub state: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Working directory.
    pub dir: String,
    /// Output file, if any; of an array with `%a` for the number of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Number of processors.
    pub procs: u32,
    /// Maximum memory, if the job names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Instant of the submission.
    pub submitted_at: String,
    /// Run time that the decision assumed.
    pub estimate_s: f64,
    /// Source of the estimate: `user`, `class`, `user_jobs`, `site` or `default`.
    pub estimate_source: String,
    /// Time limit of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// Deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Budget, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Instant of the admission or rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// Maximum cost, in credits, of an admitted job; of an array the sum over its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Keys of the reasons of a rejection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Probability of meeting the deadline, as of the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// End that was forecast when the job was decided about; none for an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_finish_at: Option<String>,
    /// Ending of the promise: `kept`, `broken` (late, lost, or ended by the site) or `void` (failed by
    /// itself, reached a limit of its own, or cancelled, before its deadline). None before, for a job
    /// that was never admitted, and for an array, whose tasks have one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    /// Instant of the first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Instant of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// End of the last attempt: `exit 0`, `signal 9`, `lost`, ..; of a finished array that of the task
    /// with the greatest exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The exit code as in a shell: 128 + n after signal n, 127 if the program never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// Host of the last attempt: the name of a worker, or of the service's host. None for an array,
    /// whose tasks have one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Wall-clock time of the last attempt, once it has ended; none for an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_s: Option<f64>,
    /// Processor time of all attempts that have ended; of an array of all its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Peak memory of an attempt or task that has ended, the greatest of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// The tasks of an array, counted by state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Cancelled tasks.
    pub cancelled: u64,
    /// Lost tasks: their end was not observed.
    pub lost: u64,
    /// Rejected tasks.
    pub rejected: u64,
    /// Tasks whose promise was kept.
    pub kept: u64,
    /// Tasks whose promise was broken, also unfinished ones.
    pub broken: u64,
    /// Tasks whose promise became void.
    pub void: u64,
    /// Tasks that ran without a promise because their deadline could not be promised.
    pub unpromised: u64,
}

/// A list of jobs, latest first; or of the tasks of an array, ascending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<JobDetails>,
}

/// Some of the output of a job, or of one task of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobOutput {
    /// The source of the bytes.
    pub source: OutputSource,
    /// Number of the attempt that wrote the output; 0 if none has started.
    pub attempt: u32,
    /// Position of the first byte, counted from the beginning of the output.
    pub start: u64,
    /// Size of the whole output, with the bytes that are not here.
    pub size_bytes: u64,
    /// The bytes, if they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes, if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Vec<u8>>,
    /// Number of the file in its file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Time of the file's last change, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_us: Option<i64>,
    /// Why bytes are missing that should be here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The source of a job's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputSource {
    /// The worker has read the file now.
    Worker,
    /// The service has kept the end of the output since the job ended on a worker.
    Kept,
    /// The file is on the service's own host, and the service does not read it.
    Host,
}

impl JobOutput {
    /// Creates an output without bytes.
    pub const fn empty(source: OutputSource, attempt: u32) -> Self {
        Self {
            source,
            attempt,
            start: 0,
            size_bytes: 0,
            text: None,
            bytes: None,
            inode: None,
            modified_us: None,
            problem: None,
        }
    }

    /// Adds why bytes are missing.
    pub fn with_problem(self, problem: String) -> Self {
        Self {
            problem: Some(problem),
            ..self
        }
    }

    /// Returns the bytes.
    pub fn content(&self) -> &[u8] {
        let text = self.text.as_ref().map(String::as_bytes);
        text.or(self.bytes.as_deref()).unwrap_or_default()
    }
}

/// The explanation of the state of a job, with a forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobExplanation {
    /// The job.
    pub job: JobDetails,
    /// Sentences: why the job waits and for what, or how it ended.
    pub words: Vec<String>,
    /// The forecast, if the job is unfinished.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobForecast>,
}

/// The state of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceStatus {
    /// Version of the service.
    pub version: String,
    /// Process id of the service.
    pub pid: u32,
    /// Instant of the answer.
    pub now_at: String,
    /// Instant of the start of the service.
    pub up_since_at: String,
    /// Admission policy.
    pub policy: String,
    /// Market: `none`, `commodity` or `bid`.
    pub market: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of idle nodes.
    pub idle_nodes: u32,
    /// Number of queued tasks.
    pub queued: u32,
    /// Number of held tasks.
    pub held: u32,
    /// Number of running tasks.
    pub running: u32,
    /// Number of connected workers on other hosts.
    pub workers: u32,
    /// Number of workers that lost their connection and may still reconnect.
    pub workers_disconnected: u32,
    /// Beginning of the maintenance at this instant, or of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_from_at: Option<String>,
    /// End of that maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_until_at: Option<String>,
    /// The policy on paper, if there is one; only operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowStatus>,
}

/// The results of a second policy with the same jobs, on paper, beside the real ones: over the jobs
/// that were submitted since it began and have finished under both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShadowStatus {
    /// The policy on paper.
    pub policy: String,
    /// Instant at which it began.
    pub since_at: String,
    /// Number of jobs that run on paper.
    pub running: u32,
    /// Number of jobs that wait on paper.
    pub queued: u32,
    /// Number of jobs that are unfinished under either policy, and count in neither objectives.
    pub undecided: u64,
    /// Number of jobs whose end on paper is a forecast, because their run time is not known.
    pub by_forecast: u64,
    /// Objectives of the deciding policy.
    pub real_objectives: ServiceObjectives,
    /// Objectives of the policy on paper.
    pub paper_objectives: ServiceObjectives,
}

/// The four objectives of Yeo & Buyya (2008, eq. 1-4) and their terms, over the rejected jobs and the
/// admitted jobs whose promise has ended: at their deadline, or before it with the job. Jobs that were
/// cancelled before their admission are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceObjectives {
    /// Number of rejected jobs, of admitted jobs whose promise has ended, and of `unpromised` jobs.
    pub submitted: u64,
    /// Number of admitted jobs whose promise has ended.
    pub accepted: u64,
    /// Number of kept promises: exit code 0, by the deadline if there is one.
    pub kept: u64,
    /// Number of broken promises: the job is late or lost, or the site ended it.
    pub broken: u64,
    /// Number of void promises: the job failed by itself, reached a limit of its own, or was cancelled
    /// by its user, before its deadline.
    pub void: u64,
    /// Number of jobs that ran without a promise because their deadline could not be promised. They are
    /// submitted, and not accepted.
    pub unpromised: u64,
    /// Mean span from submission to start of jobs with a kept promise; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// Kept promises in percent of submitted jobs; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sla_pct: Option<f64>,
    /// Kept promises in percent of kept and broken ones; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliability_pct: Option<f64>,
    /// Earnings in percent of the budgets of submitted jobs, at most 100; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profitability_pct: Option<f64>,
}

/// Promised probabilities against kept promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationReport {
    /// Promises by their probability; only bins with promises.
    pub bins: Vec<CalibrationBin>,
}

/// A bin of promises with about the same probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationBin {
    /// Lower bound of the probabilities.
    pub from: f64,
    /// Upper bound of the probabilities, exclusive except for 1.
    pub to: f64,
    /// Number of promises that were kept or broken.
    pub promises: u64,
    /// Mean promised probability; none without any promise that was kept or broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised: Option<f64>,
    /// Number of kept promises.
    pub kept: u64,
    /// Share of kept promises, 0 to 1; none without any promise that was kept or broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_part: Option<f64>,
    /// Lower bound of the 95 % confidence interval of that share (Wilson's score interval).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_part_low: Option<f64>,
    /// Upper bound of that interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_part_high: Option<f64>,
    /// Number of void promises, which count in none of the other fields.
    pub void: u64,
}

/// An exception from a user's share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// The reason, which the books show. At most 128 characters, none of them a control character.
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub reason: String,
}

/// The nodes and workers of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeList {
    /// The nodes: cores of the service's host and of the workers' hosts.
    pub nodes: Vec<NodeStatus>,
    /// Maximum memory of all tasks on a node of the service's host; 0 if it offers none.
    pub memory_per_node_bytes: u64,
    /// Sentences: what is enforced on the service's host, and what can escape.
    pub enforced: Vec<String>,
    /// Workers on other hosts, lost ones included.
    pub workers: Vec<WorkerStatus>,
    /// Devices of hosts, and licences of the site.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
}

/// A device of a host, or a licence of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceStatus {
    /// Name, as `gpu`.
    pub name: String,
    /// Host that has the devices; none for licences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Number of units.
    pub total: u8,
    /// Number of units that running jobs take.
    pub taken: u8,
}

/// A worker: a process that offers the cores of another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerStatus {
    /// Name of the worker; several workers may have the same name.
    pub name: String,
    /// `connected`, `leaving`, `disconnected` (may still come back) or `lost`.
    pub state: String,
    /// Number of its incarnation: one more each time that it registers after it was lost.
    pub incarnation: u32,
    /// Number of its first node.
    pub first_node: u32,
    /// Number of its nodes.
    pub nodes: u32,
    /// Instant at which its host ends it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Name of its site, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Why the service drained its nodes itself, if it did: `tollgate resume` lets jobs start again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<String>,
    /// Maximum memory of all tasks on one of its nodes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_per_node_bytes: Option<u64>,
    /// Sentences: what is enforced on its host, and what can escape.
    pub enforced: Vec<String>,
}

/// A node: one core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatus {
    /// Number of the node, from 0.
    pub id: u32,
    /// `idle`, `busy`, `draining` (busy, and no other task starts there), `drained` or `down`.
    pub state: String,
    /// Number of tasks on the node.
    pub tasks: u32,
    /// Name of its worker; none for a node of the service's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// The entries of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerReport {
    /// One entry per user and day.
    pub accounts: Vec<AccountEntry>,
}

/// The sums of the ledger of one user and day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccountEntry {
    /// User id of the owner.
    pub user_id: u32,
    /// The day, in UTC: `2026-12-01`.
    pub day: String,
    /// Charges, in credits.
    pub charges: f64,
    /// Penalties that the provider owes, in credits; not positive.
    pub penalties: f64,
    /// Earnings of the provider: the sum of both.
    pub utility: f64,
}

/// An event of a job, or of some of its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    /// Number of the job.
    pub job: u64,
    /// Numbers of the tasks, as in `1-5,9`, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<String>,
    /// Kind: `accepted`, `queued`, `deferred`, `rejected`, `reserved`, `claimed`, `expired`, `held`,
    /// `altered`, `started`, `broken` (the promise), `finished`, `cancelled` or `lost`.
    pub event: String,
    /// Instant of the event.
    pub at: String,
}

/// Records of earlier jobs to learn from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnRequest {
    /// Jobs that ran and ended with success, in the order of their ends.
    pub records: Vec<LearnedJob>,
}

/// A job in a record of earlier jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnedJob {
    /// Id of the job in its record. A job with the same id, user and times is learned once.
    pub id: String,
    /// Name of the user. One without an account on the host of the service gets a number that no
    /// account has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Name of the job: jobs of one user and name are forecast together.
    pub name: String,
    /// File name of the program or script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// Account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Number of processors.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub procs: u32,
    /// Run time that the user estimated. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub estimate_s: Option<f64>,
    /// Submission.
    pub submitted_at: String,
    /// End.
    pub finished_at: String,
    /// Run time. Positive.
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub run_s: f64,
}

/// What was learned from records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LearnResult {
    /// Number of jobs that were learned.
    pub learned: u32,
    /// Number of jobs that had been learned before.
    pub known: u32,
}

/// A token to create.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// User of the token, by name or number. Default: the user of the request; only root and the
    /// service's own user may name others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Kind: `user`, or `worker` for a token that can only register a worker.
    #[serde(default)]
    pub kind: AccessRole,
    /// Lifetime. Positive; default: until revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub expires_s: Option<f64>,
    /// For a worker's token: number of workers that may connect with it, from 1 to 10000. Each gets a
    /// key of its own. Default: any number of workers connect with the token itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub uses: Option<u32>,
}

/// A created token. The service shows it once and stores only its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The token.
    pub token: String,
    /// What the service stores about it.
    #[serde(flatten)]
    pub about: TokenInfo,
}

/// A token or a certificate, as the service stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenInfo {
    /// Id of the token or certificate.
    pub id: String,
    /// Type: `token` or `certificate`.
    pub proof: String,
    /// User id.
    pub user_id: u32,
    /// Kind: `user` or `worker`.
    pub kind: AccessRole,
    /// Instant of its creation; none if the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// Instant of its expiry; none if it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Number of workers that may still connect with it for the first time; none if not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
    /// Id of the token that a worker got this key with; none for other tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_with: Option<String>,
    /// The SHA-256 of the token, or of the certificate's public key.
    pub fingerprint: String,
}

/// The tokens and certificates of the user; of all users for root and the service's own user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// The tokens and certificates, configured ones first.
    pub tokens: Vec<TokenInfo>,
}

/// The confirmation of a request about a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobRef {
    /// Number of the job.
    pub id: u64,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorResponse {
    /// Message, one sentence.
    pub error: String,
    /// What to try next, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The access that a credential gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessRole {
    /// May submit jobs and query them.
    #[default]
    User,
    /// May register as a worker, and nothing else.
    Worker,
}

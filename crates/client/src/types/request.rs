//! Jobs to submit, to quote or to change.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tollgate_model::Otherwise;

use crate::limits::{
    ABSOLUTE_PATH, MAX_AFTER, MAX_BATCH, MAX_CREDITS, MAX_HOLD_S, MAX_NAME, MAX_NOTICES,
    MAX_SPAN_S, MAX_SUBMIT_LINE, MIN_JOB_MEMORY, MIN_SPAN_S, NO_CONTROL, NO_NUL, NOTICE,
    PREDECESSOR, RESOURCE, RETRIES, TASK_NUMBERS, VARIABLE,
};
use crate::whole_number::{optional_whole, whole};

/// A signal to the processes of a task, once, some time before its time limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSignal {
    /// Name: `HUP`, `INT`, `QUIT`, `USR1`, `USR2`, `TERM` or `XCPU`.
    pub name: String,
    /// Time before the limit, and shorter than it.
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub before_s: f64,
}

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
    /// Account to charge the job to: a label, by which forecasts distinguish jobs of one name. At most 128
    /// characters, none of them a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub account: Option<String>,
    /// Queue of the job: a label like `account`. All jobs wait in one queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub queue: Option<String>,
    /// A remark of the user about the job, shown with it. At most 128 characters, none of them a control
    /// character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub comment: Option<String>,
    /// The command line of the submission, shown with the job. At most 4096 characters, none of them NUL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_SUBMIT_LINE), regex(pattern = NO_NUL))]
    pub submit_line: Option<String>,
    /// The name of the host on which the job was submitted, shown with the job. At most 128 characters, none
    /// of them a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub submit_host: Option<String>,
    /// Number of processors, at least 1.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub procs: u32,
    /// Maximum memory, at least a megabyte.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_whole"
    )]
    #[schemars(range(min = MIN_JOB_MEMORY))]
    pub memory_bytes: Option<u64>,
    /// Whether the service sets aside memory by what jobs like it used. Not with `memory_bytes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_memory: bool,
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
    /// A signal to the processes of a task before its time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<JobSignal>,
    /// Deadline as a span after submission. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub deadline_s: Option<f64>,
    /// Deadline as an instant; instead of `deadline_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Span after submission before which the job does not start. It is decided about then, so nothing is
    /// promised before. Positive, and shorter than the time to the deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub begin_s: Option<f64>,
    /// The instant before which the job does not start; instead of `begin_s`. One that has passed changes
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_at: Option<String>,
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
    /// The probability at which a promise is enough, below the level at which the service promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub at_least: Option<f64>,
    /// Whether the job may run again from its start after it was lost.
    #[serde(default)]
    pub requeue: bool,
    /// How often, and after which ends, a task that fails is tried again. `3` is at most three more tries
    /// after any failure, and `3:75,timed_out` only after exit code 75 or the time limit. Ends by a limit
    /// count only if `timed_out`, `out_of_memory` or `output_limit` names them; `failed` stands for every
    /// exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = RETRIES))]
    pub retries: Option<String>,
    /// The user's rule for evicted tasks, as in `max-non-user-evictions:3+held-time:1h`: a task that exceeds it is not tried
    /// again. Only with `requeue`. The rule of the site holds as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_up: Option<String>,
    /// The notices that the user gets, if the service sends any: `end`, `late`, `lost`, and
    /// `at-risk:0.8` once the chance of the promise falls below that. An array is one promise. `end:mail` is sent
    /// by the target `mail` of `notice_targets`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_NOTICES), inner(regex(pattern = NOTICE)))]
    pub notify: Vec<String>,
    /// Of a quote: the span to reserve the room for, if the job would be accepted. Positive, at most
    /// an hour. The reserved quote then expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_HOLD_S))]
    pub hold_s: Option<f64>,
    /// Of a quote: whether the response lists surer promises and their prices as offers.
    #[serde(default)]
    pub levels: bool,
    /// Tasks of an array: `1-1000`, `1,3,7-9` or `0-99:3`; `%4` at the end runs at most four of them at
    /// a time. The tasks differ only in their number, `TOLLGATE_TASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = TASK_NUMBERS))]
    pub array: Option<String>,
    /// Jobs of the same user to start after. `7` or `ok:7`: job 7 must end with exit code 0 (all tasks of an
    /// array). `any:7`: it may end in any way. `failed:7`: it must end otherwise than with exit code 0.
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
    /// Output file, relative to `dir`. `%j` stands for the number of the job, `%a` for that of the task
    /// (required for arrays), `%x` and `%u` for the names of the job and its user. `%N` stands for the host,
    /// `%r` for the number of restarts, `%%` for a percent sign. Without it the output is discarded. A
    /// missing directory of the file is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), regex(pattern = NO_NUL))]
    pub output: Option<String>,
    /// File for standard error, with the placeholders of `output`. `none` discards standard error. Without it
    /// standard error goes where `output` goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), regex(pattern = NO_NUL))]
    pub error: Option<String>,
    /// File for standard input, relative to `dir`, with the placeholders of `output`. It must exist when the
    /// job starts. Without it standard input is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), regex(pattern = NO_NUL))]
    pub input: Option<String>,
    /// Whether the output begins behind what the file holds; otherwise the first start empties the file.
    /// A restarted job always appends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    /// The treatment of the job if its deadline cannot be promised at once. If absent, the job is rejected if
    /// it has `confidence` or `at_least`; else the service decides, and usually lets it run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<JobOtherwise>,
    /// Whether the job, while it has no promise, is cancelled once it could hardly end in time if it started
    /// then.
    #[serde(default)]
    pub drop_late: bool,
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

/// Jobs to submit together. All of them are stored in one transaction, or no job is.
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

/// A change to a job that waits. A field that is left out stays as it is.
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
    /// Maximum number of tasks of an array that may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_running: Option<u32>,
    /// Whether any number of tasks may run at once.
    #[serde(default)]
    pub no_max_running: bool,
    /// Wall-clock time from the start after which a task is ended. Positive. A longer estimate becomes as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub time_limit_s: Option<f64>,
    /// Whether the job has no time limit any more.
    #[serde(default)]
    pub no_time_limit: bool,
    /// Remark, as in a submission; an empty one removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub comment: Option<String>,
}

/// A failed job to submit again. All of its options are those of the job, but for the deadline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResubmitRequest {
    /// Deadline as a span after the submission. Positive. Without one there is no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub deadline_s: Option<f64>,
    /// Deadline as an instant; instead of `deadline_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
}

/// The treatment of a job with a deadline that cannot be promised at once, where the policy promises at
/// submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobOtherwise {
    /// It waits until it can be promised, or no longer can be.
    Wait,
    /// It runs without a promise, where no promise suffers, and gets one if that becomes possible before.
    Run,
    /// It is rejected.
    Reject,
}

impl From<JobOtherwise> for Otherwise {
    fn from(otherwise: JobOtherwise) -> Self {
        match otherwise {
            JobOtherwise::Wait => Self::Wait,
            JobOtherwise::Run => Self::Run,
            JobOtherwise::Reject => Self::Reject,
        }
    }
}

/// Jobs to change together, with one transaction for many of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobsActionRequest {
    /// The action on the jobs.
    pub action: JobAction,
    /// Numbers of the jobs; at most 1000.
    #[schemars(length(max = MAX_BATCH))]
    pub ids: Vec<u64>,
    /// The signal to send: `HUP`, `INT`, `QUIT`, `USR1`, `USR2`, `TERM` or `XCPU`. Only with the action `signal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// A change of a job that needs no other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobAction {
    /// Cancel it.
    Cancel,
    /// Hold it.
    Hold,
    /// Release it.
    Release,
    /// End it, if it runs, and queue it again.
    Requeue,
    /// Send a signal to its processes, if it runs.
    Signal,
}

/// The answer to jobs that were to be changed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobsActionResult {
    /// Numbers of the jobs that were changed, or got the signal. The others are over, unknown, or not in a state
    /// for it.
    pub changed: Vec<u64>,
}

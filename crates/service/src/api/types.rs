//! What clients say and are told. Field names, units and meanings are a contract: instants are ISO
//! 8601 in UTC (`_at`), spans are seconds (`_s`), memory is bytes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{
    ABSOLUTE_PATH, MAX_AFTER, MAX_CREDITS, MAX_HOLD_S, MAX_NAME, MAX_SPAN_S, MIN_SPAN_S,
    NO_CONTROL, NO_NUL, PREDECESSOR, TASK_NUMBERS, VARIABLE,
};
use super::whole::{whole, whole_if_any};
use crate::access::Role;

/// A job to be handed in, or to be quoted for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The program and its arguments. A quote needs none.
    #[serde(default)]
    #[schemars(inner(regex(pattern = NO_NUL)))]
    pub command: Vec<String>,
    /// What is in the script that `command` names first, at most 1 MiB. The service keeps a copy, and
    /// runs that: the file may change, or go, before the job starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// What it is called; jobs of one user with the same name are forecast alike. The program's
    /// name if left out. At most 128 characters, none of them a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub name: Option<String>,
    /// Processors it needs at once, at least 1.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub procs: u32,
    /// Memory that it may use at most.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole_if_any"
    )]
    #[schemars(range(min = 1))]
    pub memory_bytes: Option<u64>,
    /// How long it takes, by its user. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub estimate_s: Option<f64>,
    /// By when it must have finished, after its submission. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub deadline_s: Option<f64>,
    /// By when it must have finished; instead of `deadline_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The most it may cost, in credits. Not negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = MAX_CREDITS))]
    pub budget: Option<f64>,
    /// What each second past the deadline costs the provider, in credits. Not negative.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = MAX_CREDITS))]
    pub penalty_per_s: f64,
    /// The least probability of keeping the deadline at which it wants to be let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// Whether it may be run again from its start after it was lost.
    #[serde(default)]
    pub requeue: bool,
    /// Of a quote: for how long it is to be kept, if the job would be let in. Positive, at most an
    /// hour. Then it lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_HOLD_S))]
    pub hold_s: Option<f64>,
    /// Its tasks, if it is an array: `1-1000`, `1,3,7-9`, `0-99:3`, with `%4` behind that at most four
    /// of them at a time. They are the same but for their number, `TOLLGATE_TASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = TASK_NUMBERS))]
    pub array: Option<String>,
    /// Jobs of the same user that it is to start after: `7` or `ok:7` if that must have ended with
    /// exit code 0 (all its tasks, if it is an array), `any:7` if not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_AFTER), inner(regex(pattern = PREDECESSOR)))]
    pub after: Vec<String>,
    /// Whether it waits until it is released.
    #[serde(default)]
    pub held: bool,
    /// The environment that it gets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "propertyNames" = {"pattern": VARIABLE},
        "additionalProperties" = {"type": "string", "pattern": NO_NUL},
    ))]
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in; absolute.
    #[serde(default = "root")]
    #[schemars(regex(pattern = ABSOLUTE_PATH))]
    pub dir: String,
    /// Where its output goes, relative to `dir`, with `%j` for the job's number and `%a` for that of
    /// the task, which an array must have; left out, it is thrown away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), regex(pattern = NO_NUL))]
    pub output: Option<String>,
    /// Permission bits that files it makes do not get.
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

/// Whether a job is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is promised its deadline, or, without one, to be run.
    Accepted,
    /// It waits; whether it is let in is decided at its start.
    Queued,
    /// Decided later: once the jobs before it are over, or once it is released.
    Deferred,
    /// It is kept out.
    Rejected,
}

/// Why a job is kept out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// One word that does not change.
    pub key: String,
    /// In words, to stand after "rejected:".
    pub text: String,
}

/// What a job is told, or would be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Its number; none for a quote, unless that is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Whether it is let in.
    pub decision: Decision,
    /// Why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The most it will cost, in credits; left out unless it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// When this was decided, by the service's clock.
    pub now_at: String,
    /// By when it must have finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The run time that was decided on.
    pub estimate_s: f64,
    /// Where that comes from: `user`, `class` (jobs like it) or `default` (the site's setting).
    pub estimate_source: String,
    /// What the expectation is forecast from, in words: `few jobs of this class`.
    pub forecast_from: String,
    /// What is to be expected of it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// If it is rejected: what would be let in now instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offer>,
    /// If it is a quote that is held: until when it can be taken up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until_at: Option<String>,
    /// If it is an array: what its tasks are told, ascending. All else is said of the first of them,
    /// but the price, which is that of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Part>,
}

/// Tasks of an array that are told the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Which ones: `1-640`.
    pub tasks: String,
    /// How many.
    pub count: u64,
    /// Whether they are let in.
    pub decision: Decision,
    /// Why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The most that they will cost together, in credits; left out unless they are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

/// A job that would be let in now: the one that was asked for, with one thing changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offer {
    /// What has changed: `deadline`, `budget` or `procs`.
    pub change: String,
    /// By when it would have to finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The same as a span after submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<f64>,
    /// The most its user would pay, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Processors it would get.
    pub procs: u32,
    /// The most it would cost, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// The probability that it would keep its deadline, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// What is to be expected of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// When it starts, or started.
    pub expected_start_at: String,
    /// When it finishes.
    pub expected_finish_at: String,
    /// It finishes earlier with a probability of one tenth.
    pub earliest_finish_at: String,
    /// It finishes later with a probability of one tenth.
    pub latest_finish_at: String,
    /// The probability that it keeps its deadline, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// A job, as it stands or as it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// Which task of an array it is, if it is one; `id` and this are joined by `_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// How its tasks stand, if it is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Array>,
    /// The jobs that it starts after, but for those that were over when it was handed in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u64>,
    /// Whose it is: a user id.
    pub user_id: u32,
    /// What it is called.
    pub name: String,
    /// `dependent` (on other jobs), `queued`, `held`, `running`, `finished`, `cancelled`, `lost` or
    /// `rejected`; of a reserved quote, `reserved` or `expired`.
    pub state: String,
    /// What it runs.
    pub command: Vec<String>,
    /// The folder that it starts in.
    pub dir: String,
    /// The file that its output goes to, if any; of an array, with `%a` for the number of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Processors it needs at once.
    pub procs: u32,
    /// When it was handed in.
    pub submitted_at: String,
    /// The run time that was decided on.
    pub estimate_s: f64,
    /// Where that came from: `user`, `class` or `default`.
    pub estimate_source: String,
    /// By when it must have finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The most its user pays, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// When it was let in or kept out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// The most it costs, in credits, once it is let in; all tasks of an array together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Why it was kept out: keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// How sure it was to keep its deadline when it was handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// When it was first started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// How often it was started.
    pub attempts: u32,
    /// How its last attempt ended: `exit 0`, `signal 9`, `lost`, ..; of an array that is over, with
    /// the greatest exit code of its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The same as a shell says it: the exit code, 128 + n after signal n, 127 if it never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
}

/// How the tasks of an array stand: how many of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Array {
    /// Their numbers: `1-1000`.
    pub tasks: String,
    /// At most so many of them at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// That wait.
    pub queued: u64,
    /// That are held back.
    pub held: u64,
    /// That run.
    pub running: u64,
    /// That ended by themselves.
    pub finished: u64,
    /// That were taken back.
    pub cancelled: u64,
    /// Of which nobody knows how they ended.
    pub lost: u64,
    /// That were kept out.
    pub rejected: u64,
}

/// Some jobs, the latest first; or tasks of an array, ascending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Jobs {
    /// They.
    pub jobs: Vec<Job>,
}

/// Why a job is where it is, and what is to be expected of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The job.
    pub job: Job,
    /// In words: why it waits and for what, or what became of it.
    pub words: Vec<String>,
    /// What is to be expected of it, if it is not over.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

/// How the service stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The version of the program that serves.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When it answered.
    pub now_at: String,
    /// Since when it has been up.
    pub up_since_at: String,
    /// Who gets in.
    pub policy: String,
    /// Who pays.
    pub market: String,
    /// Nodes that are there.
    pub nodes: u32,
    /// Those of them that nothing runs on.
    pub idle_nodes: u32,
    /// Tasks that wait.
    pub queued: u32,
    /// Tasks that are held back.
    pub held: u32,
    /// Tasks that run.
    pub running: u32,
    /// Workers on other hosts that are connected.
    pub workers: u32,
    /// Workers that have lost their connection and may still come back.
    pub workers_disconnected: u32,
    /// The policy that is asked too, on paper, if there is one; operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Shadow>,
}

/// What another policy would have done with the same jobs, beside what was done: over the jobs
/// that were handed in since it began and are over under both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shadow {
    /// The policy on paper.
    pub policy: String,
    /// Since when it has been asked.
    pub since_at: String,
    /// Jobs that run on paper.
    pub running: u32,
    /// Jobs that wait on paper.
    pub queued: u32,
    /// Jobs that are not over yet under one of the two, and are in neither's objectives.
    pub undecided: u64,
    /// Jobs whose end on paper is a forecast: nobody knew how long they take.
    pub by_forecast: u64,
    /// What the policy that decides did with the jobs.
    pub real_objectives: Objectives,
    /// What the policy on paper would have done with them.
    pub paper_objectives: Objectives,
}

/// The four objectives of Yeo & Buyya (2008, eq. 1-4), and what they are made of, over the jobs
/// that are over. Those that were taken back are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objectives {
    /// Jobs that were let in or kept out.
    pub submitted: u64,
    /// Those of them that were let in.
    pub accepted: u64,
    /// Those of them that finished within their deadline, or had none and finished.
    pub fulfilled: u64,
    /// Mean span from submission to start of those; none if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// Fulfilled of submitted jobs, 0 to 100; none if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sla_pct: Option<f64>,
    /// Fulfilled of accepted jobs, 0 to 100; none if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliability_pct: Option<f64>,
    /// What was earned of the budgets of submitted jobs, at most 100; none if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profitability_pct: Option<f64>,
}

/// What was promised against what was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Promises by the probability that they were made with; only where there are any.
    pub bins: Vec<CalibrationBin>,
}

/// Promises that were made with about the same probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationBin {
    /// The least probability in it.
    pub from: f64,
    /// The probabilities in it are below this, or 1.
    pub to: f64,
    /// Promises that are over.
    pub promises: u64,
    /// Their mean probability.
    pub promised: f64,
    /// How many of them were kept.
    pub kept: u64,
    /// The part that was kept, 0 to 1.
    pub kept_part: f64,
}

/// What there is to run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nodes {
    /// Each node: a core of the service's host, or of a worker's.
    pub nodes: Vec<Node>,
    /// Bytes of memory that the tasks of a node may hold together, on the service's host.
    pub memory_per_node_bytes: u64,
    /// What is enforced there, and what can escape: a sentence each.
    pub enforced: Vec<String>,
    /// Workers on other hosts that there ever were.
    pub workers: Vec<Worker>,
}

/// A process on another host that offers its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// What it is called; several may have the same name.
    pub name: String,
    /// `connected`, `disconnected` (may still come back) or `lost`.
    pub state: String,
    /// Number of its incarnation: one more each time that it registers after it was lost.
    pub incarnation: u32,
    /// The first of its nodes.
    pub first_node: u32,
    /// How many it has.
    pub nodes: u32,
    /// Bytes of memory that the tasks of a node may hold together, where it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_per_node_bytes: Option<u64>,
    /// What is enforced there, and what can escape: a sentence each.
    pub enforced: Vec<String>,
}

/// Something to run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its number, from 0.
    pub id: u32,
    /// `idle`, `busy` or `down`.
    pub state: String,
    /// Tasks that it has.
    pub tasks: u32,
    /// The worker whose it is; none if it is one of the service's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// What was booked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// One entry a user and day.
    pub accounts: Vec<Account>,
}

/// What was booked for a user on a day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Whose it is: a user id.
    pub user_id: u32,
    /// The day, in UTC: `2026-12-01`.
    pub day: String,
    /// What was charged, in credits.
    pub charges: f64,
    /// What the provider lost to penalties, in credits; not positive.
    pub penalties: f64,
    /// What the provider earned: the sum of both.
    pub utility: f64,
}

/// Something that happened to a job, or to tasks of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    /// Which job.
    pub job: u64,
    /// Which tasks of it, as in `1-5,9`, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<String>,
    /// What: `accepted`, `queued`, `deferred`, `rejected`, `reserved`, `claimed`, `expired`, `held`,
    /// `started`, `finished`, `cancelled` or `lost`.
    pub event: String,
    /// When.
    pub at: String,
}

/// A token that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// Whom it is to stand for: a user's name or number. Whoever asks, if left out; only root and
    /// the service's own user may name others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What its holder is let in for: `user` or `worker`.
    #[serde(default)]
    pub kind: Role,
    /// After what span it stands for nobody any more. Positive; never if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub expires_s: Option<f64>,
}

/// A token that was made. It is told this once, and kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// What is shown to be let in.
    pub token: String,
    /// What is known of it.
    #[serde(flatten)]
    pub about: Token,
}

/// What is known of a token or a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// What it is called.
    pub id: String,
    /// `token` or `certificate`.
    pub proof: String,
    /// Whom it stands for: a user id.
    pub user_id: u32,
    /// What its holder is let in for: `user` or `worker`.
    pub kind: Role,
    /// When it was made; left out if the settings name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// From when on it stands for nobody; left out if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The SHA-256 of the token, or of the certificate's public key.
    pub fingerprint: String,
}

/// Tokens and certificates: one's own, or, for root and the service's user, all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// They: those that the settings name first.
    pub tokens: Vec<Token>,
}

/// That something was done, or is so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// The job it was done with.
    pub id: u64,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What is wrong, in one sentence.
    pub error: String,
    /// What to try next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

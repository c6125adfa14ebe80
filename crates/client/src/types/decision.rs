//! Decisions about jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::WireWord;

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

/// The decision about a job.
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
    /// Decided later: once the jobs before it have finished, at `begin_at`, or once it is released.
    Deferred,
    /// Not admitted.
    Rejected,
}

/// The source of the run time that a decision assumes.
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
pub enum JobEstimateSource {
    /// The user.
    User,
    /// Similar jobs.
    Class,
    /// The median of the user's jobs.
    UserJobs,
    /// The median of all jobs.
    Site,
    /// The setting of the service.
    Default,
}

/// A reason why a job is rejected, or runs without a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonMessage {
    /// Stable key. Policies have reasons of their own, so that the keys are no fixed list. `after:7` names job 7, with which
    /// the job was cancelled.
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
    pub decision: WireWord<JobDecision>,
    /// Why the job is rejected, or runs without a promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonMessage>,
    /// Maximum cost, in credits; only of an accepted job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Instant of the decision, by the service's clock.
    pub now_at: String,
    /// How far the service's clock is ahead of its host's, if by more than a minute: the host's clock was set
    /// back, and the service's runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_s: Option<f64>,
    /// Deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// Of a deferred job: the instant before which it does not start, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_at: Option<String>,
    /// Of a waitlisted job: the instant by which it is promised or rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by_at: Option<String>,
    /// Run time that the decision assumes.
    pub estimate_s: f64,
    /// Source of the estimate.
    pub estimate_source: WireWord<JobEstimateSource>,
    /// Wall-clock time from the start after which the job is ended: the time limit of the request, where
    /// the policy enforces one, or that of the site for such jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// Sources of the forecast, in words: `14 runs of this program in 3 batches and from your request, as at other sites`.
    pub forecast_from: String,
    /// All sources of the forecast with their parts, from the largest to the smallest.
    #[serde(default)]
    pub forecast_parts: Vec<ForecastPart>,
    /// Why the forecast is in doubt, so that its bounds are wider. None if the last jobs of the class ran as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_doubt: Option<WireWord<ForecastDoubt>>,
    /// The run time that is expected, with its evidence: for other clusters, which may know more of jobs like it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time: Option<RunTimeBelief>,
    /// Of a job whose run time cannot be predicted: the run times of its class, and its treatment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpredictable: Option<UnpredictableRun>,
    /// The use of memory and of processors by jobs like it. None if none has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMessage>,
    /// How many times as long work takes on the host that load which is not of jobs slows most. None if such load slows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_host: Option<f64>,
    /// The forecast for the job.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobForecast>,
    /// Whether the promise counts on hosts that are not there yet: pilots in the queue of a batch system.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_on_expected_hosts: bool,
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
    pub decision: WireWord<JobDecision>,
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
    /// Changed field.
    pub change: WireWord<OfferChange>,
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

/// The field on which an offer differs from the request.
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
pub enum OfferChange {
    /// A later deadline.
    Deadline,
    /// A higher budget.
    Budget,
    /// Fewer processors.
    Procs,
    /// A surer promise.
    Confidence,
}

/// A source of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastPart {
    /// The source, in words: `14 runs of this program in 3 batches`.
    pub from: String,
    /// Its part, above 0; the sum of all is 1.
    pub part: f64,
}

/// Why a forecast is in doubt.
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
pub enum ForecastDoubt {
    /// The last job of the class took longer than expected.
    Longer,
    /// Two batches of the class in a row took longer than expected.
    ChangedLonger,
    /// Two batches of the class in a row took less time than expected.
    ChangedShorter,
}

/// The run time that a service expects of a job, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunTimeBelief {
    /// Quantiles, ascending.
    pub quantiles: Vec<RunTimeQuantile>,
    /// Number of batches of jobs of its user that run the same program or ask for the same, and have ended. 0 if the
    /// expectation rests on other jobs.
    pub batches: u32,
}

/// A quantile of a run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunTimeQuantile {
    /// The probability that the job takes no longer, above 0 and below 1.
    pub probability: f64,
    /// The run time, in seconds.
    pub run_s: f64,
}

/// The use of memory and of processors by jobs like one, with advice about the amounts to ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageMessage {
    /// Peak memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUsage>,
    /// Busy processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorUsage>,
    /// Sentences for its user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
}

/// The peak memory of jobs like one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUsage {
    /// One in ten used less.
    pub low_bytes: u64,
    /// One in ten used more.
    pub high_bytes: u64,
    /// The amount that `auto_memory` sets aside once enough jobs like it have ended.
    pub enough_bytes: u64,
    /// Number of batches of jobs like it that ended.
    pub batches: u32,
}

/// How many processors jobs like one kept busy on average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorUsage {
    /// One in ten kept fewer busy.
    pub low: f64,
    /// One in ten kept more busy.
    pub high: f64,
    /// Number of batches of jobs like it that ended.
    pub batches: u32,
}

/// The run times of a class that cannot be predicted, and how the site treats a job of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnpredictableRun {
    /// One in ten jobs of the class takes no longer.
    pub low_s: f64,
    /// One in ten jobs of the class takes longer.
    pub high_s: f64,
    /// The treatment: `none`, `no-promise`, `dedicated`, or `limit:4h` for a job that is ended after four hours.
    pub action: String,
    /// The same as a sentence.
    pub text: String,
}

/// The forecast for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobForecast {
    /// Expected start, or the start if the job has started.
    pub expected_start_at: String,
    /// The job starts after this instant with a probability of one tenth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_start_at: Option<String>,
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

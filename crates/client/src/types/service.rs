//! The state of the service, what it promised and kept, and what users spent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_model::Market;

use super::word::WireWord;

/// The state of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceStatus {
    /// Version of the service.
    pub version: String,
    /// Process id of the service.
    pub pid: u32,
    /// Instant of the answer.
    pub now_at: String,
    /// How far the service's clock is ahead of its host's, if by more than a minute: the host's clock was set
    /// back, and the service's runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_s: Option<f64>,
    /// Instant of the start of the service.
    pub up_since_at: String,
    /// Admission policy.
    pub policy: String,
    /// Market.
    pub market: WireWord<ServiceMarket>,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of idle nodes.
    pub idle_nodes: u32,
    /// Number of queued tasks.
    pub queued: u32,
    /// Number of held tasks.
    pub held: u32,
    /// Number of running tasks, with those that are suspended.
    pub running: u32,
    /// Number of tasks that are suspended, for their computers are in use by others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspended: u32,
    /// Number of promises with a chance below 0.8 to be kept; an array counts once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_risk: u32,
    /// Why they are at risk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<RiskCount>,
    /// Number of promises that are neither kept, broken nor void yet; each task of an array counts.
    #[serde(default)]
    pub open_promises: u32,
    /// Number of unfinished tasks in the queue or running whose deadline is not promised.
    #[serde(default)]
    pub open_unpromised: u32,
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
    /// Whether the service sends notices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends_notices: bool,
    /// The targets of notices, by the names that `notify` may end with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notice_targets: Vec<String>,
    /// Name of the user of the request, by which the service knows this user's jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the user of the request may drain nodes, and sees the jobs of all users.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_operate: bool,
    /// The policy on paper, if there is one; only operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowStatus>,
}

/// The market of a service.
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
pub enum ServiceMarket {
    /// Jobs have no price.
    None,
    /// The service sets the price.
    Commodity,
    /// Users bid.
    Bid,
}

impl From<Market> for ServiceMarket {
    fn from(market: Market) -> Self {
        match market {
            Market::None => Self::None,
            Market::Commodity => Self::Commodity,
            Market::Bid => Self::Bid,
        }
    }
}

/// Promises that are at risk for the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RiskCount {
    /// Number of promises.
    pub promises: u32,
    /// The cause, in words: `it takes longer than was planned`.
    pub cause: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
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

/// The books of the service: what became of each job and task and of its promise, with the four objectives of Yeo &
/// Buyya (2008, eq. 1-4). A promise is entered at its deadline, or with the end of its job before. Jobs that never
/// started because their user cancelled them are left out. A replay has the same figures under the same names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceObjectives {
    /// Number of jobs in the books: those that ran or were dropped as late, and rejected ones.
    pub submitted: u64,
    /// Number of those that were admitted, with or without a promise.
    pub accepted: u64,
    /// Number of kept promises: exit code 0 by the deadline.
    pub kept: u64,
    /// Number of broken promises: the job was late or lost at its deadline, or the site ended it.
    pub broken: u64,
    /// Number of broken promises of jobs that started early enough for the run time that was planned for them.
    #[serde(default)]
    pub broken_by_own_run: u64,
    /// Number of broken promises of jobs that could not start early enough, because others ran longer than planned.
    #[serde(default)]
    pub broken_by_others: u64,
    /// Number of broken promises of jobs that the site ended, lost, or was late to start.
    #[serde(default)]
    pub broken_by_site: u64,
    /// Number of broken promises of jobs that were evicted from computers that others use.
    #[serde(default)]
    pub broken_by_eviction: u64,
    /// Number of void promises: the job failed by itself, reached a limit of its own, or was cancelled while it ran,
    /// before its deadline.
    pub void: u64,
    /// Number of admitted jobs whose deadline was not promised.
    pub unpromised: u64,
    /// Number of them that succeeded by their deadline all the same.
    #[serde(default)]
    pub unpromised_in_time: u64,
    /// Number of them that ended after it or were lost.
    #[serde(default)]
    pub unpromised_late: u64,
    /// Number of them that were cancelled because they could hardly meet it any more (`--drop-late`).
    #[serde(default)]
    pub unpromised_dropped: u64,
    /// Number of them that failed by themselves, reached a limit of their own, or were cancelled while they ran,
    /// before it.
    #[serde(default)]
    pub unpromised_void: u64,
    /// Number of admitted jobs without a deadline; they are in no percentage of deadlines.
    #[serde(default)]
    pub no_deadline: u64,
    /// Mean span from submission to start of jobs with a kept promise; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// Kept promises in percent of submitted jobs with a deadline; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sla_pct: Option<f64>,
    /// Kept promises in percent of kept and broken ones; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliability_pct: Option<f64>,
    /// Jobs that succeeded by their deadline, promised or not, in percent of submitted jobs with a deadline; none
    /// without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_time_pct: Option<f64>,
    /// Earnings in percent of the budgets of submitted jobs, at most 100; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profitability_pct: Option<f64>,
}

/// Promised probabilities against kept promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationReport {
    /// Promises by their probability; only bins with promises.
    pub bins: Vec<CalibrationBin>,
    /// Promises by what was known when they were made; only bins with promises.
    #[serde(default)]
    pub by_batches: Vec<CalibrationByBatches>,
    /// Those of all promises that counted on hosts that were not there when they were made, by their probability.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_expected_hosts: Vec<CalibrationBin>,
}

/// Promises with about the same probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationBin {
    /// Lower bound of the probabilities.
    pub from: f64,
    /// Upper bound of the probabilities, exclusive except for 1.
    pub to: f64,
    /// The promises.
    #[serde(flatten)]
    pub figures: CalibrationFigures,
}

/// Promises of jobs of which about as much was known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationByBatches {
    /// Number of batches of jobs that ran the same program or asked for the same, and had ended when the promise was
    /// made; 3 stands for more, too. An array is one batch.
    pub batches: u32,
    /// The promises.
    #[serde(flatten)]
    pub figures: CalibrationFigures,
}

/// How many of some promises were kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationFigures {
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
    /// Name of the owner; the number of a user without a name.
    #[serde(default)]
    pub user: String,
    /// The day, in UTC: `2026-12-01`.
    pub day: String,
    /// Charges, in credits.
    pub charges: f64,
    /// Penalties that the provider owes, in credits; not positive.
    pub penalties: f64,
    /// Earnings of the provider: the sum of both.
    pub utility: f64,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorResponse {
    /// Message, one sentence.
    pub error: String,
    /// The next step to try, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

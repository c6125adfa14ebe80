//! The requests and responses about usage, old records and their export.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_SPAN_S, MIN_SPAN_S};
use crate::types::{HostUseCause, JobDetails, WireWord};

/// Sums of usage. Those that Open XDMoD or Slurm's `sreport` know have their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageReport {
    /// First day, in UTC; none without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Last day, in UTC; none without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// One entry for each user, account and day, as far as the report is by them.
    pub usage: Vec<UsageEntry>,
}

/// The sums of a user, an account and a day, or of all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageEntry {
    /// User id, if the report is by user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<u32>,
    /// Name of the user, if the report is by user; the number of a user without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Account, if the report is by account; empty for jobs without an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The day, in UTC, if the report is by day: `2026-12-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Number of jobs that had started and ended; each task of an array counts.
    pub job_count: u64,
    /// Processors times wall-clock time of all attempts that ended, in hours: core hours.
    pub cpu_hours: f64,
    /// Wall-clock time of all attempts that ended, in hours.
    pub wall_hours: f64,
    /// Processor time that these attempts used, in hours.
    pub cpu_used_hours: f64,
    /// Time from submission to the first start of the jobs that ended, in hours.
    pub wait_hours: f64,
    /// Number of promises that were kept.
    pub kept: u64,
    /// Number of promises that were broken.
    pub broken: u64,
    /// Number of promises that became void.
    pub void: u64,
    /// Number of admitted jobs whose deadline was not promised.
    pub unpromised: u64,
    /// Number of them that succeeded by it all the same.
    #[serde(default)]
    pub unpromised_in_time: u64,
    /// Number of rejected jobs.
    #[serde(default)]
    pub rejected: u64,
    /// Charges, in credits.
    pub charges: f64,
    /// Penalties that the provider owes, in credits; not positive.
    pub penalties: f64,
}

/// A page of the jobs that are over, in the order of their numbers; each task of an array is a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<JobDetails>,
    /// The `after` of the next page; none if this page is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A page of the ledger, in the order of jobs, tasks and attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerPage {
    /// The entries.
    pub entries: Vec<LedgerRecord>,
    /// The `after` of the next page; none if this page is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A page of evictions, in the order of jobs, tasks and attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvictionPage {
    /// The evictions.
    pub evictions: Vec<EvictionRecord>,
    /// The `after` of the next page; none if this page is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An eviction of an attempt from its computer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvictionRecord {
    /// Number of the job.
    pub job: u64,
    /// Number of the task; 0 of a job that is no array.
    pub task: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// The computer; none if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computer: Option<String>,
    /// Instant at which the eviction was reported.
    pub at: String,
    /// Cause.
    pub cause: WireWord<HostUseCause>,
    /// Time for which the attempt held the computer.
    pub held_s: f64,
}

/// Evictions and abandoned tasks, of the user who asks or for operators of all. Removed jobs do not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvictionReport {
    /// The evictions by cause.
    pub by_cause: Vec<CauseOfEvictions>,
    /// Number of tasks that are not tried again.
    pub abandoned: u64,
    /// Time for which the attempts of these tasks held computers.
    pub abandoned_held_s: f64,
}

/// The evictions for one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseOfEvictions {
    /// Cause.
    pub cause: WireWord<HostUseCause>,
    /// Number of evictions.
    pub evictions: u64,
    /// Time for which these attempts held computers in vain.
    pub held_s: f64,
}

impl EvictionReport {
    /// Returns the number of evictions.
    pub fn evictions(&self) -> u64 {
        self.by_cause.iter().map(|one| one.evictions).sum()
    }

    /// Returns the time for which evicted attempts held computers in vain.
    pub fn held_s(&self) -> f64 {
        self.by_cause.iter().map(|one| one.held_s).sum()
    }
}

/// A page of the times in which computers were in use, by computer and begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginPage {
    /// The times.
    pub logins: Vec<LoginRecord>,
    /// The `after` of the next page; none if this page is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A time in which a computer was in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginRecord {
    /// The computer.
    pub computer: String,
    /// The begin.
    pub login: String,
    /// The end; none if the computer is in use still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logout: Option<String>,
    /// Cause.
    pub cause: WireWord<HostUseCause>,
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerRecord {
    /// Number of the job.
    pub job: u64,
    /// Number of the task; 0 of a job that is no array.
    pub task: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// Kind.
    pub kind: WireWord<LedgerEntryKind>,
    /// Instant of the booking.
    pub booked_at: String,
    /// User id of the owner.
    pub user_id: u32,
    /// Name of the owner; the number of a user without a name.
    pub user: String,
    /// Amount in credits, positive for the provider.
    pub amount: f64,
}

/// The kind of an entry of the ledger.
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
pub enum LedgerEntryKind {
    /// The user owes it.
    Charge,
    /// The provider owes it.
    Penalty,
}

/// A request to remove jobs that are over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Minimum time since the end of a job. Positive.
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub older_than_s: f64,
    /// Whether the jobs are counted and not removed.
    #[serde(default)]
    pub dry_run: bool,
}

/// The jobs that were removed, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneResult {
    /// The jobs ended before this instant.
    pub before_at: String,
    /// Number of jobs; an array counts once.
    pub jobs: u64,
    /// Whether the jobs are still there.
    pub dry_run: bool,
}

//! The results of policies on the record of the service, by simulation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::WireWord;

/// The results that policies would have had with the jobs of the service, and the risk of each policy: how its results
/// vary over windows of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfReport {
    /// Whether there are results.
    pub state: WireWord<WhatIfState>,
    /// Number of jobs of the service that are over.
    pub jobs: u64,
    /// Number of such jobs that the windows need.
    pub needed_jobs: u64,
    /// Number of windows.
    pub windows: u32,
    /// Instant of the simulation; none without results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// Number of jobs that were over then; none without results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<u64>,
    /// Why the simulation failed; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The policies, in the order of the request.
    pub policies: Vec<PolicyRisk>,
}

/// Whether results of a simulation are known.
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
pub enum WhatIfState {
    /// They are, and the record has grown by less than a twentieth since.
    Ready,
    /// A simulation runs. Earlier results are shown, if there are any.
    Running,
    /// The record has too few jobs.
    TooFewJobs,
    /// The simulation failed.
    Failed,
}

/// The results of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRisk {
    /// The policy with its parameters.
    pub policy: String,
    /// The results by window, in the order of submission. Windows have equal numbers of jobs.
    pub windows: Vec<WindowObjectives>,
    /// The risk of each objective (`wait`, `sla`, `reliability`, `profitability`) that has values.
    pub separate: BTreeMap<String, RiskFigures>,
    /// The risk of these objectives together, weighted equally; none without any.
    #[serde(default)]
    pub integrated: Option<RiskFigures>,
}

/// The results of a policy in a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowObjectives {
    /// Number of jobs with a deadline that were submitted.
    pub submitted: u64,
    /// Number of those that were admitted.
    pub accepted: u64,
    /// Number of kept promises.
    pub kept: u64,
    /// Mean wait of jobs whose promise was kept; none without any.
    pub wait_s: Option<f64>,
    /// Share of submitted jobs whose promise was kept, in per cent.
    pub sla_pct: f64,
    /// Share of promises that were kept, in per cent.
    pub reliability_pct: f64,
    /// Earnings as a part of the budgets, in per cent; none without a market.
    pub profitability_pct: Option<f64>,
}

/// A performance, and how it varies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RiskFigures {
    /// Mean of the scores over the windows, 0 (worst) to 1 (best).
    pub performance: f64,
    /// Standard deviation of the scores, 0 (best) to 0.5.
    pub volatility: f64,
}

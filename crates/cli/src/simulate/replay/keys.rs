//! The output as JSON and CSV. The names and the order of the keys never change silently.

use serde::Serialize;
use tollgate_model::{Bytes, Span};
use tollgate_policy::ParameterEnum;
use tollgate_replay::calibration::{ProbabilityBinKeys, PromiseCalibration};
use tollgate_replay::keys::{GroupKeys, PolicyKeys};
use tollgate_replay::windows::{WindowRisk, WindowRiskKeys};
use tollgate_replay::{PolicyAnswer, ReplayInput};
use tollgate_trace::{Finding, FindingTally};

use super::plan::ReplayPlan;

/// The whole output.
#[derive(Serialize)]
pub(super) struct ReplayReportKeys<'a> {
    workload: WorkloadKeys<'a>,
    settings: SettingsKeys,
    policies: Vec<PolicyReportKeys<'a>>,
}

/// The results of a policy, and its calibration if requested.
#[derive(Serialize)]
struct PolicyReportKeys<'a> {
    #[serde(flatten)]
    results: PolicyKeys<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupKeys<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<WindowRiskKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<Vec<ProbabilityBinKeys>>,
}

impl<'a> ReplayReportKeys<'a> {
    pub(super) fn new(
        plan: &ReplayPlan,
        input: &'a ReplayInput,
        answers: &'a [PolicyAnswer],
    ) -> Self {
        Self {
            workload: WorkloadKeys::new(plan, input),
            settings: SettingsKeys::new(plan, input),
            policies: answers.iter().map(PolicyReportKeys::new).collect(),
        }
    }
}

impl<'a> PolicyReportKeys<'a> {
    fn new(answer: &'a PolicyAnswer) -> Self {
        let calibration = answer.calibration.as_ref();
        Self {
            results: PolicyKeys::new(answer),
            groups: GroupKeys::of(answer),
            risk: answer.risk.as_ref().map(WindowRisk::keys),
            calibration: calibration.map(PromiseCalibration::keys),
        }
    }
}

/// The workload of the replay.
#[derive(Serialize)]
pub(super) struct WorkloadKeys<'a> {
    source: &'a str,
    last: Option<usize>,
    jobs: usize,
    never_ran_dropped: usize,
    jobs_learned: usize,
    jobs_over_estimate: usize,
    jobs_without_request: usize,
    jobs_leaking_run_time: usize,
    mean_runtime_s: Option<f64>,
    deadlines_drawn: usize,
    deadlines_missing: usize,
    deadlines_possible_pct: Option<f64>,
    offered_load_pct: Option<f64>,
    budgets_drawn: usize,
    penalties_drawn: usize,
    /// None if memory does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs_widened: Option<usize>,
    findings: Vec<ReplayFindingKeys<'a>>,
}

/// The records that were skipped, repaired or defaulted, with the first line of each kind.
#[derive(Serialize)]
struct ReplayFindingKeys<'a> {
    action: &'static str,
    finding: String,
    count: u64,
    first_lines: &'a [u64],
    /// The file of each first line, if the trace is a directory.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    first_files: &'a [String],
}

impl<'a> WorkloadKeys<'a> {
    pub(super) fn new(plan: &ReplayPlan, input: &'a ReplayInput) -> Self {
        let workload = &input.workload;
        let (drawn, deadlines) = (workload.synthesised(), input.deadlines);
        let finding = |(finding, tally): (Finding, &'a FindingTally)| ReplayFindingKeys {
            action: finding.action().key(),
            finding: finding.to_string(),
            count: tally.count,
            first_lines: &tally.lines,
            first_files: &tally.files,
        };
        Self {
            source: &workload.trace().source,
            last: plan.settings.last.map(|last| last.get()),
            jobs: workload.len(),
            never_ran_dropped: workload.dropped(),
            jobs_over_estimate: input.n_overlong(),
            jobs_without_request: workload.missing_requests().jobs,
            jobs_leaking_run_time: workload.missing_requests().leaking,
            jobs_learned: input.learned.n_learned,
            mean_runtime_s: workload.mean_runtime().map(Span::as_secs_f64),
            deadlines_drawn: drawn.deadlines,
            deadlines_missing: deadlines.missing,
            deadlines_possible_pct: deadlines.possible_pct(),
            offered_load_pct: input.offered_load_pct(&input.machines[0]),
            budgets_drawn: drawn.budgets,
            penalties_drawn: drawn.penalties,
            jobs_widened: input.memory.map(|memory| memory.widened),
            findings: workload.trace().diagnostics.iter().map(finding).collect(),
        }
    }
}

/// The settings of the replay.
#[derive(Serialize)]
struct SettingsKeys {
    market: &'static str,
    nodes: u32,
    nodes_from: &'static str,
    /// None if no speeds were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    speeds: Option<String>,
    /// None if memory does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_memory_bytes: Option<u64>,
    estimates: String,
    tasks: String,
    /// None if preemption costs nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    preemption_cost_s: Option<f64>,
    overrun: String,
    checked: bool,
    seed: u64,
    seeds: u32,
    never_ran: &'static str,
    arrival_factor: f64,
    inaccuracy: f64,
    high_urgency: f64,
    deadlines: &'static str,
    /// None if each job gets a deadline as far as the model has one for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_deadline: Option<f64>,
    deadline_low: f64,
    deadline_ratio: f64,
    deadline_bias: f64,
    budget_low: f64,
    budget_ratio: f64,
    budget_bias: f64,
    penalty_low: f64,
    penalty_ratio: f64,
    penalty_bias: f64,
    /// None if delays cost without limit.
    penalty_limit: Option<f64>,
}

impl SettingsKeys {
    fn new(plan: &ReplayPlan, input: &ReplayInput) -> Self {
        let jobs = &plan.settings.jobs;
        let cost = Some(plan.settings.preemption_cost).filter(|&cost| cost > Span::ZERO);
        Self {
            market: plan.settings.market.name(),
            nodes: input.machines[0].nodes,
            nodes_from: input.machines[0].from.key(),
            speeds: plan.settings.speeds.as_ref().map(ToString::to_string),
            node_memory_bytes: plan.settings.node_memory.map(Bytes::as_u64),
            estimates: plan.settings.estimates.to_string(),
            tasks: plan.settings.tasks.keyword(),
            preemption_cost_s: cost.map(Span::as_secs_f64),
            overrun: plan.settings.overrun.keyword(),
            checked: plan.is_checked(),
            seed: jobs.seed,
            seeds: plan.settings.seeds.get(),
            never_ran: jobs.never_ran.name(),
            arrival_factor: jobs.arrival_factor,
            inaccuracy: jobs.inaccuracy,
            high_urgency: jobs.high_urgency,
            deadlines: jobs.deadlines.name(),
            without_deadline: Some(jobs.without_deadline).filter(|&part| part > 0.0),
            deadline_low: jobs.deadline.low,
            deadline_ratio: jobs.deadline.ratio,
            deadline_bias: jobs.deadline.bias,
            budget_low: jobs.budget.low,
            budget_ratio: jobs.budget.ratio,
            budget_bias: jobs.budget.bias,
            penalty_low: jobs.penalty.low,
            penalty_ratio: jobs.penalty.ratio,
            penalty_bias: jobs.penalty.bias,
            penalty_limit: Some(jobs.penalty_limit).filter(|limit| limit.is_finite()),
        }
    }
}

//! The output as JSON and CSV. The names and the order of the keys never change silently.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use tollgate_model::{BookEntry, BreakCause, Credits, Reason, Span};
use tollgate_policy::ParameterEnum;
use tollgate_risk::{Objectives, UpperQuantiles};
use tollgate_trace::{Finding, FindingTally};

use super::calibration::{ProbabilityBinKeys, PromiseCalibration};
use super::input::ReplayInput;
use super::plan::ReplayPlan;
use super::run::{PolicyAnswer, SeedStatistics};
use super::windows::{WindowRisk, WindowRiskKeys};

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
            last: plan.last.map(|last| last.get()),
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
        let jobs = &plan.jobs;
        let cost = Some(plan.preemption_cost).filter(|&cost| cost > Span::ZERO);
        Self {
            market: plan.market.name(),
            nodes: input.machines[0].nodes,
            nodes_from: input.machines[0].from.key(),
            speeds: plan.speeds.as_ref().map(ToString::to_string),
            estimates: plan.estimates.to_string(),
            tasks: plan.tasks.keyword(),
            preemption_cost_s: cost.map(Span::as_secs_f64),
            overrun: plan.overrun.keyword(),
            checked: plan.is_checked(),
            seed: jobs.seed,
            seeds: plan.seeds.get(),
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

/// The results of a policy for a group of jobs, or for all.
#[derive(Serialize)]
pub(super) struct GroupKeys<'a> {
    /// None for all jobs.
    group: Option<&'a str>,
    #[serde(flatten)]
    results: PolicyKeys<'a>,
}

impl<'a> GroupKeys<'a> {
    pub(super) fn of(answer: &'a PolicyAnswer) -> Vec<Self> {
        let groups = answer.groups.iter();
        groups
            .map(|of| Self {
                group: Some(&of.group),
                results: PolicyKeys::measured(answer, &of.objectives, None),
            })
            .collect()
    }

    pub(super) fn of_all(answer: &'a PolicyAnswer) -> Self {
        Self {
            group: None,
            results: PolicyKeys::new(answer),
        }
    }
}

/// The results of a policy. A measure that does not apply is null.
#[derive(Serialize)]
pub(super) struct PolicyKeys<'a> {
    policy: &'a str,
    submitted: u64,
    accepted: u64,
    rejected: u64,
    #[serde(serialize_with = "by_key")]
    rejected_by_reason: &'a BTreeMap<Reason, u64>,
    fulfilled: u64,
    broken: u64,
    broken_by_own_run: u64,
    broken_by_others: u64,
    void: u64,
    unpromised: u64,
    unpromised_in_time: u64,
    unpromised_late: u64,
    unpromised_dropped: u64,
    unpromised_void: u64,
    no_deadline: u64,
    sla_pct: f64,
    reliability_pct: f64,
    in_time_pct: f64,
    profitability_pct: Option<f64>,
    wait_s: Option<f64>,
    mean_wait_s: Option<f64>,
    median_wait_s: Option<f64>,
    mean_bounded_slowdown: Option<f64>,
    mean_slowdown_fulfilled: Option<f64>,
    utilisation: Option<f64>,
    makespan_s: Option<f64>,
    utility: Option<f64>,
    wait_p90_s: Option<f64>,
    wait_p95_s: Option<f64>,
    response_p90_s: Option<f64>,
    response_p95_s: Option<f64>,
    nodes: u32,
    sla_pct_mean: Option<f64>,
    sla_pct_deviation: Option<f64>,
    reliability_pct_mean: Option<f64>,
    reliability_pct_deviation: Option<f64>,
}

impl<'a> PolicyKeys<'a> {
    pub(super) fn new(answer: &'a PolicyAnswer) -> Self {
        Self::measured(answer, &answer.objectives, answer.seeds)
    }

    fn measured(
        answer: &'a PolicyAnswer,
        measured: &'a Objectives,
        seeds: Option<SeedStatistics>,
    ) -> Self {
        let books = &measured.books;
        let (waits, responses) = (measured.wait_quantiles, measured.response_quantiles);
        let p90 = |quantiles: Option<UpperQuantiles>| Some(quantiles?.p90.as_secs_f64());
        let p95 = |quantiles: Option<UpperQuantiles>| Some(quantiles?.p95.as_secs_f64());
        Self {
            policy: &answer.policy,
            submitted: measured.submitted,
            accepted: measured.accepted,
            rejected: measured.rejected,
            rejected_by_reason: &measured.rejected_by_reason,
            fulfilled: measured.fulfilled,
            broken: books.broken(),
            broken_by_own_run: books.count(BookEntry::Broken(BreakCause::OwnRun)),
            broken_by_others: books.count(BookEntry::Broken(BreakCause::Others)),
            void: books.void(),
            unpromised: books.unpromised(),
            unpromised_in_time: books.unpromised_in_time(),
            unpromised_late: books.count(BookEntry::UnpromisedLate),
            unpromised_dropped: books.count(BookEntry::UnpromisedDropped),
            unpromised_void: books.count(BookEntry::UnpromisedVoid),
            no_deadline: books.no_deadline(),
            sla_pct: measured.sla_pct,
            reliability_pct: measured.reliability_pct,
            in_time_pct: measured.in_time_pct,
            profitability_pct: measured.profitability_pct,
            wait_s: measured.wait.map(Span::as_secs_f64),
            mean_wait_s: measured.mean_wait.map(Span::as_secs_f64),
            median_wait_s: measured.median_wait.map(Span::as_secs_f64),
            mean_bounded_slowdown: measured.mean_bounded_slowdown,
            mean_slowdown_fulfilled: measured.mean_slowdown_fulfilled,
            utilisation: measured.utilisation,
            makespan_s: measured.makespan.map(Span::as_secs_f64),
            utility: measured.utility.map(Credits::as_f64),
            wait_p90_s: p90(waits),
            wait_p95_s: p95(waits),
            response_p90_s: p90(responses),
            response_p95_s: p95(responses),
            nodes: answer.nodes,
            sla_pct_mean: seeds.map(|over| over.sla_pct.mean),
            sla_pct_deviation: seeds.map(|over| over.sla_pct.deviation),
            reliability_pct_mean: seeds.map(|over| over.reliability_pct.mean),
            reliability_pct_deviation: seeds.map(|over| over.reliability_pct.deviation),
        }
    }
}

fn by_key<S: Serializer>(counts: &BTreeMap<Reason, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(reason, count)| (reason.key(), count)))
}

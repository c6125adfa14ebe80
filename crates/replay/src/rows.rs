//! The outcome of each job under a policy, as values.

use std::collections::BTreeMap;

use tollgate_model::{Credits, Decision, Instant, Market, NodeRange, Outcome, Span};
use tollgate_sim::{JobPlacements, PromiseStatement, ReplayResult};
use tollgate_workload::Workload;

/// The outcome of a job under a policy. Times are on the clock of the record.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedJob<'a> {
    /// The policy with its parameters.
    pub policy: &'a str,
    /// The public number of the job.
    pub job_id: u64,
    /// The decision, with the reason of a rejection.
    pub decision: Decision,
    /// The instant of the decision.
    pub decided: Instant,
    /// The start of the run. None if the job never ran.
    pub start: Option<Instant>,
    /// The end of the run. None if the job never ran.
    pub finish: Option<Instant>,
    /// The nodes of the job, as ascending ranges. Empty if the job never ran.
    pub nodes: &'a [NodeRange],
    /// Whether the job was completed by its deadline. None of a job without a deadline or one that never ran.
    pub deadline_met: Option<bool>,
    /// The time from the deadline to the end, at least 0. None of a job without a deadline or one that never ran.
    pub delay: Option<Span>,
    /// The price of an admitted job. None in a market without payments.
    pub price: Option<Credits>,
    /// The amount that the provider earned, may be negative. None in a market without payments.
    pub utility: Option<Credits>,
    /// Response time over run time. None of a job that never ran, or ran for 0 s in the record.
    pub slowdown: Option<f64>,
    /// The instant of the submission.
    pub submit: Instant,
    /// The time from the submission to the start. None if the job never ran.
    pub wait: Option<Span>,
    /// The run time, on the nodes of the job.
    pub runtime: Span,
    /// Number of processors, at least 1.
    pub procs: u32,
    /// The user's estimate of the run time. None if the record has none.
    pub estimate: Option<Span>,
    /// The deadline, as a span after the submission. None without a deadline.
    pub deadline: Option<Span>,
    /// The names of user, executable and queue. Empty where the record has none, None if the record has no names.
    pub names: Option<[&'a str; 3]>,
    /// The place of the job among those with its number, from 1. None if there is only one.
    pub task: Option<u32>,
    /// Whether the job was killed at its limit. None if it never ran.
    pub killed: Option<bool>,
    /// The probability that was stated with the promise.
    pub probability: Option<f64>,
    /// The run time that the policy planned with. None of a job without a promise.
    pub planned_run: Option<Span>,
    /// The class with which the job counted, from 1 in order of appearance.
    pub class: Option<usize>,
    /// The batch with which the job counted, from 1 in order of appearance.
    pub batch: Option<usize>,
    /// The probability by beliefs and futures alone.
    pub raw_probability: Option<f64>,
    /// The place of the job in the rows of the record.
    pub record_row: usize,
}

/// The rows of a policy, in the order of arrival.
pub struct ReplayedJobs<'a> {
    policy: &'a str,
    workload: &'a Workload,
    replay: &'a ReplayResult,
    tasks: &'a TaskPlaces,
    /// The statements on promises, by job.
    promises: BTreeMap<usize, &'a PromiseStatement>,
    /// The places of classes and batches in the order in which the rows name them.
    classes: BTreeMap<u64, usize>,
    batches: BTreeMap<u64, usize>,
    next: usize,
}

/// By row of a job that shares its number with others: its place among them, from 1.
#[derive(Clone, Debug, Default)]
pub struct TaskPlaces(BTreeMap<usize, u32>);

impl TaskPlaces {
    /// Finds the jobs that share a number.
    pub fn of(workload: &Workload) -> Self {
        let mut by_number: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for job in 0..workload.len() {
            let rows = by_number.entry(workload.number(job)).or_default();
            rows.push(workload.row(job));
        }
        let shared = by_number.into_values().filter(|rows| rows.len() > 1);
        Self(shared.flat_map(|rows| rows.into_iter().zip(1..)).collect())
    }
}

impl<'a> ReplayedJobs<'a> {
    /// Creates the rows of a policy. `tasks` are the places of the same workload.
    pub fn new(
        policy: &'a str,
        workload: &'a Workload,
        replay: &'a ReplayResult,
        tasks: &'a TaskPlaces,
    ) -> Self {
        let promises = replay.promises.iter();
        Self {
            policy,
            workload,
            replay,
            tasks,
            promises: promises.map(|promise| (promise.job, promise)).collect(),
            classes: BTreeMap::new(),
            batches: BTreeMap::new(),
            next: 0,
        }
    }

    fn row(&mut self, job: usize, outcome: &'a Outcome) -> ReplayedJob<'a> {
        let workload = self.workload;
        let (trace, record_row) = (workload.trace(), workload.row(job));
        let spec = workload.arrival(job).spec;
        let placements = self.replay.placements.as_ref();
        let is_due = outcome.ran.is_some() && outcome.due.is_some();
        let pays = match workload.market() {
            Market::None => false,
            Market::Commodity | Market::Bid => true,
        };
        let promise = self.promises.get(&job).copied();
        let kin = self.replay.kin.get(&job);
        let names = trace.metadata.as_ref();
        ReplayedJob {
            policy: self.policy,
            job_id: workload.number(job),
            decision: outcome.decision,
            decided: outcome.decided,
            start: outcome.ran.map(|ran| ran.start),
            finish: outcome.ran.map(|ran| ran.finish),
            nodes: placements.map_or(&[], |placements: &JobPlacements| placements.of(job)),
            deadline_met: is_due.then(|| outcome.fulfilled()),
            delay: is_due.then(|| outcome.delay()),
            price: (pays && outcome.decision.is_admitted()).then_some(outcome.price),
            utility: pays.then_some(outcome.utility),
            // The shortest run stands for one of 0 s in the record, whose slowdown is unknown.
            slowdown: outcome.slowdown().filter(|_| outcome.runtime > Span::TICK),
            submit: outcome.submit,
            wait: outcome.wait(),
            runtime: outcome.runtime,
            procs: outcome.procs,
            estimate: trace.has_estimate(record_row).then_some(spec.estimate),
            deadline: spec.sla.deadline,
            names: names.map(|names| {
                [&names.user, &names.executable, &names.queue]
                    .map(|column| column.get(record_row).unwrap_or_default())
            }),
            task: self.tasks.0.get(&record_row).copied(),
            killed: outcome.ran.map(|_| outcome.killed),
            probability: promise.map(|promise| promise.probability.as_f64()),
            // Without a promise the planned run time is no more than the estimate.
            planned_run: (outcome.decision == Decision::Accepted).then_some(outcome.planned_run),
            class: kin.map(|kin| place(&mut self.classes, kin.class)),
            batch: kin.map(|kin| place(&mut self.batches, kin.batch)),
            raw_probability: promise.map(|promise| promise.raw_probability.as_f64()),
            record_row,
        }
    }
}

impl<'a> Iterator for ReplayedJobs<'a> {
    type Item = ReplayedJob<'a>;

    fn next(&mut self) -> Option<ReplayedJob<'a>> {
        let job = self.next;
        let outcome = self.replay.outcomes.get(job)?;
        self.next += 1;
        Some(self.row(job, outcome))
    }
}

/// Returns the place, from 1, of a number in the order in which numbers come.
fn place(places: &mut BTreeMap<u64, usize>, number: u64) -> usize {
    let next = places.len() + 1;
    *places.entry(number).or_insert(next)
}

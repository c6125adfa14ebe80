//! Space-shared policies: one job per processor, a queue, and a decision at every event about which
//! jobs start.
//!
//! All arithmetic on times is exact in whole microseconds; comparisons tolerate one microsecond in
//! the job's favour.

mod backfill;
mod conservative;
mod order;
mod reward;
mod settings;

use std::collections::BTreeSet;

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, Market, NodeId, Reason};

use crate::{OracleJob, OracleOutcome};
pub use settings::{
    FillRule, OracleAdmissionTest, OracleDropRule, OracleOrder, OraclePassTrigger,
    OraclePenaltyScope, OracleQueueSettings, ReplanRule, TieOrder,
};

/// Runs `jobs` on `nodes` processors and returns the outcomes in the order of `jobs`.
pub fn run(jobs: &[OracleJob], nodes: u32, settings: &OracleQueueSettings) -> Vec<OracleOutcome> {
    run_at_speeds(jobs, &vec![1.0; nodes as usize], settings)
}

/// Runs `jobs` on processors of these speeds, the lowest of which is 1, as [`run`] does. The scheduler
/// knows only the estimates on the slowest processor.
pub fn run_at_speeds(
    jobs: &[OracleJob],
    speeds: &[f64],
    settings: &OracleQueueSettings,
) -> Vec<OracleOutcome> {
    let nodes = speeds.len() as u32;
    let mut cluster = OracleCluster {
        jobs,
        settings: *settings,
        nodes,
        speeds,
        now: Instant::ZERO,
        upcoming: (0..jobs.len()).collect(),
        queue: Vec::new(),
        running: Vec::new(),
        free: (0..nodes).collect(),
        reserved: vec![None; jobs.len()],
        ended_early: false,
        outcomes: vec![None; jobs.len()],
    };
    cluster.upcoming.sort_by_key(|&job| jobs[job].spec.submit);
    cluster.upcoming.reverse();
    while let Some(next) = cluster.next_instant() {
        cluster.now = next;
        cluster.instant();
    }
    let decided = cluster.outcomes.into_iter();
    decided
        .map(|outcome| outcome.expect("every job starts or is dropped before events run out"))
        .collect()
}

/// A running job and its processors.
struct OracleRunningJob {
    job: usize,
    end: Instant,
    estimated_end: Instant,
    nodes: Vec<NodeId>,
}

/// The whole state of the cluster, as plain lists of indices into `jobs`.
struct OracleCluster<'a> {
    jobs: &'a [OracleJob],
    settings: OracleQueueSettings,
    nodes: u32,
    speeds: &'a [f64],
    now: Instant,
    /// Jobs not yet submitted, the next one last.
    upcoming: Vec<usize>,
    queue: Vec<usize>,
    running: Vec<OracleRunningJob>,
    free: BTreeSet<u32>,
    /// The start of each job in the last plan of conservative backfilling.
    reserved: Vec<Option<Instant>>,
    /// True if a job ended before its estimated end since the last pass.
    ended_early: bool,
    outcomes: Vec<Option<OracleOutcome>>,
}

impl OracleCluster<'_> {
    fn next_instant(&self) -> Option<Instant> {
        let arrival = self.upcoming.last().map(|&job| self.jobs[job].spec.submit);
        let end = self.running.iter().map(|running| running.end).min();
        let reservation = self.next_reservation();
        [arrival, end, reservation].into_iter().flatten().min()
    }

    fn instant(&mut self) {
        match self.settings.ties {
            TieOrder::EndsFirst => {
                self.ends();
                self.arrivals();
            }
            TieOrder::ArrivalsFirst => {
                self.arrivals();
                self.ends();
            }
        }
        self.pass();
    }

    fn ends(&mut self) {
        while let Some(place) = self.ended() {
            let over = self.running.remove(place);
            self.free.extend(over.nodes.iter().map(|node| node.0));
            self.ended_early |= over.end < over.estimated_end;
            self.pass_after_event();
        }
    }

    /// Returns the job that ends now; the first in job order if several do.
    fn ended(&self) -> Option<usize> {
        let over = (0..self.running.len()).filter(|&place| self.running[place].end <= self.now);
        over.min_by_key(|&place| self.running[place].job)
    }

    fn arrivals(&mut self) {
        while let Some(&job) = self.upcoming.last() {
            if self.jobs[job].spec.submit > self.now {
                return;
            }
            self.upcoming.pop();
            match self.refusal(job) {
                Some(reason) => self.reject(job, reason),
                None => self.queue.push(job),
            }
            self.pass_after_event();
        }
    }

    fn pass_after_event(&mut self) {
        match self.settings.pass {
            OraclePassTrigger::Instant => {}
            OraclePassTrigger::Event => self.pass(),
        }
    }

    /// Returns why `job` may not enter the queue, if so.
    fn refusal(&self, job: usize) -> Option<Reason> {
        let job_spec = &self.jobs[job];
        if job_spec.spec.procs > self.nodes {
            return Some(Reason::TooManyProcs);
        }
        if job_spec.cannot_pay(self.price(job)) {
            return Some(Reason::OverBudget);
        }
        match self.settings.entry {
            OracleAdmissionTest::Open => None,
            OracleAdmissionTest::Slack(count) => {
                self.lacks_slack(job, count).then_some(Reason::LowSlack)
            }
        }
    }

    /// Returns one credit for each second of the estimate in the commodity market; a policy that
    /// admits every job charges at most the budget.
    fn price(&self, job: usize) -> Credits {
        let spec = &self.jobs[job].spec;
        let base = Credits::from_micros(spec.estimate.as_micros());
        match self.settings.market {
            Market::Commodity if self.settings.budget_test => base,
            Market::Commodity => base.min(spec.sla.budget.unwrap_or(base)),
            Market::None | Market::Bid => Credits::ZERO,
        }
    }

    fn pass(&mut self) {
        match self.settings.fill {
            FillRule::Head => {
                self.start_heads();
            }
            FillRule::Backfill { extra } => {
                if let Some(head) = self.start_heads() {
                    self.backfill(head, extra);
                }
            }
            FillRule::Conservative { replan } => self.plan(replan),
        }
        self.ended_early = false;
    }

    fn fits(&self, job: usize) -> bool {
        self.jobs[job].spec.procs as usize <= self.free.len()
    }

    fn start(&mut self, job: usize) {
        let started = &self.jobs[job];
        self.queue.retain(|&queued| queued != job);
        let lowest = self.free.iter().copied().take(started.spec.procs as usize);
        let nodes: Vec<NodeId> = lowest.map(NodeId).collect();
        nodes.iter().for_each(|node| {
            self.free.remove(&node.0);
        });
        let speeds = nodes.iter().map(|node| self.speeds[node.index()]);
        let slowest = speeds.fold(f64::INFINITY, f64::min);
        let end = self.now + started.at_speed(slowest).runtime;
        let price = self.price(job);
        self.outcomes[job] = Some(OracleOutcome {
            decision: Decision::Accepted,
            decided: match self.settings.entry {
                OracleAdmissionTest::Open => self.now,
                OracleAdmissionTest::Slack(_) => started.spec.submit,
            },
            ran: Some(RunInterval {
                start: self.now,
                finish: end,
            }),
            price,
            utility: started.utility(self.settings.market, price, end),
            nodes: nodes.clone(),
        });
        self.running.push(OracleRunningJob {
            job,
            end,
            estimated_end: self.now + started.spec.estimate,
            nodes,
        });
    }

    fn reject(&mut self, job: usize, reason: Reason) {
        self.queue.retain(|&queued| queued != job);
        self.outcomes[job] = Some(OracleOutcome::rejected(reason, self.now));
    }
}

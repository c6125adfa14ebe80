//! Promises on hosts that others load, with the measured slowdown and without.
//!
//! Two hosts of four processors run jobs of twelve programs. Now and then others load a host, so that work takes 1.5 or 3
//! times as long there. The service knows of it half a minute later, or never.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64;

use tollgate_gate::WorkerId;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, HostSlowdown, Instant,
    NodeId, Span,
};
use tollgate_service::{
    Core, EngineAction, HostOffer, RowChange, ServiceCommand, StepOutput, Submission,
};

use crate::idle;
use crate::server::config;

/// Number of jobs.
const JOBS: u64 = 3_000;
/// Number of programs.
const PROGRAMS: u64 = 12;
/// Processors of each host.
const PROCS: u32 = 4;
/// Mean time from one submission to the next, in seconds.
const GAP_S: f64 = 400.0;
/// Mean times without a load and with one, in seconds.
const QUIET_S: f64 = 4.0 * 3_600.0;
const LOADED_S: f64 = 3_600.0;
/// The time after which a load, or its end, is known.
const NOTICED_AFTER: Span = Span::from_secs(30);

/// Prints what becomes of the promises.
pub(crate) fn measure() {
    println!(
        "slowdown  measured  promised  kept  broken  broken %  at risk before  minutes before, mean"
    );
    for slowdown in [1.0, 1.5, 3.0] {
        for is_measured in [false, true] {
            let mut site = LoadedSite::new(slowdown, is_measured);
            site.play();
            let tally = &site.tally;
            let ended = tally.kept + tally.broken;
            println!(
                "{:>8}  {:>8}  {:>8}  {:>4}  {:>6}  {:>8.1}  {:>14}  {:>20.0}",
                slowdown,
                if is_measured { "yes" } else { "no" },
                ended,
                tally.kept,
                tally.broken,
                100.0 * f64::from(tally.broken) / f64::from(ended.max(1)),
                tally.warned,
                tally.warned_before_s / 60.0 / f64::from(tally.warned.max(1)),
            );
        }
    }
}

/// The promises by their end.
#[derive(Default)]
struct PromiseTally {
    kept: u32,
    broken: u32,
    /// Broken ones that were at risk before their deadline.
    warned: u32,
    /// The sum of the times from then until their deadlines.
    warned_before_s: f64,
}

/// A running attempt.
struct SlowedRun {
    host: usize,
    /// The work that is left, in seconds.
    left_s: f64,
}

struct LoadedSite {
    core: Core,
    now: Instant,
    random: Pcg64,
    /// By host: how much longer work takes, and when that changes.
    slowdowns: [f64; 2],
    changes: [Instant; 2],
    slowdown: f64,
    is_measured: bool,
    /// Reports that are to come.
    reports: Vec<(Instant, usize, f64)>,
    runs: BTreeMap<AttemptId, SlowedRun>,
    work_s: BTreeMap<u64, f64>,
    /// By job with a promise: its deadline.
    due: BTreeMap<u64, Instant>,
    /// By job: when its promise was first at risk.
    at_risk: BTreeMap<u64, Instant>,
    tally: PromiseTally,
}

impl LoadedSite {
    fn new(slowdown: f64, is_measured: bool) -> Self {
        let rules = config("plan")
            .rules(&tollgate_policies::builtin_registry())
            .expect("settings");
        let now = Instant::from_secs(1_700_000_000);
        let mut site = Self {
            core: Core::new(rules),
            now,
            random: Pcg64::seed_from_u64(7),
            slowdowns: [1.0; 2],
            changes: [now; 2],
            slowdown,
            is_measured,
            reports: Vec::new(),
            runs: BTreeMap::new(),
            work_s: BTreeMap::new(),
            due: BTreeMap::new(),
            at_risk: BTreeMap::new(),
            tally: PromiseTally::default(),
        };
        let up = |host: u32| ServiceCommand::WorkerUp {
            worker: WorkerId(host),
            incarnation: 1,
            nodes: PROCS,
            memory: None,
            offer: HostOffer {
                name: format!("host{host}"),
                ..HostOffer::default()
            },
        };
        site.step(&[up(0), up(1)]);
        for host in 0..2 {
            site.changes[host] = now + site.span_of(QUIET_S);
        }
        site
    }

    /// Draws a span with this mean.
    fn span_of(&mut self, mean_s: f64) -> Span {
        let spans = Exp::new(1.0 / mean_s).expect("a distribution");
        Span::from_secs_f64(spans.sample(&mut self.random))
    }

    fn play(&mut self) {
        let mut submitted = 0;
        let mut next_submission = self.now;
        while submitted < JOBS || !self.runs.is_empty() {
            let ends = self
                .runs
                .values()
                .map(|run| self.now + Span::ceil_secs_f64(run.left_s * self.slowdowns[run.host]));
            let reports = self.reports.iter().map(|(at, ..)| *at);
            let wake = self.core.next_wake().map(|at| at.max(self.now));
            let arrival = (submitted < JOBS).then_some(next_submission);
            let others = self.changes.into_iter().chain(wake).chain(arrival);
            let next = ends.chain(reports).chain(others).min();
            self.advance(next.expect("there is a change of load"));
            let mut commands = self.load_changes();
            commands.extend(self.ends());
            if arrival.is_some_and(|at| at <= self.now) {
                submitted += 1;
                commands.push(self.submission(submitted));
                next_submission = self.now + self.span_of(GAP_S);
            }
            commands.push(ServiceCommand::Tick);
            self.step(&commands);
        }
    }

    /// Lets time pass, in which the running attempts work.
    fn advance(&mut self, to: Instant) {
        let passed_s = to.since(self.now).as_secs_f64();
        for run in self.runs.values_mut() {
            run.left_s -= passed_s / self.slowdowns[run.host];
        }
        self.now = to;
    }

    /// Changes the loads that are due, and returns the reports that are.
    fn load_changes(&mut self) -> Vec<ServiceCommand> {
        for host in 0..2 {
            if self.changes[host] > self.now {
                continue;
            }
            let is_quiet = self.slowdowns[host] == 1.0;
            let (slowdown, mean_s) = match is_quiet {
                true => (self.slowdown, LOADED_S),
                false => (1.0, QUIET_S),
            };
            self.slowdowns[host] = slowdown;
            self.changes[host] = self.now + self.span_of(mean_s);
            if self.is_measured {
                self.reports
                    .push((self.now + NOTICED_AFTER, host, slowdown));
            }
        }
        let now = self.now;
        let due = self.reports.extract_if(.., |(at, ..)| *at <= now);
        let commands = due.map(|(_, host, slowdown)| ServiceCommand::WorkerSlowed {
            worker: WorkerId(host as u32),
            incarnation: 1,
            slowdown: HostSlowdown::nearest(slowdown),
        });
        commands.collect()
    }

    fn ends(&mut self) -> Vec<ServiceCommand> {
        let over = self.runs.extract_if(.., |_, run| run.left_s <= 1e-6);
        let ended: Vec<AttemptId> = over.map(|(attempt, _)| attempt).collect();
        let ends = ended.into_iter().map(|attempt| {
            if let Some(due) = self.due.remove(&attempt.job) {
                let is_kept = self.now <= due;
                self.tally.kept += u32::from(is_kept);
                self.tally.broken += u32::from(!is_kept);
                let warned = self.at_risk.get(&attempt.job).filter(|_| !is_kept);
                if let Some(&at) = warned.filter(|at| **at < due) {
                    self.tally.warned += 1;
                    self.tally.warned_before_s += due.since(at).as_secs_f64();
                }
            }
            let started = self.core.job(attempt.task()).and_then(|live| live.started);
            ServiceCommand::Report(AttemptReport {
                attempt,
                event: AttemptEvent::Ended(AttemptOutcome {
                    status: AttemptStatus::Exited(0),
                    killed: None,
                    at: self.now,
                    wall: self.now.since(started.unwrap_or(self.now)),
                    cpu: Span::ZERO,
                    suspended: Span::ZERO,
                    peak_memory: None,
                }),
            })
        });
        ends.collect()
    }

    /// Returns a job of one of the programs, whose run times scatter by a third around that of the program.
    fn submission(&mut self, number: u64) -> ServiceCommand {
        let program = self.random.random_range(0..PROGRAMS);
        let mean_s = 300.0 * 1.35_f64.powi(program as i32);
        let scatter = LogNormal::new(0.0, 0.3).expect("a distribution");
        let work_s = mean_s * scatter.sample(&mut self.random);
        self.work_s.insert(number, work_s);
        let slack = self.random.random_range(1.5..4.0);
        let ServiceCommand::Submit(base) = idle::submit(number) else {
            unreachable!("it is submitted")
        };
        ServiceCommand::Submit(Box::new(Submission {
            user: 1_000 + (program % 4) as u32,
            name: format!("program{program}"),
            executable: Some(format!("program{program}")),
            procs: 1,
            estimate: Some(Span::from_secs_f64(2.0 * mean_s)),
            deadline: Some(Span::from_secs_f64(slack * mean_s)),
            budget: None,
            ..*base
        }))
    }

    fn step(&mut self, commands: &[ServiceCommand]) {
        let StepOutput {
            actions, changes, ..
        } = self.core.step(self.now, commands);
        for action in actions {
            match action {
                EngineAction::Start { attempt, nodes, .. } => {
                    let host = usize::from(nodes[0] >= NodeId(PROCS));
                    let left_s = self.work_s[&attempt.job];
                    self.runs.insert(attempt, SlowedRun { host, left_s });
                }
                EngineAction::Kill { attempt } => {
                    self.runs.remove(&attempt);
                }
                EngineAction::SetShare { .. }
                | EngineAction::Withdraw { .. }
                | EngineAction::Continued { .. } => {}
            }
        }
        for change in changes {
            if let RowChange::AtRisk { job, .. } = change {
                self.at_risk.entry(job).or_insert(self.now);
            }
        }
        let promised = self.core.tasks().filter(|(_, live)| !live.is_unpromised());
        for (task, live) in promised {
            if let Some(due) = live.spec.due() {
                self.due.insert(task.job, due);
            }
        }
    }
}

//! Promises that count on pilots which are not there yet: by the waits that were seen at their site, and kept as often as
//! stated.

use std::collections::BTreeMap;

use tollgate_gate::{OnEviction, WorkerId};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, Instant, Market,
    Otherwise, Span, normal,
};
use tollgate_provisioning::{
    PendingPilot, PendingWork, PilotArrival, PilotHazard, PilotShape, PilotWait, PilotWaits,
    RunningPilot, ShapeSupply, SiteSupply, TaskGroup, pilot_demand,
};
use tollgate_service::{
    AdmissionState, CommandResult, Core, EngineAction, HostArrival, HostOffer, RowChange,
    ServiceCommand, SiteStatement, StepOutput, Submission, SubmitOutcome,
};

use crate::common::{rules, submission};
use crate::simulation::random::SplitMix;

/// The number of cores of a pilot.
const CORES: u32 = 2;
/// The longest time of a pilot.
const TIME: Span = Span::from_secs(400);
const SHAPE: PilotShape = PilotShape {
    cores: CORES,
    time: TIME,
};
/// The time between two rounds of the keeper.
const ROUND: Span = Span::from_secs(15);
/// The time that a pilot needs to join.
const JOIN: Span = Span::from_secs(3);
/// Maximum number of pilots that wait or run.
const AT_MOST: u32 = 3;
/// The median wait in the queue, in seconds.
const MEDIAN_WAIT_S: f64 = 60.0;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug)]
enum PilotEvent {
    Round,
    Start(usize),
    Join(usize),
    /// The pilot's time is over.
    Close(usize),
    End(AttemptId),
    Submit,
}

#[derive(Clone, Copy, Debug)]
struct Pilot {
    submitted: Instant,
    time: Span,
    started: Option<Instant>,
    is_there: bool,
    is_over: bool,
}

impl Pilot {
    const fn shape(&self) -> PilotShape {
        PilotShape {
            cores: CORES,
            time: self.time,
        }
    }
}

/// A job that was submitted.
#[derive(Clone, Copy, Debug)]
struct PilotJob {
    estimate: Span,
    run: Span,
    due: Instant,
    /// The stated probability, and whether the promise counts on expected hosts.
    promise: Option<(f64, bool)>,
    started: Option<Instant>,
    ended: Option<Instant>,
}

/// A service under `plan` with no host of its own, the keeper of a site, and the queue of the site.
struct PilotLab {
    core: Core,
    now: Instant,
    events: BTreeMap<(Instant, u64), PilotEvent>,
    n_events: u64,
    random: SplitMix,
    pilots: Vec<Pilot>,
    jobs: BTreeMap<u64, PilotJob>,
    /// By attempt: the number of its pilot.
    running: BTreeMap<AttemptId, usize>,
    /// By first node: the number of the pilot.
    nodes: BTreeMap<u32, usize>,
    /// How much longer pilots wait at present, as a normal deviate: the load of the site comes and goes.
    load: f64,
    /// The job that is submitted now.
    new: Option<PilotJob>,
    /// How often an hour the queue ends a pilot before its time.
    preempted_per_h: f64,
}

impl PilotLab {
    fn new(seed: u64) -> Self {
        let mut site = Self {
            core: Core::new(rules("plan", Market::None)),
            now: Instant::ZERO,
            events: BTreeMap::new(),
            n_events: 0,
            random: SplitMix::new(seed),
            pilots: Vec::new(),
            jobs: BTreeMap::new(),
            running: BTreeMap::new(),
            nodes: BTreeMap::new(),
            load: 0.0,
            new: None,
            preempted_per_h: 0.0,
        };
        site.submit_pilot(TIME);
        site.at(Span::ZERO, PilotEvent::Round);
        site
    }

    fn at(&mut self, after: Span, event: PilotEvent) {
        self.n_events += 1;
        self.events.insert((self.now + after, self.n_events), event);
    }

    /// Returns a number above 0 and below 1.
    fn unit(&mut self) -> f64 {
        (self.random.below(1 << 20) as f64 + 0.5) / f64::from(1 << 20)
    }

    fn deviate(&mut self) -> f64 {
        normal::quantile(self.unit())
    }

    fn step(&mut self, command: ServiceCommand) -> StepOutput {
        let step = self.core.step(self.now, &[command]);
        for action in &step.actions {
            if let EngineAction::Start { attempt, nodes, .. } = action {
                let pilots = self.nodes.range(..=nodes[0].0);
                let (_, pilot) = pilots.last().expect("the node is one of a pilot");
                self.running.insert(*attempt, *pilot);
                let new = self.new;
                let job = self.jobs.entry(attempt.job).or_insert_with(|| {
                    // It starts in the step of its submission.
                    new.expect("a job is submitted")
                });
                job.started = Some(self.now);
                let run = job.run;
                self.at(run, PilotEvent::End(*attempt));
            }
        }
        for change in &step.changes {
            if let RowChange::Promised {
                job,
                probability,
                on_expected,
                ..
            } = change
                && let Some(job) = self.jobs.get_mut(job)
            {
                job.promise = Some((probability.as_f64(), *on_expected));
            }
        }
        step
    }

    fn submit_pilot(&mut self, time: Span) {
        let own = self.deviate();
        let wait_s = MEDIAN_WAIT_S * (0.9 * self.load + 0.5 * own).exp();
        self.pilots.push(Pilot {
            submitted: self.now,
            time,
            started: None,
            is_there: false,
            is_over: false,
        });
        self.at(
            Span::from_secs_f64(wait_s),
            PilotEvent::Start(self.pilots.len() - 1),
        );
    }

    fn waits(&self) -> PilotWaits {
        let latest_first = self.pilots.iter().rev();
        PilotWaits::new(latest_first.map(|pilot| PilotWait {
            waited: pilot.started.unwrap_or(self.now).since(pilot.submitted),
            has_started: pilot.started.is_some(),
        }))
    }

    /// Decides about pilots as the keeper of sites does, and states those that are expected.
    fn round(&mut self) {
        let supply = self.supply();
        let waiting = self.jobs.values().filter(|job| job.started.is_none());
        let tasks = waiting.map(|job| TaskGroup {
            cores: 1,
            run_time: job.estimate,
            tasks: 1,
            at_once: 1,
            deadline: Some(job.due),
            is_promised: job.promise.is_some_and(|(_, on_expected)| !on_expected),
        });
        let work = PendingWork {
            waiting: tasks.collect(),
            ..PendingWork::default()
        };
        let demand = pilot_demand(&work, std::slice::from_ref(&supply), self.now);
        let needed = demand[0].pending.unwrap_or(0) as usize;
        let pending = supply.pending.len();
        for new in demand[0].new.iter().take(needed.saturating_sub(pending)) {
            self.submit_pilot(new.shape.time);
        }
        self.state_expected();
        self.at(ROUND, PilotEvent::Round);
    }

    fn supply(&self) -> SiteSupply {
        let waits = self.waits();
        let numbered = || (0..).zip(&self.pilots).filter(|(_, pilot)| !pilot.is_over);
        let running = numbered().filter_map(|(number, pilot)| {
            Some(RunningPilot {
                number,
                cores: CORES,
                ends_at: pilot.started? + pilot.time,
                idle_cores: CORES,
                idleness: None,
            })
        });
        let running: Vec<RunningPilot> = running.collect();
        let pending = numbered().filter(|(_, pilot)| pilot.started.is_none());
        let pending = pending.map(|(number, pilot)| {
            let age = self.now.since(pilot.submitted);
            PendingPilot {
                number,
                shape: pilot.shape(),
                starts_in: waits.expected_rest(age).unwrap_or(Span::ZERO),
            }
        });
        SiteSupply {
            shapes: vec![ShapeSupply {
                shape: SHAPE,
                expected_wait: waits.expected_rest(Span::ZERO),
            }],
            at_most: AT_MOST,
            queue_at_most: None,
            base: 0,
            n_running: u32::try_from(running.len()).expect("few pilots"),
            running,
            n_leaving: 0,
            pending: pending.collect(),
            joining: JOIN,
            lead: Span::ZERO,
            hazard: PilotHazard::default(),
            idle_part: 1.0,
            is_paused: false,
        }
    }

    fn state_expected(&mut self) {
        let waits = self.waits();
        let numbered = self.pilots.iter().enumerate();
        let coming = numbered.filter(|(_, pilot)| !pilot.is_there && !pilot.is_over);
        let coming = coming.filter_map(|(number, pilot)| {
            let name = format!("lab.{number}");
            let age = self.now.since(pilot.submitted);
            match pilot.started {
                Some(_) => PilotArrival::of_started(name, pilot.shape(), JOIN),
                None => PilotArrival::of_pending(name, pilot.shape(), (&waits, age), JOIN),
            }
        });
        let coming: Vec<PilotArrival> = coming.collect();
        let supply = SiteSupply {
            joining: JOIN,
            ..self.supply()
        };
        let potential =
            supply.potential_pilots((self.now, ROUND), u32::MAX, |_| waits.clone(), &coming);
        let hosts = coming
            .into_iter()
            .chain(potential)
            .map(|pilot| HostArrival {
                name: pilot.worker,
                nodes: pilot.cores,
                memory: None,
                waits: pilot.starts,
                stays: pilot.stays,
            });
        let hosts = hosts.collect();
        self.step(ServiceCommand::ExpectHosts {
            site: "lab".to_owned(),
            statement: SiteStatement {
                hosts,
                there: self.there(),
                preempted_per_h: self.preempted_per_h,
                valid_for: ROUND.times(4),
            },
        });
    }

    fn join(&mut self, number: usize) {
        self.pilots[number].is_there = true;
        // Each pilot has nodes of its own, in the order in which pilots join.
        let n_before = u32::try_from(self.nodes.len()).expect("few pilots");
        self.nodes.insert(n_before * CORES, number);
        let pilot = self.pilots[number];
        let closes = pilot.started.expect("it started") + pilot.time;
        self.step(ServiceCommand::WorkerUp {
            worker: WorkerId(number as u32 + 1),
            incarnation: 1,
            nodes: CORES,
            memory: None,
            offer: HostOffer {
                name: format!("lab.{number}"),
                closes: Some(closes - Span::from_secs(10)),
                ..HostOffer::default()
            },
        });
    }

    fn close(&mut self, number: usize) {
        // A pilot that was preempted is gone.
        if std::mem::replace(&mut self.pilots[number].is_over, true) {
            return;
        }
        let job = |attempt: &AttemptId| attempt.job;
        let lost: Vec<u64> = self.on_pilot(number).iter().map(job).collect();
        for job in lost {
            let job = self.jobs.get_mut(&job).expect("a job");
            job.started = None;
        }
        self.step(ServiceCommand::WorkerLost {
            worker: WorkerId(number as u32 + 1),
            incarnation: 1,
        });
    }

    /// Takes the attempts off a pilot, and returns them.
    fn on_pilot(&mut self, number: usize) -> Vec<AttemptId> {
        let there = |(_, pilot): &(&AttemptId, &usize)| **pilot == number;
        let there = self.running.iter().filter(there);
        let there: Vec<AttemptId> = there.map(|(attempt, _)| *attempt).collect();
        for attempt in &there {
            self.running.remove(attempt);
        }
        there
    }

    /// The names of the workers that are there.
    fn there(&self) -> Vec<String> {
        let numbered = self.pilots.iter().enumerate();
        let there = numbered.filter(|(_, pilot)| pilot.is_there && !pilot.is_over);
        there.map(|(number, _)| format!("lab.{number}")).collect()
    }

    fn report(&mut self, attempt: AttemptId) {
        // An attempt that was lost with its pilot is there no more.
        if self.running.remove(&attempt).is_none() {
            return;
        }
        let job = self.jobs.get_mut(&attempt.job).expect("a job");
        job.ended = Some(self.now);
        let wall = job.run;
        self.step(ServiceCommand::Report(AttemptReport {
            attempt,
            event: AttemptEvent::Ended(AttemptOutcome {
                status: AttemptStatus::Exited(0),
                killed: None,
                at: self.now,
                wall,
                cpu: wall,
                suspended: Span::ZERO,
                peak_memory: None,
            }),
        }));
    }

    fn submit(&mut self, (estimate, run): (Span, Span), deadline: Span) -> SubmitOutcome {
        let new = PilotJob {
            estimate,
            run,
            due: self.now + deadline,
            promise: None,
            started: None,
            ended: None,
        };
        self.new = Some(new);
        let mut job = Submission {
            budget: None,
            deadline: Some(deadline),
            retry: OnEviction::Requeue,
            ..submission("work", estimate.as_micros() / 1_000_000)
        };
        job.options.otherwise = Otherwise::Run;
        let step = self.step(ServiceCommand::Submit(Box::new(job)));
        let [CommandResult::Submitted { job, answer }] = step.results.as_slice() else {
            panic!("{:?}", step.results);
        };
        let known = self.jobs.entry(*job).or_insert(new);
        if let AdmissionState::Accepted { on_expected, .. } = answer.admission {
            let stated = answer.prediction.and_then(|stated| stated.probability);
            known.promise = stated.map(|stated| (stated.as_f64(), on_expected));
        }
        answer.clone()
    }

    fn submit_drawn(&mut self) {
        let estimate = 20 + self.random.below(160) as i64;
        let run = estimate * (50 + self.random.below(50) as i64) / 100;
        let deadline = estimate + 60 + self.random.below(600) as i64;
        let times = (Span::from_secs(estimate), Span::from_secs(run));
        self.submit(times, Span::from_secs(deadline));
        let burst = self.random.below(4) > 0;
        let wait = if burst { 5 } else { 400 };
        self.at(Span::from_secs(wait), PilotEvent::Submit);
    }

    fn run_until(&mut self, end: Instant) {
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= end
        {
            let ((now, _), event) = entry.remove_entry();
            self.now = now;
            match event {
                PilotEvent::Round => {
                    // Over a quarter of an hour the load becomes another one.
                    let news = self.deviate();
                    self.load = 0.985 * self.load + 0.172 * news;
                    self.round();
                }
                PilotEvent::Start(pilot) => {
                    self.pilots[pilot].started = Some(now);
                    self.at(JOIN, PilotEvent::Join(pilot));
                    self.at(self.pilots[pilot].time, PilotEvent::Close(pilot));
                    if self.preempted_per_h > 0.0 {
                        let wait_h = -self.unit().ln() / self.preempted_per_h;
                        let wait = Span::from_secs_f64(3600.0 * wait_h.min(100.0));
                        self.at(wait, PilotEvent::Close(pilot));
                    }
                }
                PilotEvent::Join(pilot) => self.join(pilot),
                PilotEvent::Close(pilot) => self.close(pilot),
                PilotEvent::End(attempt) => self.report(attempt),
                PilotEvent::Submit => self.submit_drawn(),
            }
        }
        self.now = end;
    }
}

fn minutes(minutes: i64) -> Span {
    Span::from_secs(60 * minutes)
}

/// Submits a job of a minute, and returns whether it is promised, and counting on expected hosts.
fn promise(site: &mut PilotLab, deadline: Span) -> Option<bool> {
    let answer = site.submit((minutes(1), minutes(1)), deadline);
    match answer.admission {
        AdmissionState::Accepted { on_expected, .. } => Some(on_expected),
        AdmissionState::Queued
        | AdmissionState::Waitlisted { .. }
        | AdmissionState::Unpromised(_)
        | AdmissionState::Deferred
        | AdmissionState::Rejected(_) => None,
    }
}

#[test]
fn promise_counts_on_pilots_only_where_some_have_started() {
    let mut site = PilotLab::new(1);
    site.run_until(Instant::from_secs(1));
    assert_eq!(site.core.expected_arrivals(), []);
    while !site.pilots.iter().all(|pilot| pilot.is_over) {
        site.run_until(site.now + minutes(1));
    }
    assert!(!site.core.expected_arrivals().is_empty());
    assert_eq!(promise(&mut site, minutes(2)), None, "too soon");
    assert_eq!(promise(&mut site, minutes(60)), Some(true));
    site.run_until(site.now + minutes(60));
    assert!(site.jobs.values().all(|job| job.ended.is_some()));
}

#[test]
fn statement_that_is_not_repeated_counts_no_longer() {
    let mut site = PilotLab::new(1);
    site.run_until(Instant::from_secs(3600));
    site.events.clear();
    let is_expected = |site: &PilotLab| !site.core.expected_arrivals().is_empty();
    site.step(ServiceCommand::Tick);
    assert!(is_expected(&site));
    site.now += ROUND.times(5);
    site.step(ServiceCommand::Tick);
    assert!(!is_expected(&site));
    assert_eq!(promise(&mut site, minutes(60)), None);
}

#[test]
fn promises_on_expected_pilots_are_kept_as_often_as_stated() {
    // The second queue ends a pilot each hour of their time.
    for preempted_per_h in [0.0, 1.0] {
        let (mut n, mut stated, mut kept, mut variance) = (0, 0.0, 0, 0.0);
        for seed in 1..=6 {
            let mut site = PilotLab::new(seed);
            site.preempted_per_h = preempted_per_h;
            site.at(Span::ZERO, PilotEvent::Submit);
            site.run_until(Instant::from_secs(12 * 3600));
            for job in site.jobs.values().filter(|job| job.due <= site.now) {
                if let Some((probability, true)) = job.promise {
                    n += 1;
                    stated += probability;
                    variance += probability * (1.0 - probability);
                    kept += i32::from(job.ended.is_some_and(|ended| ended <= job.due));
                }
            }
        }
        println!("{preempted_per_h} preempted an hour: {kept} of {n} kept, {stated:.1} stated");
        assert!(n > 300, "{n} promises");
        let least = stated - 2.0 * f64::sqrt(variance);
        assert!(
            f64::from(kept) >= least,
            "{preempted_per_h} preempted an hour: {kept} of {n} kept, {stated} stated"
        );
    }
}

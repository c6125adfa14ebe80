//! Promises that rest on desktops: by the log-ins that were seen there, and kept as often as stated.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_gate::{OnEviction, WorkerId};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, EvictionCause, Instant,
    KillReason, Market, NodeId, Span,
};
use tollgate_service::{
    AdmissionState, CommandResult, Core, EngineAction, HostOffer, ServiceCommand, StepOutput,
    Submission, SubmitOutcome,
};

use crate::common::{rules, submission};
use crate::simulation::random::SplitMix;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A user comes to a desktop, or the time has passed in which one could have come.
    Login(u32, bool),
    Logout(u32),
    End(AttemptId),
    Submit,
}

/// A promise.
#[derive(Clone, Copy, Debug)]
struct Promise {
    due: Instant,
    stated: f64,
    is_kept: bool,
    /// Whether it has run on a desktop.
    on_desktop: bool,
}

/// A service under `plan` with some desktops of one core, users who come to them, and jobs.
struct Lab {
    core: Core,
    now: Instant,
    events: BTreeMap<(Instant, u64), Event>,
    n_events: u64,
    random: SplitMix,
    /// By job: its run time.
    runtimes: BTreeMap<u64, Span>,
    /// By desktop: the attempt there, and its start.
    running: BTreeMap<u32, (AttemptId, Instant)>,
    promises: BTreeMap<u64, Promise>,
    /// By hour of the day: log-ins per hour of a desktop without a user.
    rates: fn(i64) -> f64,
    retry: OnEviction,
    n_desktops: u32,
    /// The jobs that have run on a desktop.
    on_desktops: BTreeSet<u64>,
}

/// Three in ten people come each hour of the day, and hardly anyone at night.
fn office_hours(hour: i64) -> f64 {
    if (8..18).contains(&hour) { 0.3 } else { 0.005 }
}

/// Returns a number above 0 and at most 1.
fn unit(random: &mut SplitMix) -> f64 {
    (random.below(1 << 20) + 1) as f64 / f64::from(1 << 20)
}

const fn at(seconds: i64) -> Instant {
    Instant::from_secs(seconds)
}

impl Lab {
    fn new(n_desktops: u32, n_dedicated: u32, seed: u64) -> Self {
        let mut lab = Self {
            core: Core::new(rules("plan", Market::None)),
            now: at(0),
            events: BTreeMap::new(),
            n_events: 0,
            random: SplitMix::new(seed),
            runtimes: BTreeMap::new(),
            running: BTreeMap::new(),
            promises: BTreeMap::new(),
            rates: office_hours,
            retry: OnEviction::Requeue,
            n_desktops,
            on_desktops: BTreeSet::new(),
        };
        for worker in 0..n_desktops + n_dedicated {
            let is_desktop = worker < n_desktops;
            let name = if is_desktop { "pc" } else { "node" };
            lab.step(ServiceCommand::WorkerUp {
                worker: WorkerId(worker),
                incarnation: 1,
                nodes: 1,
                memory: None,
                offer: HostOffer {
                    name: format!("{name}{worker}"),
                    is_desktop,
                    ..HostOffer::default()
                },
            });
            if is_desktop {
                lab.await_user(worker);
            }
        }
        lab
    }

    fn at(&mut self, after: Span, event: Event) {
        self.n_events += 1;
        self.events.insert((self.now + after, self.n_events), event);
    }

    /// The next hour in which a user may come to a desktop.
    fn await_user(&mut self, desktop: u32) {
        let hour = self.now.as_micros() / 1_000_000 / HOUR % 24;
        let rate = (self.rates)(hour);
        let wait_h = -unit(&mut self.random).ln() / rate;
        let left = Span::from_secs(HOUR - self.now.as_micros() / 1_000_000 % HOUR);
        let wait = Span::from_secs_f64((wait_h * HOUR as f64).min(1e6));
        match wait < left {
            true => self.at(wait, Event::Login(desktop, true)),
            false => self.at(left, Event::Login(desktop, false)),
        }
    }

    fn step(&mut self, command: ServiceCommand) -> StepOutput {
        let step = self.core.step(self.now, &[command]);
        for action in &step.actions {
            match action {
                EngineAction::Start { attempt, nodes, .. } => {
                    let NodeId(node) = nodes[0];
                    self.running.insert(node, (*attempt, self.now));
                    if node < self.n_desktops {
                        self.on_desktops.insert(attempt.job);
                        if let Some(promise) = self.promises.get_mut(&attempt.job) {
                            promise.on_desktop = true;
                        }
                    }
                    let run = self.runtimes.get(&attempt.job).copied();
                    // A job that starts in the step of its submission is not known yet.
                    let run = run.unwrap_or(self.runtimes[&0]);
                    self.at(run, Event::End(*attempt));
                }
                EngineAction::Kill { .. }
                | EngineAction::SetShare { .. }
                | EngineAction::Continued { .. }
                | EngineAction::Withdraw { .. } => {}
            }
        }
        step
    }

    fn report(&mut self, attempt: AttemptId, started: Instant, killed: Option<KillReason>) {
        let wall = self.now.since(started);
        self.step(ServiceCommand::Report(AttemptReport {
            attempt,
            event: AttemptEvent::Ended(AttemptOutcome {
                status: match killed {
                    Some(_) => AttemptStatus::Signalled(15),
                    None => AttemptStatus::Exited(0),
                },
                killed,
                at: self.now,
                wall,
                cpu: wall,
                suspended: Span::ZERO,
                peak_memory: None,
            }),
        }));
    }

    fn set_use(&mut self, desktop: u32, cause: Option<EvictionCause>) {
        self.step(ServiceCommand::WorkerInUse {
            worker: WorkerId(desktop),
            incarnation: 1,
            cause,
        });
    }

    /// Submits a job that runs for `run` and has to end `deadline` from now.
    fn submit(&mut self, run: Span, deadline: Span) -> SubmitOutcome {
        // The next job has this run time.
        self.runtimes.insert(0, run);
        let job = Submission {
            budget: None,
            deadline: Some(deadline),
            retry: self.retry,
            ..submission("work", run.as_micros() / 1_000_000)
        };
        let step = self.step(ServiceCommand::Submit(Box::new(job)));
        let [CommandResult::Submitted { job, answer }] = step.results.as_slice() else {
            panic!("{:?}", step.results);
        };
        self.runtimes.insert(*job, run);
        if let AdmissionState::Accepted { .. } = answer.admission {
            let stated = answer
                .prediction
                .and_then(|prediction| prediction.probability);
            let promise = Promise {
                due: self.now + deadline,
                stated: stated.expect("a promise has a probability").as_f64(),
                is_kept: false,
                on_desktop: self.on_desktops.contains(job),
            };
            self.promises.insert(*job, promise);
        }
        answer.clone()
    }

    fn run_until(&mut self, end: Instant, mut draw: impl FnMut(&mut SplitMix) -> (Span, Span)) {
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= end
        {
            let ((now, _), event) = entry.remove_entry();
            self.now = now;
            match event {
                Event::Login(desktop, false) => self.await_user(desktop),
                Event::Login(desktop, true) => {
                    if let Some((attempt, started)) = self.running.remove(&desktop) {
                        let killed = KillReason::GaveWay(EvictionCause::User);
                        self.report(attempt, started, Some(killed));
                    }
                    self.set_use(desktop, Some(EvictionCause::User));
                    self.at(Span::from_secs(HOUR), Event::Logout(desktop));
                }
                Event::Logout(desktop) => {
                    self.set_use(desktop, None);
                    self.await_user(desktop);
                }
                Event::End(attempt) => {
                    let running = self.running.iter();
                    let found = running.map(|(node, run)| (*node, *run));
                    let found = { found }.find(|(_, (other, _))| *other == attempt);
                    // An attempt that a user has ended is there no more.
                    if let Some((node, (_, started))) = found {
                        self.running.remove(&node);
                        if let Some(promise) = self.promises.get_mut(&attempt.job) {
                            promise.is_kept = self.now <= promise.due;
                        }
                        self.report(attempt, started, None);
                    }
                }
                Event::Submit => {
                    let (run, deadline) = draw(&mut self.random);
                    self.submit(run, deadline);
                    let wait = 300 + self.random.below(900) as i64;
                    self.at(Span::from_secs(wait), Event::Submit);
                }
            }
        }
        self.now = end;
    }

    fn idle_until(&mut self, end: Instant) {
        self.run_until(end, |_| unreachable!("nothing is submitted"));
    }
}

const MINUTE: Span = Span::from_secs(60);

#[test]
fn no_promise_rests_on_desktops_of_which_little_was_seen() {
    let mut lab = Lab::new(4, 0, 1);
    lab.idle_until(at(12 * HOUR));
    let answer = lab.submit(MINUTE, MINUTE.times(60));
    assert!(matches!(answer.admission, AdmissionState::Rejected(_)));
}

#[test]
fn short_jobs_are_promised_by_day_and_long_ones_by_night() {
    let mut lab = Lab::new(40, 0, 1);
    let days = at(21 * DAY);
    let mut is_promised = |hour: i64, run: Span, deadline: Span| {
        lab.idle_until(days + Span::from_secs(hour * HOUR));
        let answer = lab.submit(run, deadline);
        matches!(answer.admission, AdmissionState::Accepted { .. })
    };
    let hours = |hours: u32| MINUTE.times(60 * hours);
    assert!(is_promised(10, MINUTE.times(5), hours(1)));
    assert!(!is_promised(10, hours(4), hours(5)));
    assert!(is_promised(22, hours(4), hours(5)));
}

#[test]
fn promises_on_desktops_are_kept_as_often_as_stated() {
    for retry in [OnEviction::Requeue, OnEviction::Fail] {
        let mut lab = Lab::new(15, 1, 1);
        lab.retry = retry;
        lab.idle_until(at(14 * DAY));
        lab.at(Span::ZERO, Event::Submit);
        lab.run_until(at(24 * DAY), |random| {
            let run = 2 + random.below(88) as u32;
            let deadline = f64::from(run) * (1.2 + 2.8 * unit(random)) * 60.0;
            (MINUTE.times(run), Span::from_secs_f64(deadline))
        });
        let (mut stated, mut kept, mut n) = (0.0, 0.0, 0.0);
        let over = |promise: &&Promise| promise.due <= lab.now && promise.on_desktop;
        for promise in lab.promises.values().filter(over) {
            n += 1.0;
            stated += promise.stated;
            kept += f64::from(u8::from(promise.is_kept));
        }
        println!("{retry:?}: {kept} of {n} kept, {stated} stated");
        assert!(n > 300.0, "{retry:?}: {n} promises");
        // Two standard deviations of a promise at .9.
        let least = stated - 2.0 * (n * 0.09_f64).sqrt();
        assert!(
            kept >= least,
            "{retry:?}: {kept} of {n} kept, {stated} stated"
        );
    }
}

//! The kernel: a year under one retry and one select policy.
//!
//! The end of an attempt is known when it starts, because the next user, the next reboot and the rest of the
//! task are known. So every attempt is one event. Users come and go independently of tasks. The order at one
//! instant is: attempts end, users leave, users come, tasks are submitted, waiting tasks are started.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tollgate_grid_policies::retry::{
    EvictionFilter, FinishedTasks, RetryDecision, RetryPolicy, TaskHistory,
};
use tollgate_grid_policies::select::{
    self, ComputerPool, LearnedLogins, NightlyReboots, Occupant, SelectBuildInputs, SelectPolicy,
};
use tollgate_model::{Energy, EvictionCause, Instant, NodeId, Span};
use tollgate_policy::RandomSource;
use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

use super::dedicated::DedicatedQueue;
use super::energy::EnergyMeter;
use super::environment::CampusEnvironment;
use super::metrics::{self, CampusMetrics};
use super::sessions::MovementKind;
use super::tasks::{CampusTask, TaskOutcome};

/// The policies of a run.
#[derive(Clone, Debug)]
pub struct CampusPolicies {
    /// The decision on evicted tasks.
    pub retry: RetryPolicy,
    /// The choice of the computer for the next task.
    pub select: &'static select::BuiltinSelectPolicy,
}

/// The result of a year.
#[derive(Clone, Debug, PartialEq)]
pub struct CampusRun {
    /// The metrics.
    pub metrics: CampusMetrics,
    /// The history of each task.
    pub histories: Vec<TaskHistory>,
    /// The fate of each task.
    pub outcomes: Vec<TaskOutcome>,
}

impl CampusRun {
    /// Returns the histories of the finished tasks, for policies that compare.
    pub fn finished(&self, environment: &CampusEnvironment) -> FinishedTasks {
        let tasks = environment
            .tasks
            .iter()
            .zip(&self.histories)
            .zip(&self.outcomes);
        let completed = tasks.filter(|(_, outcome)| **outcome == TaskOutcome::Completed);
        FinishedTasks::of(completed.map(|((task, seen), _)| {
            let accrued = seen.accrued(EvictionFilter::All) + task.attempt();
            (seen.evictions(EvictionFilter::All), accrued)
        }))
    }
}

/// Simulates the year.
pub fn run_campus(environment: &CampusEnvironment, policies: &CampusPolicies) -> CampusRun {
    let mut kernel = CampusSim::new(environment, policies);
    while let Some(now) = kernel.next() {
        kernel.process_instant(now);
    }
    kernel.finish()
}

/// A random stream for a policy.
struct PolicyStream(RandomStream);

impl RandomSource for PolicyStream {
    fn unit(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Returns the high half of a product with 32 random bits; only valid for `n` up to 2^32, which
    /// no campus reaches.
    fn below(&mut self, n: usize) -> usize {
        (((self.0.bits() >> 32) * n as u64) >> 32) as usize
    }
}

/// The ways an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptEnd {
    Finished,
    Removed,
    /// The attempt exceeded the policy's time limit.
    AttemptLimit,
    Evicted(EvictionCause),
}

/// An attempt that holds a computer.
#[derive(Clone, Copy, Debug)]
struct CampusAttempt {
    task: u32,
    from: Instant,
    end: AttemptEnd,
}

/// The end of the attempt at a computer: time and computer in one number, which is compared faster
/// than its parts. No instant is before the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndOrder(u128);

impl EndOrder {
    const fn new(end: Instant, node: NodeId) -> Self {
        Self((end.as_micros() as u128) << 32 | node.0 as u128)
    }

    const fn end(self) -> Instant {
        Instant::from_micros((self.0 >> 32) as i64)
    }

    const fn node(self) -> NodeId {
        NodeId(self.0 as u32)
    }
}

struct CampusSim<'e> {
    environment: &'e CampusEnvironment,
    retry: &'e RetryPolicy,
    select: Box<dyn SelectPolicy>,
    pool: ComputerPool,
    meter: EnergyMeter,
    queue: VecDeque<u32>,
    dedicated: Option<DedicatedQueue>,
    /// Ends of attempts, by time and computer.
    ends: BinaryHeap<Reverse<EndOrder>>,
    /// By computer: the attempt that holds it.
    attempts: Vec<Option<CampusAttempt>>,
    /// By computer: the next log-in.
    next_user: Vec<Instant>,
    next_movement: usize,
    next_task: usize,
    histories: Vec<TaskHistory>,
    outcomes: Vec<TaskOutcome>,
    overhead: OverheadSum,
    attributed: Energy,
    allocations: u64,
    draws: PolicyStream,
    losses: StreamFamily,
}

#[derive(Default)]
struct OverheadSum {
    sum_us: i128,
    tasks: u32,
}

impl<'e> CampusSim<'e> {
    fn new(environment: &'e CampusEnvironment, policies: &'e CampusPolicies) -> Self {
        let pool = environment.pool();
        let computers = pool.computers().len();
        let mut draws =
            PolicyStream(StreamFamily::new(environment.seed, StreamPurpose::Choices).stream(0));
        let grounds = SelectBuildInputs {
            pool: &pool,
            log: &environment.log,
            logins: &LearnedLogins::before_any(&pool),
            reboots: NightlyReboots::AtFive,
        };
        Self {
            retry: &policies.retry,
            select: policies.select.build(&grounds, &mut draws),
            pool,
            meter: EnergyMeter::new(computers, environment.stays_awake),
            queue: VecDeque::new(),
            dedicated: policies.retry.dedicated().map(DedicatedQueue::new),
            ends: BinaryHeap::new(),
            attempts: vec![None; computers],
            next_user: (0..computers)
                .map(|computer| environment.sessions.first_of(computer))
                .collect(),
            next_movement: 0,
            next_task: 0,
            histories: vec![TaskHistory::default(); environment.tasks.len()],
            outcomes: vec![TaskOutcome::Unfinished; environment.tasks.len()],
            overhead: OverheadSum::default(),
            attributed: Energy::ZERO,
            allocations: 0,
            draws,
            losses: StreamFamily::new(environment.seed, StreamPurpose::Losses),
            environment,
        }
    }

    /// Returns the next event; None if it is not in this year.
    fn next(&self) -> Option<Instant> {
        let movement = self.environment.movements.get(self.next_movement);
        let task = self.environment.tasks.get(self.next_task);
        let dedicated = self.dedicated.as_ref().and_then(DedicatedQueue::next_end);
        let next = movement
            .map_or(Instant::MAX, |movement| movement.at)
            .min(task.map_or(Instant::MAX, |task| task.submit))
            .min(self.ends.peek().map_or(Instant::MAX, |next| next.0.end()))
            .min(dedicated.unwrap_or(Instant::MAX));
        (next < self.environment.horizon()).then_some(next)
    }

    /// Processes all events at `now`.
    fn process_instant(&mut self, now: Instant) {
        while let Some(&Reverse(next)) = self.ends.peek()
            && next.end() == now
        {
            self.ends.pop();
            self.attempt_ends(next.node(), now);
        }
        self.dedicated_end(now);
        while let Some(movement) = self.environment.movements.get(self.next_movement)
            && movement.at == now
        {
            self.next_movement += 1;
            self.next_user[movement.node.index()] = movement.next;
            match movement.kind {
                MovementKind::Arrival => self.occupy(movement.node, Occupant::User, now),
                MovementKind::Departure => self.vacate(movement.node, Occupant::User, now),
            }
        }
        while let Some(task) = self.environment.tasks.get(self.next_task)
            && task.submit == now
        {
            self.queue.push_back(self.next_task as u32);
            self.next_task += 1;
        }
        self.start_waiting(now);
        self.start_dedicated(now);
    }

    fn occupy(&mut self, node: NodeId, taker: Occupant, now: Instant) {
        self.meter.arrival(node, now);
        self.pool.take(node, now);
        self.select.taken(node, taker, now);
    }

    fn vacate(&mut self, node: NodeId, taker: Occupant, now: Instant) {
        self.meter.departure(node, now);
        self.pool.release(node, now);
        self.select.freed(node, taker, now);
    }

    fn attempt_ends(&mut self, node: NodeId, now: Instant) {
        let Some(attempt) = self.attempts[node.index()].take() else {
            return;
        };
        self.vacate(node, Occupant::Task, now);
        let held = now.since(attempt.from);
        self.charge(node, held);
        let free = self.dedicated.as_ref().map_or(0, DedicatedQueue::free);
        match attempt.end {
            AttemptEnd::Finished => self.completed(attempt.task, now),
            AttemptEnd::Removed => self.outcomes[attempt.task as usize] = TaskOutcome::Removed,
            AttemptEnd::AttemptLimit => {
                self.apply_decision(attempt.task, self.retry.decide_on_timeout(free))
            }
            AttemptEnd::Evicted(by) => {
                let seen = &mut self.histories[attempt.task as usize];
                seen.record_eviction(by, held);
                let verdict = self.retry.decide(seen, free, &mut self.draws);
                self.apply_decision(attempt.task, verdict);
            }
        }
    }

    fn charge(&mut self, node: NodeId, held: Span) {
        let power = &self.environment.layout.computers[node.index()].power;
        self.attributed += power.active.during(held);
    }

    fn apply_decision(&mut self, task: u32, verdict: RetryDecision) {
        match (verdict, &mut self.dedicated) {
            (RetryDecision::Requeue, _) => self.queue.push_back(task),
            (RetryDecision::Dedicate, Some(dedicated)) => dedicated.push(task),
            (RetryDecision::Dedicate, None) | (RetryDecision::Abandon, _) => {
                self.outcomes[task as usize] = TaskOutcome::Abandoned;
            }
        }
    }

    fn completed(&mut self, number: u32, now: Instant) {
        let task = &self.environment.tasks[number as usize];
        self.outcomes[number as usize] = TaskOutcome::Completed;
        let overhead = now.since(task.submit) - task.runtime();
        self.overhead.sum_us += i128::from(overhead.as_micros());
        self.overhead.tasks += 1;
    }

    fn dedicated_end(&mut self, now: Instant) {
        while let Some(dedicated) = &mut self.dedicated
            && let Some((task, outcome)) = dedicated.pop_ended(&self.environment.tasks, now)
        {
            match outcome {
                TaskOutcome::Completed => self.completed(task, now),
                TaskOutcome::Unfinished | TaskOutcome::Abandoned | TaskOutcome::Removed => {
                    self.outcomes[task as usize] = outcome
                }
            }
        }
    }

    fn start_dedicated(&mut self, now: Instant) {
        let Some(dedicated) = &mut self.dedicated else {
            return;
        };
        for task in dedicated.start(&self.environment.tasks, now, self.environment.horizon()) {
            self.outcomes[task as usize] = TaskOutcome::Removed;
        }
    }

    fn start_waiting(&mut self, now: Instant) {
        while let Some(&number) = self.queue.front() {
            if self.environment.tasks[number as usize].removed() <= now {
                self.outcomes[number as usize] = TaskOutcome::Removed;
                self.queue.pop_front();
                continue;
            }
            let Some(node) = self.select.choose(&self.pool, now, &mut self.draws) else {
                return;
            };
            self.queue.pop_front();
            self.start(number, node, now);
        }
    }

    fn start(&mut self, number: u32, node: NodeId, now: Instant) {
        let (ends, end) = self.end_of_attempt(number, node, now);
        self.allocations += 1;
        self.attempts[node.index()] = Some(CampusAttempt {
            task: number,
            from: now,
            end,
        });
        self.ends.push(Reverse(EndOrder::new(ends, node)));
        self.occupy(node, Occupant::Task, now);
    }

    /// Returns the end of an attempt that starts now, and its kind. Of several ends at one instant
    /// the first counts: a task that has finished was not evicted.
    fn end_of_attempt(&self, number: u32, node: NodeId, now: Instant) -> (Instant, AttemptEnd) {
        let task: &CampusTask = &self.environment.tasks[number as usize];
        let mut first = (now + task.attempt(), AttemptEnd::Finished);
        let mut consider = |at: Instant, end: AttemptEnd| {
            if at < first.0 {
                first = (at, end);
            }
        };
        consider(task.removed(), AttemptEnd::Removed);
        let next_user = self.next_user[node.index()];
        consider(next_user, AttemptEnd::Evicted(EvictionCause::User));
        let reboot = self.environment.layout.reboot_after(node.index(), now);
        consider(reboot, AttemptEnd::Evicted(EvictionCause::Reboot));
        if let Some(lost) = self.lost_after(number) {
            consider(now + lost, AttemptEnd::Evicted(EvictionCause::Lost));
        }
        if let Some(longest) = self.retry.max_attempt() {
            consider(now + longest, AttemptEnd::AttemptLimit);
        }
        first
    }

    /// Returns the time after which an attempt is lost, if it is. The same attempt of the same task
    /// has the same loss under every policy.
    fn lost_after(&self, number: u32) -> Option<Span> {
        let losses = &self.environment.losses;
        if losses.probability == 0.0 {
            return None;
        }
        let attempt = self.histories[number as usize].evictions(EvictionFilter::All);
        let index = u64::from(number) << 32 | u64::from(attempt);
        let mut stream = self.losses.stream(index);
        let lost = stream.chance(losses.probability);
        let secs = 1 + (f64::from(losses.max_delay_s) * stream.uniform()) as i64;
        lost.then(|| Span::from_secs(secs))
    }

    /// Computes the result. Attempts still running at the end of the year are charged until then.
    fn finish(mut self) -> CampusRun {
        let end = self.environment.horizon();
        for node in 0..self.attempts.len() {
            if let Some(attempt) = self.attempts[node] {
                self.charge(NodeId(node as u32), end.since(attempt.from));
            }
        }
        self.note_removed(end);
        let tasks = &self.environment.tasks;
        let (good, bad) = metrics::groups(tasks, &self.outcomes, &self.histories);
        let dedicated = self.dedicated.as_ref();
        let (extra, attributed) = dedicated.map_or((Energy::ZERO, Energy::ZERO), |dedicated| {
            dedicated.energy(&self.environment.dedicated, end)
        });
        let dedicated_tasks = dedicated.map_or(0, |dedicated| dedicated.started);
        let drawn = self.meter.total(&self.environment.layout, end);
        let overhead = &self.overhead;
        let mean_us = (overhead.tasks > 0).then(|| overhead.sum_us / i128::from(overhead.tasks));
        CampusRun {
            metrics: CampusMetrics {
                good,
                bad,
                overhead: mean_us.map(|us| Span::from_micros(us as i64)),
                marginal: drawn - self.environment.without_tasks + extra,
                attributed: self.attributed + attributed,
                dedicated: extra,
                allocations: self.allocations + u64::from(dedicated_tasks),
                dedicated_tasks,
            },
            histories: self.histories,
            outcomes: self.outcomes,
        }
    }

    /// Records tasks that were cancelled while they waited and have not reached the head since.
    fn note_removed(&mut self, end: Instant) {
        for (task, outcome) in self.environment.tasks.iter().zip(&mut self.outcomes) {
            if *outcome == TaskOutcome::Unfinished && task.removed() <= end {
                *outcome = TaskOutcome::Removed;
            }
        }
    }
}

//! A simulated machine: attempts that progress by share, under a clock that is told to move.

use std::collections::BTreeMap;

use tollgate_model::{Instant, Span};

use super::deed::SimProgram;
use crate::{
    AttemptEvent, AttemptKey, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus,
    KillReason, LaunchSpec, RunningAttempt,
};

/// From being asked to end to being made to.
pub(super) const GRACE: Span = Span::from_secs(5);

/// The state of the machine; whatever happens is appended to `happened`.
#[derive(Default)]
pub(super) struct SimMachine {
    pub(super) now: Instant,
    tasks: BTreeMap<AttemptKey, SimTask>,
    /// When all that runs is asked to end; None before the first lease.
    lease: Option<Instant>,
    /// What happened and nobody was told yet, oldest first.
    pub(super) happened: Vec<AttemptReport>,
}

struct SimTask {
    launch: LaunchSpec,
    deed: SimProgram,
    started: Instant,
    /// Seconds of its deed that are done.
    done: f64,
    /// Processor seconds used.
    cpu: f64,
    asked_to_end: Option<(Instant, KillReason)>,
    /// What became of it, until the caller has acknowledged that.
    end: Option<AttemptEvent>,
}

impl SimMachine {
    /// Starts `launch` unless it is known.
    pub(super) fn start(&mut self, launch: &LaunchSpec, deed: SimProgram) {
        if self.tasks.contains_key(&launch.attempt) {
            return;
        }
        let runs = !matches!(deed.status, AttemptStatus::NotStarted { .. });
        let task = SimTask {
            launch: launch.clone(),
            deed,
            started: self.now,
            done: 0.0,
            cpu: 0.0,
            asked_to_end: None,
            end: None,
        };
        self.tasks.insert(launch.attempt, task);
        if runs {
            let at = self.now;
            self.report(
                launch.attempt,
                AttemptEvent::Started(AttemptStart { pid: None, at }),
            );
        }
        self.end_with_the_lease();
        self.end_those_due();
    }

    /// Sets the share of a task that runs.
    pub(super) fn set_share(&mut self, attempt: AttemptKey, share: f64) {
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.launch.share = share;
        }
    }

    /// Asks a task to end.
    pub(super) fn kill(&mut self, attempt: AttemptKey, why: KillReason) {
        let now = self.now;
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.asked_to_end.get_or_insert((now, why));
        }
        self.end_those_due();
    }

    /// Makes a task vanish without a trace.
    pub(super) fn lose(&mut self, attempt: AttemptKey) {
        let at = self.now;
        self.end(attempt, AttemptEvent::Lost { at });
    }

    /// Forgets an end.
    pub(super) fn forget(&mut self, attempt: AttemptKey) {
        if self
            .tasks
            .get(&attempt)
            .is_some_and(|task| task.end.is_some())
        {
            self.tasks.remove(&attempt);
        }
    }

    /// What was handed in and has not ended.
    pub(super) fn running(&self) -> Vec<RunningAttempt> {
        let running = self.tasks.iter().filter(|(_, task)| task.end.is_none());
        running
            .map(|(&attempt, task)| RunningAttempt {
                attempt,
                started: Some(AttemptStart {
                    pid: None,
                    at: task.started,
                }),
                cpu: Span::from_secs_f64(task.cpu),
            })
            .collect()
    }

    /// Everything that was not acknowledged, as one who was told nothing yet has to hear it.
    pub(super) fn tell_again(&mut self) {
        self.happened.clear();
        for (&attempt, task) in &self.tasks {
            let at = task.started;
            let runs = !matches!(task.deed.status, AttemptStatus::NotStarted { .. });
            let started = runs.then_some(AttemptEvent::Started(AttemptStart { pid: None, at }));
            for event in started.into_iter().chain(task.end.clone()) {
                self.happened.push(AttemptReport { attempt, event });
            }
        }
    }

    /// Lets what runs go on until `until`.
    pub(super) fn renew_lease(&mut self, until: Instant) {
        self.lease = Some(until);
        self.end_with_the_lease();
    }

    /// Lets time pass until `until`, one end after the other.
    pub(super) fn advance_to(&mut self, until: Instant) {
        while let Some(next) = self.next_end().filter(|&next| next <= until) {
            self.pass(next);
            self.end_with_the_lease();
            self.end_those_due();
        }
        self.pass(until);
        self.end_with_the_lease();
    }

    /// When the next task ends or the lease does, if nothing else happens.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let running = self.tasks.values().filter(|task| task.end.is_none());
        let asked = |task: &SimTask| task.asked_to_end.is_some();
        let free = running.clone().any(|task| !asked(task));
        let lease = self.lease.filter(|_| free).map(|at| at.max(self.now));
        running.map(|task| self.end_of(task)).chain(lease).min()
    }

    fn end_with_the_lease(&mut self) {
        if self.lease.is_none_or(|at| self.now < at) {
            return;
        }
        let now = self.now;
        for task in self.tasks.values_mut().filter(|task| task.end.is_none()) {
            let why = KillReason::Evicted;
            task.asked_to_end.get_or_insert((now, why));
        }
        self.end_those_due();
    }

    fn end_of(&self, task: &SimTask) -> Instant {
        let left = task.deed.length.as_secs_f64() - task.done;
        let by_itself = self.now + Span::ceil_secs_f64(left / self.rate(task));
        let stopped = task.asked_to_end.map(|(at, _)| at + task.patience());
        let limit = task
            .launch
            .limits
            .wall
            .map(|wall| task.started + wall + task.patience());
        [stopped, limit]
            .into_iter()
            .flatten()
            .fold(by_itself, Instant::min)
            .max(self.now)
    }

    /// Seconds of its deed that a task does in a second: the smallest part that it gets of a node.
    fn rate(&self, task: &SimTask) -> f64 {
        if !task.deed.busy {
            return 1.0;
        }
        let part = |node| {
            let on_node = self.tasks.values().filter(|other| {
                other.end.is_none() && other.deed.busy && other.launch.nodes.contains(node)
            });
            task.launch.share / on_node.map(|other| other.launch.share).sum::<f64>()
        };
        task.launch.nodes.iter().map(part).fold(1.0, f64::min)
    }

    fn pass(&mut self, until: Instant) {
        let secs = until.since(self.now).as_secs_f64();
        if secs <= 0.0 {
            return;
        }
        let rates: Vec<f64> = self.tasks.values().map(|task| self.rate(task)).collect();
        for (task, rate) in self.tasks.values_mut().zip(rates) {
            if task.end.is_none() {
                task.done += rate * secs;
                let procs = task.launch.nodes.len() as f64;
                task.cpu += if task.deed.busy {
                    rate * secs * procs
                } else {
                    0.0
                };
            }
        }
        self.now = until;
    }

    fn end_those_due(&mut self) {
        let due = self
            .tasks
            .iter()
            .filter(|(_, task)| task.end.is_none() && self.end_of(task) <= self.now);
        let due: Vec<_> = due
            .map(|(&attempt, task)| (attempt, self.ended(task)))
            .collect();
        for (attempt, ended) in due {
            self.end(attempt, AttemptEvent::Ended(ended));
        }
    }

    fn ended(&self, task: &SimTask) -> AttemptOutcome {
        let left = task.deed.length.as_secs_f64() - task.done;
        let by_itself = left <= Span::TICK.as_secs_f64();
        let asked = task
            .asked_to_end
            .map_or(KillReason::TimeLimit, |(_, why)| why);
        let signal = if task.deed.stubborn { 9 } else { 15 };
        AttemptOutcome {
            status: match by_itself {
                true => task.deed.status.clone(),
                false => AttemptStatus::Signalled(signal),
            },
            killed: (!by_itself).then_some(asked),
            at: self.now,
            wall: self.now.since(task.started),
            cpu: Span::from_secs_f64(task.cpu),
            peak_memory: None,
        }
    }

    fn end(&mut self, attempt: AttemptKey, event: AttemptEvent) {
        if let Some(task) = self
            .tasks
            .get_mut(&attempt)
            .filter(|task| task.end.is_none())
        {
            task.end = Some(event.clone());
            self.report(attempt, event);
        }
    }

    fn report(&mut self, attempt: AttemptKey, event: AttemptEvent) {
        self.happened.push(AttemptReport { attempt, event });
    }
}

impl SimTask {
    /// How long it goes on after it was asked to end.
    fn patience(&self) -> Span {
        if self.deed.stubborn {
            GRACE
        } else {
            Span::ZERO
        }
    }
}

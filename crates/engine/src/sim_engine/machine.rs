//! The state of a simulated machine: attempts that progress by share, under a clock that the caller
//! advances.

use std::collections::BTreeMap;

use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus, Instant,
    KillReason, Span,
};

use super::program::SimProgram;
use crate::{LaunchSpec, RunningAttempt};

/// The time from asking a task to end until it is killed.
pub(super) const GRACE: Span = Span::from_secs(5);

/// The state of the machine; new reports are appended to `happened`.
#[derive(Default)]
pub(super) struct SimMachine {
    pub(super) now: Instant,
    tasks: BTreeMap<AttemptId, SimTask>,
    /// The time at which all running attempts are asked to end; None before the first lease.
    lease: Option<Instant>,
    /// The reports that were not delivered yet, oldest first.
    pub(super) reports: Vec<AttemptReport>,
}

struct SimTask {
    launch: LaunchSpec,
    program: SimProgram,
    started: Instant,
    /// Seconds of the program that are done.
    done: f64,
    /// Processor seconds used.
    cpu: f64,
    stop_requested: Option<(Instant, KillReason)>,
    /// The end of the attempt, until the caller has acknowledged it.
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
            program: deed,
            started: self.now,
            done: 0.0,
            cpu: 0.0,
            stop_requested: None,
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
        self.enforce_lease();
        self.finish_due();
    }

    /// Sets the share of a running task.
    pub(super) fn set_share(&mut self, attempt: AttemptId, share: f64) {
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.launch.share = share;
        }
    }

    /// Asks a task to end.
    pub(super) fn kill(&mut self, attempt: AttemptId, why: KillReason) {
        let now = self.now;
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.stop_requested.get_or_insert((now, why));
        }
        self.finish_due();
    }

    /// Makes a task vanish, so that it is lost.
    pub(super) fn mark_lost(&mut self, attempt: AttemptId) {
        let at = self.now;
        self.finish(attempt, AttemptEvent::Lost { at });
    }

    /// Forgets an end that was acknowledged.
    pub(super) fn acknowledge(&mut self, attempt: AttemptId) {
        if self
            .tasks
            .get(&attempt)
            .is_some_and(|task| task.end.is_some())
        {
            self.tasks.remove(&attempt);
        }
    }

    /// Returns the attempts that have ended and are not forgotten.
    pub(super) fn unacknowledged(&self) -> Vec<AttemptId> {
        let ended = self.tasks.iter().filter(|(_, task)| task.end.is_some());
        ended.map(|(&attempt, _)| attempt).collect()
    }

    /// Returns whether an attempt was started here and its end is not acknowledged.
    pub(super) fn has_started(&self, attempt: AttemptId) -> bool {
        self.tasks
            .get(&attempt)
            .is_some_and(|task| !matches!(task.program.status, AttemptStatus::NotStarted { .. }))
    }

    /// Returns every attempt that was submitted and has not ended.
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

    /// Queues every unacknowledged report again, for a caller that has received none.
    pub(super) fn repeat_reports(&mut self) {
        self.reports.clear();
        for (&attempt, task) in &self.tasks {
            let at = task.started;
            let runs = !matches!(task.program.status, AttemptStatus::NotStarted { .. });
            let started = runs.then_some(AttemptEvent::Started(AttemptStart { pid: None, at }));
            for event in started.into_iter().chain(task.end.clone()) {
                self.reports.push(AttemptReport { attempt, event });
            }
        }
    }

    /// Sets the end of the lease to `until`.
    pub(super) fn renew_lease(&mut self, until: Instant) {
        self.lease = Some(until);
        self.enforce_lease();
    }

    /// Advances the time to `until`, one end after the other.
    pub(super) fn advance_to(&mut self, until: Instant) {
        while let Some(next) = self.next_end().filter(|&next| next <= until) {
            self.advance_progress(next);
            self.enforce_lease();
            self.finish_due();
        }
        self.advance_progress(until);
        self.enforce_lease();
    }

    /// Returns the next end of a task or of the lease, if no other event comes first.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let running = self.tasks.values().filter(|task| task.end.is_none());
        let asked = |task: &SimTask| task.stop_requested.is_some();
        let free = running.clone().any(|task| !asked(task));
        let lease = self.lease.filter(|_| free).map(|at| at.max(self.now));
        running
            .map(|task| self.next_end_of(task))
            .chain(lease)
            .min()
    }

    fn enforce_lease(&mut self) {
        if self.lease.is_none_or(|at| self.now < at) {
            return;
        }
        let now = self.now;
        for task in self.tasks.values_mut().filter(|task| task.end.is_none()) {
            let why = KillReason::Evicted;
            task.stop_requested.get_or_insert((now, why));
        }
        self.finish_due();
    }

    fn next_end_of(&self, task: &SimTask) -> Instant {
        let left = task.program.duration.as_secs_f64() - task.done;
        let by_itself = self.now + Span::ceil_secs_f64(left / self.rate(task));
        let stopped = task.stop_requested.map(|(at, _)| at + task.grace());
        let limit = task
            .launch
            .limits
            .wall
            .map(|wall| task.started + wall + task.grace());
        [stopped, limit]
            .into_iter()
            .flatten()
            .fold(by_itself, Instant::min)
            .max(self.now)
    }

    /// Returns the seconds of program that a task completes per second: its smallest fraction of
    /// any of its nodes.
    fn rate(&self, task: &SimTask) -> f64 {
        if !task.program.busy {
            return 1.0;
        }
        let part = |node| {
            let on_node = self.tasks.values().filter(|other| {
                other.end.is_none() && other.program.busy && other.launch.nodes.contains(node)
            });
            task.launch.share / on_node.map(|other| other.launch.share).sum::<f64>()
        };
        task.launch.nodes.iter().map(part).fold(1.0, f64::min)
    }

    fn advance_progress(&mut self, until: Instant) {
        let secs = until.since(self.now).as_secs_f64();
        if secs <= 0.0 {
            return;
        }
        let rates: Vec<f64> = self.tasks.values().map(|task| self.rate(task)).collect();
        for (task, rate) in self.tasks.values_mut().zip(rates) {
            if task.end.is_none() {
                task.done += rate * secs;
                let procs = task.launch.nodes.len() as f64;
                task.cpu += if task.program.busy {
                    rate * secs * procs
                } else {
                    0.0
                };
            }
        }
        self.now = until;
    }

    fn finish_due(&mut self) {
        let due = self
            .tasks
            .iter()
            .filter(|(_, task)| task.end.is_none() && self.next_end_of(task) <= self.now);
        let due: Vec<_> = due
            .map(|(&attempt, task)| (attempt, self.outcome_of(task)))
            .collect();
        for (attempt, ended) in due {
            self.finish(attempt, AttemptEvent::Ended(ended));
        }
    }

    fn outcome_of(&self, task: &SimTask) -> AttemptOutcome {
        let left = task.program.duration.as_secs_f64() - task.done;
        let by_itself = left <= Span::TICK.as_secs_f64();
        let asked = task
            .stop_requested
            .map_or(KillReason::TimeLimit, |(_, why)| why);
        let signal = if task.program.ignores_sigterm { 9 } else { 15 };
        AttemptOutcome {
            status: match by_itself {
                true => task.program.status.clone(),
                false => AttemptStatus::Signalled(signal),
            },
            killed: (!by_itself).then_some(asked),
            at: self.now,
            wall: self.now.since(task.started),
            cpu: Span::from_secs_f64(task.cpu),
            peak_memory: None,
        }
    }

    fn finish(&mut self, attempt: AttemptId, event: AttemptEvent) {
        if let Some(task) = self
            .tasks
            .get_mut(&attempt)
            .filter(|task| task.end.is_none())
        {
            task.end = Some(event.clone());
            self.report(attempt, event);
        }
    }

    fn report(&mut self, attempt: AttemptId, event: AttemptEvent) {
        self.reports.push(AttemptReport { attempt, event });
    }
}

impl SimTask {
    /// Returns the time that the program continues after it was asked to end.
    fn grace(&self) -> Span {
        if self.program.ignores_sigterm {
            GRACE
        } else {
            Span::ZERO
        }
    }
}

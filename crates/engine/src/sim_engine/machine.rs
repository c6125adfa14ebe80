//! The state of a simulated machine: attempts that progress by share, under a clock that the caller
//! advances.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus, Instant,
    KillReason, LaunchFailure, Span,
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
    /// The time that attempts from now on wait before their program starts.
    pub(super) start_delay: Span,
}

struct SimTask {
    launch: LaunchSpec,
    program: SimProgram,
    /// The start; None while the task waits for the end of the one that it follows.
    started: Option<Instant>,
    /// The time at which a task starts that waits in the queue of a batch system; None for one that does not.
    begins: Option<Instant>,
    /// Seconds of the program that are done.
    done: f64,
    /// Processor seconds used.
    cpu: f64,
    /// Whether the task is suspended, from its start on if it has not started.
    is_suspended: bool,
    /// The time for which the task was suspended, until the machine's time.
    suspended: Span,
    stop_requested: Option<(Instant, KillReason)>,
    /// The end of the attempt, until the caller has acknowledged it.
    end: Option<AttemptEvent>,
}

impl SimMachine {
    /// Starts `launch` unless it is known.
    pub(super) fn start(&mut self, launch: &LaunchSpec, program: SimProgram) {
        if self.tasks.contains_key(&launch.attempt) {
            return;
        }
        let task = SimTask {
            launch: launch.clone(),
            program,
            started: None,
            begins: None,
            done: 0.0,
            cpu: 0.0,
            is_suspended: false,
            suspended: Span::ZERO,
            stop_requested: None,
            end: None,
        };
        self.tasks.insert(launch.attempt, task);
        if !self.is_unfinished(launch.after) {
            self.queue(launch.attempt);
        }
        self.enforce_lease();
        self.finish_due();
    }

    fn is_unfinished(&self, attempt: Option<AttemptId>) -> bool {
        let task = attempt.and_then(|attempt| self.tasks.get(&attempt));
        task.is_some_and(|task| task.end.is_none())
    }

    /// Starts a task, or lets it wait for as long as the machine lets tasks wait.
    fn queue(&mut self, attempt: AttemptId) {
        let begins = self.now + self.start_delay;
        match self.tasks.get_mut(&attempt) {
            Some(task) if begins > self.now => task.begins = Some(begins),
            Some(_) | None => self.begin(attempt),
        }
    }

    /// Starts the tasks that have waited long enough.
    fn begin_due(&mut self) {
        let due = self.tasks.iter();
        let due = due.filter(|(_, task)| task.waits_until().is_some_and(|at| at <= self.now));
        let due: Vec<AttemptId> = due.map(|(&attempt, _)| attempt).collect();
        for attempt in due {
            self.begin(attempt);
        }
    }

    fn begin(&mut self, attempt: AttemptId) {
        let at = self.now;
        let Some(task) = self.tasks.get_mut(&attempt) else {
            return;
        };
        task.started = Some(at);
        if task.has_program() {
            self.report(
                attempt,
                AttemptEvent::Started(AttemptStart { pid: None, at }),
            );
        }
    }

    /// Starts the task that follows one that has ended. A task that follows one that never started now
    /// follows the one before it.
    fn begin_follower(&mut self, ended: AttemptId) {
        let before = self.tasks.get(&ended).and_then(|task| task.launch.after);
        let mut next = self.tasks.iter_mut().filter(|(_, task)| {
            task.launch.after == Some(ended) && task.started.is_none() && task.end.is_none()
        });
        let Some((&attempt, task)) = next.next() else {
            return;
        };
        task.launch.after = before;
        if !self.is_unfinished(before) {
            self.begin(attempt);
        }
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
        let task = self.tasks.get_mut(&attempt);
        let is_meant = |task: &&mut SimTask| why != KillReason::Withdrawn || task.started.is_none();
        if let Some(task) = task.filter(is_meant) {
            task.request_stop(now, why);
        }
        self.finish_due();
    }

    /// Freezes a task that was not asked to end. Returns whether a frozen task runs.
    pub(super) fn suspend(&mut self, attempt: AttemptId) -> bool {
        let task = self.tasks.get_mut(&attempt);
        let task = task.filter(|task| task.stop_requested.is_none());
        task.is_some_and(|task| {
            task.is_suspended = true;
            task.runs()
        })
    }

    /// Lets a task go on.
    pub(super) fn resume(&mut self, attempt: AttemptId) {
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.is_suspended = false;
        }
    }

    /// Makes a task vanish, so that it is lost.
    pub(super) fn mark_lost(&mut self, attempt: AttemptId) {
        let at = self.now;
        self.finish(attempt, AttemptEvent::Lost { at });
    }

    /// Ends an attempt that runs by a signal from outside.
    pub(super) fn end_by_signal(&mut self, attempt: AttemptId, signal: u8) {
        let Some(task) = self.tasks.get(&attempt) else {
            return;
        };
        let Some(started) = task.started else {
            return;
        };
        let ended = AttemptOutcome {
            status: AttemptStatus::Signalled(signal),
            killed: None,
            at: self.now,
            wall: self.now.since(started),
            cpu: Span::from_secs_f64(task.cpu),
            suspended: task.suspended,
            peak_memory: None,
        };
        self.finish(attempt, AttemptEvent::Ended(ended));
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
        let task = self.tasks.get(&attempt);
        task.is_some_and(|task| task.started.is_some() && task.has_program())
    }

    /// Returns every attempt that was submitted and has not ended.
    pub(super) fn running(&self) -> Vec<RunningAttempt> {
        let running = self.tasks.iter().filter(|(_, task)| task.end.is_none());
        running
            .map(|(&attempt, task)| RunningAttempt {
                attempt,
                started: task.started.map(|at| AttemptStart { pid: None, at }),
                cpu: Span::from_secs_f64(task.cpu),
                is_suspended: task.is_suspended,
                warning: task.launch.limits.warning,
            })
            .collect()
    }

    /// Queues every unacknowledged report again, for a caller that has received none.
    pub(super) fn repeat_reports(&mut self) {
        self.reports.clear();
        for attempt in self.in_order_of_starts() {
            let task = &self.tasks[&attempt];
            let runs = task.started.filter(|_| task.has_program());
            let started = runs.map(|at| AttemptEvent::Started(AttemptStart { pid: None, at }));
            for event in started.into_iter().chain(task.end.clone()) {
                self.reports.push(AttemptReport { attempt, event });
            }
        }
    }

    /// Returns all attempts, each after the one that it follows.
    fn in_order_of_starts(&self) -> Vec<AttemptId> {
        let mut order = Vec::new();
        let mut left: BTreeSet<AttemptId> = self.tasks.keys().copied().collect();
        while let Some(&first) = left.first() {
            let mut chain = Vec::new();
            let mut next = Some(first);
            while let Some(attempt) = next.filter(|attempt| left.remove(attempt)) {
                chain.push(attempt);
                next = self.tasks[&attempt].launch.after;
            }
            order.extend(chain.into_iter().rev());
        }
        order
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
            self.begin_due();
            self.enforce_lease();
            self.finish_due();
        }
        self.advance_progress(until);
        self.enforce_lease();
    }

    /// Returns the next start or end of a task or end of the lease, if no other event comes first.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let running = self.tasks.values().filter(|task| task.end.is_none());
        let stop_requested = |task: &SimTask| task.stop_requested.is_some();
        let free = running.clone().any(|task| !stop_requested(task));
        let lease = self.lease.filter(|_| free).map(|at| at.max(self.now));
        let starts = running.clone().filter_map(SimTask::waits_until);
        running
            .map(|task| self.next_end_of(task))
            .chain(starts)
            .chain(lease)
            .min()
    }

    fn enforce_lease(&mut self) {
        if self.lease.is_none_or(|at| self.now < at) {
            return;
        }
        let now = self.now;
        for task in self.tasks.values_mut().filter(|task| task.end.is_none()) {
            task.request_stop(now, KillReason::Evicted);
        }
        self.finish_due();
    }

    fn next_end_of(&self, task: &SimTask) -> Instant {
        let Some(started) = task.started else {
            let stopped = task.stop_requested.map_or(Instant::MAX, |(at, _)| at);
            return stopped.max(self.now);
        };
        if task.is_suspended {
            return Instant::MAX;
        }
        let left = task.program.duration.as_secs_f64() - task.done;
        let by_itself = self.now + Span::ceil_secs_f64(left / self.rate(task));
        let stopped = task.stop_requested.map(|(at, _)| at + task.grace());
        let limit = task
            .launch
            .limits
            .wall
            .map(|wall| started + wall + task.suspended + task.grace());
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
                other.progresses() && other.program.busy && other.launch.nodes.contains(node)
            });
            task.launch.share / on_node.map(|other| other.launch.share).sum::<f64>()
        };
        task.launch.nodes.iter().map(part).fold(1.0, f64::min)
    }

    fn advance_progress(&mut self, until: Instant) {
        let span = until.since(self.now);
        let secs = span.as_secs_f64();
        if secs <= 0.0 {
            return;
        }
        let rates: Vec<f64> = self.tasks.values().map(|task| self.rate(task)).collect();
        for (task, rate) in self.tasks.values_mut().zip(rates) {
            if task.runs() && task.is_suspended {
                task.suspended += span;
            }
            if task.progresses() {
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
        let Some(started) = task.started else {
            let failure = LaunchFailure::of_job("start", "it was killed before it started");
            let mut ended = AttemptOutcome::not_started(failure, self.now);
            ended.killed = task.stop_requested.map(|(_, why)| why);
            return ended;
        };
        let left = task.program.duration.as_secs_f64() - task.done;
        let by_itself = left <= Span::TICK.as_secs_f64();
        let stop_requested = task
            .stop_requested
            .map_or(KillReason::TimeLimit, |(_, why)| why);
        let signal = if task.program.ignores_sigterm { 9 } else { 15 };
        AttemptOutcome {
            status: match by_itself {
                true => task.program.status.clone(),
                false => AttemptStatus::Signalled(signal),
            },
            killed: (!by_itself).then_some(stop_requested),
            at: self.now,
            wall: self.now.since(started),
            cpu: Span::from_secs_f64(task.cpu),
            suspended: task.suspended,
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
            self.begin_follower(attempt);
        }
    }

    fn report(&mut self, attempt: AttemptId, event: AttemptEvent) {
        self.reports.push(AttemptReport { attempt, event });
    }
}

impl SimTask {
    /// Returns whether the program can be started.
    const fn has_program(&self) -> bool {
        !matches!(self.program.status, AttemptStatus::NotStarted(_))
    }

    /// Returns the time at which a task starts that waits in the queue of a batch system.
    fn waits_until(&self) -> Option<Instant> {
        let waits = self.started.is_none() && self.end.is_none();
        self.begins.filter(|_| waits)
    }

    const fn runs(&self) -> bool {
        self.started.is_some() && self.end.is_none()
    }

    const fn progresses(&self) -> bool {
        self.runs() && !self.is_suspended
    }

    /// Asks the task to end, for the first reason. A suspended task goes on.
    fn request_stop(&mut self, now: Instant, why: KillReason) {
        self.stop_requested.get_or_insert((now, why));
        self.is_suspended = false;
    }

    /// Returns the time that the program continues after it was asked to end.
    fn grace(&self) -> Span {
        if self.program.ignores_sigterm {
            GRACE
        } else {
            Span::ZERO
        }
    }
}

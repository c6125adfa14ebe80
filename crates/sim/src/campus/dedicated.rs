//! Computers without users and reboots, for tasks that failed elsewhere.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tollgate_grid_policies::retry;
use tollgate_model::{Energy, Instant, Power, Span};

use super::tasks::{CampusTask, TaskOutcome};

/// A first-come-first-served queue. A task runs from its beginning, without transfer, until it
/// ends, its user cancels it, or it reaches the time limit.
#[derive(Clone, Debug)]
pub(super) struct DedicatedQueue {
    max_attempt: Span,
    computers: u32,
    queue: VecDeque<u32>,
    /// The running tasks, by end.
    running: BinaryHeap<Reverse<(Instant, u32)>>,
    busy: Span,
    /// Number of tasks started.
    pub(super) started: u32,
}

impl DedicatedQueue {
    pub(super) fn new(settings: retry::DedicatedPool) -> Self {
        Self {
            max_attempt: settings.max_attempt,
            computers: settings.computers,
            queue: VecDeque::new(),
            running: BinaryHeap::new(),
            busy: Span::ZERO,
            started: 0,
        }
    }

    /// Returns the end of the next task to end.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.running.peek().map(|&Reverse((end, _))| end)
    }

    /// Returns the number of computers that are neither taken nor waited for.
    pub(super) fn free(&self) -> u32 {
        let n_needed = self.running.len() + self.queue.len();
        self.computers.saturating_sub(n_needed as u32)
    }

    pub(super) fn push(&mut self, task: u32) {
        self.queue.push_back(task);
    }

    /// Removes and returns a task that ends at `now`, if there is one, and its fate.
    pub(super) fn pop_ended(
        &mut self,
        tasks: &[CampusTask],
        now: Instant,
    ) -> Option<(u32, TaskOutcome)> {
        if self.next_end()? > now {
            return None;
        }
        let Reverse((_, number)) = self.running.pop()?;
        let task = &tasks[number as usize];
        let outcome = if task.removed() <= now {
            TaskOutcome::Removed
        } else if task.runtime() <= self.max_attempt {
            TaskOutcome::Completed
        } else {
            TaskOutcome::Abandoned
        };
        Some((number, outcome))
    }

    /// Starts waiting tasks; returns the tasks that were cancelled before their turn.
    pub(super) fn start(&mut self, tasks: &[CampusTask], now: Instant, end: Instant) -> Vec<u32> {
        let mut removed = Vec::new();
        while self.running.len() < self.computers as usize
            && let Some(number) = self.queue.pop_front()
        {
            let task = &tasks[number as usize];
            if task.removed() <= now {
                removed.push(number);
                continue;
            }
            let until = (now + task.runtime().min(self.max_attempt)).min(task.removed());
            self.busy += until.min(end).since(now);
            self.started += 1;
            self.running.push(Reverse((until, number)));
        }
        removed
    }

    /// Returns the energy drawn from the origin to `end`, and the part of it drawn while tasks ran.
    pub(super) fn energy(&self, power: &Power, end: Instant) -> (Energy, Energy) {
        let all_us = end.as_micros().saturating_mul(self.computers.into());
        let free = Span::from_micros(all_us) - self.busy;
        let attributed = power.active.during(self.busy);
        (attributed + power.asleep.during(free), attributed)
    }
}

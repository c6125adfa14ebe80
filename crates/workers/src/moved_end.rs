//! Ends of workers that move: a batch system gave a pilot another time limit while it ran.
//!
//! A look at the queue of the batch system shows the new end to the service, which passes it on to the
//! worker. The worker takes it on and confirms it; then the gate plans with it. So worker and gate never
//! count on an end that the other one does not know of for longer than a message takes. A worker that
//! connects again offers its own.

use tollgate_engine::Engine;
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::{Instant, Span};
use tollgate_service::ServiceCommand;

use crate::lease::LeaseTimings;
use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

/// The difference below which two ends are the same: batch systems count in seconds.
const SAME: Span = Span::from_secs(1);

fn are_same(one: Instant, other: Instant) -> bool {
    one.since(other).max(other.since(one)) < SAME
}

impl<E: Engine> WorkerPool<E> {
    /// Passes on the end that a batch system has for the connected workers of this name. Workers without a known
    /// end keep to that, because nothing of theirs rests on it. Returns whether another end was passed on.
    pub fn move_end(&mut self, name: &str, until: Instant) -> bool {
        let is_other = |known: Option<Instant>| known.is_some_and(|known| !are_same(known, until));
        let workers = self.workers.iter().filter(|(worker, entry)| {
            let is_there = entry.connection.is_some() && is_other(entry.until);
            is_there
                && self
                    .registry
                    .get(**worker)
                    .is_some_and(|it| it.name == name)
        });
        let workers: Vec<WorkerId> = workers.map(|(&worker, _)| worker).collect();
        for &worker in &workers {
            self.send(worker, ServerMessage::Until(until));
        }
        !workers.is_empty()
    }

    pub(crate) fn on_new_end(&mut self, worker: WorkerId, until: Instant) {
        if let Some(entry) = self.workers.get_mut(&worker) {
            entry.until = Some(until);
            entry.is_end_new = true;
        }
    }

    /// Returns the commands for the hosts that close at another time than the gate counts on.
    pub(crate) fn moved_ends(&mut self, gate: &Gate, clock_ahead: Span) -> Vec<ServiceCommand> {
        let lease = LeaseTimings {
            grace: self.grace_period(),
        };
        let mut commands = Vec::new();
        let new = self
            .workers
            .iter_mut()
            .filter(|(_, entry)| entry.is_end_new);
        for (&worker, entry) in new {
            let closes = entry.until.map(|until| lease.closes(until) + clock_ahead);
            let (Some(closes), Some(live)) = (closes, entry.incarnation) else {
                continue;
            };
            let known = gate.closing_of(worker);
            entry.is_end_new = known.is_none_or(|known| !are_same(known, closes));
            if entry.is_end_new {
                commands.push(ServiceCommand::WorkerCloses {
                    worker,
                    incarnation: live.number,
                    closes,
                });
            }
        }
        commands
    }
}

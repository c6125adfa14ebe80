//! Signals of users to running attempts.

use tollgate_engine::Engine;
use tollgate_model::{AttemptId, WarningSignal};
use tollgate_service::LOCAL_WORKER;

use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

/// The numbers of attempts that a signal reached, and did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalReach {
    /// Number of attempts to which the signal was sent.
    pub sent: u64,
    /// Number of attempts that were not started yet or have just ended, whose worker is not connected, or whose engine
    /// sends no signals.
    pub unreached: u64,
}

impl<E: Engine> WorkerPool<E> {
    /// Sends a signal to attempts and their parts where they run, at most once.
    pub fn signal(&mut self, attempts: &[AttemptId], signal: WarningSignal) -> SignalReach {
        let mut reach = SignalReach::default();
        let runs = |attempt: &&AttemptId| {
            let location = self.locations.get(attempt);
            location.is_some_and(|location| !location.ended)
        };
        let running: Vec<AttemptId> = attempts.iter().filter(runs).copied().collect();
        reach.unreached += (attempts.len() - running.len()) as u64;
        let all = self.with_parts(&running);
        for (worker, here) in self.partition_by_worker(&all, |attempt| *attempt) {
            // Parts are not counted: they belong to attempts.
            let whole = here.iter().filter(|attempt| running.contains(attempt));
            let n_attempts = whole.count() as u64;
            let is_sent = match worker {
                LOCAL_WORKER => self.local.signal(&here, signal).is_ok(),
                _ if self.is_connected(worker) => {
                    self.send(worker, ServerMessage::Signal(here, signal));
                    true
                }
                _ => false,
            };
            match is_sent {
                true => reach.sent += n_attempts,
                false => reach.unreached += n_attempts,
            }
        }
        reach
    }
}

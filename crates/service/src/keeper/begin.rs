//! How a service takes up where the last one left off.

use std::io;

use tollgate_engine::{Engine, EngineError};
use tollgate_gate::WorkerId;

use super::commit::Programs;
use super::owner::Keeper;
use crate::core::{AttemptKey, Command, Order};
use crate::engine_words;
use crate::store::StoreError;

/// The engine of this machine, as the gate knows it.
const LOCAL: WorkerId = WorkerId(0);

/// Why the keeper cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is no thread to be had.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
}

impl<E: Engine> Keeper<E> {
    /// Brings gate and engine together: the machine's nodes are offered, what is to run and the
    /// engine does not know is handed in again, and what it runs and nobody wants is ended.
    ///
    /// # Errors
    /// If the engine cannot be asked, or the store cannot be written.
    pub fn begin(&mut self) -> Result<(), StartError> {
        let nodes = self.engine.capacity()?.nodes;
        let known = self.core.gate().worker(LOCAL);
        let mut commands = Vec::new();
        if let Some(life) = known.filter(|life| life.up && life.nodes.len != nodes) {
            let epoch = life.epoch;
            commands.push(Command::WorkerGone {
                worker: LOCAL,
                epoch,
            });
        }
        if known.is_none_or(|life| !life.up || life.nodes.len != nodes) {
            commands.push(Command::WorkerUp {
                worker: LOCAL,
                epoch: known.map_or(1, |life| life.epoch + 1),
                nodes,
            });
        }
        if !commands.is_empty() {
            let step = self.commit(&commands, Programs::new())?;
            self.orders.extend(step.orders);
        }
        self.full = !self.store.keep_reserve();
        self.reconcile()?;
        Ok(())
    }

    fn reconcile(&mut self) -> Result<(), EngineError> {
        let wanted = self.core.running();
        let is_wanted = |attempt: AttemptKey| {
            wanted.iter().any(|order| match order {
                Order::Start { attempt: key, .. } => *key == attempt,
                Order::SetShare { .. } | Order::Kill { .. } => false,
            })
        };
        let running = self.engine.running()?.into_iter();
        let known: Vec<_> = running
            .map(|running| engine_words::key_of(running.attempt))
            .collect();
        let strays: Vec<Order> = known
            .iter()
            .filter(|&&attempt| !is_wanted(attempt))
            .map(|&attempt| Order::Kill { attempt })
            .collect();
        // What runs goes on, also if its user has no account any more.
        let missing = wanted.into_iter().filter(|order| match order {
            Order::Start { attempt, .. } => !known.contains(attempt),
            Order::SetShare { .. } | Order::Kill { .. } => true,
        });
        self.orders.extend(missing);
        self.orders.extend(strays);
        self.carry_out();
        Ok(())
    }
}

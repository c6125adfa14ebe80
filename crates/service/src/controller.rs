//! The one thread that owns the gate, the store and the engine.
//!
//! Whatever has come in meanwhile is handled in one step; what follows from it is committed in
//! one transaction; and only then is anybody answered and anything started. If the commit fails,
//! what was decided is forgotten, and the state is recovered from the store.

mod commit;
mod deadline;
mod dispatch;
mod logging;
mod query;
mod queue;
mod quota;
mod request;
mod response;
mod startup;
mod state;
mod storage_quota;
mod tick;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tollgate_engine::Engine;
use tollgate_model::Instant;

use queue::RequestQueue;
pub use request::{
    ClusterInfo, ControllerRequest, RequestError, Responder, StatusSnapshot, SubmittedJob,
    TaskOutlook,
};
pub use startup::StartError;
pub use state::{Controller, WallClock};

/// How long to sleep at most although nothing is due: clocks can be set.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// A way to ask the keeper. Clones ask the same one.
#[derive(Clone, Debug)]
pub struct ControllerHandle(Sender<ControllerRequest>);

impl ControllerHandle {
    /// A door with nobody behind it: what is asked comes out of the other end.
    #[cfg(test)]
    pub(crate) fn detached() -> (Self, Receiver<ControllerRequest>) {
        let (sender, asks) = channel();
        (Self(sender), asks)
    }

    /// Puts something before the keeper; it is answered through what is in it. Nothing happens if
    /// the keeper has stopped: then the answer never comes, and waiting for it ends.
    pub fn send(&self, ask: ControllerRequest) {
        let _ = self.0.send(ask);
    }
}

/// Starts the thread.
///
/// # Errors
/// If the engine cannot be asked what there is, or the store cannot be written.
pub fn start<E: Engine + 'static>(
    mut keeper: Controller<E>,
) -> Result<(ControllerHandle, JoinHandle<()>), StartError> {
    let (sender, asks) = channel();
    let wake = sender.clone();
    keeper.on_report(Arc::new(move || {
        let _ = wake.send(ControllerRequest::EngineReady);
    }));
    keeper.reconcile()?;
    let thread = std::thread::Builder::new()
        .name("keeper".to_owned())
        .spawn(move || run(keeper, &asks))
        .map_err(StartError::Thread)?;
    Ok((ControllerHandle(sender), thread))
}

fn run<E: Engine>(mut keeper: Controller<E>, asks: &Receiver<ControllerRequest>) {
    let mut queue = RequestQueue::default();
    loop {
        if queue.is_empty() {
            match asks.recv_timeout(idle_time(&mut keeper)) {
                Ok(ask) => queue.add(ask),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        for ask in asks.try_iter() {
            queue.add(ask);
        }
        let asked = queue.next_batch();
        let stop = asked
            .iter()
            .any(|ask| matches!(ask, ControllerRequest::Stop));
        keeper.tick(asked);
        if stop {
            keeper.write_snapshot();
            return;
        }
    }
}

fn idle_time<E: Engine>(keeper: &mut Controller<E>) -> Duration {
    let now = keeper.now();
    let until = keeper.next_wake().map(|at: Instant| at.since(now));
    let until = until.map(|span| {
        // A wake is rounded up: to be early would be to spin.
        let micros = u64::try_from(span.as_micros()).unwrap_or(0);
        Duration::from_micros(micros)
    });
    let workers = keeper.max_idle();
    until
        .into_iter()
        .chain(workers)
        .fold(MAX_SLEEP, Duration::min)
}

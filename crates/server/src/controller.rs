//! The controller: the one thread that owns the gate, the store and the engine.
//!
//! One turn handles all requests that came in since the last one, and commits their consequences in
//! one transaction. Only then are requests answered and attempts started. If the commit fails, the
//! turn's decisions are dropped and the state is recovered from the store.

mod class_changes;
mod clock;
mod commit;
mod dispatch;
mod eviction_counts;
mod host_events;
mod hosts;
mod isolation;
mod keys;
mod logging;
mod outputs;
mod parts;
mod prune;
mod query;
mod queue;
mod quota;
mod request;
mod request_error;
mod requested_times;
mod resources;
mod response;
mod samples;
mod signals;
mod snapshots;
mod startup;
mod state;
mod steps;
mod storage_quota;
mod tick;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

pub use class_changes::ClassChangeCounts;
pub use clock::HostClock;
pub use eviction_counts::EvictionCounts;
pub use keys::{AnswerRenderer, KeyedRequest};
pub use outputs::OutputLookup;
use queue::RequestQueue;
pub use request::{ControllerRequest, NewJob, Responder, SubmittedJob};
pub use request_error::RequestError;
pub use requested_times::{RequestedBegin, RequestedTimes};
pub use snapshots::{
    ClusterInfo, DesktopCounts, NamedHost, ResourceUse, StatusSnapshot, TaskOutlook, WaitFacts,
};
pub use startup::StartError;
pub use state::Controller;
use tollgate_engine::Engine;
use tollgate_model::Instant;

/// Maximum sleep although nothing is due: clocks can be set.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// A handle that sends requests to the controller. Clones share the controller.
#[derive(Clone, Debug)]
pub struct ControllerHandle(Sender<ControllerRequest>);

impl ControllerHandle {
    /// Creates a handle without a controller. Its requests come out of the returned receiver.
    #[cfg(test)]
    pub(crate) fn detached() -> (Self, Receiver<ControllerRequest>) {
        let (sender, requests) = channel();
        (Self(sender), requests)
    }

    /// Sends a request, which contains the channel for its answer. If the controller has stopped,
    /// the request is dropped and so its channel is closed.
    pub fn send(&self, request: ControllerRequest) {
        let _ = self.0.send(request);
    }
}

/// Starts the controller's thread.
///
/// # Errors
/// If the engine cannot report its capacity, or the store cannot be written.
pub fn start<E: Engine + 'static>(
    mut controller: Controller<E>,
) -> Result<(ControllerHandle, JoinHandle<()>), StartError> {
    let (sender, requests) = channel();
    let wake = sender.clone();
    controller.on_report(Arc::new(move || {
        let _ = wake.send(ControllerRequest::EngineReady);
    }));
    controller.reconcile()?;
    let thread = std::thread::Builder::new()
        .name("controller".to_owned())
        .spawn(move || run(controller, &requests))
        .map_err(StartError::Thread)?;
    Ok((ControllerHandle(sender), thread))
}

fn run<E: Engine>(mut controller: Controller<E>, requests: &Receiver<ControllerRequest>) {
    let mut queue = RequestQueue::default();
    loop {
        if queue.is_empty() {
            match requests.recv_timeout(idle_time(&mut controller)) {
                Ok(request) => queue.add(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        for request in requests.try_iter() {
            queue.add(request);
        }
        let batch = queue.next_batch();
        let stop = batch
            .iter()
            .any(|request| matches!(request, ControllerRequest::Stop));
        controller.tick(batch);
        if stop {
            controller.write_snapshot();
            return;
        }
    }
}

fn idle_time<E: Engine>(controller: &mut Controller<E>) -> Duration {
    let now = controller.now();
    let until = controller.next_wake().map(|at: Instant| at.since(now));
    let until = until.map(|span| {
        // The wait is rounded up, as waking early would mean spinning.
        let micros = u64::try_from(span.as_micros()).unwrap_or(0);
        Duration::from_micros(micros)
    });
    let workers = controller.max_idle();
    until
        .into_iter()
        .chain(workers)
        .fold(MAX_SLEEP, Duration::min)
}

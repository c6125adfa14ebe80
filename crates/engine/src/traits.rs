//! The trait that every engine implements.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    AttemptKey, AttemptReport, BootTime, EngineCapacity, EngineError, KillReason, LaunchSpec,
    RunningAttempt,
};

/// Called when there may be something to [`Engine::poll`], from any thread. Must not block.
pub type WakeCallback = Arc<dyn Fn() + Send + Sync>;

/// Something that starts tasks, ends them and says what became of them.
///
/// What every engine owes its caller, checked by [`crate::conformance`]:
///
/// - **An attempt is started at most once**, however often it is handed in: [`Engine::start`] may
///   be repeated after a crash or a time-out. An attempt that the engine knows already is left
///   as it is, and what became of it is reported as if it had been handed in once.
/// - **An attempt has one end**: exactly one of [`crate::AttemptEvent::AttemptOutcome`] and [`crate::AttemptEvent::Lost`]
///   is true of it in the end. Reports are delivered at least once: the same one may come again, and
///   one that was not acknowledged comes again from the engine that is opened next.
/// - **Every call has a time-out** and comes back with a typed error that says whether trying again
///   can help. After an error the caller knows nothing about what was done, and may repeat the call.
///
/// Calls that name attempts which are over or unknown are no error: what they ask for is so.
pub trait Engine: Send {
    /// What there is to run on, and what is enforced there.
    ///
    /// # Errors
    /// If the engine cannot be asked.
    fn capacity(&mut self) -> Result<EngineCapacity, EngineError>;

    /// Hands in attempts. When this returns they are on the engine's record: each will be
    /// reported as started and ended, or as lost, also if caller and engine crash.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] if a launch could be started by no engine; then none of the batch
    /// is. Otherwise if the engine cannot be asked, or has no room for its record.
    fn start(&mut self, launches: &[LaunchSpec]) -> Result<(), EngineError>;

    /// Sets how running attempts share their nodes: the numbers are weights, positive and finite,
    /// and only the ratio between attempts on the same node counts.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] if a weight is not positive and finite; otherwise if the engine
    /// cannot be asked.
    fn set_shares(&mut self, shares: &[(AttemptKey, f64)]) -> Result<(), EngineError>;

    /// Ends attempts: asks their processes to end, and a moment later makes them. The end is
    /// reported like any other, with `why` in it, unless it came first.
    ///
    /// # Errors
    /// If the engine cannot be asked.
    fn kill(&mut self, attempts: &[AttemptKey], why: KillReason) -> Result<(), EngineError>;

    /// What happened since the last call, oldest first; waits at most `timeout` for something to
    /// happen, and returns nothing if nothing did. An attempt's start comes before its end.
    ///
    /// # Errors
    /// If the engine cannot be asked.
    fn poll(&mut self, timeout: Duration) -> Result<Vec<AttemptReport>, EngineError>;

    /// Says that the ends of these attempts are safe with the caller: the engine may forget them.
    /// The caller never hands such an attempt in again.
    ///
    /// # Errors
    /// If the engine cannot be asked.
    fn acknowledge(&mut self, attempts: &[AttemptKey]) -> Result<(), EngineError>;

    /// Lets what runs go on until `until`, a moment by the clock of the engine's host, if the engine was
    /// opened with a lease; without one this does nothing. Once that moment has passed the engine ends what
    /// runs with [`KillReason::Evicted`], and starts nothing until the lease is renewed.
    ///
    /// # Errors
    /// If the engine cannot be asked, or cannot keep the moment; then the lease ends when it did before.
    fn renew_lease(&mut self, until: BootTime) -> Result<(), EngineError>;

    /// Every attempt that was handed in and has not ended, in ascending order. After a restart of
    /// the caller: what is found again.
    ///
    /// # Errors
    /// If the engine cannot be asked.
    fn running(&mut self) -> Result<Vec<RunningAttempt>, EngineError>;

    /// Has `wake` called whenever there may be something to poll, so that a caller with other
    /// things to wait for need not wait in [`Engine::poll`]. Replaces the previous one.
    fn on_report(&mut self, wake: WakeCallback);
}

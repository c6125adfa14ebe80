//! The trait that every engine implements.

use std::sync::Arc;
use std::time::Duration;

use tollgate_model::{AttemptId, AttemptReport, KillReason, WarningSignal};

use crate::{
    BootTime, EngineCapacity, EngineError, HostLoad, LaunchSpec, OutputAnswer, OutputRead,
    RunningAttempt, SuspendedAttempt,
};

/// A callback for new reports to [`Engine::poll`], called from any thread. It must not block.
pub type WakeCallback = Arc<dyn Fn() + Send + Sync>;

/// A mechanism that starts tasks, ends them and reports their ends.
///
/// The guarantees of every engine, checked by [`crate::conformance`]:
///
/// - **An attempt is started at most once**, however often it is submitted: [`Engine::start`] may
///   be repeated after a crash or a time-out. A repeated launch leaves a known attempt unchanged,
///   and the attempt is reported as if it had been submitted once.
/// - **An attempt has one end**: finally exactly one of [`tollgate_model::AttemptEvent::Ended`] and
///   [`tollgate_model::AttemptEvent::Lost`] is true of it. Reports are delivered at least once: the same
///   report may come again, and an unacknowledged report comes again from the engine that is opened
///   next.
/// - **Every call has a time-out** and returns a typed error that says whether a retry can help.
///   After an error the caller does not know how much was done, and may repeat the call.
///
/// Calls that name finished or unknown attempts are not an error: the requested state holds
/// already.
pub trait Engine: Send {
    /// Returns the resources of the engine and the limits that it enforces.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn capacity(&mut self) -> Result<EngineCapacity, EngineError>;

    /// Submits attempts. When this call returns, the engine has recorded them: each will be
    /// reported as started and ended, or as lost, even if caller and engine crash. An attempt that
    /// follows another one ([`LaunchSpec::after`]) starts once that one has ended, without another call;
    /// its reports come after the end of that one.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] if no engine could start one of the launches; then no launch of the
    /// batch is submitted. Otherwise an error if the engine cannot be reached, or has no disk space
    /// for its record.
    fn start(&mut self, launches: &[LaunchSpec]) -> Result<(), EngineError>;

    /// Sets the shares of running attempts. The numbers are weights, positive and finite, and only
    /// the ratio between attempts on the same node counts.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] if a weight is not positive and finite; otherwise an error if the
    /// engine cannot be reached.
    fn set_shares(&mut self, shares: &[(AttemptId, f64)]) -> Result<(), EngineError>;

    /// Ends attempts: asks their processes to end, and kills them after the grace period. The end
    /// is reported like any other, with `why` in it, unless the attempt has ended before. With
    /// [`KillReason::Withdrawn`] only attempts end that follow another one and have not started; the end of
    /// the other one may be reported before or after theirs.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn kill(&mut self, attempts: &[AttemptId], why: KillReason) -> Result<(), EngineError>;

    /// Sends a signal to the processes of attempts whose programs run, once, as far as the engine knows. An attempt
    /// that does not run, or was asked to end, gets none.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if the engine sends no signals; otherwise an error if the engine cannot be
    /// reached. After an error it is unknown which attempts got the signal.
    fn signal(&mut self, attempts: &[AttemptId], signal: WarningSignal) -> Result<(), EngineError>;

    /// Suspends attempts: freezes all their processes, which keep their memory, files and locks. A suspended attempt
    /// is still a running one, and its time limit stands still. The call returns once the processes are frozen, or
    /// after a moment if one of them is in a system call that cannot be interrupted, and stops when it returns.
    /// An attempt that has not started is suspended at its start. [`Engine::kill`] also ends suspended attempts.
    /// Returns those of the attempts that run and are suspended.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if the engine cannot suspend; otherwise an error if the engine cannot be
    /// reached. After an error it is unknown which attempts are suspended.
    fn suspend(&mut self, attempts: &[AttemptId]) -> Result<Vec<SuspendedAttempt>, EngineError>;

    /// Resumes suspended attempts. An attempt that is not suspended goes on.
    ///
    /// # Errors
    /// As those of [`Engine::suspend`].
    fn resume(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError>;

    /// Returns the reports since the last call, oldest first. Waits at most `timeout` for a report;
    /// the result is empty if none arrives. An attempt's start comes before its end.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn poll(&mut self, timeout: Duration) -> Result<Vec<AttemptReport>, EngineError>;

    /// Acknowledges the ends of these attempts: the caller has stored them, and the engine may
    /// forget them. The caller never submits such an attempt again.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn acknowledge(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError>;

    /// Renews the lease: running attempts may continue until `until`, by the clock of the engine's
    /// host. Does nothing if the engine was opened without a lease. Once `until` has passed, the
    /// engine ends the running attempts with [`KillReason::Evicted`], and starts none until the
    /// lease is renewed.
    ///
    /// # Errors
    /// If the engine cannot be reached, or cannot store the time; then the end of the lease does
    /// not change.
    fn renew_lease(&mut self, until: BootTime) -> Result<(), EngineError>;

    /// Returns every attempt that was submitted and has not ended, in ascending order. A restarted
    /// caller finds its attempts by this call.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn running(&mut self) -> Result<Vec<RunningAttempt>, EngineError>;

    /// Returns the load of the engine's host; None if the engine does not measure it, as by default.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn host_load(&mut self) -> Result<Option<HostLoad>, EngineError> {
        Ok(None)
    }

    /// Asks for some of the outputs of attempts that were started and whose ends are not acknowledged.
    /// Each output is read as the user of its attempt, so that a user gets nothing that the user
    /// cannot read. The answers come from [`Engine::take_outputs`]; a request that was
    /// made when the connection to the engine breaks may stay without an answer.
    ///
    /// # Errors
    /// If the engine cannot be reached.
    fn request_outputs(&mut self, reads: &[OutputRead]) -> Result<(), EngineError>;

    /// Returns the answers that have arrived since the last call.
    fn take_outputs(&mut self) -> Vec<OutputAnswer>;

    /// Sets `wake` as the callback for new reports and outputs, so that a caller with other events to wait for
    /// need not block in [`Engine::poll`]. Replaces the previous callback.
    fn on_report(&mut self, wake: WakeCallback);
}

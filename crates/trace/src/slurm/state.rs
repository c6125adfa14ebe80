//! The states of Slurm's jobs: `sacct(1)`, "JOB STATE CODES".

use crate::diagnostics::Finding;
use crate::usage::TraceStatus;

/// States that are not final.
const NOT_FINAL: [&[u8]; 9] = [
    b"COMPLETING",
    b"CONFIGURING",
    b"PENDING",
    b"REQUEUED",
    b"RESIZING",
    b"RUNNING",
    b"STAGE_OUT",
    b"STOPPED",
    b"SUSPENDED",
];

/// Returns the final status of a job in `state`, which may be followed by the user who cancelled
/// it.
///
/// # Errors
/// If it has not ended yet, or the state is not known.
pub(super) fn end_status(state: &[u8]) -> Result<TraceStatus, Finding> {
    let word = state.split(|&byte| byte == b' ').next();
    match word.unwrap_or_default() {
        b"COMPLETED" => Ok(TraceStatus::Completed),
        b"FAILED" => Ok(TraceStatus::Failed),
        b"CANCELLED" | b"REVOKED" => Ok(TraceStatus::Cancelled),
        b"TIMEOUT" | b"DEADLINE" => Ok(TraceStatus::TimedOut),
        b"OUT_OF_MEMORY" => Ok(TraceStatus::OutOfMemory),
        b"BOOT_FAIL" | b"LAUNCH_FAILED" | b"NODE_FAIL" => Ok(TraceStatus::NodeFailed),
        b"PREEMPTED" => Ok(TraceStatus::Preempted),
        word if NOT_FINAL.contains(&word) => Err(Finding::NotEnded),
        _ => Err(Finding::UnknownState),
    }
}

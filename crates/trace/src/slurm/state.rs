//! The states of Slurm's jobs: `sacct(1)`, "JOB STATE CODES".

use crate::diagnostics::{Finding, RecordField};
use crate::usage::TraceStatus;

/// States that are not final.
const NOT_FINAL: [&[u8]; 18] = [
    b"COMPLETING",
    b"CONFIGURING",
    b"PENDING",
    b"POWER_UP_NODE",
    b"RECONFIG_FAIL",
    b"REQUEUED",
    b"REQUEUE_FED",
    b"REQUEUE_HOLD",
    b"RESIZING",
    b"RESV_DEL_HOLD",
    b"RUNNING",
    b"SIGNALING",
    b"SPECIAL_EXIT",
    b"STAGE_OUT",
    b"STOPPED",
    b"SUSPENDED",
    b"UPDATE_DB",
    b"EXPEDITING",
];

/// Returns the final status of a job in `state`, which may be followed by the user who cancelled
/// it, or by a plus if it was cut.
///
/// # Errors
/// If it has not ended yet, or the state is not known.
pub(super) fn end_status(state: &[u8]) -> Result<TraceStatus, Finding> {
    let mut words = state.split(|byte| b" +".contains(byte));
    match words.next().unwrap_or_default() {
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

/// Returns the status of a job: a state that is not known is no reason to leave out a job that has an
/// end.
///
/// # Errors
/// If the job has not ended yet, or its state is not known and neither is its end.
pub(super) fn status_of_ended(
    state: &[u8],
    has_end: bool,
    notes: &mut Vec<Finding>,
) -> Result<TraceStatus, Finding> {
    match end_status(state) {
        Err(Finding::UnknownState) if has_end => {
            notes.push(Finding::Unusable(RecordField::Status));
            Ok(TraceStatus::Unknown)
        }
        status => status,
    }
}

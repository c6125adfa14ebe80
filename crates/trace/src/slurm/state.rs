//! The states of Slurm's jobs: `sacct(1)`, "JOB STATE CODES".

use crate::finding::Finding;
use crate::record_field::RecordField;
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

/// States that are final.
const FINAL: [(&[u8], TraceStatus); 11] = [
    (b"BOOT_FAIL", TraceStatus::NodeFailed),
    (b"CANCELLED", TraceStatus::Cancelled),
    (b"COMPLETED", TraceStatus::Completed),
    (b"DEADLINE", TraceStatus::TimedOut),
    (b"FAILED", TraceStatus::Failed),
    (b"LAUNCH_FAILED", TraceStatus::NodeFailed),
    (b"NODE_FAIL", TraceStatus::NodeFailed),
    (b"OUT_OF_MEMORY", TraceStatus::OutOfMemory),
    (b"PREEMPTED", TraceStatus::Preempted),
    (b"REVOKED", TraceStatus::Cancelled),
    (b"TIMEOUT", TraceStatus::TimedOut),
];

/// Returns the final status of a job in `state`. It may be followed by the user who cancelled the job, or by
/// a plus if it was cut at the width of its column (`OUT_OF_ME+`).
///
/// # Errors
/// If it has not ended yet, or the state is not known, or was cut so that it may be several.
pub(super) fn end_status(state: &[u8]) -> Result<TraceStatus, Finding> {
    let end = state.iter().position(|byte| b" +".contains(byte));
    let (word, rest) = state.split_at(end.unwrap_or(state.len()));
    let is_cut = rest.starts_with(b"+");
    let is_state = |known: &[u8]| known == word || (is_cut && known.starts_with(word));
    let ended = FINAL.iter().filter(|(known, _)| is_state(known));
    let ended = ended.map(|&(_, status)| Ok(status));
    let going_on = NOT_FINAL.iter().filter(|known| is_state(known));
    let mut meanings = ended.chain(going_on.map(|_| Err(Finding::NotEnded)));
    let first = meanings.next().ok_or(Finding::UnknownState)?;
    match meanings.all(|meaning| meaning == first) {
        true => first,
        false => Err(Finding::UnknownState),
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

//! The states of jobs at an engine.

use tollgate_model::Instant;

use crate::{BatchJobId, BatchJobName};

/// A job as its engine reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchJobReport {
    /// The id of the job.
    pub id: BatchJobId,
    /// The name of the job. Jobs of the same user that tollgate did not submit have other names.
    pub name: String,
    /// Where the job is.
    pub phase: BatchJobPhase,
    /// The instant of the submission. None if the engine does not say.
    pub submitted: Option<Instant>,
    /// The instant of the start. None for a job that never started, or if the engine does not say.
    pub started: Option<Instant>,
    /// The start that the engine expects of a job that waits. None if it does not say.
    pub expected_start: Option<Instant>,
    /// The end: of a job that is over its real end, of a running job the end of its time limit.
    /// None if the engine does not say.
    pub ends: Option<Instant>,
    /// The engine's words for why the job waits, is stuck or ended as it did. Empty if it gives
    /// none.
    pub reason: String,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BatchJobPhase {
    /// The job is in the queue.
    Waits,
    /// The job has started and has not ended.
    Runs,
    /// The job is in the queue, and the engine will not run it again by itself: Grid Engine's
    /// error state, HTCondor's hold. It must be cancelled.
    Stuck,
    /// The job has ended.
    Over,
}

/// A limit of an engine by which a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchLimit {
    /// The time limit of the job.
    Time,
    /// The memory of the job.
    Memory,
}

/// Words of engines for the limit by which a job ended. They are the reason of the job (Slurm), the reason
/// why it is held (HTCondor), or the code in the records (Grid Engine).
const LIMIT_WORDS: [(&str, BatchLimit); 7] = [
    ("TimeLimit", BatchLimit::Time),
    ("TIMEOUT", BatchLimit::Time),
    ("OUT_OF_MEMORY", BatchLimit::Memory),
    ("allowed execute duration", BatchLimit::Time),
    ("enforced h_rt", BatchLimit::Time),
    ("OutOfMemory", BatchLimit::Memory),
    ("memory usage exceeded", BatchLimit::Memory),
];

/// Words of engines for the end of a job before its time. Slurm has the states of a job that was preempted, whose node
/// failed or did not boot. Grid Engine has the codes in its records of a job that was rescheduled or migrated. HTCondor has
/// none: a job that its machine gave up is back in the queue.
const EARLY_ENDS: [&str; 5] = [
    "PREEMPTED",
    "NODE_FAIL",
    "BOOT_FAIL",
    "rescheduling",
    "migrating",
];

/// Returns whether an engine's reason says that it ended a job that ran before the time of the job was over, for reasons
/// of its own.
pub fn is_early_end(reason: &str) -> bool {
    EARLY_ENDS.iter().any(|word| reason.contains(word))
}

impl BatchJobReport {
    /// Returns the limit by which the job ended. None if it ended otherwise, or the engine does not say.
    pub fn limit(&self) -> Option<BatchLimit> {
        let has = |words: &str| self.reason.contains(words);
        let found = LIMIT_WORDS.iter().find(|(words, _)| has(words));
        found.map(|&(_, limit)| limit)
    }

    /// Returns whether the job has this name.
    pub fn is_named(&self, name: &BatchJobName) -> bool {
        self.name == name.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_another_kind_is_no_early_end() {
        for reason in ["PREEMPTED", "NODE_FAIL (NodeDown)", "25 : rescheduling"] {
            assert!(is_early_end(reason), "{reason}");
        }
        for reason in [
            "",
            "TIMEOUT",
            "CANCELLED by 1000",
            "OUT_OF_MEMORY",
            "37 : qmaster enforced h_rt",
        ] {
            assert!(!is_early_end(reason), "{reason}");
        }
    }
}

//! The usage of a job in its record, beyond its run time.

use std::fmt;

use strum::{IntoStaticStr, VariantArray};
use tollgate_model::{Bytes, Span};

/// The usage of a job; each part may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceUsage {
    /// Time from submission to the start. Not negative.
    pub wait: Option<Span>,
    /// Time from submission until the job could start as far as it and its user go: it was held, waited for other jobs or for
    /// its begin time. Not negative, and at most the wait. None if the format does not record it.
    pub held: Option<Span>,
    /// Processor time, of all processors together. Not negative.
    pub cpu_time: Option<Span>,
    /// Peak memory of the whole job, as far as the format records it.
    pub peak_memory: Option<Bytes>,
    /// Requested memory of the whole job.
    pub requested_memory: Option<Bytes>,
    /// Final status.
    pub status: TraceStatus,
}

/// The final status of a job, as its batch system reports it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum TraceStatus {
    /// The record has no status.
    #[default]
    Unknown,
    /// Ended by itself, with success.
    Completed,
    /// Ended by itself without success, or killed for an unknown reason.
    Failed,
    /// Cancelled by its user, or an administrator, before or while it ran.
    Cancelled,
    /// Killed at the limit on its run time, or at its deadline.
    TimedOut,
    /// Killed for lack of memory.
    OutOfMemory,
    /// A node that it ran on failed.
    NodeFailed,
    /// Evicted for another job.
    Preempted,
}

impl TraceStatus {
    /// Every status.
    pub const ALL: [Self; 8] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the status as it is written in tables and machine-readable output.
    pub fn key(self) -> &'static str {
        self.into()
    }

    /// Returns the status with the keyword `word`.
    pub fn from_key(word: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|status| status.key().as_bytes() == word)
    }
}

impl TraceStatus {
    /// Returns the status that a person or another program means by `words`: upper or lower case, with
    /// blanks or dashes, or the name of Slurm.
    pub(crate) fn of_words(words: &[u8]) -> Option<Self> {
        let key = words.to_ascii_lowercase();
        let key: Vec<u8> = key
            .into_iter()
            .map(|byte| if b" -".contains(&byte) { b'_' } else { byte })
            .collect();
        match key.as_slice() {
            b"timeout" => Some(Self::TimedOut),
            b"canceled" => Some(Self::Cancelled),
            b"node_fail" => Some(Self::NodeFailed),
            key => Self::from_key(key),
        }
    }
}

impl fmt::Display for TraceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_keys_are_unique() {
        for status in TraceStatus::ALL {
            assert_eq!(TraceStatus::from_key(status.key().as_bytes()), Some(status));
        }
        assert_eq!(TraceStatus::from_key(b"finished"), None);
        for words in ["OUT_OF_MEMORY", "Out of memory", "out-of-memory"] {
            let status = TraceStatus::of_words(words.as_bytes());
            assert_eq!(status, Some(TraceStatus::OutOfMemory));
        }
        assert_eq!(
            TraceStatus::of_words(b"TIMEOUT"),
            Some(TraceStatus::TimedOut)
        );
    }

    #[test]
    fn usage_size_is_bounded() {
        assert!(size_of::<TraceUsage>() <= 88);
    }
}

//! What a record says of how a job went, beyond its run time.

use std::fmt;

use tollgate_model::{Bytes, Span};

/// How a job went; each part may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceUsage {
    /// From submission to the start. Not negative.
    pub wait: Option<Span>,
    /// Processor time, of all processors together. Not negative.
    pub cpu_time: Option<Span>,
    /// The most memory that the whole job had at a time, as far as the format tells.
    pub peak_memory: Option<Bytes>,
    /// The memory that was asked for, for the whole job.
    pub requested_memory: Option<Bytes>,
    /// How it ended.
    pub status: TraceStatus,
}

impl TraceUsage {
    /// Adds what a part of the job tells: the job's own record counts first, and the peak of the
    /// job is at least that of each part.
    pub(crate) fn merge_part(&mut self, part: Self) {
        self.cpu_time = self.cpu_time.or(part.cpu_time);
        self.peak_memory = self.peak_memory.max(part.peak_memory);
    }
}

/// How a job ended, as its batch system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceStatus {
    /// The record does not say.
    #[default]
    Unknown,
    /// By itself, with success.
    Completed,
    /// By itself without success, or killed for a reason that is not told.
    Failed,
    /// Its user, or an administrator, took it back before or while it ran.
    Cancelled,
    /// Killed at the limit on its run time, or at its deadline.
    TimedOut,
    /// Killed for lack of memory.
    OutOfMemory,
    /// A node that it ran on failed.
    NodeFailed,
    /// It had to make room for another job.
    Preempted,
}

impl TraceStatus {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Unknown,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::NodeFailed,
        Self::Preempted,
    ];

    /// The status as it stands in tables and machine-readable output.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::OutOfMemory => "out_of_memory",
            Self::NodeFailed => "node_failed",
            Self::Preempted => "preempted",
        }
    }

    /// The status that `word` stands for.
    pub fn from_key(word: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|status| status.key().as_bytes() == word)
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
    fn every_status_has_a_word_of_its_own() {
        for status in TraceStatus::ALL {
            assert_eq!(TraceStatus::from_key(status.key().as_bytes()), Some(status));
        }
        assert_eq!(TraceStatus::from_key(b"finished"), None);
    }

    #[test]
    fn a_million_jobs_stay_small() {
        assert!(size_of::<TraceUsage>() <= 72);
    }
}

//! The attempts at running each job, where a format records more than the last attempt.

use tollgate_model::{Instant, Span};

/// An attempt: a stretch for which a job ran on one computer without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceAttempt {
    /// Start of the attempt, on the trace's own clock.
    pub start: Instant,
    /// End of the attempt; not before the start.
    pub end: Instant,
    /// Reason of the end.
    pub ended: TraceAttemptEnd,
}

impl TraceAttempt {
    /// Returns the duration of the attempt.
    pub const fn span(&self) -> Span {
        self.end.since(self.start)
    }
}

/// Why an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceAttemptEnd {
    /// The job finished, with or without success.
    Finished,
    /// The job was suspended in place; if another attempt follows, it continues from there.
    Suspended,
    /// The job was evicted from its computer and lost its work.
    Evicted,
    /// The job saved its work and was stopped; it continues from there, on this or another
    /// computer.
    Checkpointed,
    /// The connection to the computer, or the process that supervised the job there, failed.
    Lost,
    /// The job was put on hold, which takes it off its computer.
    Held,
    /// The job was cancelled.
    Removed,
}

impl TraceAttemptEnd {
    /// Returns whether the work done in the attempt still counts.
    pub const fn keeps_work(self) -> bool {
        match self {
            Self::Finished | Self::Suspended | Self::Checkpointed => true,
            Self::Evicted | Self::Lost | Self::Held | Self::Removed => false,
        }
    }
}

/// The attempts of every job, in order of time; one row per job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptColumn {
    attempts: Vec<TraceAttempt>,
    /// Index of the end of each job's attempts.
    ends: Vec<usize>,
}

impl AttemptColumn {
    /// Returns the attempts of the job in `row`; empty if the job never ran or nothing is known.
    pub fn of(&self, row: usize) -> &[TraceAttempt] {
        let Some(&end) = self.ends.get(row) else {
            return &[];
        };
        &self.attempts[self.start(row)..end]
    }

    /// Returns the number of jobs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends the attempts of the next job.
    pub(crate) fn push(&mut self, attempts: &[TraceAttempt]) {
        self.attempts.extend_from_slice(attempts);
        self.ends.push(self.attempts.len());
    }

    /// Removes the first `n` rows.
    pub(crate) fn drop_first(&mut self, n: usize) {
        let gone = self.start(n);
        self.attempts.drain(..gone);
        self.ends.drain(..n);
        for end in &mut self.ends {
            *end -= gone;
        }
    }

    /// Keeps the rows that `keeps` names.
    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        let mut kept = Self::default();
        for row in (0..self.len()).filter(|&row| keeps(row)) {
            kept.push(self.of(row));
        }
        *self = kept;
    }

    /// Moves every attempt to a later time.
    pub(crate) fn shift(&mut self, later: Span) {
        for attempt in &mut self.attempts {
            attempt.start += later;
            attempt.end += later;
        }
    }

    fn start(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(start: i64, end: i64) -> TraceAttempt {
        TraceAttempt {
            start: Instant::from_secs(start),
            end: Instant::from_secs(end),
            ended: TraceAttemptEnd::Evicted,
        }
    }

    #[test]
    fn each_job_has_its_own_attempts() {
        let mut attempts = AttemptColumn::default();
        attempts.push(&[attempt(0, 5), attempt(6, 9)]);
        attempts.push(&[]);
        attempts.push(&[attempt(7, 8)]);
        assert_eq!(attempts.of(0)[1].span(), Span::from_secs(3));
        attempts.drop_first(1);
        assert_eq!((attempts.len(), attempts.of(0)), (2, &[][..]));
        assert_eq!(attempts.of(1), [attempt(7, 8)]);
        assert_eq!(attempts.of(2), []);
    }
}

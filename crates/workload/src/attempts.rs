//! The tries at running each job, where a format tells of more than the last.

use tollgate_model::{Instant, Span};

/// A stretch for which a job ran on one computer without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceAttempt {
    /// When it began, on the trace's own clock.
    pub start: Instant,
    /// When it ended; not before the start.
    pub end: Instant,
    /// Why it ended.
    pub ended: TraceAttemptEnd,
}

impl TraceAttempt {
    /// How long it lasted.
    pub const fn span(&self) -> Span {
        self.end.since(self.start)
    }
}

/// Why a stretch of running ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceAttemptEnd {
    /// The job was done, with or without success.
    Finished,
    /// It was stopped where it was; if another stretch follows, it went on from there.
    Suspended,
    /// It was taken off its computer, and what it had done was lost.
    Evicted,
    /// What it had done until then was saved: it went on from there, here or elsewhere.
    Checkpointed,
    /// The connection to its computer, or what looked after it there, failed.
    Lost,
    /// It was put on hold, which takes it off its computer.
    Held,
    /// It was taken back.
    Removed,
}

impl TraceAttemptEnd {
    /// Whether what the job did until then still counts.
    pub const fn keeps_work(self) -> bool {
        match self {
            Self::Finished | Self::Suspended | Self::Checkpointed => true,
            Self::Evicted | Self::Lost | Self::Held | Self::Removed => false,
        }
    }
}

/// The attempts of every job, in order of time; a row a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptColumn {
    attempts: Vec<TraceAttempt>,
    /// Where the attempts of each job end.
    ends: Vec<usize>,
}

impl AttemptColumn {
    /// The attempts of the job in `row`; none if it never ran, or nothing is known.
    pub fn of(&self, row: usize) -> &[TraceAttempt] {
        let Some(&end) = self.ends.get(row) else {
            return &[];
        };
        &self.attempts[self.start(row)..end]
    }

    /// How many jobs there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends the attempts of the next job.
    pub(crate) fn push(&mut self, attempts: &[TraceAttempt]) {
        self.attempts.extend_from_slice(attempts);
        self.ends.push(self.attempts.len());
    }

    /// Forgets the first `n` rows.
    pub(crate) fn drop_first(&mut self, n: usize) {
        let gone = self.start(n);
        self.attempts.drain(..gone);
        self.ends.drain(..n);
        for end in &mut self.ends {
            *end -= gone;
        }
    }

    /// Moves everything to a later time.
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
    fn each_job_has_its_own() {
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

//! Parts of a record, of one or more weeks each, which are left out one at a time.
//!
//! Seeds draw deadlines and prices, and leave the jobs as they are. What is left of a result without some of its weeks
//! shows what other weeks of the same machine would have given.

use tollgate_model::{Instant, Span};
use tollgate_risk::jackknife::{MAX_PARTS, MIN_PARTS};
use tollgate_trace::Trace;

const WEEK: Span = Span::from_secs(7 * 86_400);

/// The parts of a record: of equal length, and of a week or more each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WeekParts {
    first: Instant,
    span: Span,
    n_parts: usize,
}

impl WeekParts {
    /// Divides the submissions of a record. There are no parts if these take less than three weeks.
    pub(crate) fn of(trace: &Trace) -> Self {
        let submits = || trace.jobs.iter().map(|job| job.submit);
        let first = submits().min().unwrap_or(Instant::ZERO);
        let span = submits().max().map_or(Span::ZERO, |last| last.since(first));
        let n_weeks = (span.as_micros() / WEEK.as_micros()) as usize;
        Self {
            first,
            span,
            n_parts: if n_weeks < MIN_PARTS {
                0
            } else {
                n_weeks.min(MAX_PARTS)
            },
        }
    }

    /// Returns the number of parts; 0 if the record is too short for any.
    pub(crate) const fn n_parts(self) -> usize {
        self.n_parts
    }

    /// Returns the part of a job by its submission, below [`WeekParts::n_parts`] if there are parts.
    pub(crate) fn part(self, submit: Instant) -> usize {
        let since = i128::from(submit.since(self.first).as_micros());
        let part = since * self.n_parts as i128 / i128::from(self.span.as_micros().max(1));
        (part.max(0) as usize).min(self.n_parts.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_trace::TraceJob;

    /// Returns a record with a job on each of these days.
    fn record(days: impl Iterator<Item = i64>) -> Trace {
        let jobs = days.enumerate().map(|(number, day)| TraceJob {
            number: number as u64,
            submit: Instant::from_secs(1_000_000 + day * 86_400),
            runtime: Span::from_secs(60),
            estimate: Span::from_secs(60),
            is_estimated: true,
            procs: 1,
        });
        Trace {
            jobs: jobs.collect(),
            ..Trace::default()
        }
    }

    #[test]
    fn parts_are_weeks_of_a_short_record_and_several_weeks_of_a_long_one() {
        for (days, n_parts) in [(20, 0), (21, 3), (62, 8), (400, MAX_PARTS)] {
            let record = record(0..=days);
            let parts = WeekParts::of(&record);
            assert_eq!(parts.n_parts(), n_parts, "{days}");
            let mut sizes = vec![0; n_parts];
            for job in record.jobs.iter().filter(|_| n_parts > 0) {
                sizes[parts.part(job.submit)] += 1;
            }
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            assert!(
                most.zip(least)
                    .is_none_or(|(most, least)| most - least <= 2),
                "{sizes:?}"
            );
        }
        assert_eq!(WeekParts::of(&record(0..0)).n_parts(), 0);
    }
}

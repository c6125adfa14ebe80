//! The rows of a trace that take part in a run, and their order.

use tollgate_model::UserId;
use tollgate_trace::{Trace, TraceJob};

use crate::settings::NeverRanHandling;

/// Rows of a trace by submit time; ties in file order.
#[derive(Clone, Debug)]
pub(crate) enum RowSelection {
    /// All rows of this number of rows: no memory for the usual trace of millions of jobs.
    All(u32),
    /// Some rows, or all rows in another order.
    Some(Vec<u32>),
}

impl RowSelection {
    /// Selects the rows of `jobs` that take part.
    ///
    /// # Panics
    /// If there are 2^32 jobs or more.
    pub(crate) fn of(jobs: &[TraceJob], never_ran: NeverRanHandling) -> Self {
        let count = u32::try_from(jobs.len()).expect("a trace has fewer than 2^32 jobs");
        let takes_part = |job: &TraceJob| match never_ran {
            NeverRanHandling::Drop => job.ran(),
            NeverRanHandling::One => true,
        };
        if jobs.is_sorted_by_key(|job| job.submit) && jobs.iter().all(takes_part) {
            return Self::All(count);
        }
        let mut rows: Vec<u32> = (0..count)
            .filter(|&row| takes_part(&jobs[row as usize]))
            .collect();
        rows.sort_by_key(|&row| jobs[row as usize].submit);
        Self::Some(rows)
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::All(count) => *count as usize,
            Self::Some(rows) => rows.len(),
        }
    }

    /// Returns the `i`-th row.
    ///
    /// # Panics
    /// If there is no such row.
    pub(crate) fn get(&self, i: usize) -> usize {
        match self {
            Self::All(count) => {
                assert!(i < *count as usize, "no job {i}: there are {count}");
                i
            }
            Self::Some(rows) => rows[i] as usize,
        }
    }

    /// Returns every row, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// Returns the user of the job in `row`. Jobs without a user are taken to be one user's.
pub(crate) fn user_of(trace: &Trace, row: usize) -> UserId {
    let metadata = trace.metadata.as_ref();
    let label = metadata.and_then(|metadata| metadata.user.id(row));
    UserId(label.map_or(u32::MAX, |label| label.index() as u32))
}

#[cfg(test)]
mod tests {
    use tollgate_model::{Instant, Span};

    use super::*;

    fn rows(jobs: &[(i64, i64)], never_ran: NeverRanHandling) -> RowSelection {
        let job = |&(submit, runtime): &(i64, i64)| TraceJob {
            number: 1,
            submit: Instant::from_secs(submit),
            runtime: Span::from_secs(runtime),
            estimate: Span::from_secs(1),
            is_estimated: true,
            procs: 1,
        };
        RowSelection::of(&jobs.iter().map(job).collect::<Vec<_>>(), never_ran)
    }

    #[test]
    fn ordered_trace_needs_no_row_list() {
        let all = rows(&[(0, 5), (3, 5), (3, 5)], NeverRanHandling::Drop);
        assert!(matches!(all, RowSelection::All(3)));
        assert_eq!(all.iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn jobs_that_never_ran_are_dropped_and_rows_sorted_stably() {
        let jobs = [(7, 5), (3, -1), (7, 0), (2, 5)];
        let some = |never_ran| rows(&jobs, never_ran).iter().collect::<Vec<_>>();
        assert_eq!(some(NeverRanHandling::Drop), [3, 0, 2]);
        assert_eq!(some(NeverRanHandling::One), [3, 1, 0, 2]);
    }
}

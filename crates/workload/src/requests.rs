//! Requests for jobs that have none of their own: the median of the requests of earlier jobs.

use std::collections::{HashMap, VecDeque};

use tollgate_model::{Span, UserId};
use tollgate_trace::Trace;
use tollgate_trace::name_column::NameId;

use crate::row_selection::{RowSelection, user_of};

/// Number of requests of a class, or of the site, that count: the latest.
const REMEMBERED: usize = 1000;

/// The estimates that stand in for the missing requests of a workload, as a scheduler could make them:
/// each follows from requests of jobs that were submitted before.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestSubstitutes {
    /// By row; None for a job with a request, and for a job before which no request is known. Empty if
    /// every job has a request.
    by_row: Vec<Option<Span>>,
    /// Number of jobs without a request.
    pub(crate) missing: usize,
    /// Number of jobs without a request before which none is known.
    pub(crate) without_substitute: usize,
}

impl RequestSubstitutes {
    /// Finds the substitutes for the jobs of `trace` that take part.
    pub(crate) fn of(trace: &Trace, rows: &RowSelection) -> Self {
        let mut substitutes = Self::default();
        if rows.iter().all(|row| trace.has_estimate(row)) {
            return substitutes;
        }
        substitutes.by_row = vec![None; trace.jobs.len()];
        let mut site = RecentRequests::default();
        // Looked up in, never iterated: its order reaches no result.
        let mut classes: HashMap<(UserId, Option<NameId>), RecentRequests> = HashMap::new();
        for row in rows.iter() {
            let names = trace.metadata.as_ref();
            let class = (
                user_of(trace, row),
                names.and_then(|names| names.executable.id(row)),
            );
            if trace.has_estimate(row) {
                let request = trace.jobs[row].estimate;
                site.push(request);
                classes.entry(class).or_default().push(request);
                continue;
            }
            let of_class = classes.get(&class).and_then(RecentRequests::median);
            let substitute = of_class.or_else(|| site.median());
            substitutes.by_row[row] = substitute;
            substitutes.missing += 1;
            substitutes.without_substitute += usize::from(substitute.is_none());
        }
        substitutes
    }

    /// Returns the estimate that stands in for the request of the job in `row`, if it needs and has one.
    pub(crate) fn get(&self, row: usize) -> Option<Span> {
        self.by_row.get(row).copied().flatten()
    }
}

/// The last requests of some jobs, at most [`REMEMBERED`].
#[derive(Clone, Debug, Default)]
struct RecentRequests {
    /// In the order of submission.
    by_age: VecDeque<Span>,
    ascending: Vec<Span>,
}

impl RecentRequests {
    fn push(&mut self, request: Span) {
        if self.by_age.len() == REMEMBERED
            && let Some(oldest) = self.by_age.pop_front()
        {
            let place = self.ascending.partition_point(|&known| known < oldest);
            self.ascending.remove(place);
        }
        self.by_age.push_back(request);
        let place = self.ascending.partition_point(|&known| known <= request);
        self.ascending.insert(place, request);
    }

    /// Returns the median, the lower of two; None without requests.
    fn median(&self) -> Option<Span> {
        let last = self.ascending.len().checked_sub(1)?;
        self.ascending.get(last / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tollgate_trace::{ColumnSelection, ReadOptions};

    use super::*;
    use crate::settings::NeverRanHandling;

    /// Reads jobs of (user, request), a second apart.
    fn trace(jobs: &[(&str, Option<u32>)]) -> Trace {
        let mut text = "job_id,submit_s,runtime_s,procs,estimate_s,user\n".to_owned();
        for (row, (user, request)) in jobs.iter().enumerate() {
            let request = request
                .map(|request| request.to_string())
                .unwrap_or_default();
            text += &format!("{row},{row},7777,1,{request},{user}\n");
        }
        let columns = ColumnSelection::All;
        tollgate_trace::read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    fn substitutes(jobs: &[(&str, Option<u32>)]) -> RequestSubstitutes {
        let trace = trace(jobs);
        let rows = RowSelection::of(&trace.jobs, NeverRanHandling::Drop);
        RequestSubstitutes::of(&trace, &rows)
    }

    #[test]
    fn median_of_the_class_comes_before_that_of_the_site() {
        let found = substitutes(&[
            ("ann", None),
            ("ann", Some(10)),
            ("bob", Some(500)),
            ("bob", Some(700)),
            ("ann", None),
            ("eve", None),
            ("bob", None),
            ("ann", Some(30)),
        ]);
        let seconds = [4, 5, 6].map(|row| found.get(row).map(|span| span.as_secs_f64()));
        assert_eq!(seconds, [Some(10.0), Some(500.0), Some(500.0)]);
        assert_eq!((found.get(0), found.get(1)), (None, None));
        assert_eq!((found.missing, found.without_substitute), (4, 1));
    }

    #[test]
    fn complete_record_takes_no_memory() {
        let found = substitutes(&[("ann", Some(10)), ("bob", Some(20))]);
        assert!(found.by_row.is_empty());
        assert_eq!(found.missing, 0);
    }

    proptest! {
        /// Later jobs change no substitute, and the run times never do.
        #[test]
        fn substitutes_are_causal(
            jobs in prop::collection::vec((prop::sample::select(vec!["a", "b"]), prop::option::of(1_u32..50)), 1..40),
            cut in 1_usize..40,
        ) {
            let whole = substitutes(&jobs);
            let start = substitutes(&jobs[..cut.min(jobs.len())]);
            for row in 0..cut.min(jobs.len()) {
                prop_assert_eq!(whole.get(row), start.get(row));
                let own = whole.get(row).map(|span| span.as_secs_f64());
                prop_assert!(own.is_none_or(|own| own < 50.0));
            }
        }
    }
}

//! The run times that users know from their earlier jobs.

use std::collections::{HashMap, VecDeque};

use tollgate_model::{Instant, Span, UserId};
use tollgate_trace::Trace;
use tollgate_trace::name_column::NameId;

use crate::row_selection::{ran, user_of};

/// Number of run times that a user remembers.
const REMEMBERED: usize = 20;
/// The smallest number of run times that make a habit.
const HABIT: usize = 3;

/// By row of a trace: the median of the run times that the user of the job remembered at its
/// submission. None if there were too few.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HabitualRuntimes(Vec<Option<Span>>);

/// A run that has ended.
#[derive(Clone, Copy)]
struct EndedRun {
    end: Instant,
    runtime: Span,
    user: UserId,
    executable: Option<NameId>,
}

impl HabitualRuntimes {
    /// Creates the table for `trace`, whose users remember the jobs of `record`: the trace itself, or
    /// the longer one that it was cut from.
    pub(crate) fn of(trace: &Trace, record: &Trace) -> Self {
        let rows = 0..record.jobs.len();
        let mut ended: Vec<EndedRun> = rows.filter_map(|row| EndedRun::of(record, row)).collect();
        // A stable sort: runs that end together are remembered in file order.
        ended.sort_by_key(|run| run.end);
        let mut rows: Vec<usize> = (0..trace.jobs.len()).collect();
        rows.sort_by_key(|&row| trace.jobs[row].submit);

        let mut memories = Memories::default();
        let mut ended = ended.into_iter().peekable();
        let mut medians = vec![None; rows.len()];
        for row in rows {
            let submit = trace.jobs[row].submit;
            while let Some(run) = ended.next_if(|run| run.end <= submit) {
                memories.remember(&run);
            }
            medians[row] = memories.recall(user_of(trace, row), executable_of(trace, row));
        }
        Self(medians)
    }

    /// Returns the usual run time of the user of the job in `row`.
    pub(crate) fn of_row(&self, row: usize) -> Option<Span> {
        self.0.get(row).copied().flatten()
    }
}

impl EndedRun {
    /// Returns the run of the job in `row`; None if it never ran. A job whose wait is unknown counts as
    /// started at its submission.
    fn of(trace: &Trace, row: usize) -> Option<Self> {
        let job = &trace.jobs[row];
        let wait = trace.usage(row).wait.unwrap_or(Span::ZERO);
        ran(job).then(|| Self {
            end: job.submit + wait + job.runtime,
            runtime: job.runtime,
            user: user_of(trace, row),
            executable: executable_of(trace, row),
        })
    }
}

fn executable_of(trace: &Trace, row: usize) -> Option<NameId> {
    trace.metadata.as_ref()?.executable.id(row)
}

/// What all users remember.
#[derive(Default)]
struct Memories {
    /// By user, the unknown one first: all jobs.
    of_users: Vec<RecentRuns>,
    /// The jobs with one executable. Looked up in, never iterated: its order reaches no result.
    of_executables: HashMap<(UserId, NameId), RecentRuns>,
}

impl Memories {
    fn remember(&mut self, run: &EndedRun) {
        let user = place_of(run.user);
        if user >= self.of_users.len() {
            self.of_users.resize_with(user + 1, RecentRuns::default);
        }
        self.of_users[user].push(run.runtime);
        if let Some(executable) = run.executable {
            let runs = self.of_executables.entry((run.user, executable));
            runs.or_default().push(run.runtime);
        }
    }

    /// Returns the median of the jobs with the same executable if they are a habit, else of all jobs of
    /// the user.
    fn recall(&self, user: UserId, executable: Option<NameId>) -> Option<Span> {
        let same = executable.and_then(|name| self.of_executables.get(&(user, name))?.habit());
        same.or_else(|| self.of_users.get(place_of(user))?.habit())
    }
}

/// Returns the place of a user: 0 for the unknown one, whose number is the highest, and then in order.
const fn place_of(user: UserId) -> usize {
    user.0.wrapping_add(1) as usize
}

/// The last run times of some jobs, at most [`REMEMBERED`].
#[derive(Default)]
struct RecentRuns {
    /// In the order in which the jobs ended.
    by_age: VecDeque<Span>,
    ascending: Vec<Span>,
}

impl RecentRuns {
    fn push(&mut self, runtime: Span) {
        if self.by_age.len() == REMEMBERED
            && let Some(oldest) = self.by_age.pop_front()
        {
            let place = self.ascending.partition_point(|&run| run < oldest);
            self.ascending.remove(place);
        }
        self.by_age.push_back(runtime);
        let place = self.ascending.partition_point(|&run| run < runtime);
        self.ascending.insert(place, runtime);
    }

    /// Returns the median, if the run times make a habit; of an even number of run times, the mean of the
    /// middle two.
    fn habit(&self) -> Option<Span> {
        let runs = &self.ascending;
        let (middle, is_odd) = (runs.len() / 2, runs.len() % 2 == 1);
        (runs.len() >= HABIT).then(|| match is_odd {
            true => runs[middle],
            false => {
                let [low, high] = [runs[middle - 1], runs[middle]].map(Span::as_micros);
                Span::from_micros(low.midpoint(high))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate_trace::trace::RecordNames;
    use tollgate_trace::{TraceJob, TraceMetadata, TraceUsage};

    /// Creates jobs of (submit, wait, run time, user, executable), in seconds.
    fn trace(jobs: &[(i64, Option<i64>, i64, &str, &str)]) -> Trace {
        let mut trace = Trace::empty("here");
        let mut metadata = TraceMetadata::default();
        for (row, &(submit, wait, runtime, user, executable)) in jobs.iter().enumerate() {
            trace.jobs.push(TraceJob {
                number: row as u64,
                submit: Instant::from_secs(submit),
                runtime: Span::from_secs(runtime),
                estimate: Span::from_secs(1000),
                procs: 1,
            });
            let names = RecordNames {
                user: user.as_bytes(),
                executable: executable.as_bytes(),
                ..RecordNames::default()
            };
            let usage = TraceUsage {
                wait: wait.map(Span::from_secs),
                ..TraceUsage::default()
            };
            metadata.push(names, usage, true);
        }
        trace.metadata = Some(metadata);
        trace
    }

    fn secs(table: &HabitualRuntimes) -> Vec<Option<f64>> {
        let medians = table.0.iter();
        medians.map(|span| span.map(Span::as_secs_f64)).collect()
    }

    #[test]
    fn user_knows_runs_that_had_ended_by_the_submission() {
        let trace = trace(&[
            (0, Some(0), 10, "ann", "a"),
            (0, Some(0), 30, "ann", "a"),
            (0, Some(50), 20, "ann", "b"),
            // The third run ends at 70.
            (69, None, 5, "ann", "a"),
            (70, None, 5, "ann", "a"),
            (70, None, 5, "bob", "a"),
            // One of the runs with executable a ended at 74, and one at 75.
            (75, None, 5, "ann", "a"),
            (75, None, -1, "ann", ""),
        ]);
        let known = secs(&HabitualRuntimes::of(&trace, &trace));
        let expected = [
            None,
            None,
            None,
            None,
            Some(20.0),
            None,
            Some(7.5),
            Some(10.0),
        ];
        assert_eq!(known, expected);
    }

    #[test]
    fn twenty_runs_of_the_whole_record_are_remembered() {
        let mut jobs = vec![(0, None, 1, "ann", ""); 30];
        jobs.extend([(10, None, 100, "ann", ""); 10]);
        jobs.push((1000, None, 7, "ann", ""));
        let whole = trace(&jobs);
        let last = whole.clone().last(1);
        assert_eq!(secs(&HabitualRuntimes::of(&last, &whole)), [Some(50.5)]);
        assert_eq!(secs(&HabitualRuntimes::of(&last, &last)), [None]);
    }

    proptest! {
        #[test]
        fn habit_is_the_median_of_the_last_runs(runs in prop::collection::vec(0i64..9, 0..60)) {
            let mut recent = RecentRuns::default();
            for (n, &micros) in runs.iter().enumerate() {
                recent.push(Span::from_micros(micros));
                let mut last = runs[(n + 1).saturating_sub(REMEMBERED)..=n].to_vec();
                last.sort_unstable();
                let middle = last[(last.len() - 1) / 2].midpoint(last[last.len() / 2]);
                let expected = (last.len() >= HABIT).then_some(Span::from_micros(middle));
                prop_assert_eq!(recent.habit(), expected);
            }
        }
    }
}

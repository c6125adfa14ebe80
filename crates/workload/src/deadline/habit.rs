//! The run times that users know from their earlier jobs.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use tollgate_model::{Instant, Span, UserId};
use tollgate_trace::Trace;
use tollgate_trace::name_column::NameId;

use crate::row_selection::{RowSelection, user_of};
use crate::settings::NeverRanHandling;

/// Number of run times that a user remembers.
const REMEMBERED: usize = 20;
/// The smallest number of run times that make a habit.
const HABIT: usize = 3;

/// The run times that the users of a trace remember at a submission.
#[derive(Clone, Debug)]
pub(crate) struct HabitualRuntimes<'a> {
    trace: &'a Trace,
    record: &'a Trace,
    /// The jobs of the record that ran, by submission.
    runs: RowSelection,
    /// Number of `runs` that were submitted.
    n_submitted: usize,
    unfinished: UnfinishedRuns,
    memories: Memories,
}

impl<'a> HabitualRuntimes<'a> {
    /// Creates the memories for `trace`, whose users remember the jobs of `record`: the trace itself, or
    /// the longer one that it was cut from.
    pub(crate) fn new(trace: &'a Trace, record: &'a Trace) -> Self {
        Self {
            trace,
            record,
            runs: RowSelection::of(&record.jobs, NeverRanHandling::Drop),
            n_submitted: 0,
            unfinished: UnfinishedRuns::default(),
            memories: Memories::default(),
        }
    }

    /// Returns the usual run time of the user of the job in `row`: the median of the run times that the user
    /// remembers at its submission. None if there are too few. No job that was asked about before was
    /// submitted later.
    pub(crate) fn of_row(&mut self, row: usize) -> Option<Span> {
        let trace = self.trace;
        self.advance(trace.jobs[row].submit);
        let executable = executable_of(trace, row);
        self.memories.recall(user_of(trace, row), executable)
    }

    /// Remembers the runs that have ended by `now`.
    fn advance(&mut self, now: Instant) {
        let record = self.record;
        while self.n_submitted < self.runs.len() {
            let row = self.runs.get(self.n_submitted);
            if record.jobs[row].submit > now {
                break;
            }
            self.unfinished.add(record, row);
            self.n_submitted += 1;
        }
        while let Some(row) = self.unfinished.next_ended(now) {
            self.memories.remember(record, row);
        }
    }
}

/// The runs of submitted jobs that have not ended, as their ends and their rows. Runs that end together end
/// in file order.
#[derive(Clone, Debug, Default)]
struct UnfinishedRuns(BinaryHeap<Reverse<(Instant, usize)>>);

impl UnfinishedRuns {
    /// Adds the run of the job in `row`. A job whose wait is unknown counts as started at its submission.
    /// A run of 0 s is no run time that a user could expect, so that it is not remembered.
    fn add(&mut self, record: &Trace, row: usize) {
        let job = &record.jobs[row];
        if job.runtime == Span::ZERO {
            return;
        }
        let wait = record.usage(row).wait.unwrap_or(Span::ZERO);
        let end = job.submit + wait + job.runtime;
        self.0.push(Reverse((end, row)));
    }

    /// Removes the first run that has ended by `now`, and returns its row.
    fn next_ended(&mut self, now: Instant) -> Option<usize> {
        let first = self.0.peek_mut()?;
        let Reverse((end, row)) = *first;
        (end <= now).then(|| {
            PeekMut::pop(first);
            row
        })
    }
}

fn executable_of(trace: &Trace, row: usize) -> Option<NameId> {
    trace.metadata.as_ref()?.executable.id(row)
}

/// The memories of all users.
#[derive(Clone, Debug, Default)]
struct Memories {
    /// By user, the unknown one first: all jobs.
    of_users: Vec<RecentRuns>,
    /// The jobs with one executable. Looked up in, never iterated: its order reaches no result.
    of_executables: HashMap<(UserId, NameId), RecentRuns>,
}

impl Memories {
    /// Remembers the run of the job in `row`.
    fn remember(&mut self, record: &Trace, row: usize) {
        let (user, runtime) = (user_of(record, row), record.jobs[row].runtime);
        let place = place_of(user);
        if place >= self.of_users.len() {
            self.of_users.resize_with(place + 1, RecentRuns::default);
        }
        self.of_users[place].push(runtime);
        if let Some(executable) = executable_of(record, row) {
            let runs = self.of_executables.entry((user, executable));
            runs.or_default().push(runtime);
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
#[derive(Clone, Debug, Default)]
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
    use tollgate_trace::RecordNames;
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
                is_estimated: true,
                procs: 1,
            });
            let names = RecordNames {
                user: user.as_bytes(),
                executable: executable.as_bytes().into(),
                ..RecordNames::default()
            };
            let usage = TraceUsage {
                wait: wait.map(Span::from_secs),
                ..TraceUsage::default()
            };
            metadata.push(names, usage);
        }
        trace.metadata = Some(metadata);
        trace
    }

    /// Returns the usual run times, in seconds, of the users of all jobs of `trace`, cut from `record`.
    fn known_s(trace: &Trace, record: &Trace) -> Vec<Option<f64>> {
        let mut known = HabitualRuntimes::new(trace, record);
        let rows = 0..trace.jobs.len();
        rows.map(|row| known.of_row(row).map(Span::as_secs_f64))
            .collect()
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
        let known = known_s(&trace, &trace);
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
        assert_eq!(known_s(&last, &whole), [Some(50.5)]);
        assert_eq!(known_s(&last, &last), [None]);
    }

    /// Returns what [`HabitualRuntimes`] finds, from a sorted list of all runs at each submission.
    fn recalled_s(trace: &Trace, row: usize) -> Option<f64> {
        let ended = |run: usize| {
            let job = &trace.jobs[run];
            job.submit + trace.usage(run).wait.unwrap_or_default() + job.runtime
        };
        let mut runs: Vec<usize> = (0..trace.jobs.len()).collect();
        runs.retain(|&run| trace.jobs[run].runtime > Span::ZERO);
        runs.retain(|&run| ended(run) <= trace.jobs[row].submit);
        runs.sort_by_key(|&run| ended(run));
        runs.retain(|&run| user_of(trace, run) == user_of(trace, row));
        let median = |runs: &[usize]| {
            let last = &runs[runs.len().saturating_sub(REMEMBERED)..];
            let mut times: Vec<i64> = last
                .iter()
                .map(|&run| trace.jobs[run].runtime.as_micros())
                .collect();
            times.sort_unstable();
            let middle = (times.len() >= HABIT)
                .then(|| times[(times.len() - 1) / 2].midpoint(times[times.len() / 2]));
            middle.map(|micros| Span::from_micros(micros).as_secs_f64())
        };
        let executable = executable_of(trace, row);
        let same: Vec<usize> = runs
            .iter()
            .copied()
            .filter(|&run| executable.is_some() && executable_of(trace, run) == executable)
            .collect();
        median(&same).or_else(|| median(&runs))
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

        #[test]
        fn users_recall_runs_as_in_a_sorted_list(
            jobs in prop::collection::vec(
                (0i64..40, prop::option::of(0i64..9), -1i64..20, prop::sample::select(vec!["ann", "bob", ""]), prop::sample::select(vec!["a", "b", ""])),
                1..80,
            ),
        ) {
            let trace = trace(&jobs);
            let mut rows: Vec<usize> = (0..jobs.len()).collect();
            rows.sort_by_key(|&row| trace.jobs[row].submit);
            let mut known = HabitualRuntimes::new(&trace, &trace);
            for row in rows {
                let found = known.of_row(row).map(Span::as_secs_f64);
                prop_assert_eq!(found, recalled_s(&trace, row), "row {}", row);
            }
        }
    }
}

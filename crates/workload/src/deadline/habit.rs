//! The run times that users know from their earlier jobs.

use std::collections::{BTreeMap, VecDeque};

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

/// The jobs that a user remembers together: those with one executable, or all of them.
type MemoryKey = (UserId, Option<NameId>);

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

        let mut memory = BTreeMap::new();
        let mut ended = ended.into_iter().peekable();
        let mut medians = vec![None; rows.len()];
        for row in rows {
            let submit = trace.jobs[row].submit;
            while let Some(run) = ended.next_if(|run| run.end <= submit) {
                remember(&mut memory, &run);
            }
            medians[row] = recall(&memory, user_of(trace, row), executable_of(trace, row));
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

fn remember(memory: &mut BTreeMap<MemoryKey, VecDeque<Span>>, run: &EndedRun) {
    let keys = [
        Some((run.user, None)),
        run.executable.map(|name| (run.user, Some(name))),
    ];
    for key in keys.into_iter().flatten() {
        let runs = memory.entry(key).or_default();
        if runs.len() == REMEMBERED {
            runs.pop_front();
        }
        runs.push_back(run.runtime);
    }
}

/// Returns the median of the jobs with the same executable if they are a habit, else of all jobs of
/// the user.
fn recall(
    memory: &BTreeMap<MemoryKey, VecDeque<Span>>,
    user: UserId,
    executable: Option<NameId>,
) -> Option<Span> {
    let known = |key: MemoryKey| memory.get(&key).filter(|runs| runs.len() >= HABIT);
    let same = executable.and_then(|name| known((user, Some(name))));
    same.or_else(|| known((user, None))).map(median)
}

/// Returns the median; of an even number of run times, the mean of the middle two.
fn median(runs: &VecDeque<Span>) -> Span {
    let mut micros: Vec<i64> = runs.iter().map(|run| run.as_micros()).collect();
    micros.sort_unstable();
    let middle = micros.len() / 2;
    Span::from_micros(if micros.len() % 2 == 1 {
        micros[middle]
    } else {
        micros[middle - 1].midpoint(micros[middle])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
}

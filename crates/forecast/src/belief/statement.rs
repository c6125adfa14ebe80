//! Statements about tasks, kept until the run time of each shows how good it was.

use std::array;

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::{LEVELS, N_LEVELS};
use tollgate_model::{Instant, Span, TaskId};

use super::mass::{FIRST_BIN_ENDS, FIRST_BIN_POWER};
use super::mixture::Lesson;
use super::recalibration::IntervalCount;

/// The place of the median among the levels.
pub(crate) const MEDIAN: usize = 5;

/// The part of a run time that is no more than an error of rounding.
const ROUNDING: f64 = 1e-9;

/// The occasion of a statement. Siblings that ended say something else about a job that its user has just
/// submitted than about one that has waited for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum StatementTime {
    /// The submission of the job.
    Submission,
    /// Any later instant.
    Later,
}

/// A statement that waits for the end of its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(crate) bucket: usize,
    /// The raw quantiles, as logarithms.
    pub(crate) quantiles: [f64; N_LEVELS],
    pub(crate) weight: f64,
    pub(crate) lessons: Vec<Lesson>,
    /// Number of intervals between quantiles that the run time is known to have passed or not.
    pub(crate) n_judged: usize,
}

impl Statement {
    /// Returns the run time at which the next quantile is passed: those of the first bin of masses together.
    pub(crate) fn next_quantile(&self) -> Option<Span> {
        let next = self.quantiles.get(self.n_judged)?;
        Some(Span::from_secs_f64(next.max(FIRST_BIN_ENDS).exp()) + Span::TICK)
    }

    /// Returns what the run time, a logarithm, of an ended task counts for each interval below a level, less what was counted
    /// while it seemed to run. The end of a task may be reported late: a worker was not heard, or nobody listened.
    pub(crate) fn judged_by(&self, ln_run: f64) -> impl Iterator<Item = (usize, IntervalCount)> {
        let ended = self.ended_in(ln_run);
        let counts = ended
            .into_iter()
            .enumerate()
            .scan(1.0, |left, (interval, ends)| {
                let reached = *left;
                *left -= ends;
                Some((interval, IntervalCount { ends, reached }))
            });
        let n_judged = self.n_judged;
        counts.filter_map(move |(interval, count)| {
            let passed = f64::from(u8::from(interval < n_judged));
            let rest = IntervalCount {
                reached: count.reached - passed,
                ..count
            };
            let is_known = rest.ends.abs() > ROUNDING || rest.reached.abs() > ROUNDING;
            is_known.then_some((interval, rest))
        })
    }

    /// Returns the part of the run time that ended in each interval below a level. Run times of the first bin of
    /// masses are alike, so they end where the statement has the mass of that bin.
    fn ended_in(&self, ln_run: f64) -> [f64; N_LEVELS] {
        let levels = LEVELS.map(|level| level.as_f64());
        let [lowest, ..] = self.quantiles;
        let mut below = 0.0;
        if ln_run.max(lowest) < FIRST_BIN_ENDS {
            let first_bin = levels[0] / (FIRST_BIN_POWER * (lowest - FIRST_BIN_ENDS)).exp();
            return levels.map(|level| {
                let before = std::mem::replace(&mut below, (level / first_bin).min(1.0));
                below - before
            });
        }
        let ended_in = self.quantiles.partition_point(|bound| *bound < ln_run);
        array::from_fn(|interval| f64::from(u8::from(interval == ended_in)))
    }

    pub(crate) fn median(&self) -> Span {
        Span::from_secs_f64(self.quantiles[MEDIAN].exp())
    }
}

/// Something that a model does once time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum BeliefTimer {
    /// A running task passes the next quantile of its statement.
    Quantile(TaskId, StatementTime),
    /// A statement teaches: its task has ended, and would have passed its median.
    Lesson(TaskId, StatementTime),
}

/// An instant and what is due.
pub(crate) type BeliefTimerAt = (Instant, BeliefTimer);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::mass::RunMass;

    /// Returns a statement that 0.6 of the run times end within a second, and the others at e^3 s.
    fn statement() -> Statement {
        let mut mass = RunMass::default();
        mass.add(0.0, 0.6);
        mass.add(3.0, 0.4);
        Statement {
            bucket: 0,
            quantiles: mass.quantiles(),
            weight: 1.0,
            lessons: Vec::new(),
            n_judged: 0,
        }
    }

    fn ends(statement: &Statement, ln_run: f64) -> Vec<f64> {
        statement
            .judged_by(ln_run)
            .map(|(_, count)| count.ends)
            .collect()
    }

    #[test]
    fn run_time_below_a_second_ends_in_all_intervals_of_the_first_bin() {
        let ended = ends(&statement(), 0.0);
        let parts = [0.05, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1].map(|width| width / 0.6);
        assert_eq!(ended.len(), parts.len());
        for (ended, part) in ended.into_iter().zip(parts) {
            assert!((ended - part).abs() < 1e-9, "{ended} {part}");
        }
    }

    #[test]
    fn longer_run_time_ends_in_one_interval() {
        assert_eq!(ends(&statement(), 1.0)[..7], [0.0; 7]);
        assert_eq!(ends(&statement(), 1.0)[7], 1.0);
        // Beyond all levels.
        assert_eq!(ends(&statement(), 4.0), [0.0; N_LEVELS]);
    }

    #[test]
    fn intervals_that_only_seemed_to_be_passed_are_uncounted() {
        let seemed_long = Statement {
            n_judged: 10,
            ..statement()
        };
        let counts: Vec<(usize, f64, f64)> = seemed_long
            .judged_by(1.0)
            .map(|(interval, count)| (interval, count.ends, count.reached))
            .collect();
        // It ended in the interval 7, and had not passed those after it.
        assert_eq!(counts, [(7, 1.0, 0.0), (8, 0.0, -1.0), (9, 0.0, -1.0)]);
    }

    #[test]
    fn quantiles_of_the_first_bin_are_passed_together() {
        let first = statement().next_quantile().unwrap();
        let second = Statement {
            n_judged: 3,
            ..statement()
        }
        .next_quantile()
        .unwrap();
        assert_eq!(first, second);
        assert!(first > Span::from_secs(1), "{first}");
    }
}

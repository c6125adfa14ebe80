//! Time limits by which pilots that are submitted together do not end together: else all cores of a site would go at
//! once, and their tasks with them.

use tollgate_model::Span;

/// The part of its time that a pilot gives up at most.
const MOST_GIVEN_UP: f64 = 0.25;

/// The time limits of pilots that are submitted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaggeredTimes {
    longest: Span,
    shortest: Span,
}

impl StaggeredTimes {
    /// Returns the same time limit for all.
    pub const fn equal(time: Span) -> Self {
        Self {
            longest: time,
            shortest: time,
        }
    }

    /// Returns time limits from that of the site down to three quarters of it, and to what tasks that wait need, if that is
    /// longer.
    pub fn new(time: Span, least: Option<Span>) -> Self {
        let shortest = part_of(time, 1.0 - MOST_GIVEN_UP);
        let shortest = least.map_or(shortest, |least| shortest.max(least));
        Self {
            longest: time,
            shortest: shortest.min(time),
        }
    }

    /// Returns the time limit of pilot `at` of `n_pilots`, counted from 0, in whole seconds. The first has the longest.
    pub fn of(&self, at: u32, n_pilots: u32) -> Span {
        let step = f64::from(at) / f64::from(n_pilots.max(1));
        let given_up = part_of(self.longest - self.shortest, step);
        let left = self.longest - given_up;
        // Whole seconds, rounded up: engines know no others.
        Span::from_secs(left.as_secs_f64().ceil() as i64)
    }
}

fn part_of(span: Span, part: f64) -> Span {
    Span::from_secs_f64(span.as_secs_f64() * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(times: StaggeredTimes, n_pilots: u32) -> Vec<f64> {
        let times = (0..n_pilots).map(|at| times.of(at, n_pilots));
        times.map(|time| time.as_secs_f64() / 60.0).collect()
    }

    #[test]
    fn pilots_that_are_submitted_together_end_one_after_another() {
        let hour = Span::from_secs(3600);
        let times = |least| StaggeredTimes::new(hour, least);
        assert_eq!(minutes(times(None), 1), [60.0]);
        assert_eq!(minutes(times(None), 4), [60.0, 56.25, 52.5, 48.75]);
        // A task of 54 minutes fits into each of them.
        let long = Some(Span::from_secs(54 * 60));
        assert_eq!(minutes(times(long), 2), [60.0, 57.0]);
        assert_eq!(minutes(times(Some(hour)), 2), [60.0, 60.0]);
        assert_eq!(minutes(StaggeredTimes::equal(hour), 3), [60.0; 3]);
    }
}

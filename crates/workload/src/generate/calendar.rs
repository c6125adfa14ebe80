//! Submission times: more by day than by night, fewer at weekends, and on some days far more than
//! on others.

use crate::rng::{StreamFamily, StreamPurpose};

/// Submissions by hour of the day, in local time; measured.
const HOURS: [f64; 24] = [
    136.0, 111.0, 89.0, 47.0, 46.0, 74.0, 97.0, 183.0, 251.0, 263.0, 285.0, 328.0, 285.0, 355.0,
    378.0, 417.0, 350.0, 228.0, 170.0, 199.0, 240.0, 180.0, 165.0, 123.0,
];

/// Submissions by day of the week from Monday; measured.
const DAYS: [f64; 7] = [860.0, 799.0, 989.0, 751.0, 714.0, 416.0, 471.0];

/// Standard deviation of the logarithm of a day's busyness, beyond the weekly cycle; it reproduces
/// the measured quartiles of 26 and 59 jobs a day.
const BUSYNESS: f64 = 0.4;

const HOUR_S: f64 = 3600.0;

/// The expected share of all sessions up to the end of each hour.
pub(super) struct SubmissionCalendar {
    cumulative: Vec<f64>,
}

impl SubmissionCalendar {
    /// Creates a calendar of `span_s` seconds, from a Monday at midnight.
    pub(super) fn new(seed: u64, span_s: f64) -> Self {
        let days = StreamFamily::new(seed, StreamPurpose::Days);
        let busyness = |day: u64| libm::exp(BUSYNESS * days.stream(day).normal());
        let hours = (span_s / HOUR_S).ceil() as usize;
        let mut sum = 0.0;
        let mut today = 0.0;
        let cumulative = (0..hours).map(|hour| {
            let day = hour / HOURS.len();
            if hour % HOURS.len() == 0 {
                today = DAYS[day % DAYS.len()] * busyness(day as u64);
            }
            // The last hour may be cut short by the end of the span.
            let length = (span_s / HOUR_S - hour as f64).min(1.0);
            sum += today * HOURS[hour % HOURS.len()] * length;
            sum
        });
        Self {
            cumulative: cumulative.collect(),
        }
    }

    /// Returns `n` instants in seconds, ascending: a Poisson process whose rate follows the
    /// calendar, conditional on exactly `n` events.
    pub(super) fn arrivals(&self, seed: u64, n: usize) -> Vec<f64> {
        let mut stream = StreamFamily::new(seed, StreamPurpose::Arrivals).stream(0);
        let mut sum = 0.0;
        let sums: Vec<f64> = (0..n)
            .map(|_| {
                sum += stream.exponential();
                sum
            })
            .collect();
        let total = sum + stream.exponential();
        sums.iter().map(|sum| self.at(sum / total)).collect()
    }

    /// Returns the second by which a share (0 to 1) of all sessions has begun.
    fn at(&self, share: f64) -> f64 {
        let (Some(&total), Some(last)) =
            (self.cumulative.last(), self.cumulative.len().checked_sub(1))
        else {
            return 0.0;
        };
        let target = share * total;
        let hour = self
            .cumulative
            .partition_point(|&sum| sum < target)
            .min(last);
        let before = hour
            .checked_sub(1)
            .map_or(0.0, |before| self.cumulative[before]);
        let within = (target - before) / (self.cumulative[hour] - before);
        (hour as f64 + within) * HOUR_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_ascend_and_prefer_the_afternoon() {
        let span_s = 70.0 * 86_400.0;
        let arrivals = SubmissionCalendar::new(3, span_s).arrivals(3, 20_000);
        assert!(arrivals.is_sorted());
        assert!(arrivals[0] >= 0.0 && arrivals[19_999] <= span_s);
        let in_hour = |hour| {
            let matches = |at: &&f64| (**at / HOUR_S) as usize % 24 == hour;
            arrivals.iter().filter(matches).count()
        };
        assert!(in_hour(15) > 5 * in_hour(3));
        let sundays = arrivals
            .iter()
            .filter(|at| (**at / 86_400.0) as usize % 7 == 6);
        assert!(sundays.count() < 20_000 / 7);
    }
}

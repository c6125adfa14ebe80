//! Statistics of a record of log-ins, for policies that look ahead.

use tollgate_model::{Instant, Span};

/// Hours of a week, from Monday at midnight.
pub const HOURS_OF_WEEK: usize = 168;

const HOUR_US: i64 = 3_600_000_000;

/// Sums over a record of log-ins. It belongs to the world: a policy that reads one looks ahead,
/// unless the record is of an earlier time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoginLog {
    /// By computer: total time without a user.
    pub idle: Vec<Span>,
    /// By computer: number of log-ins.
    pub sessions: Vec<u32>,
    /// By cluster and hour of the week: log-ins per computer and hour.
    pub rate: Vec<[f64; HOURS_OF_WEEK]>,
}

/// Returns the hour of the week at `now`, counted from 0, and the elapsed fraction of the hour, in
/// [0, 1). The clock starts on a Monday at midnight.
pub fn hour_of_week(now: Instant) -> (usize, f64) {
    let micros = now.as_micros().rem_euclid(HOUR_US * HOURS_OF_WEEK as i64);
    let within = (micros % HOUR_US) as f64 / HOUR_US as f64;
    ((micros / HOUR_US) as usize, within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        let at = |secs| hour_of_week(Instant::from_secs(secs));
        assert_eq!(at(0), (0, 0.0));
        assert_eq!(at(7 * 86_400 + 5400), (1, 0.5));
        assert_eq!(at(-1800), (167, 0.5));
    }
}

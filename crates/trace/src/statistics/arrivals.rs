//! Submissions by hour of the week.

const HOUR_S: i64 = 3600;
const HOURS: usize = 24;
const DAYS: usize = 7;

/// Submissions by day of the week and hour of the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmissionCounts {
    /// Counts by day, from Monday, and hour, from midnight.
    pub by_hour: [[u64; HOURS]; DAYS],
}

impl SubmissionCounts {
    /// Counts a submission `since_monday_s` seconds after a Monday at midnight; a negative number
    /// is before that Monday.
    pub(super) const fn add(&mut self, since_monday_s: i64) {
        let hour = since_monday_s.div_euclid(HOUR_S);
        let day = hour.div_euclid(HOURS as i64).rem_euclid(DAYS as i64);
        let hour = hour.rem_euclid(HOURS as i64);
        self.by_hour[day as usize][hour as usize] += 1;
    }

    /// Returns the number of submissions.
    pub fn total(&self) -> u64 {
        self.of_days().iter().sum()
    }

    /// Returns submissions by day of the week, from Monday.
    pub fn of_days(&self) -> [u64; DAYS] {
        self.by_hour.map(|hours| hours.iter().sum())
    }

    /// Returns submissions by hour of the day.
    pub fn of_hours(&self) -> [u64; HOURS] {
        std::array::from_fn(|hour| self.by_hour.iter().map(|day| day[hour]).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_repeat_around_the_first_monday() {
        let mut arrivals = SubmissionCounts::default();
        for since_monday_s in [0, 7 * 86_400 + 1, 3600, -1] {
            arrivals.add(since_monday_s);
        }
        assert_eq!(arrivals.by_hour[0][..2], [2, 1]);
        assert_eq!(arrivals.by_hour[6][23], 1);
        assert_eq!(arrivals.of_days(), [3, 0, 0, 0, 0, 0, 1]);
        assert_eq!(arrivals.of_hours()[23], 1);
        assert_eq!(arrivals.total(), 4);
    }
}

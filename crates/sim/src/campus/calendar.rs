//! The log-in rate over time: by hour, weekend and term, while the room is open.

use super::settings::UserBehaviour;

/// Log-ins by hour of the day, relative to the late morning.
pub(super) const HOURS: [f64; 24] = [
    0.10, 0.07, 0.05, 0.04, 0.03, 0.03, 0.05, 0.10, 0.35, 0.80, 1.00, 1.10, 1.10, 1.10, 1.15, 1.10,
    1.00, 0.80, 0.55, 0.45, 0.40, 0.30, 0.22, 0.15,
];

pub(super) const HOUR_S: f64 = 3600.0;
const DAY_HOURS: usize = 24;

/// Weeks of the year with teaching.
const TERM: [std::ops::RangeInclusive<usize>; 3] = [3..=12, 17..=23, 38..=49];

/// Opening hours of a room. Tasks may use the room when it is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningHours {
    /// From nine to five on working days.
    Teaching,
    /// From eight to ten in the evening on working days.
    Evening,
    /// Always.
    Always,
}

impl OpeningHours {
    /// All opening hours.
    pub const ALL: [Self; 3] = [Self::Teaching, Self::Evening, Self::Always];

    /// Returns true if the room is open in an hour of the year.
    fn is_open(self, hour: usize) -> bool {
        let working_day = hour / DAY_HOURS % 7 < 5;
        let hours = match self {
            Self::Teaching => 9..17,
            Self::Evening => 8..22,
            Self::Always => return true,
        };
        working_day && hours.contains(&(hour % DAY_HOURS))
    }
}

/// The growth of the expected number of log-ins over the year in one kind of room.
#[derive(Clone, Debug)]
pub(super) struct LoginCalendar {
    opening: OpeningHours,
    /// The weight, by hour of the year.
    weights: Vec<f64>,
    /// By hour of the year: weight x seconds up to its beginning; one entry more than there are
    /// hours.
    sums: Vec<f64>,
    /// By hour of the year: the next hour with log-ins; the number of hours if there is none.
    next_open: Vec<usize>,
}

impl LoginCalendar {
    pub(super) fn new(opening: OpeningHours, users: &UserBehaviour, days: u32) -> Self {
        let weight = |hour: usize| {
            let day = hour / DAY_HOURS;
            let week_end = if day % 7 >= 5 { users.week_end } else { 1.0 };
            let in_term = TERM.iter().any(|weeks| weeks.contains(&(day / 7)));
            let term = if in_term { 1.0 } else { users.out_of_term };
            match opening.is_open(hour) {
                true => HOURS[hour % DAY_HOURS] * week_end * term,
                false => 0.0,
            }
        };
        let weights: Vec<f64> = (0..days as usize * DAY_HOURS).map(weight).collect();
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for weight in &weights {
            sum += weight * HOUR_S;
            sums.push(sum);
        }
        let mut next_open = vec![weights.len(); weights.len()];
        for hour in (1..weights.len()).rev() {
            let is_open = weights[hour] > 0.0;
            next_open[hour - 1] = if is_open { hour } else { next_open[hour] };
        }
        Self {
            opening,
            weights,
            sums,
            next_open,
        }
    }

    /// Returns the second at which weight x seconds has grown by `growth` since second `from_s`;
    /// None if the year ends before.
    pub(super) fn after(&self, from_s: f64, growth: f64) -> Option<f64> {
        let mut hour = (from_s / HOUR_S) as usize;
        let weight = self.weights.get(hour)?;
        let target = self.sums[hour] + weight * (from_s - hour as f64 * HOUR_S) + growth;
        if *self.sums.last()? <= target {
            return None;
        }
        while self.sums[hour + 1] <= target {
            // Nothing grows in between.
            hour = self.next_open[hour];
        }
        Some((hour as f64).mul_add(HOUR_S, (target - self.sums[hour]) / self.weights[hour]))
    }

    pub(super) fn is_open(&self, at_s: f64) -> bool {
        self.opening.is_open((at_s / HOUR_S) as usize)
    }

    /// Returns the next closing time after second `from_s`, at which the room is open.
    pub(super) fn closes_after(&self, from_s: f64) -> f64 {
        let hour = (from_s / HOUR_S) as usize;
        let midnight = (hour / DAY_HOURS * DAY_HOURS) as f64 * HOUR_S;
        match self.opening {
            OpeningHours::Teaching => midnight + 17.0 * HOUR_S,
            OpeningHours::Evening => midnight + 22.0 * HOUR_S,
            OpeningHours::Always => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campus::CampusConfig;
    use proptest::prelude::*;

    fn calendar(opening: OpeningHours) -> LoginCalendar {
        LoginCalendar::new(opening, &CampusConfig::default().users, 365)
    }

    #[test]
    fn rooms_open_and_close() {
        let teaching = calendar(OpeningHours::Teaching);
        assert!(!teaching.is_open(8.9 * HOUR_S));
        assert!(teaching.is_open(9.0 * HOUR_S));
        assert!(!teaching.is_open(17.0 * HOUR_S));
        assert!(!teaching.is_open((5.0 * 24.0 + 12.0) * HOUR_S));
        assert_eq!(teaching.closes_after(12.0 * HOUR_S), 17.0 * HOUR_S);
        assert!(calendar(OpeningHours::Always).is_open(6.0 * 24.0 * HOUR_S));
    }

    #[test]
    fn growth_skips_hours_without_logins() {
        let teaching = calendar(OpeningHours::Teaching);
        // Out of term: 0.35 x 0.80 in the first hour.
        let first = 0.35 * 0.80 * HOUR_S;
        let at = |from_h: f64, growth: f64| {
            teaching
                .after(from_h * HOUR_S, growth)
                .map(|at_s| (at_s / HOUR_S * 1e6).round() / 1e6)
        };
        assert_eq!(at(0.0, 0.5 * first), Some(9.5));
        assert_eq!(at(9.5, 0.5 * first + 1e-9), Some(10.0));
        // From Friday evening to Monday morning.
        assert_eq!(at(4.0 * 24.0 + 17.0, 0.25 * first), Some(7.0 * 24.0 + 9.25));
        assert_eq!(at(0.0, 1e12), None);
        assert_eq!(at(1e9, 1.0), None);
    }

    proptest! {
        #[test]
        fn growth_is_reached_in_the_first_hour_that_exceeds_it(
            from_h in 0.0..8760.0f64,
            growth in 0.0..400_000.0f64,
        ) {
            for opening in OpeningHours::ALL {
                let calendar = calendar(opening);
                let start = from_h as usize;
                let known = calendar.weights[start] * (from_h - start as f64) * HOUR_S;
                let target = calendar.sums[start] + known + growth;
                let hour = (start..8760).find(|&hour| calendar.sums[hour + 1] > target);
                let found = calendar.after(from_h * HOUR_S, growth);
                prop_assert_eq!(found.is_some(), hour.is_some());
                if let Some((found, hour)) = found.zip(hour) {
                    prop_assert!((found / HOUR_S - hour as f64 - 0.5).abs() <= 0.5 + 1e-6);
                    prop_assert!(calendar.is_open(found));
                }
            }
        }
    }
}

//! Maintenance as it is written in the settings: weekly times and single dates.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::{ToSpan, Zoned};
use tollgate_model::{Instant, MaintenanceCalendar, MaintenanceWindow};

/// The number of days ahead of which the windows are known to decisions.
const HORIZON_DAYS: i32 = 60;

/// The names of the days of the week.
const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// A time of maintenance, by the local clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceRule {
    /// Every week, from this time to that. If it is not later, that of the next day.
    Weekly(Weekday, Time, Time),
    /// Once.
    Once(DateTime, DateTime),
}

impl MaintenanceRule {
    /// Parses `sat 08:00-12:00` or `2026-12-24T18:00/2026-12-27T08:00`.
    pub(super) fn parse(words: &str) -> Option<Self> {
        if let Some((from, until)) = words.split_once('/') {
            let (from, until) = (from.trim().parse().ok()?, until.trim().parse().ok()?);
            return (from < until).then_some(Self::Once(from, until));
        }
        let (day, times) = words.trim().split_once(' ')?;
        let (_, day) = DAYS.into_iter().find(|(name, _)| *name == day)?;
        let (from, until) = times.split_once('-')?;
        let time = |text: &str| Time::strptime("%H:%M", text.trim()).ok();
        Some(Self::Weekly(day, time(from)?, time(until)?))
    }

    /// Returns the windows that end after `now` and begin within the horizon.
    fn windows(&self, now: &Zoned) -> Result<Vec<MaintenanceWindow>, jiff::Error> {
        let zone = now.time_zone();
        let instant = |at: DateTime| {
            let at = at.to_zoned(zone.clone())?.timestamp().as_microsecond();
            Ok::<_, jiff::Error>(Instant::from_micros(at))
        };
        let mut windows = Vec::new();
        match *self {
            Self::Once(from, until) => windows.push((from, until)),
            Self::Weekly(weekday, from, until) => {
                // The window that began yesterday may not be over.
                for days in -1..=HORIZON_DAYS {
                    let date = now.date().checked_add(days.days())?;
                    if date.weekday() == weekday {
                        let ends = if until > from { date } else { date.tomorrow()? };
                        windows.push((date.to_datetime(from), ends.to_datetime(until)));
                    }
                }
            }
        }
        let windows = windows.into_iter().map(|(from, until)| {
            let (from, until) = (instant(from)?, instant(until)?);
            Ok(MaintenanceWindow { from, until })
        });
        let now = Instant::from_micros(now.timestamp().as_microsecond());
        let windows: Result<Vec<_>, jiff::Error> = windows.collect();
        Ok(windows?
            .into_iter()
            .filter(|window| window.until > now)
            .collect())
    }
}

/// Returns the windows of all rules within the horizon. A rule beyond the calendar's range has none.
pub(crate) fn calendar(rules: &[MaintenanceRule], now: &Zoned) -> MaintenanceCalendar {
    let windows = rules
        .iter()
        .flat_map(|rule| rule.windows(now).unwrap_or_default());
    MaintenanceCalendar::new(windows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    #[test]
    fn rules_are_parsed() {
        for words in [
            "sat 08:00-12:00",
            "sun 22:00-02:00",
            "2026-12-24T18:00/2026-12-27T08:00",
        ] {
            assert!(MaintenanceRule::parse(words).is_some(), "{words}");
        }
        for words in [
            "",
            "sat",
            "sat 8-12",
            "xyz 08:00-12:00",
            "2026-12-27T08:00/2026-12-24T18:00",
        ] {
            assert_eq!(MaintenanceRule::parse(words), None, "{words}");
        }
    }

    #[test]
    fn weekly_windows_follow_the_local_clock() {
        let rule = MaintenanceRule::parse("sun 22:00-02:00").unwrap();
        // A Monday, while the window of Sunday is open, shortly before summer time ends.
        let now = at("2026-10-19T01:00[Europe/Berlin]");
        let calendar = calendar(&[rule], &now);
        let text = |instant: Instant| {
            let at = jiff::Timestamp::from_microsecond(instant.as_micros()).unwrap();
            at.to_string()
        };
        let first: Vec<[String; 2]> = calendar.windows()[..2]
            .iter()
            .map(|window| [text(window.from), text(window.until)])
            .collect();
        assert_eq!(first[0], ["2026-10-18T20:00:00Z", "2026-10-19T00:00:00Z"]);
        assert_eq!(first[1], ["2026-10-25T21:00:00Z", "2026-10-26T01:00:00Z"]);
        assert!(calendar.windows().len() >= 8);
    }

    #[test]
    fn single_window_is_gone_once_it_is_over() {
        let rule = MaintenanceRule::parse("2026-12-24T18:00/2026-12-27T08:00").unwrap();
        let windows = |now: &str| calendar(&[rule], &at(now)).windows().len();
        assert_eq!(windows("2026-12-01T00:00[UTC]"), 1);
        assert_eq!(windows("2026-12-27T07:59[UTC]"), 1);
        assert_eq!(windows("2026-12-27T08:00[UTC]"), 0);
    }
}

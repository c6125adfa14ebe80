//! The hours of the week in which tasks may run.

use std::str::FromStr;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// The hours of the week in which tasks may run: `mon-fri 18:00-08:00, sat, sun`.
///
/// An entry is a day or a range of days, and a range of times that may reach into the next day. Without times it is the
/// whole day. The days are those on which the hours begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesktopHours {
    entries: Vec<WeeklyHours>,
}

/// Hours that begin on one day of each week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WeeklyHours {
    day: Weekday,
    from: Time,
    /// The end; on the next day unless it is after the begin.
    to: Time,
}

/// The error of hours that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hours: `{entry}`: expected days and times such as `mon-fri 18:00-08:00, sat, sun`")]
pub struct DesktopHoursError {
    /// The entry that is wrong.
    entry: String,
}

/// The hours at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoursPhase {
    /// Tasks may run until the end; None if the hours never end.
    Open { until: Option<Timestamp> },
    /// No task may start before the next begin.
    Closed { until: Timestamp },
}

impl DesktopHours {
    /// Returns the phase at `now` in a zone. Hours keep their times of day when the clocks change.
    pub(crate) fn phase(&self, now: Timestamp, zone: &TimeZone) -> HoursPhase {
        let intervals = self.intervals(now.to_zoned(zone.clone()).date(), zone);
        let mut end = None;
        for &(from, to) in &intervals {
            // Hours that follow each other without a gap are one.
            let continues = end.map_or(from <= now, |end| from <= end);
            if to > now && continues {
                end = end.max(Some(to));
            }
        }
        match end {
            Some(end) if intervals.iter().all(|(_, to)| *to <= end) => {
                HoursPhase::Open { until: None }
            }
            Some(end) => HoursPhase::Open { until: Some(end) },
            None => {
                let next = intervals.iter().map(|(from, _)| *from);
                let next = next.filter(|from| *from > now).min();
                let until = next.unwrap_or(Timestamp::MAX);
                HoursPhase::Closed { until }
            }
        }
    }

    /// Returns the hours of ten days from the day before `today` on, in ascending order.
    fn intervals(&self, today: Date, zone: &TimeZone) -> Vec<(Timestamp, Timestamp)> {
        let days = (-1..=9).filter_map(|n: i32| today.checked_add(n.days()).ok());
        let mut all: Vec<_> = days
            .flat_map(|day| {
                let of_day = self
                    .entries
                    .iter()
                    .filter(move |one| one.day == day.weekday());
                of_day.filter_map(move |one| one.on(day, zone))
            })
            .collect();
        all.sort_unstable();
        all
    }
}

impl WeeklyHours {
    fn on(self, day: Date, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let last_day = match self.to > self.from {
            true => day,
            false => day.tomorrow().ok()?,
        };
        let at = |day: Date, time| zone.to_timestamp(day.to_datetime(time)).ok();
        let (from, to) = (at(day, self.from)?, at(last_day, self.to)?);
        // Hours that the clock skips when summer time begins are none.
        (from < to).then_some((from, to))
    }
}

impl FromStr for DesktopHours {
    type Err = DesktopHoursError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut entries = Vec::new();
        for entry in text.split(',') {
            let parsed = parse_entry(entry.trim());
            entries.extend(parsed.ok_or_else(|| DesktopHoursError {
                entry: entry.trim().to_owned(),
            })?);
        }
        Ok(Self { entries })
    }
}

fn parse_entry(entry: &str) -> Option<Vec<WeeklyHours>> {
    let mut words = entry.split_whitespace();
    let (days, times) = (words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    let (first, last) = days.split_once('-').unwrap_or((days, days));
    let (first, last) = (parse_day(first)?, parse_day(last)?);
    let (from, to) = match times {
        Some(times) => {
            let (from, to) = times.split_once('-')?;
            (parse_time(from)?, parse_time(to)?)
        }
        None => (Time::midnight(), Time::midnight()),
    };
    let n_days = first.until(last) + 1;
    let days = (0..n_days).map(|n| first.wrapping_add(n));
    Some(days.map(|day| WeeklyHours { day, from, to }).collect())
}

fn parse_day(word: &str) -> Option<Weekday> {
    Some(match word.to_ascii_lowercase().as_str() {
        "mon" => Weekday::Monday,
        "tue" => Weekday::Tuesday,
        "wed" => Weekday::Wednesday,
        "thu" => Weekday::Thursday,
        "fri" => Weekday::Friday,
        "sat" => Weekday::Saturday,
        "sun" => Weekday::Sunday,
        _ => return None,
    })
}

/// Parses `18:00`. The end of a day is `24:00`, or `00:00`.
fn parse_time(word: &str) -> Option<Time> {
    let (hour, minute) = word.split_once(':')?;
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    match (hour, minute) {
        (24, 0) => Some(Time::midnight()),
        _ => Time::new(hour, minute, 0, 0).ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hours(text: &str) -> DesktopHours {
        text.parse().unwrap()
    }

    fn at(text: &str, zone: &TimeZone) -> Timestamp {
        let at: jiff::civil::DateTime = text.parse().unwrap();
        zone.to_timestamp(at).unwrap()
    }

    /// Central European time with its change of clocks, without a database of zones.
    fn zone() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    #[track_caller]
    fn check(text: &str, now: &str, open: bool, until: &str) {
        let zone = zone();
        let until = at(until, &zone);
        let expected = match open {
            true => HoursPhase::Open { until: Some(until) },
            false => HoursPhase::Closed { until },
        };
        assert_eq!(hours(text).phase(at(now, &zone), &zone), expected, "{now}");
    }

    #[test]
    fn nights_and_week_ends_are_open() {
        let text = "mon-fri 18:00-08:00, sat, sun";
        // 2026-06-01 is a Monday.
        check(text, "2026-06-01T12:00", false, "2026-06-01T18:00");
        check(text, "2026-06-01T18:00", true, "2026-06-02T08:00");
        check(text, "2026-06-02T07:59", true, "2026-06-02T08:00");
        check(text, "2026-06-02T08:00", false, "2026-06-02T18:00");
        check(text, "2026-06-05T19:00", true, "2026-06-08T00:00");
        check(text, "2026-06-08T00:00", false, "2026-06-08T18:00");
    }

    #[test]
    fn hours_that_never_end_have_no_end() {
        let zone = zone();
        let always = hours("mon-sun");
        let phase = always.phase(at("2026-06-01T12:00", &zone), &zone);
        assert_eq!(phase, HoursPhase::Open { until: None });
        let wrapped = hours("SAT-FRI 00:00-24:00");
        let phase = wrapped.phase(at("2026-06-01T12:00", &zone), &zone);
        assert_eq!(phase, HoursPhase::Open { until: None });
    }

    #[test]
    fn hours_keep_their_times_of_day_when_the_clocks_change() {
        let (zone, text) = (zone(), "sat 22:00-06:00");
        // The clocks change in the nights to 2026-03-29 and 2026-10-25.
        for (evening, morning, length) in [
            ("2026-03-28T22:00", "2026-03-29T06:00", 7),
            ("2026-10-24T22:00", "2026-10-25T06:00", 9),
            ("2026-06-06T22:00", "2026-06-07T06:00", 8),
        ] {
            check(text, evening, true, morning);
            let span = at(morning, &zone).duration_since(at(evening, &zone));
            assert_eq!(span.as_hours(), length);
        }
    }

    #[test]
    fn hours_that_the_clock_skips_are_none() {
        let (zone, hours) = (zone(), hours("sun 2:00-3:00"));
        // Summer time begins on 29 March 2026.
        let phase = hours.phase(at("2026-03-28T12:00", &zone), &zone);
        let until = at("2026-04-05T02:00", &zone);
        assert!(
            matches!(phase, HoursPhase::Closed { until: found } if found == until),
            "{phase:?}"
        );
    }

    #[test]
    fn wrong_entry_is_named() {
        for entry in [
            "mo",
            "mon 8-9",
            "mon 25:00-08:00",
            "mon-",
            "",
            "mon 18:00-08:00 x",
        ] {
            let error = format!("sat, {entry}").parse::<DesktopHours>().unwrap_err();
            assert_eq!(error.entry, entry);
        }
    }

    /// Returns hours of some days, each on the hour or half past.
    fn any_hours() -> impl Strategy<Value = String> {
        let day = prop::sample::select(vec!["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);
        let time = (0..24, prop::bool::ANY);
        let time = time.prop_map(|(hour, half)| format!("{hour}:{}", if half { 30 } else { 0 }));
        let entry = (day.clone(), day, time.clone(), time);
        let entry = entry.prop_map(|(first, last, from, to)| format!("{first}-{last} {from}-{to}"));
        prop::collection::vec(entry, 1..4).prop_map(|entries| entries.join(", "))
    }

    proptest! {
        #[test]
        fn phase_lasts_until_its_end_and_no_longer(
            text in any_hours(), minutes in 0_i64..60 * 24 * 400,
        ) {
            let (zone, hours) = (zone(), hours(&text));
            let now = at("2026-01-01T00:00", &zone) + jiff::SignedDuration::from_mins(minutes);
            let is_open = |at| matches!(hours.phase(at, &zone), HoursPhase::Open { .. });
            let second = jiff::SignedDuration::from_secs(1);
            match hours.phase(now, &zone) {
                HoursPhase::Open { until: None } => prop_assert!(is_open(now + 24 * 7 * 3600 * second)),
                HoursPhase::Open { until: Some(until) } => {
                    prop_assert!(until > now && is_open(until - second) && !is_open(until));
                }
                HoursPhase::Closed { until } => {
                    prop_assert!(until > now && !is_open(until - second) && is_open(until));
                }
            }
        }

        #[test]
        fn any_text_is_hours_or_an_error(text in "([a-z]{3}|[0-9:]{1,3}|[-, ]|\\PC){0,12}") {
            if let Ok(hours) = text.parse::<DesktopHours>() {
                prop_assert!(!hours.entries.is_empty());
            }
        }
    }
}

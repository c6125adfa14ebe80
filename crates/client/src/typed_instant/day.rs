//! Parses days and times of day: `tomorrow 9am`, `next friday`, `12/31-17:00`.

use jiff::civil::{Date, Time, Weekday};
use jiff::{Timestamp, ToSpan, Zoned};

/// A day, a time of day, or both, as the user typed them in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DayAndTime {
    day: Option<Day>,
    time: Option<Time>,
}

/// A day as the user typed it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Day {
    /// A calendar day.
    Date(Date),
    /// The next day of this date that has not passed: a date without a year.
    NextDate {
        /// The month, from 1.
        month: i8,
        /// The day of the month, from 1.
        day: i8,
    },
    /// The next day of this name that has not passed; today is possible.
    Weekday(Weekday),
    /// The first day of this name after today.
    NextWeekday(Weekday),
}

/// An instant that a day and a time stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ResolvedInstant {
    /// The instant.
    pub(super) at: Timestamp,
    /// Whether only the day was typed, so that the instant is its end.
    pub(super) is_end_of_day: bool,
}

impl DayAndTime {
    /// Parses a text in lower case. None if a part of it is neither a day nor a time, or if there are
    /// two of a kind.
    pub(super) fn parse(text: &str, now: &Zoned) -> Option<Self> {
        let mut typed = Self::default();
        let mut parts = text.split_whitespace().peekable();
        while let Some(part) = parts.next() {
            if part == "at" && parts.peek().is_some() {
                continue;
            }
            if part == "next" {
                typed.set_day(Day::NextWeekday(parse_weekday(parts.next()?)?))?;
                continue;
            }
            // The blank in `9 am`.
            let half = parts.next_if(|next| matches!(*next, "am" | "pm"));
            let part = format!("{part}{}", half.unwrap_or_default());
            typed.add(&part, now)?;
        }
        (typed != Self::default()).then_some(typed)
    }

    /// Adds a day, a time, or a day with a time glued to it, such as `tomorrow18:00` or `12/31-17:00`.
    fn add(&mut self, part: &str, now: &Zoned) -> Option<()> {
        if let Some(time) = parse_time_of_day(part) {
            return self.set_time(time);
        }
        if let Some(day) = parse_day(part, now) {
            return self.set_day(day);
        }
        let (day, time) = ["today", "tomorrow"]
            .iter()
            .find_map(|day| Some((*day, part.strip_prefix(day)?)))
            .or_else(|| part.split_once('-'))?;
        self.set_day(parse_day(day, now)?)?;
        self.set_time(parse_time_of_day(time)?)
    }

    fn set_day(&mut self, day: Day) -> Option<()> {
        self.day.replace(day).is_none().then_some(())
    }

    fn set_time(&mut self, time: Time) -> Option<()> {
        self.time.replace(time).is_none().then_some(())
    }

    /// Returns the instant in the zone of `now`. None if the calendar has no such day.
    pub(super) fn resolve(self, now: &Zoned) -> Option<ResolvedInstant> {
        let at = |date: Date| {
            // The end of a day is the start of the next one.
            let (date, time) = match self.time {
                Some(time) => (date, time),
                None => (date.tomorrow().ok()?, Time::midnight()),
            };
            let zoned = date.to_datetime(time).to_zoned(now.time_zone().clone());
            Some(zoned.ok()?.timestamp())
        };
        let to_come = |date: Date| at(date).filter(|&at| at > now.timestamp());
        let today = now.date();
        let at = match self.day {
            Some(Day::Date(date)) => at(date),
            Some(Day::NextDate { month, day }) => (0..=8)
                .filter_map(|years| Date::new(today.year() + years, month, day).ok())
                .find_map(to_come),
            Some(Day::Weekday(weekday)) => {
                let next = today.checked_sub(1.day()).ok()?.nth_weekday(1, weekday);
                next.into_iter()
                    .chain(today.nth_weekday(1, weekday))
                    .find_map(to_come)
            }
            Some(Day::NextWeekday(weekday)) => at(today.nth_weekday(1, weekday).ok()?),
            None => to_come(today).or_else(|| at(today.tomorrow().ok()?)),
        };
        Some(ResolvedInstant {
            at: at?,
            is_end_of_day: self.time.is_none(),
        })
    }
}

/// Parses a day: `today`, `mon`, `2026-12-31`, `31.12.2026`, and Slurm's `12/31`, `12/31/26`, `1231`,
/// `123126`.
fn parse_day(word: &str, now: &Zoned) -> Option<Day> {
    match word {
        "today" => return Some(Day::Date(now.date())),
        "tomorrow" => return Some(Day::Date(now.date().tomorrow().ok()?)),
        _ => {}
    }
    parse_weekday(word)
        .map(Day::Weekday)
        .or_else(|| parse_iso_date(word).map(Day::Date))
        .or_else(|| parse_dotted_date(word).map(Day::Date))
        .or_else(|| parse_slurm_date(word))
}

fn parse_weekday(word: &str) -> Option<Weekday> {
    const WEEKDAYS: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let is_long_enough = word.len() >= 3;
    let mut weekdays = WEEKDAYS.into_iter().filter(|_| is_long_enough);
    let (_, weekday) = weekdays.find(|(name, _)| name.starts_with(word))?;
    Some(weekday)
}

fn parse_iso_date(word: &str) -> Option<Date> {
    (word.len() == 10).then(|| word.parse().ok()).flatten()
}

/// Parses day, month and a year of four digits.
fn parse_dotted_date(word: &str) -> Option<Date> {
    let (day, rest) = word.split_once('.')?;
    let (month, year) = rest.split_once('.').filter(|(_, year)| year.len() == 4)?;
    date(year.parse().ok()?, month, day)
}

/// Parses Slurm's `MM/DD[/YY]` and `MMDD[YY]`.
fn parse_slurm_date(word: &str) -> Option<Day> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let (month, day, year) = match word.len() {
        4 if digits => (&word[..2], &word[2..], None),
        6 if digits => (&word[..2], &word[2..4], Some(&word[4..])),
        _ => {
            let (month, rest) = word.split_once('/')?;
            match rest.split_once('/') {
                Some((day, year)) => (month, day, Some(year)),
                None => (month, rest, None),
            }
        }
    };
    match year {
        Some(year) => {
            let number: i16 = year.parse().ok()?;
            let century = if year.len() == 4 { 0 } else { 2000 };
            date(century + number, month, day).map(Day::Date)
        }
        // Of a leap year, so that 29 February is a date.
        None => date(2000, month, day).map(|date| Day::NextDate {
            month: date.month(),
            day: date.day(),
        }),
    }
}

fn date(year: i16, month: &str, day: &str) -> Option<Date> {
    Date::new(year, month.parse().ok()?, day.parse().ok()?).ok()
}

/// Parses a time of day: `17:00`, `17:00:30`, `9am`, `9:30pm`, or one of its names.
fn parse_time_of_day(text: &str) -> Option<Time> {
    const NAMES: [(&str, i8); 5] = [
        ("midnight", 0),
        ("elevenses", 11),
        ("noon", 12),
        ("fika", 15),
        ("teatime", 16),
    ];
    if let Some((_, hour)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Time::new(*hour, 0, 0, 0).ok();
    }
    let (clock, noon) = match text.strip_suffix("am") {
        Some(clock) => (clock, Some(0)),
        None => match text.strip_suffix("pm") {
            Some(clock) => (clock, Some(12)),
            None => (text, None),
        },
    };
    let mut parts = clock.split(':').map(|part| part.parse::<i8>().ok());
    let hour = parts.next()??;
    let minute = parts.next();
    let second = parts.next();
    if parts.next().is_some() || (minute.is_none() && noon.is_none()) {
        return None;
    }
    let hour = match noon {
        Some(noon) if (1..=12).contains(&hour) => hour % 12 + noon,
        Some(_) => return None,
        None => hour,
    };
    let (minute, second) = (minute.unwrap_or(Some(0))?, second.unwrap_or(Some(0))?);
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_day_is_the_next_one() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        let typed = DayAndTime::parse("02/29 9am", &now).unwrap();
        let at = typed.resolve(&now).unwrap().at;
        assert_eq!(at.to_string(), "2028-02-29T08:00:00Z");
    }

    #[test]
    fn two_days_or_two_times_are_rejected() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for text in ["mon tue", "9am 10am", "today next friday", "", "9am soon"] {
            assert_eq!(DayAndTime::parse(text, &now), None, "{text}");
        }
    }
}

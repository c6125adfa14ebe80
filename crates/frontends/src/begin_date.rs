//! The earliest start of `qsub -a`: `[[[[CC]YY]MM]DD]hhmm[.SS]`.

use jiff::civil::{Date, DateTime, Time};
use jiff::{ToSpan, Zoned};

/// A time of day, and the parts of its date that were typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BeginDate {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Time,
}

impl BeginDate {
    /// Parses a date. None if it has another form, or a part of it is out of range.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (digits, second) = match text.split_once('.') {
            Some((digits, second)) => (digits, Some(second)),
            None => (text, None),
        };
        let is_pair = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        let pairs: Vec<&str> = (0..digits.len())
            .step_by(2)
            .map(|at| digits.get(at..at + 2).filter(|pair| is_pair(pair)))
            .collect::<Option<_>>()?;
        let number = |pair: &&str| pair.parse::<i8>().ok();
        let (date, [hour, minute]) = pairs.split_last_chunk()?;
        let second = second.map_or(Some(0), |second| {
            number(&second).filter(|_| is_pair(second))
        });
        let time = Time::new(number(hour)?, number(minute)?, second?, 0).ok()?;
        let (rest, day) = date
            .split_last()
            .map_or((date, None), |(day, rest)| (rest, Some(day)));
        let (rest, month) = rest
            .split_last()
            .map_or((rest, None), |(month, rest)| (rest, Some(month)));
        let year = match rest {
            [] => None,
            // As of `touch -t`.
            [year] => Some(match i16::from(number(year)?) {
                year if year < 69 => 2000 + year,
                year => 1900 + year,
            }),
            [century, year] => Some(100 * i16::from(number(century)?) + i16::from(number(year)?)),
            _ => return None,
        };
        let (month, day) = (month.and_then(number), day.and_then(number));
        let in_range = |part: Option<i8>, most| part.is_none_or(|part| (1..=most).contains(&part));
        let begin = Self {
            year,
            month,
            day,
            time,
        };
        (in_range(month, 12) && in_range(day, 31)).then_some(begin)
    }

    /// Returns the next such time, in ISO 8601 and the zone of `now`. A time with a year may have passed. None if
    /// the calendar has no such day.
    pub(crate) fn resolve(self, now: &Zoned) -> Option<String> {
        let today = now.date();
        let at = |date: Date| date.to_datetime(self.time);
        let to_come = |at: &DateTime| *at >= now.datetime();
        let at = match (self.year, self.month, self.day) {
            (Some(year), Some(month), Some(day)) => Date::new(year, month, day).ok().map(at),
            (None, Some(month), Some(day)) => (0..=8)
                .filter_map(|years| Date::new(today.year() + years, month, day).ok())
                .map(at)
                .find(to_come),
            (None, None, Some(day)) => (0..=2)
                .filter_map(|months| {
                    let month = today.first_of_month().checked_add(months.months()).ok()?;
                    Date::new(month.year(), month.month(), day).ok()
                })
                .map(at)
                .find(to_come),
            _ => (0..=1)
                .filter_map(|days| today.checked_add(days.days()).ok())
                .map(at)
                .find(to_come),
        };
        Some(at?.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_those_of_the_next_such_time() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (text, expected) in [
            ("1700", "2026-11-21T17:00:00"),
            ("1500.30", "2026-11-22T15:00:30"),
            ("211500", "2026-12-21T15:00:00"),
            ("310900", "2026-12-31T09:00:00"),
            ("12310900", "2026-12-31T09:00:00"),
            ("01020900", "2027-01-02T09:00:00"),
            ("2612310900", "2026-12-31T09:00:00"),
            ("202501010900", "2025-01-01T09:00:00"),
        ] {
            let begin = BeginDate::parse(text).and_then(|begin| begin.resolve(&now));
            assert_eq!(begin.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "", "17", "17:00", "170", "2400", "1760", "321700", "13011700", "1700.6", "-1700",
            "now",
        ] {
            assert_eq!(BeginDate::parse(text), None, "{text}");
        }
    }
}

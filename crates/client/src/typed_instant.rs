//! Parses instants, such as deadlines. An error is a text for the user: what is expected, and what was typed.

mod day;

use self::day::DayAndTime;
use crate::typed_span::{is_unitless, parse_clock, parse_span, parse_units};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, Zoned};

/// The maximum span until an instant, in seconds: a hundred years.
const MAX_RELATIVE_S: f64 = 3.2e9;

/// An instant as the user typed it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// A number of seconds after submission, by the service's clock.
    Relative {
        /// The number of seconds.
        secs: f64,
        /// Whether the number was typed without a unit.
        unitless: bool,
    },
    /// An absolute instant.
    Absolute(Timestamp),
    /// The end of a day that was typed without a time.
    EndOfDay(Timestamp),
}

/// Parses an instant: `+2h`, `now+2hours`, `in 2 hours` and `1-12:00:00` (from now), or `17:00` (the next
/// time of day). It can also be `tomorrow 9am`, `next friday 5 pm`, `noon`, `12/31-17:00`, `2026-12-01T09:00`
/// in the zone of `now`, or ISO 8601 with an offset. A day without a time means its end.
fn parse_words(words: &str, now: &Zoned) -> Result<Moment, String> {
    let text = words.trim().to_ascii_lowercase();
    if let Some(later) = span_from_now(&text) {
        let (secs, unitless) = (parse_span(later)?, is_unitless(later));
        return relative(secs, unitless, words);
    }
    if let Some(at) = DayAndTime::parse(&text, now).and_then(|typed| typed.resolve(now)) {
        return Ok(match at.is_end_of_day {
            true => Moment::EndOfDay(at.at),
            false => Moment::Absolute(at.at),
        });
    }
    if let Some(secs) = days_and_clock(&text).or_else(|| units_only(&text)) {
        return relative(secs, false, words);
    }
    let text = words.trim();
    let at = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| parse_civil(text, now));
    at.map(Moment::Absolute).ok_or_else(|| {
        format!(
            "expected an instant as in +2h, 17:00, `tomorrow 9am` or 2026-12-01T09:00, got `{words}`"
        )
    })
}

/// Returns the span after `+`, `now+` or `in`.
fn span_from_now(text: &str) -> Option<&str> {
    let counted = text.strip_prefix("now").unwrap_or(text).trim_start();
    counted
        .strip_prefix('+')
        .or_else(|| text.strip_prefix("in "))
}

fn relative(secs: f64, unitless: bool, words: &str) -> Result<Moment, String> {
    match (0.0..=MAX_RELATIVE_S).contains(&secs) {
        true => Ok(Moment::Relative { secs, unitless }),
        false => Err(format!(
            "expected a moment within a hundred years, got `{words}`"
        )),
    }
}

/// Parses a span such as `1-12:00:00`. Without days the text is a time of day.
fn days_and_clock(text: &str) -> Option<f64> {
    parse_clock(text).filter(|_| text.contains('-'))
}

/// Parses a span with units, such as `2h` or `90 min`. A number without a unit is ambiguous.
fn units_only(text: &str) -> Option<f64> {
    parse_units(text).filter(|secs| text.parse::<f64>().is_err() && *secs > 0.0)
}

fn parse_civil(text: &str, now: &Zoned) -> Option<Timestamp> {
    let civil: DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(now.time_zone().clone()).ok()?;
    Some(zoned.timestamp())
}

/// Parses an instant by this host's clock.
pub fn parse_moment(words: &str, now: &Zoned) -> Result<Timestamp, String> {
    match parse_words(words, now)? {
        Moment::Relative { secs, .. } => {
            let later = SignedDuration::from_secs_f64(secs);
            let at = now.timestamp().checked_add(later);
            at.map_err(|error| error.to_string())
        }
        Moment::Absolute(at) | Moment::EndOfDay(at) => Ok(at),
    }
}

/// Parses a deadline into the fields of a request: a span, or an instant. A relative deadline counts by the
/// service's clock, whatever this host's clock shows.
pub fn parse_deadline(words: &str, now: &Zoned) -> Result<(Option<f64>, Option<String>), String> {
    match parse_words(words, now) {
        Ok(Moment::Relative { secs, .. }) => Ok((Some(secs), None)),
        Ok(Moment::Absolute(at) | Moment::EndOfDay(at)) => Ok((None, Some(at.to_string()))),
        Err(message) => Err(message),
    }
}

/// Parses the time at which a job begins into the fields of a request, as a deadline. A day without a time means
/// its start.
pub fn parse_begin(words: &str, now: &Zoned) -> Result<(Option<f64>, Option<String>), String> {
    match parse_words(words, now) {
        Ok(Moment::Relative { secs, .. }) => Ok((Some(secs), None)),
        Ok(Moment::Absolute(at)) => Ok((None, Some(at.to_string()))),
        Ok(Moment::EndOfDay(end)) => {
            let start = day_before(end, now).and_then(|day| day.start_of_day().ok());
            Ok((None, start.map(|start| start.timestamp().to_string())))
        }
        Err(message) => Err(message),
    }
}

/// Returns an instant of the day that ends at `end`.
fn day_before(end: Timestamp, now: &Zoned) -> Option<Zoned> {
    end.to_zoned(now.time_zone().clone()).yesterday().ok()
}

/// Returns a note about the time at which a job begins, as about a deadline.
pub fn note_of_begin(words: &str, now: &Zoned) -> Option<String> {
    match parse_words(words, now).ok()? {
        Moment::EndOfDay(end) => {
            let day = day_before(end, now)?.strftime("%A, %Y-%m-%d");
            Some(format!("--begin {words}: the start of {day} (00:00)"))
        }
        Moment::Relative {
            unitless: true,
            secs,
        } => Some(format!("--begin {words}: {secs} seconds from now")),
        Moment::Relative { .. } | Moment::Absolute(_) => None,
    }
}

/// Returns a note about a deadline that may mean something else to its user: a day without a time, or a
/// number without a unit.
pub fn note_of_deadline(words: &str, now: &Zoned) -> Option<String> {
    match parse_words(words, now).ok()? {
        Moment::EndOfDay(end) => {
            let day = day_before(end, now)?.strftime("%A, %Y-%m-%d");
            Some(format!("--deadline {words}: the end of {day} (24:00)"))
        }
        Moment::Relative {
            unitless: true,
            secs,
        } => Some(format!("--deadline {words}: {secs} seconds from now")),
        Moment::Relative { .. } | Moment::Absolute(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Saturday.
    fn now() -> Zoned {
        "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn check(cases: &[(&str, &str)]) {
        for (words, expected) in cases {
            let read = parse_words(words, &now()).map(|moment| match moment {
                Moment::Absolute(at) => at.to_string(),
                Moment::EndOfDay(at) => format!("end {at}"),
                Moment::Relative { secs, .. } => format!("{secs} s"),
            });
            assert_eq!(read.as_deref(), Ok(*expected), "{words}");
        }
    }

    #[test]
    fn spans_from_now_are_relative() {
        check(&[
            ("+2h", "7200 s"),
            ("now+2hours", "7200 s"),
            ("now + 90 min", "5400 s"),
            ("in 2 hours", "7200 s"),
            ("In 1 day 2h", "93600 s"),
            ("1-12:00:00", "129600 s"),
            ("90 min", "5400 s"),
        ]);
    }

    #[test]
    fn times_of_day_are_in_the_zone_of_the_user() {
        check(&[
            ("17:00", "2026-11-21T16:00:00Z"),
            ("15:00", "2026-11-22T14:00:00Z"),
            ("5 pm", "2026-11-21T16:00:00Z"),
            ("10:00 PM", "2026-11-21T21:00:00Z"),
            ("12am", "2026-11-21T23:00:00Z"),
            ("midnight", "2026-11-21T23:00:00Z"),
            ("teatime", "2026-11-21T15:00:00Z"),
            ("fika", "2026-11-22T14:00:00Z"),
            ("elevenses", "2026-11-22T10:00:00Z"),
        ]);
    }

    #[test]
    fn days_with_a_time_are_in_the_zone_of_the_user() {
        check(&[
            ("tomorrow 9am", "2026-11-22T08:00:00Z"),
            ("9 am tomorrow", "2026-11-22T08:00:00Z"),
            ("tomorrow at 9 am", "2026-11-22T08:00:00Z"),
            ("tomorrow18:00", "2026-11-22T17:00:00Z"),
            ("today 11:30pm", "2026-11-21T22:30:00Z"),
            ("noon tomorrow", "2026-11-22T11:00:00Z"),
            ("9AM Tomorrow", "2026-11-22T08:00:00Z"),
            ("sat 16:00", "2026-11-21T15:00:00Z"),
            ("saturday 9am", "2026-11-28T08:00:00Z"),
            ("next saturday 16:00", "2026-11-28T15:00:00Z"),
            ("next friday 5pm", "2026-11-27T16:00:00Z"),
            ("fri 17:00", "2026-11-27T16:00:00Z"),
            ("31.12.2026 17:00", "2026-12-31T16:00:00Z"),
            ("12/31-17:00", "2026-12-31T16:00:00Z"),
            ("12/31/26-17:00:30", "2026-12-31T16:00:30Z"),
            ("01/15 9am", "2027-01-15T08:00:00Z"),
            ("2026-12-01T09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01 09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01T09:00Z", "2026-12-01T09:00:00Z"),
        ]);
    }

    #[test]
    fn day_without_a_time_is_its_end() {
        check(&[
            ("today", "end 2026-11-21T23:00:00Z"),
            ("tomorrow", "end 2026-11-22T23:00:00Z"),
            ("sat", "end 2026-11-21T23:00:00Z"),
            ("monday", "end 2026-11-23T23:00:00Z"),
            ("next saturday", "end 2026-11-28T23:00:00Z"),
            ("2026-12-31", "end 2026-12-31T23:00:00Z"),
            ("31.12.2026", "end 2026-12-31T23:00:00Z"),
            ("1231", "end 2026-12-31T23:00:00Z"),
            ("12/31", "end 2026-12-31T23:00:00Z"),
            ("01/15/27", "end 2027-01-15T23:00:00Z"),
            ("011527", "end 2027-01-15T23:00:00Z"),
        ]);
    }

    #[test]
    fn day_of_a_clock_change_ends_at_midnight_of_its_zone() {
        let now: Zoned = "2026-10-25T01:30:00+02:00[Europe/Berlin]".parse().unwrap();
        let end = parse_moment("today", &now).unwrap();
        assert_eq!(end.to_string(), "2026-10-25T23:00:00Z");
    }

    #[test]
    fn other_words_are_rejected() {
        for words in [
            "",
            "noon-ish",
            "90",
            "1331",
            "32.12.2026",
            "today tomorrow",
            "someday 9am",
            "next",
            "next tomorrow",
            "9am 5pm",
            "25:00",
            "13pm",
            "am",
            "+",
            "+soon",
            "in",
            "in a while",
            "+1e300s",
            "yesterday 5pm",
        ] {
            assert!(parse_words(words, &now()).is_err(), "{words}");
        }
    }

    #[test]
    fn day_without_a_time_begins_at_its_start() {
        for (words, expected) in [
            ("monday", "2026-11-22T23:00:00Z"),
            ("tomorrow", "2026-11-21T23:00:00Z"),
            ("monday 17:00", "2026-11-23T16:00:00Z"),
        ] {
            let begin = parse_begin(words, &now()).unwrap();
            assert_eq!(begin, (None, Some(expected.to_owned())), "{words}");
        }
        assert_eq!(parse_begin("+2h", &now()).unwrap(), (Some(7200.0), None));
        assert_eq!(
            note_of_begin("monday", &now()).as_deref(),
            Some("--begin monday: the start of Monday, 2026-11-23 (00:00)")
        );
    }

    #[test]
    fn deadline_of_two_meanings_has_a_note() {
        let note = |words| note_of_deadline(words, &now());
        assert_eq!(
            note("monday").as_deref(),
            Some("--deadline monday: the end of Monday, 2026-11-23 (24:00)")
        );
        assert_eq!(
            note("+5").as_deref(),
            Some("--deadline +5: 5 seconds from now")
        );
        for words in ["+5s", "17:00", "1-12:00:00", "monday 17:00", "nonsense"] {
            assert_eq!(note(words), None, "{words}");
        }
    }
}

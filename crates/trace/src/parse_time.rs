//! Instants and spans as accounting tools print them.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use tollgate_model::{Instant, Span};

use crate::finding::Finding;
use crate::parse_field;
use crate::parse_number::millionths;
use crate::record_field::RecordField;

/// A parser for instants with an offset, and for dates and times without one.
static PARSER: DateTimeParser = DateTimeParser::new();

/// Whether the time zone was stated or assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ZoneOrigin {
    /// The text states the zone, or counts from the Unix epoch.
    Explicit,
    /// The text states no zone; UTC is assumed.
    Assumed,
}

impl ZoneOrigin {
    /// Returns the finding about an instant of this origin, if there is one.
    pub(crate) fn finding(self) -> Option<Finding> {
        (self == Self::Assumed).then_some(Finding::AssumedUtc)
    }
}

/// Parses an instant as a record of any format writes it. It is Unix seconds, or a date and a time of day
/// with a blank or a `T` between them. There may be a fraction, and `Z` or an offset (`+01:00`, `+0100`,
/// `+01`). A time without an offset is taken as UTC.
///
/// # Errors
/// If `text` is neither, or is before 1970.
pub(crate) fn instant(text: &[u8], field: RecordField) -> Result<(Instant, ZoneOrigin), Finding> {
    // A number of seconds is not taken for a year, nor a date for the beginning of its day.
    let Some(colon) = memchr::memchr(b':', text) else {
        let micros = millionths(text).map_err(|_| Finding::NotATime(field))?;
        return Ok((since_epoch(micros, field)?, ZoneOrigin::Explicit));
    };
    let is_stated = text[colon..].iter().any(|byte| b"Zz+-".contains(byte));
    let (timestamp, zone) = if is_stated {
        (PARSER.parse_timestamp(text), ZoneOrigin::Explicit)
    } else {
        let civil = PARSER.parse_datetime(text);
        let utc = civil.and_then(|civil| TimeZone::UTC.to_timestamp(civil));
        (utc, ZoneOrigin::Assumed)
    };
    let timestamp = timestamp.map_err(|_| Finding::NotATime(field))?;
    Ok((since_epoch(timestamp.as_microsecond(), field)?, zone))
}

/// Parses an instant in Unix seconds.
///
/// # Errors
/// If `text` is not a number, or is negative.
pub(crate) fn unix_seconds(text: &[u8], field: RecordField) -> Result<Instant, Finding> {
    since_epoch(parse_field::span(text, field)?.as_micros(), field)
}

fn since_epoch(micros: i64, field: RecordField) -> Result<Instant, Finding> {
    if micros < 0 {
        return Err(Finding::OutOfRange(field));
    }
    Ok(Instant::ZERO + parse_field::in_range(micros, field)?)
}

/// Parses a span as `[days-]hours:minutes:seconds`, `days:hours:minutes:seconds`, `minutes:seconds`
/// or `seconds`. After a dash, the first field is hours and trailing fields may be missing. The last
/// field may have a fraction.
///
/// # Errors
/// If `text` has none of these forms, or is too long for a job.
pub(crate) fn span(text: &[u8], field: RecordField) -> Result<Span, Finding> {
    let (days, clock) = match memchr::memchr(b'-', text) {
        Some(dash) => (Some(&text[..dash]), &text[dash + 1..]),
        None => (None, text),
    };
    let n_parts = 1 + memchr::memchr_iter(b':', clock).count();
    let scales: &[i64] = match (n_parts, days) {
        (1..=3, Some(_)) => &[24, 60, 60],
        (4, None) => &[1, 24, 60, 60],
        (1..=3, None) => &[1, 60, 60][..n_parts],
        _ => return Err(Finding::NotATime(field)),
    };
    let mut micros = days.map_or(Ok(0), |days| part(days, field))?;
    let mut parts = clock.split(|&byte| byte == b':');
    for scale in scales {
        let value = parts.next().map_or(Ok(0), |text| part(text, field))?;
        micros = micros.saturating_mul(*scale).saturating_add(value);
    }
    parse_field::in_range(micros, field)
}

fn part(text: &[u8], field: RecordField) -> Result<i64, Finding> {
    match millionths(text) {
        Ok(value) if text.first().is_some_and(u8::is_ascii_digit) => Ok(value),
        Ok(_) | Err(_) => Err(Finding::NotATime(field)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::Offset;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn instants_are_read_in_every_notation() {
        use ZoneOrigin::{Assumed, Explicit};
        for (text, seconds, zone) in [
            ("1970-01-01T00:00:00", 0.0, Assumed),
            ("2000-02-29 12:00:00", 951_825_600.0, Assumed),
            ("2016-12-22T07:15:12.25", 1_482_390_912.25, Assumed),
            ("2016-12-22T07:15:12Z", 1_482_390_912.0, Explicit),
            ("2016-12-22 07:15:12.5Z", 1_482_390_912.5, Explicit),
            ("2016-12-22T08:15:12+0100", 1_482_390_912.0, Explicit),
            ("2016-12-22T08:15:12+01:00", 1_482_390_912.0, Explicit),
            ("2016-12-22T02:45:12-0430", 1_482_390_912.0, Explicit),
            ("2016-12-31T23:59:60", 1_483_228_799.0, Assumed),
            ("2100-03-01T00:00", 4_107_542_400.0, Assumed),
            ("1482390912", 1_482_390_912.0, Explicit),
            ("1482390912.5", 1_482_390_912.5, Explicit),
        ] {
            let read = instant(text.as_bytes(), RecordField::Submit);
            let expected = Instant::ZERO + Span::from_secs_f64(seconds);
            assert_eq!(read, Ok((expected, zone)), "{text}");
        }
    }

    #[test]
    fn other_text_is_not_an_instant() {
        for text in [
            "Unknown",
            "2016-13-01T00:00:00",
            "2016-02-30T00:00:00",
            "2016-12-22",
            "2016-12-22T7",
            "2016-12-22T07:00:00+0100x",
            "10:00:00",
            "1 Mar 10:00",
            "T",
            "",
        ] {
            let read = instant(text.as_bytes(), RecordField::Start);
            assert_eq!(read, Err(Finding::NotATime(RecordField::Start)), "{text}");
        }
        for text in [
            "1969-12-31T23:59:59",
            "1970-01-01T00:30:00+0100",
            "9999-01-01T00:00:00",
            "-5",
        ] {
            let read = instant(text.as_bytes(), RecordField::Start);
            assert_eq!(read, Err(Finding::OutOfRange(RecordField::Start)), "{text}");
        }
    }

    proptest! {
        /// An instant is the same in whichever zone and notation it is written.
        #[test]
        fn notation_of_an_instant_does_not_change_it(
            seconds in 100_000_i64..4_000_000_000,
            quarters in -48_i32..=48,
            separator in prop::sample::select(vec!["T", " "]),
            colon in prop::sample::select(vec![":", ""]),
        ) {
            let offset = Offset::from_seconds(quarters * 900).unwrap();
            let there = offset.to_datetime(Timestamp::from_second(seconds).unwrap());
            let (sign, minutes) = (if quarters < 0 { '-' } else { '+' }, quarters.abs() * 15);
            let text = format!(
                "{}{separator}{}{sign}{:02}{colon}{:02}",
                there.date(), there.time(), minutes / 60, minutes % 60,
            );
            let read = instant(text.as_bytes(), RecordField::Submit);
            prop_assert_eq!(read, Ok((Instant::from_secs(seconds), ZoneOrigin::Explicit)));
        }
    }

    #[test]
    fn spans_of_every_form_are_read() {
        for (text, seconds) in [
            ("36000", 36_000.0),
            ("02:10.584", 130.584),
            ("00:36:37", 2197.0),
            ("144:00:00", 518_400.0),
            ("10-13:27:06", 912_426.0),
            ("1-12", 129_600.0),
            ("1-12:30", 131_400.0),
            ("1:00:00:00", 86_400.0),
        ] {
            let read = span(text.as_bytes(), RecordField::Estimate);
            assert_eq!(read, Ok(Span::from_secs_f64(seconds)), "{text}");
        }
        for text in [
            "",
            "UNLIMITED",
            "1:2:3:4:5",
            "1-1:2:3:4",
            "-5",
            "1:-2",
            "1-",
            ":",
        ] {
            let read = span(text.as_bytes(), RecordField::Estimate);
            assert_eq!(
                read,
                Err(Finding::NotATime(RecordField::Estimate)),
                "{text}"
            );
        }
        let read = span(b"99999999999-00:00:00", RecordField::Estimate);
        assert_eq!(read, Err(Finding::OutOfRange(RecordField::Estimate)));
    }
}

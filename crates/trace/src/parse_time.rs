//! Times of day and spans as accounting tools print them.

use tollgate_model::{Instant, Span};

use crate::diagnostics::{Finding, RecordField};
use crate::parse_field;
use crate::parse_number::{decimals, millionths};

const SECONDS_PER_DAY: i64 = 86_400;

/// Parses an instant as `YYYY-MM-DDTHH:MM:SS`, taken as UTC, or as Unix seconds.
///
/// # Errors
/// If `text` is neither, or is before 1970.
pub(crate) fn instant(text: &[u8], field: RecordField) -> Result<Instant, Finding> {
    if text.iter().all(u8::is_ascii_digit) {
        return unix_seconds(text, field);
    }
    let seconds = civil_seconds(text).ok_or(Finding::NotATime(field))?;
    since_epoch(Span::from_secs(seconds), field)
}

/// Whether the time zone was stated or assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ZoneOrigin {
    /// The text states UTC.
    Explicit,
    /// The text states no zone; UTC is assumed.
    Assumed,
}

/// Parses an instant as `YYYY-MM-DD HH:MM:SS`, optionally with a `T` instead of the blank, a
/// fraction, and a trailing `Z` for UTC; or as Unix seconds.
///
/// # Errors
/// If `text` is neither, or is before 1970.
pub(crate) fn timestamp(text: &[u8], field: RecordField) -> Result<(Instant, ZoneOrigin), Finding> {
    if let Ok(instant) = unix_seconds(text, field) {
        return Ok((instant, ZoneOrigin::Explicit));
    }
    let (text, zone) = match text.strip_suffix(b"Z") {
        Some(text) => (text, ZoneOrigin::Explicit),
        None => (text, ZoneOrigin::Assumed),
    };
    let point = memchr::memchr(b'.', text).unwrap_or(text.len());
    let (whole, fraction) = text.split_at(point);
    let fraction = match fraction {
        [b'.', digits @ ..] => decimals(digits).map_err(|_| Finding::NotATime(field))?,
        _ => 0,
    };
    let whole: Vec<u8> = whole
        .iter()
        .map(|&byte| if byte == b' ' { b'T' } else { byte })
        .collect();
    Ok((instant(&whole, field)? + Span::from_micros(fraction), zone))
}

/// Parses an instant in Unix seconds.
///
/// # Errors
/// If `text` is not a number, or is negative.
pub(crate) fn unix_seconds(text: &[u8], field: RecordField) -> Result<Instant, Finding> {
    since_epoch(parse_field::span(text, field)?, field)
}

fn since_epoch(span: Span, field: RecordField) -> Result<Instant, Finding> {
    if span < Span::ZERO {
        return Err(Finding::OutOfRange(field));
    }
    Ok(Instant::ZERO + parse_field::in_range(span.as_micros(), field)?)
}

/// Parses a span as `[days-]hours:minutes:seconds`, `minutes:seconds` or `seconds`. After days, the
/// first field is hours and trailing fields may be missing. The last field may have a fraction.
///
/// # Errors
/// If `text` has none of these forms, or is too long for a job.
pub(crate) fn span(text: &[u8], field: RecordField) -> Result<Span, Finding> {
    let (days, clock) = match memchr::memchr(b'-', text) {
        Some(dash) => (Some(&text[..dash]), &text[dash + 1..]),
        None => (None, text),
    };
    let mut micros = days
        .map_or(Ok(0), |days| part(days, field))?
        .saturating_mul(24);
    let mut parts = 0;
    for text in clock.split(|&byte| byte == b':') {
        let scale = if parts == 0 { 1 } else { 60 };
        micros = micros
            .saturating_mul(scale)
            .saturating_add(part(text, field)?);
        parts += 1;
    }
    if parts > 3 {
        return Err(Finding::NotATime(field));
    }
    let left_out = if days.is_some() { 3 - parts } else { 0 };
    parse_field::in_range(micros.saturating_mul(60_i64.pow(left_out)), field)
}

fn part(text: &[u8], field: RecordField) -> Result<i64, Finding> {
    match millionths(text) {
        Ok(value) if text.first().is_some_and(u8::is_ascii_digit) => Ok(value),
        Ok(_) | Err(_) => Err(Finding::NotATime(field)),
    }
}

fn civil_seconds(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let sound = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    sound.then(|| days(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut pieces = text.split(between).map(|piece| {
        let digits = piece.len() <= 4 && piece.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| piece.parse().ok()).flatten()
    });
    let found = [pieces.next()??, pieces.next()??, pieces.next()??];
    pieces.next().is_none().then_some(found)
}

/// Returns days since the Unix epoch. Years begin in March, so that the leap day comes last
/// (Richards, "Calendars", in: Explanatory Supplement to the Astronomical Almanac, 2013).
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_utc() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00", 0),
            ("2000-02-29T12:00:00", 951_825_600),
            ("2016-12-22T07:15:12", 1_482_390_912),
            ("2100-03-01T00:00:00", 4_107_542_400),
            ("1482390912", 1_482_390_912),
        ] {
            let read = instant(text.as_bytes(), RecordField::Submit);
            assert_eq!(read, Ok(Instant::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn other_text_is_not_an_instant() {
        for text in [
            "Unknown",
            "2016-13-01T00:00:00",
            "2016-12-22",
            "2016-12-22T7",
            "T",
        ] {
            let read = instant(text.as_bytes(), RecordField::Start);
            assert_eq!(read, Err(Finding::NotATime(RecordField::Start)), "{text}");
        }
        for text in ["1969-12-31T23:59:59", "9999-01-01T00:00:00"] {
            let read = instant(text.as_bytes(), RecordField::Start);
            assert_eq!(read, Err(Finding::OutOfRange(RecordField::Start)), "{text}");
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
        ] {
            let read = span(text.as_bytes(), RecordField::Estimate);
            assert_eq!(read, Ok(Span::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "UNLIMITED", "1:2:3:4", "-5", "1:-2", "1-", ":"] {
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

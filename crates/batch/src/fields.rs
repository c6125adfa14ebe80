//! Numbers, times and sizes in the answers of engines.
//!
//! Every query runs under `TZ=UTC0`, so that a date without a zone is an instant.

use tollgate_model::{Bytes, Instant, Span};

/// The variables under which every command runs that prints dates or messages.
pub(crate) const NEUTRAL: [&str; 3] = ["env", "TZ=UTC0", "LC_ALL=C"];

const SECONDS_PER_DAY: i64 = 86_400;

/// The names of months in dates such as `Sun Nov 22 04:02:41 2026`.
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Parses a date and time in UTC, as in `2026-11-22T04:02:37` with or without a fraction. None if
/// it is not one.
pub(crate) fn iso_instant(text: &str) -> Option<Instant> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    instant(year, month, day, time)
}

/// Parses a date as `ctime` prints it, as in `Sun Nov 22 04:02:41 2026`. None if it is not one.
pub(crate) fn ctime_instant(text: &str) -> Option<Instant> {
    let mut words = text.split_whitespace().skip(1);
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let day = digits(words.next()?)?;
    let time = words.next()?;
    let year = digits(words.next()?)?;
    words.next().is_none().then_some(())?;
    instant(year, month, day, time)
}

/// Parses a number of seconds since the epoch. None for 0, which HTCondor has for `never`.
pub(crate) fn epoch_instant(text: &str) -> Option<Instant> {
    let seconds = digits(text)?;
    (seconds > 0).then(|| Instant::from_secs(seconds))
}

fn instant(year: i64, month: i64, day: i64, time: &str) -> Option<Instant> {
    let in_range =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    in_range.then_some(())?;
    let whole = time.split_once('.').map_or(time, |(whole, _)| whole);
    let mut parts = whole.splitn(3, ':').map(digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let in_range = hour < 24 && minute < 60 && second <= 60;
    in_range.then_some(())?;
    let seconds = hour * 3600 + minute * 60 + second;
    Some(Instant::from_secs(
        days_since_epoch(year, month, day) * SECONDS_PER_DAY + seconds,
    ))
}

/// Returns the days from 1 January 1970 to a date of the Gregorian calendar. Counts years from
/// March on, so that the leap day is the last day of a year.
const fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    // 719,468 days lie between 1 March of the year 0 and the epoch.
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// Returns an instant as a date and time in UTC, without a zone, as in `2026-11-22T04:02:37`.
pub(crate) fn iso_text(at: Instant) -> String {
    let seconds = at.as_micros().div_euclid(1_000_000);
    let (day, second) = (
        seconds.div_euclid(SECONDS_PER_DAY),
        seconds.rem_euclid(SECONDS_PER_DAY),
    );
    let (year, month, day) = date_of(day);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}",
        second % 60
    )
}

/// Returns the year, month and day of a day since 1 January 1970: the inverse of [`days_since_epoch`].
fn date_of(day: i64) -> (i64, i64, i64) {
    // Eras have 400 years from 1 March.
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = month_from_march + if month_from_march < 10 { 3 } else { -9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Parses a whole number of at most 18 digits. None if it is not one.
pub(crate) fn digits(text: &str) -> Option<i64> {
    let is_number =
        (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Parses a count, with a `+` behind it if it is the smallest of several. None if it is not one.
pub(crate) fn count(text: &str) -> Option<u32> {
    u32::try_from(digits(text.strip_suffix('+').unwrap_or(text))?).ok()
}

/// Parses a number of mebibytes. None if it is not one.
pub(crate) fn mebibytes(text: &str) -> Option<Bytes> {
    let amount = u64::try_from(digits(text.strip_suffix('+').unwrap_or(text))?).ok()?;
    Some(Bytes::from_kibibytes(amount.saturating_mul(1024)))
}

/// Parses an amount of memory with a fraction and a unit, as in `23.5G`. None if it is not one.
pub(crate) fn scaled_bytes(text: &str) -> Option<Bytes> {
    const UNITS: [(char, f64); 4] = [
        ('K', 1.0),
        ('M', 1024.0),
        ('G', 1_048_576.0),
        ('T', 1_073_741_824.0),
    ];
    let unit = text.chars().next_back()?;
    let (_, kibibytes) = UNITS.into_iter().find(|&(letter, _)| letter == unit)?;
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let number = text
        .strip_suffix(unit)
        .filter(|text| text.bytes().all(is_number))?;
    let amount: f64 = number.parse().ok()?;
    // The cast saturates.
    Some(Bytes::from_kibibytes((amount * kibibytes) as u64))
}

/// Parses a span as in `1-12:00:00`, `12:00:00` or `5:00`. None if it is not one.
pub(crate) fn clock_span(text: &str) -> Option<Span> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (digits(days)?, clock),
        None => (0, text),
    };
    let parts: Option<Vec<i64>> = clock.split(':').map(digits).collect();
    let parts = parts?;
    (2..=3).contains(&parts.len()).then_some(())?;
    let seconds = parts
        .iter()
        .try_fold(0i64, |sum, part| sum.checked_mul(60)?.checked_add(*part))?;
    let seconds = days.checked_mul(SECONDS_PER_DAY)?.checked_add(seconds)?;
    Some(Span::from_secs(seconds))
}

/// Returns a span in whole seconds, rounded up; at least 1.
pub(crate) fn whole_seconds(span: Span) -> i64 {
    span.as_micros()
        .div_euclid(1_000_000)
        .saturating_add(i64::from(span.as_micros().rem_euclid(1_000_000) > 0))
        .max(1)
}

/// Returns an amount of memory in whole mebibytes, rounded up.
pub(crate) const fn whole_mebibytes(memory: Bytes) -> u64 {
    memory.as_u64().div_ceil(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_instants() {
        let expected = Some(Instant::from_secs(1_795_320_157));
        assert_eq!(iso_instant("2026-11-22T04:02:37"), expected);
        assert_eq!(iso_instant("2026-11-22T04:02:37.519"), expected);
        assert_eq!(ctime_instant("Sun Nov 22 04:02:37 2026"), expected);
        assert_eq!(epoch_instant("1795320157"), expected);
        assert_eq!(iso_instant("1970-01-01T00:00:00"), Some(Instant::ZERO));
        let leap = iso_instant("2024-02-29T00:00:00").zip(iso_instant("2024-03-01T00:00:00"));
        let (before, after) = leap.expect("both are dates");
        assert_eq!(after.since(before), Span::from_secs(SECONDS_PER_DAY));
    }

    #[test]
    fn text_of_an_instant_is_parsed_as_the_same_instant() {
        for day in (-1..60_000).step_by(7) {
            let at = Instant::from_secs(day.max(0) * SECONDS_PER_DAY + day.max(0) * 977 % 86_400);
            assert_eq!(iso_instant(&iso_text(at)), Some(at), "{}", iso_text(at));
        }
    }

    #[test]
    fn other_words_are_no_dates() {
        for text in [
            "N/A",
            "Unknown",
            "",
            "2026-13-01T00:00:00",
            "2026-1-1",
            "T",
            "2026-11-22T25:00:00",
        ] {
            assert_eq!(iso_instant(text), None, "{text}");
        }
        for text in ["-/-", "", "Sun Nov 22", "Sun Foo 22 04:02:37 2026"] {
            assert_eq!(ctime_instant(text), None, "{text}");
        }
        assert_eq!(epoch_instant("0"), None);
        assert_eq!(epoch_instant("undefined"), None);
    }

    #[test]
    fn spans_of_clocks_are_parsed() {
        assert_eq!(clock_span("12:00:00"), Some(Span::from_secs(43_200)));
        assert_eq!(clock_span("1-00:00:01"), Some(Span::from_secs(86_401)));
        assert_eq!(clock_span("5:00"), Some(Span::from_secs(300)));
        for text in ["infinite", "5", "", "1-2", "999999999999999999:00:00"] {
            assert_eq!(clock_span(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_rounded_up() {
        assert_eq!(whole_seconds(Span::from_micros(1)), 1);
        assert_eq!(whole_seconds(Span::from_secs(60)), 60);
        assert_eq!(whole_mebibytes(Bytes::new(1)), 1);
        assert_eq!(mebibytes("4000+").map(whole_mebibytes), Some(4000));
    }
}

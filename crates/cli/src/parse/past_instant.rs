//! Instants of the past, for lists of jobs.

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::parse_span;
use crate::output::format;

/// Parses an instant of the past by this host's clock and zone.
pub(crate) fn parse_past(words: &str) -> Result<Timestamp, String> {
    past(words, &format::now())
}

/// Parses a day (its start), a time of today, both, ISO 8601 with an offset, or the time since then as in `2h`.
fn past(words: &str, now: &Zoned) -> Result<Timestamp, String> {
    let text = words.trim();
    let zone = || now.time_zone().clone();
    let of_date = |date: DateTime| date.to_zoned(zone()).ok().map(|zoned| zoned.timestamp());
    let of_day = || Some(text.parse::<Date>().ok()?.at(0, 0, 0, 0));
    let of_time = || Some(now.date().to_datetime(text.parse::<Time>().ok()?));
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let civil = text.contains(':').then(|| text.parse::<DateTime>().ok());
    if let Some(at) = civil
        .flatten()
        .or_else(of_day)
        .or_else(of_time)
        .and_then(of_date)
    {
        return Ok(at);
    }
    // With a colon it would be a time of day, as `25:00` is none.
    let span = Some(text).filter(|text| !text.contains(':'));
    let span = span.and_then(|text| parse_span(text).ok()).ok_or_else(|| {
        format!(
            "expected a time as in 2026-12-01, `2026-12-01 09:00`, 09:00 or 2h ago, got `{words}`"
        )
    })?;
    let at = now
        .timestamp()
        .checked_sub(SignedDuration::from_secs_f64(span));
    at.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_the_past_are_in_the_zone_of_the_user() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (words, expected) in [
            ("2026-11-20", "2026-11-19T23:00:00Z"),
            ("2026-11-20T09:00", "2026-11-20T08:00:00Z"),
            ("2026-11-20 09:00:30", "2026-11-20T08:00:30Z"),
            ("2026-11-20T09:00Z", "2026-11-20T09:00:00Z"),
            ("09:00", "2026-11-21T08:00:00Z"),
            ("2h", "2026-11-21T12:30:00Z"),
            ("7d", "2026-11-14T14:30:00Z"),
        ] {
            let at = past(words, &now).map(|at| at.to_string());
            assert_eq!(at.as_deref(), Ok(expected), "{words}");
        }
        for words in ["", "soon", "2026-13-01", "25:00", "yesterday"] {
            assert!(past(words, &now).is_err(), "{words}");
        }
    }
}

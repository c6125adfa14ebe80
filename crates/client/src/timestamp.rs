//! Instants as ISO 8601 in UTC.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;
use tollgate_model::Instant;

/// The error for text that is not an instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an instant as in 2026-12-01T09:00:00Z, got `{0}`")]
pub struct BadInstant(pub String);

/// Formats an instant as ISO 8601 in UTC, to the microsecond unless whole: `2026-12-01T09:00:00Z`.
/// An instant after the year 9999 becomes the end of that year.
pub fn format_iso(at: Instant) -> String {
    Timestamp::from_microsecond(at.as_micros())
        .unwrap_or(Timestamp::MAX)
        .to_string()
}

/// Formats an instant as in the header of a mail (RFC 5322), in UTC: `Tue, 1 Dec 2026 09:00:00 +0000`.
/// An instant that has no such form becomes the end of the year 9999.
pub fn format_mail(at: Instant) -> String {
    let at = Timestamp::from_microsecond(at.as_micros()).unwrap_or(Timestamp::MAX);
    let format = |at: Timestamp| rfc2822::to_string(&at.to_zoned(TimeZone::UTC));
    format(at)
        .or_else(|_| format(Timestamp::MAX))
        .unwrap_or_default()
}

/// Parses the format of [`format_iso`], with any offset from UTC.
///
/// # Errors
/// If `words` is not an instant.
pub fn parse_iso(words: &str) -> Result<Instant, BadInstant> {
    let read: Timestamp = words.parse().map_err(|_| BadInstant(words.to_owned()))?;
    Ok(Instant::from_micros(read.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instant_round_trips_as_iso_8601_in_utc() {
        let at = Instant::from_micros(1_796_115_600_250_000);
        assert_eq!(format_iso(at), "2026-12-01T09:00:00.25Z");
        assert_eq!(parse_iso("2026-12-01T10:00:00.25+01:00"), Ok(at));
        assert_eq!(format_mail(at), "Tue, 1 Dec 2026 09:00:00 +0000");
        assert_eq!(
            parse_iso(&format_iso(Instant::MAX)).map(format_iso),
            Ok(format_iso(Instant::MAX))
        );
        assert!(parse_iso("tomorrow").is_err());
    }
}

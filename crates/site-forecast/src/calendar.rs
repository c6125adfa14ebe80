//! Dates of the Gregorian calendar, in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tollgate_model::Instant;

/// Formats an instant since the Unix epoch as in ISO 8601, without fractions of a second:
/// `1998-04-24T07:12:56Z`.
pub fn format_iso(at: Instant) -> String {
    format!("{:.0}", timestamp(at))
}

/// Returns the month of an instant since the Unix epoch, counted from January of year 0.
pub fn month(at: Instant) -> i64 {
    let date = TimeZone::UTC.to_datetime(timestamp(at)).date();
    12 * i64::from(date.year()) + i64::from(date.month()) - 1
}

/// Formats a month for tables: `1998-04`.
pub fn month_name(month: i64) -> String {
    format!(
        "{:04}-{:02}",
        month.div_euclid(12),
        month.rem_euclid(12) + 1
    )
}

/// Returns an instant since the Unix epoch as a timestamp. An instant after the year 9999 becomes
/// the end of that year.
fn timestamp(at: Instant) -> Timestamp {
    Timestamp::from_microsecond(at.as_micros()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_gregorian_calendar() {
        for (secs, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (893_401_976, "1998-04-24T07:12:56Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(format_iso(Instant::from_secs(secs)), written);
        }
        let last_tick = Instant::from_micros(-1);
        assert_eq!(format_iso(last_tick), "1969-12-31T23:59:59Z");
        let month = month(Instant::from_secs(951_782_400));
        assert_eq!(month_name(month), "2000-02");
        assert!(format_iso(Instant::MAX).ends_with('Z'));
    }
}

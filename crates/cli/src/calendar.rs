//! Dates of the Gregorian calendar, in UTC.

use tollgate_model::Instant;

/// Formats an instant since the Unix epoch as in ISO 8601: `1998-04-24T07:12:56Z`.
pub(crate) fn format_iso(at: Instant) -> String {
    let secs = at.as_micros().div_euclid(1_000_000);
    let (days, of_day) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the month of an instant since the Unix epoch, counted from January of year 0.
pub(crate) fn month(at: Instant) -> i64 {
    let days = at.as_micros().div_euclid(86_400_000_000);
    let (year, month, _) = date(days);
    12 * year + month - 1
}

/// Formats a month for tables: `1998-04`.
pub(crate) fn month_name(month: i64) -> String {
    format!(
        "{:04}-{:02}",
        month.div_euclid(12),
        month.rem_euclid(12) + 1
    )
}

/// Returns year, month and day of a number of days since the Unix epoch. In years that begin in
/// March, leap days are the last days, and cycles of 400 years have 146,097 days (Richards 2013).
fn date(days: i64) -> (i64, i64, i64) {
    // 1 March of year 0 is 719,468 days before the epoch.
    let days = days + 719_468;
    let (cycle, of_cycle) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of_year = |day: i64| (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let year = of_year(of_cycle);
    let day = of_cycle - (365 * year + year / 4 - year / 100);
    let march_based = (5 * day + 2) / 153;
    let month = if march_based < 10 {
        march_based + 3
    } else {
        march_based - 9
    };
    let begun = i64::from(month <= 2);
    (
        400 * cycle + year + begun,
        month,
        day - (153 * march_based + 2) / 5 + 1,
    )
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
        let month = month(Instant::from_secs(951_782_400));
        assert_eq!(month_name(month), "2000-02");
        assert!(format_iso(Instant::MAX).ends_with('Z'));
    }
}

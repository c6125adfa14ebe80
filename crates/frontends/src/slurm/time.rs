//! Times as Slurm writes them: limits, run times and instants.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// A time limit as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlurmLimit {
    /// No limit: `0`, `UNLIMITED` or `INFINITE`.
    Unlimited,
    /// A number of seconds, at least 1.
    Seconds(u64),
}

/// Parses a time limit: `30` (minutes), `1:30` (minutes and seconds), `h:m:s`, `d-h`, `d-h:m` or `d-h:m:s`. Parts may
/// exceed 59. None if the text has another form.
pub fn parse_limit(text: &str) -> Option<SlurmLimit> {
    let is_none = ["unlimited", "infinite", "-1"];
    if is_none.contains(&text.to_ascii_lowercase().as_str()) {
        return Some(SlurmLimit::Unlimited);
    }
    let number = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<u64>().ok()).flatten()
    };
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts: Vec<u64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let units: &[u64] = match (days.is_some(), parts.len()) {
        (true, 1) => &[3600],
        (true, 2) => &[3600, 60],
        (false, 1) => &[60],
        (false, 2) => &[60, 1],
        (_, 3) => &[3600, 60, 1],
        (_, _) => return None,
    };
    let of_days = days.unwrap_or(0).checked_mul(86_400)?;
    let products = parts.iter().zip(units);
    let mut secs = products.map(|(part, unit)| part.checked_mul(*unit));
    let secs = secs.try_fold(of_days, |sum, part| sum.checked_add(part?))?;
    Some(match secs {
        0 => SlurmLimit::Unlimited,
        secs => SlurmLimit::Seconds(secs),
    })
}

/// Formats a span as `squeue` does: `0:02`, `5:00`, `1:00:00`, `1-02:03:04`.
pub(crate) fn short_span(secs: u64) -> String {
    let (days, hours, minutes, seconds) = parts(secs);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (days, hours) => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Formats a span as `sacct` and `scontrol` do: `00:00:02`, `1-02:03:04`.
pub(crate) fn full_span(secs: u64) -> String {
    let (days, hours, minutes, seconds) = parts(secs);
    match days {
        0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        days => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Formats processor time as `sacct` does: `00:00.250`, `01:02:03` or `1-02:03:04`.
pub(crate) fn cpu_span(secs: f64) -> String {
    let whole = secs.max(0.0);
    match whole < 3600.0 {
        true => {
            let millis = (whole * 1000.0) as u64;
            let (minutes, rest) = (millis / 60_000, millis % 60_000);
            format!("{minutes:02}:{:02}.{:03}", rest / 1000, rest % 1000)
        }
        false => full_span(whole as u64),
    }
}

fn parts(secs: u64) -> (u64, u64, u64, u64) {
    (secs / 86_400, secs / 3600 % 24, secs / 60 % 60, secs % 60)
}

/// Parses an instant of the API. None if it has another form.
pub(crate) fn api_instant(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Formats an instant in local time without its offset: `2026-11-25T13:52:42`.
pub fn local_instant(at: Timestamp, zone: &TimeZone) -> String {
    let local = at.to_zoned(zone.clone());
    local.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// Parses an instant of `sacct -S` and `-E`: `2026-11-25`, `2026-11-25T13:52[:42]`, `MMDD[YY]`, `MM/DD[/YY][-HH:MM]`,
/// `HH:MM[:SS]`, `today`, `midnight`, `noon`, `now`, `now-2days` or `now+1hour`. None if the text has another form.
pub fn parse_query_instant(text: &str, now: &Zoned) -> Option<Timestamp> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(rest) = text.strip_prefix("now") {
        return relative_to_now(rest, now);
    }
    let midnight = now.start_of_day().ok()?;
    if text == "today" || text == "midnight" {
        return Some(midnight.timestamp());
    }
    // A time of day is that of today, past or not.
    let is_clock = !text.contains(['-', '/', '.', 't']) && text.contains(':');
    let words = match is_clock {
        true => format!("{}t{text}", midnight.strftime("%Y-%m-%d")),
        false => text,
    };
    let read = tollgate_client::typed_instant::parse_begin(&words, now).ok()?;
    match read {
        (_, Some(at)) => at.parse().ok(),
        (_, None) => None,
    }
}

fn relative_to_now(rest: &str, now: &Zoned) -> Option<Timestamp> {
    if rest.is_empty() {
        return Some(now.timestamp());
    }
    let (sign, amount) = match rest.split_at_checked(1)? {
        ("-", amount) => (-1.0, amount),
        ("+", amount) => (1.0, amount),
        (_, _) => return None,
    };
    let secs = tollgate_client::typed_span::parse_span(amount.trim()).ok()?;
    let secs = jiff::SignedDuration::try_from_secs_f64(sign * secs).ok()?;
    now.timestamp().checked_add(secs).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_in_every_form() {
        for (text, secs) in [
            ("30", 1800),
            ("1:30", 90),
            ("0:7200", 7200),
            ("1:2:3", 3723),
            ("2-3", 183_600),
            ("2-3:30", 185_400),
            ("1-00:00:01", 86_401),
        ] {
            assert_eq!(parse_limit(text), Some(SlurmLimit::Seconds(secs)), "{text}");
        }
        for text in ["0", "UNLIMITED", "infinite", "00:00:00"] {
            assert_eq!(parse_limit(text), Some(SlurmLimit::Unlimited), "{text}");
        }
        for text in [
            "",
            "soon",
            "1:2:3:4",
            "-5",
            "1-",
            "1-2:3:4:5",
            "1.5",
            "99999999999999999999",
        ] {
            assert_eq!(parse_limit(text), None, "{text}");
        }
    }

    #[test]
    fn spans_have_the_form_of_each_command() {
        assert_eq!(short_span(2), "0:02");
        assert_eq!(short_span(3600), "1:00:00");
        assert_eq!(short_span(93_784), "1-02:03:04");
        assert_eq!(full_span(2), "00:00:02");
        assert_eq!(full_span(93_784), "1-02:03:04");
        assert_eq!(cpu_span(62.25), "01:02.250");
        assert_eq!(cpu_span(7200.0), "02:00:00");
    }

    #[test]
    fn instants_of_sacct_may_have_passed() {
        let now: Zoned = "2026-11-25T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (text, expected) in [
            ("2026-11-23T13:00", "2026-11-23T12:00:00Z"),
            ("2026-11-23", "2026-11-22T23:00:00Z"),
            ("112326", "2026-11-22T23:00:00Z"),
            ("now", "2026-11-25T14:30:00Z"),
            ("now-2days", "2026-11-23T14:30:00Z"),
            ("now-1hour", "2026-11-25T13:30:00Z"),
            ("12:00", "2026-11-25T11:00:00Z"),
            ("18:00", "2026-11-25T17:00:00Z"),
            ("today", "2026-11-24T23:00:00Z"),
            ("midnight", "2026-11-24T23:00:00Z"),
        ] {
            let at = parse_query_instant(text, &now).map(|at| at.to_string());
            assert_eq!(at.as_deref(), Some(expected), "{text}");
        }
        for text in ["", "soon", "now-", "now*2", "nowhere"] {
            assert_eq!(parse_query_instant(text, &now), None, "{text}");
        }
    }
}

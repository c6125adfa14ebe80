//! Parses and formats spans.

use tollgate_model::Span;

const EXPECTED_SPAN: &str =
    "expected a time above zero, such as 90 (seconds), 30m, 2h, 1d, 12:30:00 or 1-12:00:00";

/// Parses a span: seconds, a number with a unit, or `[days-]hours:minutes[:seconds]`.
pub(super) fn parse_span(word: &str) -> Result<Span, &'static str> {
    let word = word.trim();
    let secs = parse_clock(word)
        .or_else(|| parse_with_unit(word))
        .ok_or(EXPECTED_SPAN)?;
    let span = Span::from_secs_f64(secs);
    if secs.is_finite() && span > Span::ZERO && span < Span::MAX {
        Ok(span)
    } else {
        Err(EXPECTED_SPAN)
    }
}

/// Parses a number with a unit, or a number of seconds without one.
fn parse_with_unit(word: &str) -> Option<f64> {
    let digits = word.find(|c: char| c != '.' && !c.is_ascii_digit());
    let (number, unit) = word.split_at(digits.unwrap_or(word.len()));
    let secs = match unit.trim() {
        "" | "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * secs)
}

fn parse_clock(word: &str) -> Option<f64> {
    let (days, time) = match word.split_once('-') {
        Some((days, time)) => (days.parse::<u32>().ok()?, time),
        None => (0, word),
    };
    let parts: Vec<u32> = time
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [hours, minutes, seconds] = match parts[..] {
        [hours, minutes] => [hours, minutes, 0],
        [hours, minutes, seconds] => [hours, minutes, seconds],
        _ => return None,
    };
    let time = 3_600.0 * f64::from(hours) + 60.0 * f64::from(minutes) + f64::from(seconds);
    Some(86_400.0 * f64::from(days) + time)
}

/// Formats a span in the unit that leaves one to three digits.
pub(super) fn format_span(span: Span) -> String {
    let secs = span.as_secs_f64();
    match secs {
        ..120.0 => format!("{secs:.0} s"),
        ..7_200.0 => format!("{:.1} min", secs / 60.0),
        ..172_800.0 => format!("{:.1} h", secs / 3_600.0),
        ..31_557_600.0 => format!("{:.1} d", secs / 86_400.0),
        _ => format!("{:.1} years", secs / 31_557_600.0),
    }
}

/// Formats a fraction in percent with one decimal.
pub(super) fn format_percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_time_formats_are_parsed() {
        for (word, secs) in [
            ("90", 90),
            ("1.5h", 5_400),
            ("30 min", 1_800),
            ("2d", 172_800),
            ("12:30", 45_000),
            ("1-12:00:00", 129_600),
        ] {
            assert_eq!(parse_span(word), Ok(Span::from_secs(secs)), "{word}");
        }
        for word in [
            "",
            "-1",
            "0",
            "two hours",
            "1:2:3:4",
            "inf",
            "NaN",
            "1e400",
            "2h30",
        ] {
            assert_eq!(parse_span(word), Err(EXPECTED_SPAN), "{word}");
        }
    }

    #[test]
    fn spans_are_formatted_with_few_digits() {
        let formatted = [5, 300, 86_400, 864_000].map(|secs| format_span(Span::from_secs(secs)));
        assert_eq!(formatted, ["5 s", "5.0 min", "24.0 h", "10.0 d"]);
    }
}

//! Formats spans, amounts and shares.

const MINUTE_S: f64 = 60.0;
const HOUR_S: f64 = 3_600.0;
const DAY_S: f64 = 86_400.0;

/// Formats seconds in the unit that fits: `45 s`, `12 min`, `5.2 h`, `729 d`.
pub(super) fn format_span(seconds: f64) -> String {
    let units = [
        ("d", DAY_S, 2.0),
        ("h", HOUR_S, 1.0),
        ("min", MINUTE_S, 1.0),
    ];
    let fits = |&(_, unit, least): &(&str, f64, f64)| seconds.abs() >= unit * least;
    let (name, unit) = units
        .into_iter()
        .find(fits)
        .map_or(("s", 1.0), |(name, unit, _)| (name, unit));
    format!("{} {name}", format_number(seconds / unit))
}

/// Formats bytes in the unit that fits: `512 B`, `1.5 GiB`.
pub(super) fn format_bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", format_number(value), units[unit])
}

/// Formats a number with three digits or more: `0.25`, `1.5`, `15.2`, `152`, `15204`.
pub(super) fn format_number(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        ..0.1 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Formats a share as a percentage: `12.3 %`.
pub(super) fn format_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (0.5, "0.5 s"),
            (59.0, "59 s"),
            (60.0, "1 min"),
            (5_400.0, "1.5 h"),
            (129_600.0, "36 h"),
            (63_020_000.0, "729 d"),
            (-1.0, "-1 s"),
        ] {
            assert_eq!(format_span(seconds), text);
        }
        assert_eq!(format_bytes(512.0), "512 B");
        assert_eq!(format_bytes(1.5 * 1024.0 * 1024.0 * 1024.0), "1.5 GiB");
        assert_eq!(format_percent(0.1234), "12.3 %");
    }
}

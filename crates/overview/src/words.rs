//! Instants, spans, probabilities and sizes as people read them.

pub use tollgate_client::limits::AT_RISK;
use tollgate_client::timestamp::parse_iso;
use tollgate_model::Instant;

/// The maximum number of things that are counted one by one.
const COUNTED: u64 = 20;

/// Formats a probability: `54 %`, `99.4 %`, `>99.9 %`, `<1 %`. Nothing is certain, and tenths of more than 99 % are
/// rounded down.
pub fn percent(probability: f64) -> String {
    let tenths = (probability * 1000.0 + 1e-9).floor();
    match (probability * 100.0).round() {
        _ if tenths > 999.0 => ">99.9 %".to_owned(),
        _ if tenths > 990.0 => format!("{:.1} %", tenths / 10.0),
        pct if pct > 99.0 => "99 %".to_owned(),
        pct if pct < 1.0 || probability < 0.01 => "<1 %".to_owned(),
        pct => format!("{pct:.0} %"),
    }
}

/// Formats what part of some things it was: `7 of 9`, and `98.6 %` of more than 20 that were not all alike.
pub fn part(count: u64, all: u64) -> String {
    match count {
        0 if all == 0 => "none".to_owned(),
        _ if all <= COUNTED || count == 0 || count == all => format!("{count} of {all}"),
        _ => {
            // Some were not: neither bound is shown.
            let tenths = (1000.0 * count as f64 / all as f64)
                .floor()
                .clamp(1.0, 999.0);
            format!("{:.1} %", tenths / 10.0)
        }
    }
}

/// Formats seconds with at most two units: `0.4 s`, `20 s`, `1 min 31 s`, `2 h 5 min`, `3 d`.
pub fn span(secs: f64) -> String {
    let secs = secs.abs();
    if secs < 9.95 {
        let tenths = (secs * 10.0).round() / 10.0;
        return format!("{tenths} s");
    }
    let whole = secs.round() as u64;
    let parts = [
        (whole / 86_400, "d"),
        (whole / 3_600 % 24, "h"),
        (whole / 60 % 60, "min"),
        (whole % 60, "s"),
    ];
    let words: Vec<String> = parts
        .iter()
        .skip_while(|(count, _)| *count == 0)
        .take(2)
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    words.join(" ")
}

/// Formats bytes: `11.8 GiB`.
pub fn bytes(bytes: u64) -> String {
    let mut rest = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if rest < 1023.95 {
            return match unit {
                "B" => format!("{bytes} B"),
                unit => format!("{rest:.1} {unit}"),
            };
        }
        rest /= 1024.0;
    }
    format!("{rest:.1} TiB")
}

/// Formats an amount with at most two decimals: `12`, `3.5`, `-4.86`, `<0.01`.
pub fn amount(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.005 {
        return if value < 0.0 { ">-0.01" } else { "<0.01" }.to_owned();
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a number with its noun: `1 node`, `2 nodes`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Returns an instant of the API. None if it is not one.
pub fn instant(words: &str) -> Option<Instant> {
    parse_iso(words).ok()
}

/// Returns the seconds from `from` to `to`; negative if `to` is earlier.
pub fn seconds(from: Instant, to: Instant) -> f64 {
    (to.as_micros() as f64 - from.as_micros() as f64) / 1e6
}

/// Formats the time of day in UTC, which the script replaces by that of the browser's zone: `05:04:36`.
pub fn clock(at: Instant) -> String {
    let day = at.as_micros().div_euclid(1_000_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", day / 3_600, day / 60 % 60, day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probability_is_never_certain() {
        for (probability, words) in [
            (0.0, "<1 %"),
            (0.0099, "<1 %"),
            (0.01, "1 %"),
            (0.544, "54 %"),
            (0.99, "99 %"),
            (0.9909, "99 %"),
            (0.9969, "99.6 %"),
            (0.999, "99.9 %"),
            (1.0, ">99.9 %"),
        ] {
            assert_eq!(percent(probability), words, "{probability}");
        }
    }

    #[test]
    fn few_things_are_counted_and_many_are_all_or_not_quite() {
        for (count, all, words) in [
            (0, 0, "none"),
            (1, 1, "1 of 1"),
            (7, 9, "7 of 9"),
            (0, 500, "0 of 500"),
            (500, 500, "500 of 500"),
            (493, 500, "98.6 %"),
            (99_999, 100_000, "99.9 %"),
            (1, 100_000, "0.1 %"),
        ] {
            assert_eq!(part(count, all), words, "{count} of {all}");
        }
    }

    #[test]
    fn spans_have_two_units_at_most() {
        for (secs, words) in [
            (0.0, "0 s"),
            (0.44, "0.4 s"),
            (9.96, "10 s"),
            (91.0, "1 min 31 s"),
            (3_600.0, "1 h"),
            (3_661.0, "1 h 1 min"),
            (259_200.0, "3 d"),
        ] {
            assert_eq!(span(secs), words, "{secs}");
        }
    }

    #[test]
    fn sizes_and_amounts_are_short() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(12_670_153_523), "11.8 GiB");
        assert_eq!(amount(3.50), "3.5");
        assert_eq!(
            [amount(0.0), amount(0.001), amount(-0.001)],
            ["0", "<0.01", ">-0.01"]
        );
        assert_eq!(amount(1_531.0), "1531");
    }
}

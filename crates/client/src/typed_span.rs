//! Parses spans of time. An error is a text for the user: what is expected, and what was typed.

/// Seconds of each unit of a span.
pub(crate) const UNITS: &[(&str, f64)] = &[
    ("weeks", 604_800.0),
    ("week", 604_800.0),
    ("w", 604_800.0),
    ("days", 86_400.0),
    ("day", 86_400.0),
    ("d", 86_400.0),
    ("hours", 3_600.0),
    ("hour", 3_600.0),
    ("hrs", 3_600.0),
    ("hr", 3_600.0),
    ("h", 3_600.0),
    ("minutes", 60.0),
    ("minute", 60.0),
    ("mins", 60.0),
    ("min", 60.0),
    ("m", 60.0),
    ("seconds", 1.0),
    ("second", 1.0),
    ("secs", 1.0),
    ("sec", 1.0),
    ("s", 1.0),
];

/// Parses a span to seconds: `90`, `20m`, `1h30m`, `2 hours`, `1:30:00`, `1-12:00:00`.
pub fn parse_span(words: &str) -> Result<f64, String> {
    let text = words.trim();
    let secs = parse_clock(text).or_else(|| parse_units(text));
    secs.filter(|secs| secs.is_finite() && *secs > 0.0)
        .ok_or_else(|| {
            format!("expected a span as in 90s, 20m, 1h30m or 1-12:00:00, got `{words}`")
        })
}

/// A span on the command line, with whether its unit was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypedSpan {
    /// The span, in seconds.
    pub secs: f64,
    /// Whether the user typed a number without a unit.
    unitless: bool,
}

impl TypedSpan {
    /// Returns a span that needs no note.
    pub const fn from_secs(secs: f64) -> Self {
        Self {
            secs,
            unitless: false,
        }
    }

    /// Returns a note that says the unit of a number without one, which was typed for `option`.
    pub fn note(self, option: &str) -> Option<String> {
        let Self { secs, unitless } = self;
        unitless.then(|| format!("--{option} {secs}: {secs} seconds; units are s, m, h and d"))
    }
}

/// Parses a span as [`parse_span`] does, and remembers whether its unit was typed.
pub fn parse_typed_span(words: &str) -> Result<TypedSpan, String> {
    Ok(TypedSpan {
        secs: parse_span(words)?,
        unitless: is_unitless(words),
    })
}

/// Returns whether a span is a number without a unit.
pub fn is_unitless(words: &str) -> bool {
    words.trim().parse::<f64>().is_ok()
}

/// Parses `[days-]hours:minutes:seconds` or `minutes:seconds`.
pub fn parse_clock(text: &str) -> Option<f64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse::<u32>().ok()?, clock),
        None => (0, text),
    };
    if !clock.contains(':') {
        return None;
    }
    let mut secs = 0.0;
    for part in clock.split(':') {
        secs = secs * 60.0 + f64::from(part.parse::<u32>().ok()?);
    }
    (clock.matches(':').count() <= 2).then_some(secs + f64::from(days) * 86_400.0)
}

/// Parses numbers with units. A single number without a unit is in seconds.
pub fn parse_units(text: &str) -> Option<f64> {
    if let Ok(secs) = text.parse::<f64>() {
        return Some(secs);
    }
    let (mut rest, mut secs) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit = rest[end..].trim_start();
        let end = unit
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(unit.len());
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == &unit[..end])?;
        secs += number * scale;
        rest = unit[end..].trim_start();
    }
    Some(secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_span_formats_are_parsed() {
        for (words, secs) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("20m", 1200.0),
            ("1h30m", 5400.0),
            ("2 hours", 7200.0),
            ("1.5h", 5400.0),
            ("1 day 2h", 93_600.0),
            ("2:30", 150.0),
            ("1:30:00", 5400.0),
            ("1-12:00:00", 129_600.0),
        ] {
            assert_eq!(parse_span(words), Ok(secs), "{words}");
        }
        for words in [
            "",
            "0",
            "-5",
            "soon",
            "5 parsecs",
            "1:2:3:4",
            "m",
            "inf",
            "5h!",
        ] {
            assert!(parse_span(words).is_err(), "{words}");
        }
    }

    #[test]
    fn number_without_a_unit_has_a_note() {
        let note = |words| parse_typed_span(words).unwrap().note("estimate");
        assert_eq!(
            note("20").as_deref(),
            Some("--estimate 20: 20 seconds; units are s, m, h and d")
        );
        for words in ["20s", "20m", "2:30", "1-12:00:00"] {
            assert_eq!(note(words), None, "{words}");
        }
    }
}

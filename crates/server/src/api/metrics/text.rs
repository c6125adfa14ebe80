//! The text format of OpenMetrics 1.0.

use std::fmt::Write;

/// A text that is built family by family.
pub(super) struct MetricsText(String);

impl MetricsText {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    /// Starts a family of samples: name without suffix, type and help text.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) -> &mut Self {
        let help = escaped(help);
        // Writing to a string does not fail.
        let _ = write!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}\n");
        self
    }

    /// Adds a sample: full name, labels and value.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (place, (label, value)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{after} {}", number(value));
    }

    /// Ends the text and returns it.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// Formats a number.
pub(super) fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        finite => finite.to_string(),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_in_labels_are_escaped() {
        let mut text = MetricsText::new();
        let labels = [("state", "a\"b\\c\nd"), ("x", "")];
        text.family("f", "gauge", "Two\nlines.")
            .sample("f", &labels, 1.5);
        text.sample("f", &[], f64::INFINITY);
        assert_eq!(
            text.finish(),
            "# TYPE f gauge\n# HELP f Two\\nlines.\nf{state=\"a\\\"b\\\\c\\nd\",x=\"\"} 1.5\nf +Inf\n# EOF\n"
        );
    }

    #[test]
    fn numbers_are_written_without_exponent() {
        assert_eq!(number(0.000_25), "0.00025");
        assert_eq!(number(3.0), "3");
        assert_eq!(number(f64::NAN), "NaN");
    }
}

//! The text format of OpenMetrics 1.0.

use std::fmt::Write;

use super::families::{MetricFamily, MetricSample};

/// A text that is built family by family.
pub(super) struct MetricsText(String);

impl MetricsText {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    /// Adds a family with its samples.
    pub(super) fn family(&mut self, family: &MetricFamily, samples: &[MetricSample]) {
        let (name, kind, help) = (family.name, family.kind.key(), escaped(family.help));
        // Writing to a string does not fail.
        let _ = write!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}\n");
        for sample in samples {
            let _ = write!(self.0, "{name}{}", sample.suffix);
            if let Some((label, value)) = &sample.label {
                let _ = write!(self.0, "{{{label}=\"{}\"}}", escaped(value));
            }
            let _ = writeln!(self.0, " {}", number(sample.value));
        }
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
    use super::super::families::{METRICS, sample};
    use super::*;

    #[test]
    fn special_characters_in_labels_are_escaped() {
        let mut text = MetricsText::new();
        let family = METRICS.iter().find(|family| family.name == "tollgate_jobs");
        let samples = [
            sample("", Some(("state", "a\"b\\c\nd")), 1.5),
            sample("", None, f64::INFINITY),
        ];
        text.family(family.unwrap(), &samples);
        assert_eq!(
            text.finish(),
            "# TYPE tollgate_jobs gauge\n# HELP tollgate_jobs Jobs in the store by state; an array counts once.\n\
             tollgate_jobs{state=\"a\\\"b\\\\c\\nd\"} 1.5\ntollgate_jobs +Inf\n# EOF\n"
        );
    }

    #[test]
    fn numbers_are_written_without_exponent() {
        assert_eq!(number(0.000_25), "0.00025");
        assert_eq!(number(3.0), "3");
        assert_eq!(number(f64::NAN), "NaN");
    }
}

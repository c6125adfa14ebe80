//! Retry policies as the text that parses to them.

use std::fmt;

use tollgate_model::Span;

use super::builtin::{REGISTRY, RetryRuleKind};
use super::rule::RetryRule;
use super::{DedicatedPool, RetryPolicy};

/// Units of time, longest first.
pub(super) const UNITS: [(&str, i64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];

/// A span in the longest unit that needs no fraction.
struct CompactSpan(Span);

impl fmt::Display for CompactSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        for (unit, seconds) in UNITS.iter().skip(1) {
            let whole = Span::from_secs(*seconds).as_micros();
            if micros % whole == 0 {
                return write!(f, "{}{unit}", micros / whole);
            }
        }
        write!(f, "{}s", self.0)
    }
}

pub(super) fn name_of(shape: RetryRuleKind) -> &'static str {
    let named = REGISTRY.iter().find(|named| named.kind == shape);
    named.expect("every shape is registered").name
}

/// Formats the policy as the text that parses to it.
impl fmt::Display for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if let Some(dedicated) = self.dedicated {
            let DedicatedPool {
                computers,
                max_attempt: longest,
                when_full: full,
            } = dedicated;
            let name = name_of(RetryRuleKind::Dedicated(full));
            parts.push(format!("{name}:{computers},{}", CompactSpan(longest)));
        }
        if let Some(longest) = self.max_attempt {
            parts.push(format!(
                "{}:{}",
                name_of(RetryRuleKind::Attempt),
                CompactSpan(longest)
            ));
        }
        parts.extend(self.rules.iter().map(RetryRule::to_string));
        if parts.is_empty() {
            parts.push(name_of(RetryRuleKind::Forever).to_owned());
        }
        f.write_str(&parts.join("+"))
    }
}

impl fmt::Display for RetryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Evictions {
                filter: counted,
                max: most,
            } => {
                write!(f, "{}:{most}", name_of(RetryRuleKind::Evictions(counted)))
            }
            Self::Accrued {
                filter: counted,
                max: most,
            } => {
                write!(
                    f,
                    "{}:{}",
                    name_of(RetryRuleKind::Accrued(counted)),
                    CompactSpan(most)
                )
            }
            Self::Chance { probability } => {
                write!(f, "{}:{probability}", name_of(RetryRuleKind::Chance))
            }
            Self::Exponential {
                metric: measured,
                scale,
            } => {
                write!(
                    f,
                    "{}:{scale}",
                    name_of(RetryRuleKind::Exponential(measured))
                )
            }
            Self::Percentile {
                metric: measured,
                percentile,
                ..
            } => write!(
                f,
                "{}:{percentile}",
                name_of(RetryRuleKind::Percentile(measured))
            ),
        }
    }
}

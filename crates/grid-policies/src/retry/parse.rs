//! Policies as text: `max-evictions:3`, `attempt-time:24h+max-evictions:6`,
//! `dedicated:100,90h,3+max-non-user-evictions`, or by their aliases `n1:3`, `i1:24h+n1:6`, ..
//!
//! Rules are joined with `+`. `dedicated` may include its own limit on evictions; a rule on
//! evictions without a number beside it selects which evictions count.

use std::str::FromStr;

use tollgate_model::Span;

use super::builtin::{BuiltinRetryPolicy, REGISTRY, RetryRuleKind};
use super::format::UNITS;
use super::rule::{EvictionFilter, RetryRule};
use super::{DedicatedPool, RetryPolicy, WhenFull};

/// An error in a retry policy specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RetryError {
    /// No rule has this name.
    #[error("there is no retry policy `{0}`: expected one of {names}", names = names())]
    Unknown(String),
    /// The numbers behind the colon do not match the rule's format.
    #[error("retry policy `{name}`: expected {expected}, got `{given}`")]
    Arguments {
        /// The rule.
        name: &'static str,
        /// The expected format.
        expected: &'static str,
        /// The given text.
        given: String,
    },
    /// Two rules of a kind that may be given only once.
    #[error("retry policy `{0}` can be given once")]
    Twice(&'static str),
    /// Dedicated computers without a rule that selects tasks for them.
    #[error(
        "retry policy `dedicated` has no limit: expected `dedicated:M,D,N` or another rule beside it"
    )]
    NoLimit,
    /// A rule without a limit beside a rule with one.
    #[error("retry policy `forever` stands alone")]
    NotAlone,
}

fn names() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|named| named.name).collect();
    names.join(", ")
}

/// The parser's state.
#[derive(Default)]
struct RetryParser {
    parts: usize,
    forever: bool,
    rules: Vec<RetryRule>,
    max_attempt: Option<Span>,
    dedicated: Option<DedicatedPool>,
    /// The limit given with `dedicated` itself.
    own_limit: Option<u32>,
    /// The eviction filter from a rule on evictions without a number.
    own_counted: Option<BareEvictionLimit>,
}

/// A rule on evictions without a number.
struct BareEvictionLimit {
    name: &'static str,
    given: String,
    counted: EvictionFilter,
}

impl FromStr for RetryPolicy {
    type Err = RetryError;

    fn from_str(words: &str) -> Result<Self, RetryError> {
        let mut draft = RetryParser::default();
        for part in words.split('+') {
            draft.add(part)?;
        }
        draft.finish()
    }
}

impl RetryParser {
    fn add(&mut self, part: &str) -> Result<(), RetryError> {
        self.parts += 1;
        let (name, given) = match part.split_once(':') {
            Some((name, given)) => (name, Some(given)),
            None => (part, None),
        };
        let mut known = REGISTRY.iter();
        let named = known.find(|named| named.name == name || named.alias == name);
        let named = named.ok_or_else(|| RetryError::Unknown(name.to_owned()))?;
        let wrong = || RetryError::Arguments {
            name: named.name,
            expected: named.usage(),
            given: part.to_owned(),
        };
        match (named.kind, given) {
            (RetryRuleKind::Forever, None) => self.forever = true,
            (RetryRuleKind::Evictions(counted), None) => {
                let bare = BareEvictionLimit {
                    name: named.name,
                    given: part.to_owned(),
                    counted,
                };
                if self.own_counted.replace(bare).is_some() {
                    return Err(RetryError::Twice(named.name));
                }
            }
            (RetryRuleKind::Attempt, Some(given)) => {
                let longest = positive(given).ok_or_else(wrong)?;
                if self.max_attempt.replace(longest).is_some() {
                    return Err(RetryError::Twice(named.name));
                }
            }
            (RetryRuleKind::Dedicated(full), Some(given)) => {
                let (dedicated, limit) = dedicated(given, full).ok_or_else(wrong)?;
                if self.dedicated.replace(dedicated).is_some() {
                    return Err(RetryError::Twice(named.name));
                }
                self.own_limit = limit;
            }
            (shape, Some(given)) => self.rules.push(rule(shape, given).ok_or_else(wrong)?),
            (_, None) => return Err(wrong()),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RetryPolicy, RetryError> {
        match (self.own_limit, self.own_counted) {
            (Some(most), counted) => self.rules.insert(
                0,
                RetryRule::Evictions {
                    filter: counted.map_or(EvictionFilter::All, |bare| bare.counted),
                    max: most,
                },
            ),
            (None, Some(bare)) => {
                return Err(RetryError::Arguments {
                    name: bare.name,
                    expected: "a number, as in max-evictions:3, or `dedicated` with a limit beside it",
                    given: bare.given,
                });
            }
            (None, None) => {}
        }
        if self.forever && self.parts > 1 {
            return Err(RetryError::NotAlone);
        }
        let never_ends = self.rules.is_empty() && self.max_attempt.is_none();
        if self.dedicated.is_some() && never_ends {
            return Err(RetryError::NoLimit);
        }
        Ok(RetryPolicy {
            rules: self.rules,
            max_attempt: self.max_attempt,
            dedicated: self.dedicated,
        })
    }
}

impl BuiltinRetryPolicy {
    /// Returns the format of the rule's arguments.
    pub const fn usage(&self) -> &'static str {
        match self.kind {
            RetryRuleKind::Forever => "no number",
            RetryRuleKind::Evictions(_) => "a whole number of evictions, as in max-evictions:3",
            RetryRuleKind::Accrued(_) => "a time, as in held-time:40h",
            RetryRuleKind::Attempt => "a time, as in attempt-time:24h",
            RetryRuleKind::Chance => "a probability, as in random:0.2",
            RetryRuleKind::Exponential(_) => "a factor, 0 or more, as in exp-evictions:0.01",
            RetryRuleKind::Percentile(_) => "a percentage, as in evictions-percentile:99",
            RetryRuleKind::Dedicated(_) => {
                "computers, the longest time there and a limit, as in dedicated:100,90h,3"
            }
        }
    }
}

/// Parses a rule of a kind that may be given several times.
fn rule(shape: RetryRuleKind, given: &str) -> Option<RetryRule> {
    let number = |from: f64, to: f64| {
        let number: f64 = given.parse().ok()?;
        (from..=to).contains(&number).then_some(number)
    };
    Some(match shape {
        RetryRuleKind::Evictions(counted) => RetryRule::Evictions {
            filter: counted,
            max: given.parse().ok()?,
        },
        RetryRuleKind::Accrued(counted) => RetryRule::Accrued {
            filter: counted,
            max: span(given)?,
        },
        RetryRuleKind::Chance => RetryRule::Chance {
            probability: number(0.0, 1.0)?,
        },
        RetryRuleKind::Exponential(measured) => RetryRule::Exponential {
            metric: measured,
            scale: number(0.0, f64::MAX)?,
        },
        RetryRuleKind::Percentile(measured) => RetryRule::Percentile {
            metric: measured,
            percentile: number(0.0, 100.0)?,
            threshold: None,
        },
        RetryRuleKind::Forever | RetryRuleKind::Attempt | RetryRuleKind::Dedicated(_) => {
            return None;
        }
    })
}

fn dedicated(given: &str, full: WhenFull) -> Option<(DedicatedPool, Option<u32>)> {
    let mut words = given.split(',');
    let computers = words.next()?.parse().ok().filter(|&count| count > 0)?;
    let longest = positive(words.next()?)?;
    let limit = match words.next() {
        Some(limit) => Some(limit.parse().ok()?),
        None => None,
    };
    let dedicated = DedicatedPool {
        computers,
        max_attempt: longest,
        when_full: full,
    };
    words.next().is_none().then_some((dedicated, limit))
}

fn positive(word: &str) -> Option<Span> {
    span(word).filter(|&span| span > Span::ZERO)
}

/// Parses `90h`, `1.5d`, `45m`, `600s`; not negative.
fn span(word: &str) -> Option<Span> {
    let (unit, seconds) = UNITS.iter().find(|(unit, _)| word.ends_with(unit))?;
    let number: f64 = word.strip_suffix(unit)?.parse().ok()?;
    let secs = number * *seconds as f64;
    (secs >= 0.0 && secs <= Span::MAX.as_secs_f64() / 2.0).then(|| Span::from_secs_f64(secs))
}

#[cfg(test)]
mod tests {
    use super::super::{RetryDecision, TaskHistory};
    use super::*;
    use proptest::prelude::*;
    use tollgate_model::EvictionCause;
    use tollgate_policy::RandomSource;

    struct ConstantSource;

    impl RandomSource for ConstantSource {
        fn unit(&mut self) -> f64 {
            0.5
        }
    }

    /// Returns the eviction at which the policy ends a task, counted from 1; the causes and times
    /// are those of the specification's worked example.
    fn ends_at(words: &str) -> Option<usize> {
        let retry: RetryPolicy = words.parse().unwrap();
        let evictions = [
            (EvictionCause::User, 600),
            (EvictionCause::Reboot, 1200),
            (EvictionCause::User, 300),
            (EvictionCause::User, 900),
            (EvictionCause::Reboot, 7200),
            (EvictionCause::User, 60),
        ];
        let mut seen = TaskHistory::default();
        let mut verdicts = evictions.into_iter().map(|(by, held_s)| {
            seen.record_eviction(by, Span::from_secs(held_s));
            retry.decide(&seen, 0, &mut ConstantSource)
        });
        verdicts
            .position(|verdict| verdict != RetryDecision::Requeue)
            .map(|at| at + 1)
    }

    #[test]
    fn eviction_limits_trigger_at_the_documented_eviction() {
        for (words, at) in [
            ("n1:0", Some(1)),
            ("n2:0", Some(2)),
            ("n1:1", Some(2)),
            ("n2:1", Some(5)),
            ("n3:1", Some(3)),
            ("n1:2", Some(3)),
            ("n3:2", Some(4)),
            ("n1:3", Some(4)),
            ("n3:3", Some(6)),
            ("n2:2", None),
            ("x0", None),
            // 600 + 1200 + 300 s is more than half an hour; 2100 s does not exceed itself.
            ("a1:30m", Some(3)),
            ("a1:2100s", Some(4)),
            ("a2:30m", Some(5)),
            ("a3:30m", Some(6)),
            ("r1:0.6", Some(1)),
            ("r1:0.4", None),
            // 1 - exp(-0.25 n) exceeds a half at the third eviction.
            ("e1:0.25", Some(3)),
            // 1 - exp(-0.25 h) exceeds a half after 2.77 hours: 10,200 s at the fifth eviction.
            ("e2:0.25", Some(5)),
            ("n1:5+a1:30m", Some(3)),
        ] {
            assert_eq!(ends_at(words), at, "{words}");
        }
    }

    #[test]
    fn dedicated_computers_receive_tasks_that_exceed_a_limit() {
        let dedicated = DedicatedPool {
            computers: 100,
            max_attempt: Span::from_secs(90 * 3600),
            when_full: WhenFull::Wait,
        };
        for (words, filter) in [
            ("d1:100,90h,3", EvictionFilter::All),
            ("d1:100,90h,3+n2", EvictionFilter::ExceptUsers),
            ("n3+d1:100,90h,3", EvictionFilter::ExceptReboots),
        ] {
            let retry: RetryPolicy = words.parse().unwrap();
            assert_eq!(retry.dedicated(), Some(dedicated));
            assert_eq!(retry.rules(), [RetryRule::Evictions { filter, max: 3 }]);
            assert_eq!(retry.decide_on_timeout(0), RetryDecision::Dedicate);
        }
        let retry: RetryPolicy = "d1:100,90h+a1:20h".parse().unwrap();
        assert_eq!(retry.to_string(), "dedicated:100,90h+held-time:20h");
        let retry: RetryPolicy = "d2:100,90h+a1:20h".parse().unwrap();
        assert_eq!(
            (retry.decide_on_timeout(0), retry.decide_on_timeout(1)),
            (RetryDecision::Requeue, RetryDecision::Dedicate)
        );
    }

    #[test]
    fn parse_errors_state_the_expected_form() {
        let answer = |words: &str| words.parse::<RetryPolicy>().unwrap_err().to_string();
        insta::assert_snapshot!(answer("n4:3"), @"there is no retry policy `n4`: expected one of forever, max-evictions, max-non-user-evictions, max-non-reboot-evictions, random, exp-evictions, exp-held-time, held-time, non-user-held-time, non-reboot-held-time, attempt-time, evictions-percentile, held-time-percentile, dedicated, dedicated-if-free");
        insta::assert_snapshot!(answer("n2:-1"), @"retry policy `max-non-user-evictions`: expected a whole number of evictions, as in max-evictions:3, got `n2:-1`");
        insta::assert_snapshot!(answer("n2"), @"retry policy `max-non-user-evictions`: expected a number, as in max-evictions:3, or `dedicated` with a limit beside it, got `n2`");
        insta::assert_snapshot!(answer("a1:40"), @"retry policy `held-time`: expected a time, as in held-time:40h, got `a1:40`");
        insta::assert_snapshot!(answer("r1:1.5"), @"retry policy `random`: expected a probability, as in random:0.2, got `r1:1.5`");
        insta::assert_snapshot!(answer("d1:0,90h,3"), @"retry policy `dedicated`: expected computers, the longest time there and a limit, as in dedicated:100,90h,3, got `d1:0,90h,3`");
        insta::assert_snapshot!(answer("d1:5,90h"), @"retry policy `dedicated` has no limit: expected `dedicated:M,D,N` or another rule beside it");
        insta::assert_snapshot!(answer("x0+n1:3"), @"retry policy `forever` stands alone");
        insta::assert_snapshot!(answer("i1:1h+i1:2h"), @"retry policy `attempt-time` can be given once");
        insta::assert_snapshot!(answer("x0:1"), @"retry policy `forever`: expected no number, got `x0:1`");
        insta::assert_snapshot!(answer(""), @"there is no retry policy ``: expected one of forever, max-evictions, max-non-user-evictions, max-non-reboot-evictions, random, exp-evictions, exp-held-time, held-time, non-user-held-time, non-reboot-held-time, attempt-time, evictions-percentile, held-time-percentile, dedicated, dedicated-if-free");
    }

    #[test]
    fn names_and_shapes_are_registered_once() {
        for (n, one) in REGISTRY.iter().enumerate() {
            for other in &REGISTRY[n + 1..] {
                assert_ne!(one.name, other.name);
                assert_ne!(one.alias, other.alias);
                assert_ne!(one.kind, other.kind, "{} {}", one.name, other.name);
            }
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_round_trips(
            words in "((x0|n1|n2|max-evictions|n3|r1|e1|a2|held-time|i1|p1|d1|dedicated|z)?[:+]?(0|3|0.5|90h|1.5d|-1|1e9d|5,2h|5,2h,3)?[+]?){0,4}",
        ) {
            if let Ok(retry) = words.parse::<RetryPolicy>() {
                prop_assert_eq!(retry.to_string().parse::<RetryPolicy>(), Ok(retry));
            }
        }
    }
}

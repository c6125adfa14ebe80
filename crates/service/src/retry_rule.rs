//! Rules of users: which failed ends of a task are followed by another try, and how often.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tollgate_model::{AttemptEnding, ExceededLimit};

/// Maximum number of tries after the first.
pub const MAX_RETRIES: u32 = 1_000;

/// A user's rule for the failed ends of a task: which of them are followed by another try, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRule {
    /// Maximum number of tries after the first; at least 1, at most [`MAX_RETRIES`].
    pub(crate) count: u32,
    /// The ends after which the task is tried again; at least one.
    ends: BTreeSet<RetriedEnd>,
}

/// An end after which a task is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum RetriedEnd {
    /// The program failed, with any exit code.
    Failure,
    /// The program failed with this exit code, as of `wait`. Not 0.
    Code(u8),
    /// A limit ended the attempt.
    Limit(ExceededLimit),
}

/// The error for a text that is no rule for retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a number from 1 to {MAX_RETRIES}, and behind a colon exit codes above 0, failed, timed_out, \
     out_of_memory or output_limit, as in 3 or 3:75,timed_out"
)]
pub struct BadRetryRule;

impl RetryRule {
    /// Returns whether an end with this exit code, as of `wait`, is followed by another try. Limits count only if
    /// they are named, whatever the exit code; a cancelled task and one that the site ended never do.
    pub(crate) fn covers(&self, ending: AttemptEnding, wait_code: Option<u8>) -> bool {
        let is_named = |end: RetriedEnd| self.ends.contains(&end);
        match ending {
            AttemptEnding::Failed => {
                let code = wait_code.map(RetriedEnd::Code);
                is_named(RetriedEnd::Failure) || code.is_some_and(is_named)
            }
            AttemptEnding::Exceeded(limit, _) => is_named(RetriedEnd::Limit(limit)),
            AttemptEnding::Succeeded | AttemptEnding::Cancelled | AttemptEnding::EndedBySite => {
                false
            }
        }
    }
}

/// Parses `3` or `3:75,timed_out`.
impl FromStr for RetryRule {
    type Err = BadRetryRule;

    fn from_str(text: &str) -> Result<Self, BadRetryRule> {
        let (count, ends) = match text.split_once(':') {
            Some((count, ends)) => (count, ends.split(',').map(RetriedEnd::from_str).collect()),
            None => (text, Ok(BTreeSet::from([RetriedEnd::Failure]))),
        };
        let count = digits(count).filter(|count| (1..=MAX_RETRIES).contains(count));
        Ok(Self {
            count: count.ok_or(BadRetryRule)?,
            ends: ends?,
        })
    }
}

impl fmt::Display for RetryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        if self.ends.iter().eq(&[RetriedEnd::Failure]) {
            return Ok(());
        }
        for (end, before) in self
            .ends
            .iter()
            .zip([":"].into_iter().chain(std::iter::repeat(",")))
        {
            write!(f, "{before}{end}")?;
        }
        Ok(())
    }
}

impl FromStr for RetriedEnd {
    type Err = BadRetryRule;

    fn from_str(word: &str) -> Result<Self, BadRetryRule> {
        if word == "failed" {
            return Ok(Self::Failure);
        }
        let mut limits = ExceededLimit::ALL.into_iter();
        if let Some(limit) = limits.find(|limit| limit.end_state().key() == word) {
            return Ok(Self::Limit(limit));
        }
        let code = digits(word).filter(|&code| code > 0);
        code.map(Self::Code).ok_or(BadRetryRule)
    }
}

impl fmt::Display for RetriedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure => f.write_str("failed"),
            Self::Code(code) => write!(f, "{code}"),
            Self::Limit(limit) => f.write_str(limit.end_state().key()),
        }
    }
}

/// Parses a number that consists of digits only: the standard library accepts `+7` too.
fn digits<T: FromStr>(word: &str) -> Option<T> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::LimitOwner;

    fn rule(text: &str) -> RetryRule {
        text.parse().unwrap()
    }

    #[test]
    fn rules_read_as_they_are_written() {
        for text in [
            "3",
            "1000",
            "2:75",
            "3:1,75,timed_out,out_of_memory,output_limit",
            "1:failed,timed_out",
        ] {
            assert_eq!(rule(text).to_string(), text);
        }
        assert_eq!(rule("3:failed"), rule("3"));
        assert_eq!(rule("3:75,75,1").to_string(), "3:1,75");
        for text in [
            "", "0", "1001", "+3", "-1", "3:", "3:0", "3:256", "3:+1", "3:lost", "3:1,", ":1",
            "3 :1",
        ] {
            assert_eq!(text.parse::<RetryRule>(), Err(BadRetryRule), "{text}");
        }
    }

    #[test]
    fn only_named_ends_are_retried_and_limits_never_by_their_exit_code() {
        let timed_out = AttemptEnding::Exceeded(ExceededLimit::Time, LimitOwner::User);
        let all = rule("1:failed,timed_out,out_of_memory,output_limit");
        for (ending, code, rules) in [
            (
                AttemptEnding::Failed,
                75,
                ["1", "1:75", "1:75,124"].as_slice(),
            ),
            (AttemptEnding::Failed, 124, &["1", "1:75,124"]),
            (timed_out, 124, &["1:timed_out"]),
            (AttemptEnding::Succeeded, 0, &[]),
            (AttemptEnding::Cancelled, 143, &[]),
            (AttemptEnding::EndedBySite, 143, &[]),
        ] {
            for text in ["1", "1:75", "1:75,124", "1:timed_out", "1:out_of_memory"] {
                let covers = rule(text).covers(ending, Some(code));
                assert_eq!(covers, rules.contains(&text), "{ending:?} {code} {text}");
            }
            assert_eq!(
                all.covers(ending, Some(code)),
                !rules.is_empty(),
                "{ending:?}"
            );
        }
    }
}

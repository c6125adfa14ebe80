//! Reasons to reject a job that are not known before a run, as texts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tollgate_model::{OtherReason, Reason};

/// Maximum length of a reason, in bytes.
const MAX_LENGTH: usize = 60;
/// Maximum number of different reasons of all runs of a process: outputs count jobs by reason.
const MAX_REASONS: usize = 100;

/// The reasons so far, by key. A [`Reason`] is a constant of the program, so they are kept to its end.
static KNOWN: Mutex<BTreeMap<String, &'static OtherReason>> = Mutex::new(BTreeMap::new());

/// Text that cannot be a reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReasonError {
    /// No word, or too many of them.
    #[error(
        "its reason is `{0}`: expected a few words, at most {MAX_LENGTH} ASCII letters and digits"
    )]
    Text(String),
    /// Jobs are counted by reason, which is useless if every job has its own.
    #[error("its reason is the {n}th: expected at most {MAX_REASONS} different ones", n = MAX_REASONS + 1)]
    TooMany,
}

/// Returns the reason with the words of a text: "Too late!" is `too_late`, and "deadline passed" the
/// reason that built-in policies have.
///
/// # Errors
/// If the text has no word, is too long, or is one different reason too many.
pub fn reason_of(text: &str) -> Result<Reason, ReasonError> {
    if text.len() > MAX_LENGTH || !text.is_ascii() {
        return Err(ReasonError::Text(text.chars().take(MAX_LENGTH).collect()));
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    if words.is_empty() {
        return Err(ReasonError::Text(text.to_owned()));
    }
    let key = words.join("_");
    if let Some(&reason) = Reason::ALL.iter().find(|reason| reason.key() == key) {
        return Ok(reason);
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&reason) = known.get(&key) {
        return Ok(Reason::Other(reason));
    }
    if known.len() == MAX_REASONS {
        return Err(ReasonError::TooMany);
    }
    let reason = Box::leak(Box::new(OtherReason::new(
        key.clone().leak(),
        words.join(" ").leak(),
    )));
    known.insert(key, reason);
    Ok(Reason::Other(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_the_same_words_are_one_reason() {
        let reason = reason_of("too late").unwrap();
        assert_eq!(reason.key(), "too_late");
        assert_eq!(reason_of("Too late!"), Ok(reason));
        assert_eq!(reason_of("deadline passed"), Ok(Reason::DeadlinePassed));
    }

    #[test]
    fn reason_needs_a_word() {
        for text in ["", "?!", "zu spät", &"long ".repeat(20)] {
            assert!(reason_of(text).is_err(), "{text}");
        }
    }
}

//! Suggestions for a word that is typed wrongly.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use super::foreign_words::{pointer_for_command, pointer_for_option};

/// Removes the parser's suggestions that differ from the typed word by more than a typo, also from
/// the usage. `program` is the whole command line.
pub(crate) fn with_similar_names(
    mut error: clap::Error,
    words: &[OsString],
    mut program: Command,
) -> clap::Error {
    for (typed, tip) in [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (
            ContextKind::InvalidSubcommand,
            ContextKind::SuggestedSubcommand,
        ),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(typed)) = error.get(typed) else {
            continue;
        };
        let tips = match error.get(tip) {
            Some(ContextValue::String(tip)) => vec![tip.clone()],
            Some(ContextValue::Strings(tips)) => tips.clone(),
            _ => continue,
        };
        let (similar, other): (Vec<_>, Vec<_>) =
            tips.into_iter().partition(|tip| is_similar(typed, tip));
        // An empty list would be printed as an empty line.
        if similar.is_empty() {
            error.remove(tip);
        }
        if other.is_empty() {
            continue;
        }
        if !similar.is_empty() {
            error.insert(tip, ContextValue::Strings(similar));
        }
        let usage = ContextValue::StyledStr(usage(words, &mut program));
        error.insert(ContextKind::Usage, usage);
    }
    with_pointer(error, words)
}

/// Adds a pointer for a word of another batch system.
fn with_pointer(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let describes_a_job = words
        .get(1)
        .is_some_and(|command| command == "submit" || command == "quote");
    let typed = |kind| match error.get(kind) {
        Some(ContextValue::String(typed)) => Some(typed.as_str()),
        _ => None,
    };
    let option = typed(ContextKind::InvalidArg).filter(|_| describes_a_job);
    let command = typed(ContextKind::InvalidSubcommand);
    let pointer = option
        .and_then(pointer_for_option)
        .or_else(|| command.and_then(pointer_for_command));
    if let Some(pointer) = pointer {
        // A similar name would be a second answer to the same question.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        let pointer = ContextValue::StyledStrs(vec![StyledStr::from(pointer)]);
        error.insert(ContextKind::Suggested, pointer);
    }
    error
}

/// Returns the usage of the command at the start of the arguments.
fn usage(words: &[OsString], program: &mut Command) -> StyledStr {
    let mut named = program;
    for word in words.iter().skip(1) {
        if named.find_subcommand(word).is_none() {
            break;
        }
        named = named
            .find_subcommand_mut(word)
            .expect("it was found a moment ago");
    }
    named.render_usage()
}

/// Returns whether two words differ by at most one change in four letters. A change swaps two
/// neighbours, or inserts, removes or replaces a letter.
pub(crate) fn is_similar(typed: &str, known: &str) -> bool {
    let [typed, known] = [typed, known].map(|word| word.trim_start_matches('-'));
    let most = (typed.chars().count() / 4).max(1);
    strsim::osa_distance(typed, known) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tip_is_given_for_similar_names_only() {
        for (typed, known) in [
            ("--dedline", "--deadline"),
            ("--prcos", "--procs"),
            ("polices", "policies"),
            ("--mm", "--mem"),
        ] {
            assert!(is_similar(typed, known), "{typed} {known}");
        }
        for (typed, known) in [
            ("--out", "--computers"),
            ("--report", "--reboot"),
            ("--start", "--estimates"),
            ("--queue", "--quiet"),
        ] {
            assert!(!is_similar(typed, known), "{typed} {known}");
        }
    }
}

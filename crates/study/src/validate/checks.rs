//! Checks of single values. Each error names its place.

use std::collections::BTreeSet;

use crate::did_you_mean::nearest;
use crate::toml_path::TomlPath;

/// A problem of an experiment, with its place in the file.
#[derive(Debug)]
pub(crate) struct ValidationError {
    pub(crate) place: TomlPath,
    pub(crate) message: String,
}

pub(crate) type ValidationResult = Result<(), ValidationError>;

pub(crate) fn invalid(place: TomlPath, message: impl Into<String>) -> ValidationResult {
    Err(ValidationError {
        place,
        message: message.into(),
    })
}

pub(crate) fn at_least_one(place: TomlPath, count: u64) -> ValidationResult {
    if count == 0 {
        return invalid(place, "expected at least 1");
    }
    Ok(())
}

pub(crate) fn not_empty<T>(place: TomlPath, list: &[T]) -> ValidationResult {
    if list.is_empty() {
        return invalid(place, "expected at least one");
    }
    Ok(())
}

/// Checks that each name is unique and is valid as a file name.
pub(crate) fn names<'a>(
    list: &TomlPath,
    key: &str,
    names: impl Iterator<Item = &'a str>,
) -> ValidationResult {
    let mut seen = BTreeSet::new();
    for (at, name) in names.enumerate() {
        let place = list.item(at).child(key);
        let plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
        if name.is_empty() || !name.chars().all(plain) {
            return invalid(
                place,
                format!("`{name}` is not a name: expected letters, digits, `-`, `_` and `.`"),
            );
        }
        if !seen.insert(name) {
            return invalid(place, format!("there is another `{name}`"));
        }
    }
    Ok(())
}

/// Checks that `name` is one of `known`; `lacking` is the beginning of the message otherwise.
pub(crate) fn check_known<'a>(
    place: TomlPath,
    lacking: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> ValidationResult {
    if known.clone().any(|there| there == name) {
        return Ok(());
    }
    let meant = nearest(name, known.clone())
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    let listed: Vec<&str> = known.collect();
    let listed = listed.join(", ");
    invalid(
        place,
        format!("{lacking} `{name}`: expected one of {listed}{meant}"),
    )
}

/// Checks that `named` is one of `words`, which are of that kind.
pub(crate) fn check_keyword(
    place: TomlPath,
    kind: &str,
    named: &str,
    words: &[&str],
) -> ValidationResult {
    if words.contains(&named) {
        return Ok(());
    }
    let meant = nearest(named, words.iter().copied())
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    let listed = words.join(", ");
    invalid(
        place,
        format!("`{named}` is not {kind}: expected one of {listed}{meant}"),
    )
}

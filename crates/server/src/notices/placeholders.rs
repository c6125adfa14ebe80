//! Placeholders in texts of the site.

use std::convert::Infallible;

use serde_json::Value;

use super::JobNotice;

/// The error for an unknown placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{{{0}}} stands for nothing: a notice has notice, job, user, name, at and text")]
pub(super) struct UnknownPlaceholder(pub(super) String);

/// Returns the text with each `{word}` replaced. Braces around anything but a word of letters are text.
fn replace<E>(text: &str, mut of: impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        let word = rest.split_once('}').filter(|(word, _)| {
            !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase())
        });
        match word {
            Some((word, behind)) => {
                filled.push_str(&of(word)?);
                rest = behind;
            }
            None => filled.push('{'),
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Returns the text with the placeholders replaced. Text of the notice has no placeholders.
pub(super) fn fill(text: &str, notice: &JobNotice) -> String {
    let of = |word: &str| match word {
        "notice" => notice.notice.to_owned(),
        "job" => notice.job_text(),
        "user" => notice.user.clone(),
        "name" => notice.name.clone(),
        "at" => notice.at.clone(),
        "text" => notice.text.clone(),
        // The settings are checked before they are used.
        unknown => format!("{{{unknown}}}"),
    };
    let filled = replace(text, |word| Ok::<_, Infallible>(of(word)));
    filled.unwrap_or_else(|never| match never {})
}

/// Returns the text with an `example` for each placeholder.
pub(super) fn check<'a>(
    text: &str,
    example: impl Fn(&str) -> &'a str,
) -> Result<String, UnknownPlaceholder> {
    replace(text, |word| match word {
        "notice" | "job" | "user" | "name" | "at" | "text" => Ok(example(word).to_owned()),
        unknown => Err(UnknownPlaceholder(unknown.to_owned())),
    })
}

/// Returns the value with each text in it, but no key, replaced.
pub(super) fn in_strings(value: Value, of: &mut impl FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(of(&text)),
        Value::Array(list) => list
            .into_iter()
            .map(|value| in_strings(value, of))
            .collect(),
        Value::Object(fields) => {
            let filled = fields.into_iter();
            filled
                .map(|(key, value)| (key, in_strings(value, of)))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_braces_are_replaced_once() {
        let upper = |word: &str| Ok::<_, Infallible>(format!("<{word}{{user}}>"));
        for (text, expected) in [
            ("{user}@host", "<user{user}>@host"),
            ("{ user } {} {", "{ user } {} {"),
            ("{{user}}", "{<user{user}>}"),
            ("{a}{b", "<a{user}>{b"),
        ] {
            assert_eq!(replace(text, upper).as_deref(), Ok(expected));
        }
        let unknown = check("{user} {word}", |_| "").expect_err("no notice has a word");
        assert_eq!(unknown, UnknownPlaceholder("word".to_owned()));
    }

    #[test]
    fn texts_of_any_depth_are_replaced_and_keys_are_not() {
        let value = serde_json::json!({"{text}": ["{text}", 1, {"a": "{text}"}]});
        let filled = in_strings(value, &mut |text| text.len().to_string());
        assert_eq!(filled, serde_json::json!({"{text}": ["6", 1, {"a": "6"}]}));
    }
}

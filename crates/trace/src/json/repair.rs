//! Records of JSON that break its rules as real programs do. They have text that is not UTF-8, control
//! characters and unknown escapes in strings, and the words `NaN` and `Infinity` for numbers.

use serde::de::DeserializeOwned;

use crate::finding::Finding;

/// Parses one record, repaired if it has to be; notes text that is not UTF-8.
///
/// # Errors
/// [`Finding::Malformed`] if the record is beyond repair.
pub(crate) fn parse_record<T: DeserializeOwned>(
    record: &[u8],
    notes: &mut Vec<Finding>,
) -> Result<T, Finding> {
    if let Ok(value) = serde_json::from_slice(record) {
        return Ok(value);
    }
    let text = String::from_utf8_lossy(record);
    let value = serde_json::from_str(&repaired(&text)).map_err(|_| Finding::Malformed)?;
    if std::str::from_utf8(record).is_err() {
        notes.push(Finding::NameNotUtf8);
    }
    Ok(value)
}

/// Words that some programs write instead of numbers.
const NO_NUMBERS: [&str; 6] = ["NaN", "nan", "Infinity", "Inf", "inf", "None"];

/// Returns the text with legal strings, and `null` for words that are no numbers.
fn repaired(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = if first == '"' {
            push_string(&mut whole, &rest[1..])
        } else if first.is_ascii_alphabetic() || first == '-' {
            push_word(&mut whole, rest)
        } else {
            whole.push(first);
            &rest[first.len_utf8()..]
        };
    }
    whole
}

/// Appends the string that begins at `inner`, and returns the text behind it.
fn push_string<'a>(whole: &mut String, inner: &'a str) -> &'a str {
    whole.push('"');
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                whole.push('"');
                break;
            }
            '\\' => push_escape(whole, &mut letters),
            letter if letter.is_control() => whole.push(' '),
            letter => whole.push(letter),
        }
    }
    letters.as_str()
}

/// Appends the escape behind a backslash. One that JSON does not know stays as it is written.
fn push_escape(whole: &mut String, letters: &mut std::str::Chars<'_>) {
    let rest = letters.as_str();
    let is_code = rest.strip_prefix('u').is_some_and(|digits| {
        let digits = digits.as_bytes();
        digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit)
    });
    if !(is_code || rest.starts_with(['"', '\\', '/', 'b', 'f', 'n', 'r', 't'])) {
        whole.push_str("\\\\");
        return;
    }
    whole.push('\\');
    whole.extend(letters.next());
}

/// Appends the word at the beginning of `text`, and returns the text behind it.
fn push_word<'a>(whole: &mut String, text: &'a str) -> &'a str {
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"-+.".contains(letter);
    let (word, rest) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    whole.push_str(match word.trim_start_matches('-') {
        bare if NO_NUMBERS.contains(&bare) => "null",
        "True" => "true",
        "False" => "false",
        _ => word,
    });
    rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn broken_strings_and_numbers_are_repaired() {
        for (text, expected, not_utf8) in [
            (
                &b"{\"a\": \"Z\xfcrich\"}"[..],
                json!({"a": "Z\u{fffd}rich"}),
                true,
            ),
            (
                b"{\"a\": \"x\ty\\z \\\"q\\\" \\u00e9\"}",
                json!({"a": "x y\\z \"q\" \u{e9}"}),
                false,
            ),
            (
                b"{\"a\": NaN, \"b\": -Infinity, \"c\": [True, None, 1e-5]}",
                json!({"a": null, "b": null, "c": [true, null, 1e-5]}),
                false,
            ),
            (b"{\"a\": \"NaN\"}", json!({"a": "NaN"}), false),
        ] {
            let mut notes = Vec::new();
            let value: Value = parse_record(text, &mut notes).unwrap();
            assert_eq!(value, expected);
            assert_eq!(!notes.is_empty(), not_utf8);
        }
        let cut = parse_record::<Value>(b"{\"a\": ", &mut Vec::new());
        assert_eq!(cut, Err(Finding::Malformed));
    }

    proptest! {
        /// Whatever bytes a name has, the rest of the record is read.
        #[test]
        fn any_bytes_in_a_name_leave_the_other_fields(
            name in prop::collection::vec(any::<u8>().prop_filter("ends the string", |byte| !b"\"\\".contains(byte)), 0..20),
        ) {
            let record = [b"{\"name\": \"", name.as_slice(), b"\", \"job_id\": 7}"].concat();
            let value: Value = parse_record(&record, &mut Vec::new()).unwrap();
            prop_assert_eq!(value.get("job_id"), Some(&json!(7)));
        }
    }
}

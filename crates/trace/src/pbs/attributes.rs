//! The attributes of a record: `name=value` between blanks.

/// The attributes of one record, in order.
pub(super) struct PbsAttributes<'a> {
    attributes: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> PbsAttributes<'a> {
    /// Splits `text` into attributes, once for all: a value is enclosed in quotation marks, or goes up to
    /// the next `name=`; nothing is read from within another value.
    pub(super) fn split(text: &'a [u8]) -> Self {
        let mut attributes: Vec<(&[u8], &[u8])> = Vec::new();
        let mut rest = text.trim_ascii_start();
        // The beginning of the last value.
        let mut value_start = 0;
        while !rest.is_empty() {
            let (word, behind) = next_word(rest);
            let end = text.len() - behind.len();
            rest = behind.trim_ascii_start();
            match (name_and_value(word), attributes.last_mut()) {
                (Some((name, value)), _) => {
                    value_start = end - value.len();
                    attributes.push((name, unquoted(value)));
                }
                // A value with a blank goes on.
                (None, Some((_, value))) => *value = &text[value_start..end],
                (None, None) => {}
            }
        }
        Self { attributes }
    }

    /// Returns the first value of this name, unless it is empty.
    pub(super) fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut values = self.attributes.iter().filter(|(known, _)| *known == name);
        let (_, value) = values.next()?;
        Some(*value).filter(|value| !value.is_empty())
    }

    /// Returns whether there is an attribute of this name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.attributes.iter().any(|(known, _)| *known == name)
    }
}

/// Splits off the first word, whose value may hold blanks in quotation marks.
fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = |text: &[u8]| {
        let blank = text.iter().position(u8::is_ascii_whitespace);
        blank.unwrap_or(text.len())
    };
    let plain = end(text);
    let quoted = memchr::memchr(b'=', &text[..plain]).and_then(|at| {
        let value = &text[at + 1..];
        let close = at + 2 + closing_quote(value)?;
        // A quotation mark within a word is part of the word.
        matches!(text.get(close), None | Some(b' ' | b'\t')).then_some(close)
    });
    text.split_at(quoted.unwrap_or(plain))
}

/// Returns the position behind the first mark of the mark that closes a quoted value.
fn closing_quote(value: &[u8]) -> Option<usize> {
    let (mark, inner) = value.split_first()?;
    let at = b"\"'"
        .contains(mark)
        .then(|| memchr::memchr(*mark, inner))?;
    at.map(|at| at + 1)
}

fn name_and_value(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', word)?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let (name, value) = (&word[..at], &word[at + 1..]);
    (!name.is_empty() && name.iter().all(is_name)).then_some((name, value))
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [open @ (b'"' | b'\''), inner @ .., close] if open == close => inner,
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_may_have_blanks_and_quotation_marks() {
        let text = "user=ann account=\"my start=5 project\" jobname=it's queue=long one comment='a \"b\"' \
                    empty= end=7 open=\"no end=8";
        let attributes = PbsAttributes::split(text.as_bytes());
        for (name, expected) in [
            ("user", Some("ann")),
            ("account", Some("my start=5 project")),
            ("jobname", Some("it's")),
            ("queue", Some("long one")),
            ("comment", Some("a \"b\"")),
            ("empty", None),
            ("end", Some("7")),
            ("open", Some("\"no")),
            ("start", None),
        ] {
            let found = attributes.get(name.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{name}");
        }
    }

    proptest! {
        /// Text within a quoted value is never an attribute.
        #[test]
        fn quoted_text_is_never_an_attribute(inner in "[a-z= ]{0,30}") {
            let text = format!("a=1 account=\"{inner}\" zz=2");
            let attributes = PbsAttributes::split(text.as_bytes());
            prop_assert_eq!(attributes.attributes.len(), 3);
            let account = attributes.get(b"account").unwrap_or_default();
            prop_assert_eq!(account, inner.as_bytes());
            prop_assert_eq!(attributes.get(b"zz"), Some(&b"2"[..]));
        }
    }
}

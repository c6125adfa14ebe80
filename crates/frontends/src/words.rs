//! Words of a line, as a shell splits them.

/// Splits a line like a shell, at blanks outside quotes. `#` begins a comment. None if a quote is
/// not closed.
pub fn split_words(line: &str) -> Option<Vec<String>> {
    split(line, &[])
}

/// Splits a line like [`split_words`], but keeps a backslash before a comma: a list of values needs it.
pub fn split_list_words(line: &str) -> Option<Vec<String>> {
    split(line, &[','])
}

/// Splits a line. A backslash before one of `kept` stays.
fn split(line: &str, kept: &[char]) -> Option<Vec<String>> {
    let unescape = |word: &mut String, letter: char| {
        if kept.contains(&letter) {
            word.push('\\');
        }
        word.push(letter);
    };
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '#' if word.is_none() => break,
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' if letter == '"' => unescape(word, letters.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => unescape(word.get_or_insert_default(), letters.next()?),
            blank if blank.is_whitespace() => words.extend(word.take()),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let split = |line| split_words(line).unwrap();
        assert_eq!(
            split(r#" a  b\ c "d e" f'g'h # i"#),
            ["a", "b c", "d e", "fgh"]
        );
        assert_eq!(split("''"), [""]);
        assert_eq!(split_words("\\"), None);
        assert_eq!(split_words(r#"a\,b "c\,d""#).unwrap(), ["a,b", "c,d"]);
        let kept = split_list_words(r#"a\,b "c\,d" e\ f"#);
        assert_eq!(kept.unwrap(), [r"a\,b", r"c\,d", "e f"]);
    }
}

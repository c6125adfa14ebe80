//! Text cut, filled and broken to a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The mark at the end of a text that is cut.
const CUT: &str = "..";

/// Returns a text of exactly this width: cut, or filled with spaces.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let cut = clipped(text, width);
    let missing = width.saturating_sub(cut.width());
    cut + &" ".repeat(missing)
}

/// Returns a text of at most this width. One that is cut ends with two dots, if there is room for them.
pub(super) fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = if width > 2 * CUT.len() { CUT } else { "" };
    head(text, width - mark.len()).to_owned() + mark
}

/// Returns the longest beginning of a text that is at most this wide.
fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// Breaks a text between words into lines of at most this width, those behind the first indented. A longer word is
/// broken, too.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let needed = line.width() + usize::from(!line.is_empty()) + word.width();
        if needed > width && !line.trim_start().is_empty() {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim_start().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while line.width() > width {
            let first = head(&line, width.max(2)).to_owned();
            line = " ".repeat(indent) + &line[first.len()..];
            lines.push(first);
        }
    }
    lines.push(line);
    lines
}

/// Breaks a line of an output where the screen ends.
pub(super) fn broken(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line;
    while rest.width() > width.max(2) {
        let first = head(rest, width.max(2));
        parts.push(first.to_owned());
        rest = &rest[first.len()..];
    }
    parts.push(rest.to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(fitted("\u{6587}\u{5b57}", 5), "\u{6587}\u{5b57} ");
        assert_eq!(fitted("\u{6587}\u{5b57}\u{6587}", 5), "\u{6587}.. ");
        assert_eq!(fitted("abcdefg", 3), "abc");
        assert_eq!(clipped("abcdefg", 6), "abcd..");
    }

    #[test]
    fn sentences_break_between_words_and_outputs_anywhere() {
        let lines = wrapped("it needs 4 nodes", 9, 2);
        assert_eq!(lines, ["it needs", "  4 nodes"]);
        assert_eq!(
            wrapped("abcdefghij", 4, 2),
            ["abcd", "  ef", "  gh", "  ij"]
        );
        assert_eq!(broken("abcdefg", 3), ["abc", "def", "g"]);
        assert_eq!(broken("", 3), [""]);
    }
}

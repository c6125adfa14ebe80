//! Names and outputs of others as text that no terminal obeys.
//!
//! Control characters and those that change the direction of text become `?`. Characters without a width are left out,
//! but for one mark on each letter, so that text has the width that the screen reserves for it.

use unicode_width::UnicodeWidthChar;

/// The width between two tab stops.
const TAB: usize = 8;

/// Returns a text of one line without anything that a terminal would obey.
pub(crate) fn safe_line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut has_mark = true;
    for letter in text.chars() {
        if letter.is_control() || changes_direction(letter) {
            safe.push('?');
            has_mark = false;
            continue;
        }
        match letter.width() {
            _ if is_joiner(letter) => {}
            Some(0) if has_mark => {}
            Some(0) => {
                has_mark = true;
                safe.push(letter);
            }
            Some(_) | None => {
                has_mark = false;
                safe.push(letter);
            }
        }
    }
    safe
}

/// Returns the lines of an output as a terminal would have left them: colours are left out, tabs are spaces, and what
/// a carriage return overwrites is gone.
pub(crate) fn safe_output(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = without_sequences(line.trim_end_matches('\r'));
        let last = line.rsplit('\r').next().unwrap_or_default();
        safe_line(&with_spaces(last))
    };
    text.lines().map(line).collect()
}

/// Leaves out the sequences with which programs colour text and set titles.
fn without_sequences(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            // A control sequence ends with a letter, or one of a few marks.
            Some('[') => {
                letters.by_ref().find(|next| ('@'..='~').contains(next));
            }
            // A command of the system, as the title of the window, ends with a bell or with another escape.
            Some(']') => {
                let end = letters
                    .by_ref()
                    .find(|next| matches!(next, '\u{7}' | '\u{1b}'));
                letters.next_if(|next| end == Some('\u{1b}') && *next == '\\');
            }
            Some(_) | None => {}
        }
    }
    plain
}

fn with_spaces(line: &str) -> String {
    let mut spaced = String::with_capacity(line.len());
    let mut column = 0;
    for letter in line.chars() {
        let width = match letter {
            '\t' => TAB - column % TAB,
            letter => letter.width().unwrap_or(1),
        };
        match letter {
            '\t' => spaced.extend(std::iter::repeat_n(' ', width)),
            letter => spaced.push(letter),
        }
        column += width;
    }
    spaced
}

/// Returns whether a character changes the direction of the text behind it, or ends a line.
fn changes_direction(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

/// Returns whether a character changes how its neighbours are drawn, so that terminals disagree about the width.
fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_become_question_marks() {
        assert_eq!(safe_line("a\u{1b}[2Jb\nc\u{9b}d"), "a?[2Jb?c?d");
        assert_eq!(safe_line("x\u{202e}gpj.exe\u{2066}"), "x?gpj.exe?");
    }

    #[test]
    fn letters_keep_one_mark_and_lose_joiners() {
        assert_eq!(safe_line("e\u{301}\u{302}\u{303}a\u{200d}b"), "e\u{301}ab");
        assert_eq!(safe_line("\u{301}a"), "a");
        assert_eq!(
            safe_line("\u{6587}\u{5b57} \u{5d0}"),
            "\u{6587}\u{5b57} \u{5d0}"
        );
    }

    #[test]
    fn output_loses_colours_titles_and_overwritten_text() {
        let text = "\u{1b}[1;31mred\u{1b}[0m\n\u{1b}]0;title\u{7}shown\n10 %\r20 %\r\na\tb\n\u{1b}";
        assert_eq!(safe_output(text), ["red", "shown", "20 %", "a       b", ""]);
    }
}

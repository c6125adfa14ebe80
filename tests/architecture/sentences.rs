//! Tests that sentences are short: a reader who looks something up reads each of them once.

use std::fs;

use crate::{metadata, names, prose};

/// The maximum number of words of a sentence. Documents of comparable projects have 3 to 12 % above it.
const MAX_WORDS: usize = 30;

/// Text whose end also ends a sentence: a paragraph, an item of a list or a cell of a table.
struct TextUnit {
    /// The number of its first line.
    line: usize,
    text: String,
}

/// Returns the units of the numbered lines of a Markdown text, without blocks of code and headings.
fn units<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<TextUnit> {
    let mut units: Vec<TextUnit> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (line, text) in lines {
        let text = text.trim();
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        let is_prose = !is_code && !is_fence && !text.is_empty();
        if !is_prose || text.starts_with(['#', '<']) || text.starts_with("![") {
            is_open = false;
        } else if let Some(row) = text.strip_prefix('|') {
            let cells = row.split('|').map(str::to_owned);
            units.extend(cells.map(|text| TextUnit { line, text }));
            is_open = false;
        } else if let Some(item) = list_item(text) {
            let text = item.to_owned();
            units.push(TextUnit { line, text });
            is_open = true;
        } else if let Some(unit) = units.last_mut().filter(|_| is_open) {
            unit.text.push(' ');
            unit.text.push_str(text);
        } else {
            let text = text.to_owned();
            units.push(TextUnit { line, text });
            is_open = true;
        }
    }
    units
}

/// Returns the text of a line that begins an item of a list.
fn list_item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let marked = match number.len() == line.len() {
        true => line.strip_prefix(['-', '*', '+']),
        false => number.strip_prefix('.'),
    };
    marked.filter(|text| text.starts_with(' ')).map(str::trim)
}

/// Returns a text with each span of code as one word, and without the targets of links and marks of emphasis.
fn plain(text: &str) -> String {
    let spans = text.split('`').enumerate();
    let text: String = spans
        .map(|(at, span)| if at % 2 == 1 { "Code" } else { span })
        .collect();
    let mut parts = text.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    // A list of names is looked through, not read: it counts as one word.
    while plain.contains("Code, Code") {
        plain = plain.replace("Code, Code", "Code");
    }
    plain.replace(['*', '['], "")
}

/// Returns the sentences of a plain text as numbers of words, each with its first words.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let mut sentences = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut all = text.split_whitespace().peekable();
    while let Some(word) = all.next() {
        words.push(word);
        let ends = word.trim_end_matches(['"', '\'', ')']);
        let begins_next = all.peek().is_none_or(|next| {
            let next = next.trim_start_matches(['"', '\'', '(']);
            next.starts_with(|letter: char| letter.is_uppercase() || letter.is_ascii_digit())
        });
        if all.peek().is_none() || ends.ends_with(['.', '!', '?']) && begins_next {
            let is_word = |word: &&&str| word.contains(char::is_alphanumeric);
            let n_words = words.iter().filter(is_word).count();
            let beginning = words[..words.len().min(8)].join(" ");
            sentences.push((n_words, beginning));
            words.clear();
        }
    }
    sentences
}

/// Returns the sentences of the numbered lines that are too long, as lines of a message.
fn too_long<'a>(path: &str, lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<String> {
    let units = units(lines).into_iter();
    let found = units.flat_map(|unit| {
        let long = sentences(&plain(&unit.text)).into_iter();
        let long = long.filter(|(n_words, _)| *n_words > MAX_WORDS);
        long.map(move |(n_words, beginning)| (unit.line, n_words, beginning))
    });
    found
        .map(|(line, n_words, beginning)| format!("{path}:{line}: {n_words} words: {beginning} .."))
        .collect()
}

#[test]
fn documents_have_short_sentences() {
    let mut found = Vec::new();
    let documents = prose::documents(&metadata::root());
    assert!(documents.len() > 15, "{documents:?}");
    for path in documents {
        let text = fs::read_to_string(&path).expect("a readable text");
        found.extend(too_long(
            &path.display().to_string(),
            (1..).zip(text.lines()),
        ));
    }
    assert!(
        found.is_empty(),
        "sentences of more than {MAX_WORDS} words:\n{}",
        found.join("\n")
    );
}

/// Returns the comments of a source: the numbered lines of each, without their markers.
fn comments(source: &str) -> Vec<Vec<(usize, &str)>> {
    let mut comments: Vec<Vec<(usize, &str)>> = Vec::new();
    let mut last = None;
    for (line, text) in (1..).zip(source.lines()) {
        let code = text.trim_start();
        let mut markers = ["///", "//!", "//"].into_iter();
        let marker = markers.find(|&marker| code.starts_with(marker));
        let kind = marker.map(|marker| (marker, text.len() - code.len()));
        if kind.is_some() && kind != last {
            comments.push(Vec::new());
        }
        if let (Some(marker), Some(comment)) = (marker, comments.last_mut()) {
            comment.push((line, &code[marker.len()..]));
        }
        last = kind;
    }
    comments
}

#[test]
fn comments_have_short_sentences() {
    let mut found = Vec::new();
    for path in names::sources(&metadata::root()) {
        let source = fs::read_to_string(&path).expect("a readable source");
        for comment in comments(&source) {
            found.extend(too_long(&path.display().to_string(), comment));
        }
    }
    assert!(
        found.is_empty(),
        "sentences of more than {MAX_WORDS} words:\n{}",
        found.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        too_long("x", (1..).zip(text.lines()))
    }

    #[test]
    fn long_sentence_is_found_with_its_line() {
        let long = format!("A job. Then {}.\n", "word ".repeat(30));
        let message = "x:3: 31 words: Then word word word word word word word ..";
        assert_eq!(found(&format!("# Title\n\n{long}")), [message]);
        let wrapped = long.replace("word word ", "word\nword ");
        assert_eq!(found(&format!("\n\n{wrapped}")), [message]);
        let cell = format!("| key | Then {} |", "word ".repeat(30));
        assert_eq!(found(&cell).len(), 1);
        assert_eq!(found(&format!("- Then {}", "word ".repeat(30))).len(), 1);
    }

    #[test]
    fn comments_are_found_by_their_markers() {
        let source =
            "//! A file.\n\n/// A job\n/// that runs.\nfn f() {\n    // Why.\n    /// Not\n}";
        let found: Vec<Vec<usize>> = comments(source)
            .iter()
            .map(|comment| comment.iter().map(|(line, _)| *line).collect())
            .collect();
        assert_eq!(found, [vec![1], vec![3, 4], vec![6], vec![7]]);
    }

    #[test]
    fn code_links_and_ends_of_units_are_no_words_of_a_sentence() {
        let words = "word ".repeat(29);
        for text in [
            format!("A {words}."),
            format!("A {}`two words of code`.", "word ".repeat(28)),
            format!("A {}[link](https://a.b/c).", "word ".repeat(28)),
            format!("A {words}:\n- and an item\n1. and another"),
            format!("A {words}:\n\nAnd a paragraph"),
            format!("A {words}:\n```sh\n{words}\n```\n"),
            format!("A {words}. `Code` begins the next one."),
            format!("| A {words} | and a cell |"),
        ] {
            assert!(found(&text).is_empty(), "{:?}", found(&text));
        }
    }
}

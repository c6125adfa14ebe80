//! Tests that messages are plain English: the string literals of sources, in which they are written.

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use crate::{metadata, names, prose};

/// Phrases of messages that do not say what was expected, in lower case.
const VAGUE: &[&str] = &["means nothing"];

/// Returns the string literals of a source that are text, with the numbers of their lines. Documentation is
/// no literal, and a literal of one or two words or with a path of Rust is no text.
fn texts(source: &str) -> Vec<(usize, String)> {
    let mut texts = Vec::new();
    let tokens: TokenStream = source.parse().expect("a source that compiles");
    collect(tokens, &mut texts);
    let comments: Vec<bool> = source
        .lines()
        .map(|line| line.trim_start().starts_with("//"))
        .collect();
    texts.retain(|(line, text)| {
        let is_text = text.split_whitespace().count() > 2 && !text.contains("::");
        is_text && !comments.get(line - 1).copied().unwrap_or_default()
    });
    texts
}

fn collect(tokens: TokenStream, texts: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), texts),
            TokenTree::Literal(literal) => {
                let line = literal.span().start().line;
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push((line, text.value()));
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// Returns the phrases of a text that are not plain English. Words of code in the text do not count.
fn faults(text: &str) -> Vec<&'static str> {
    let text: Vec<&str> = text.split('`').step_by(2).collect();
    let text = text.join(" ");
    let mut found = prose::dialect(&text);
    let words = prose::lower_words(&text);
    let joined = format!(" {} ", words.join(" "));
    found.extend(VAGUE.iter().filter(|phrase| joined.contains(*phrase)));
    let denies = words.windows(3).any(|three| {
        let is_denied = three[0] == "is" && three[1] == "no";
        is_denied && !matches!(three[2].as_str(), "longer" | "more")
    });
    if denies && !joined.contains(" there is no ") {
        found.push("is no");
    }
    found
}

/// Returns whether a file can have a fault: most have no such phrase at all, and need not be parsed.
fn is_suspect(source: &str) -> bool {
    let source = source.to_lowercase();
    let phrases = prose::DIALECT
        .iter()
        .chain(VAGUE)
        .chain(&[" is no ", "who "]);
    let mut phrases = phrases.copied();
    phrases.any(|phrase| source.contains(phrase))
}

/// Returns the faults of a file, as lines of a message.
fn file_faults(path: &Path) -> Vec<String> {
    let source = fs::read_to_string(path).expect("a readable source");
    if !is_suspect(&source) {
        return Vec::new();
    }
    let texts = texts(&source).into_iter();
    let found = texts.map(|(line, text)| (line, faults(&text), text));
    found
        .filter(|(_, faults, _)| !faults.is_empty())
        .map(|(line, faults, text)| {
            let faults = faults.join(", ");
            format!("{}:{line}: {faults}: {text:?}", path.display())
        })
        .collect()
}

#[test]
fn messages_are_plain_english() {
    let sources = names::sources(&metadata::root());
    // The tests here name what they forbid.
    let sources = sources.iter().filter(|path| {
        let folder = path.parent().and_then(Path::file_name);
        folder.is_none_or(|folder| folder != "architecture")
    });
    let found: Vec<String> = sources.flat_map(|path| file_faults(path)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_kinds_of_literals_are_found() {
        let source = "//! Whoever it is.\n#[error(\"{0} is none of three\")]\nstruct E;\n\
                      fn f() { print!(r\"one of\nthree\"); \"two words\"; b\"b y t e\"; \"a b is::c\" }";
        let found = texts(source);
        assert_eq!(
            found,
            [
                (2, "{0} is none of three".to_owned()),
                (4, "one of\nthree".to_owned())
            ]
        );
    }

    #[test]
    fn vague_messages_are_faults() {
        for (text, fault) in [
            ("`perfect` is none: expected user or true", "is none"),
            ("`x` is no word: expected a word", "is no"),
            ("at: means nothing for `rises`", "means nothing"),
            ("a job that nobody waits for", "nobody"),
        ] {
            assert_eq!(faults(text), [fault], "{text}");
            assert!(is_suspect(text), "{text}");
        }
        for text in [
            "`perfect` is not a source: expected user or true",
            "there is no policy `whoever`",
            "the script is no longer kept",
            "users who have used less",
        ] {
            assert!(faults(text).is_empty(), "{text}: {:?}", faults(text));
        }
    }
}

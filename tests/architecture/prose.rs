//! Tests that texts for users and comments are plain English with the words of the field.
//!
//! Documents and the help of the program once used a dialect of their own, in which a job was not submitted
//! or admitted but `handed in` and `let in`. A process could be `whoever` or `nobody`. The test counts the
//! lines that still do.

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::{metadata, names};

/// Phrases of the dialect, in lower case. The comments name the plain words.
pub(crate) const DIALECT: &[&str] = &[
    // A process is no person: name it.
    "whoever",
    "whom",
    "somebody",
    "nobody",
    "anybody",
    "everybody",
    // Submit.
    "hand in",
    "hands in",
    "handed in",
    "handing in",
    // Admit.
    "let in",
    "lets in",
    "letting in",
    // Reject.
    "keep out",
    "keeps out",
    "kept out",
    // Cancel, revoke.
    "take back",
    "takes back",
    "taken back",
    "took back",
    // Claim.
    "take up",
    "takes up",
    "taken up",
    // Hold.
    "hold back",
    "holds back",
    "held back",
    // No, none.
    "is none",
    "are none",
    // At most N, maximum number of.
    "so many",
    "so much",
    // Unfinished.
    "not over yet",
    // Gets, answers, reports.
    "is told",
    "are told",
    "was told",
    "were told",
    "is said",
    "are said",
    "was said",
    "is heard",
    "was heard",
    "come to be",
];

/// Nouns for persons, after which `who` is allowed.
const PERSONS: &[&str] = &[
    "user",
    "users",
    "people",
    "person",
    "anyone",
    "reader",
    "operator",
    "operators",
    "researcher",
    "researchers",
    "scientist",
];

/// The minimum number of lines of documents and help per line in the dialect.
const DOCUMENT_LINES_PER_HIT: usize = 150;

/// The minimum number of comment lines per line in the dialect.
const COMMENT_LINES_PER_HIT: usize = 500;

/// Returns the words of a text in lower case, without punctuation.
pub(crate) fn lower_words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns the phrases of the dialect in a line.
pub(crate) fn dialect(line: &str) -> Vec<&'static str> {
    let words = lower_words(line);
    let joined = format!(" {} ", words.join(" "));
    // A thing may be absent: only a value cannot be `none`.
    let joined = joined
        .replace(" there is none ", " ")
        .replace(" there are none ", " ");
    let phrases = DIALECT.iter().copied();
    let mut found: Vec<&str> = phrases
        .filter(|phrase| joined.contains(&format!(" {phrase} ")))
        .collect();
    let is_person =
        |word: Option<&String>| word.is_some_and(|word| PERSONS.contains(&word.as_str()));
    let names_persons = words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        word == "who" && !is_person(before)
    });
    if names_persons {
        found.push("who");
    }
    found
}

/// Returns the lines of prose in a Markdown document, without blocks and words of code.
fn prose(document: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(document.lines()) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.trim().is_empty() {
            let words = line.split('`').step_by(2);
            lines.push((number, words.collect::<Vec<_>>().join(" ")));
        }
    }
    lines
}

/// Returns the files in a folder of the repository and in folders below it, up to a depth.
fn files(root: &Path, folder: &str, depth: usize) -> impl Iterator<Item = PathBuf> + use<> {
    let files = WalkDir::new(root.join(folder)).max_depth(depth);
    let files = files.sort_by_file_name().into_iter();
    files.map(|entry| entry.expect("a readable repository").into_path())
}

/// Returns the documents: those at the top of the repository and the pages of the book, `docs`.
pub(crate) fn documents(root: &Path) -> Vec<PathBuf> {
    let all = files(root, "", 1).chain(files(root, "docs", 2));
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect()
}

/// Returns the documents, and the help of the program from the snapshots of its tests.
fn texts(root: &Path) -> Vec<PathBuf> {
    let is_help = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("cli__help__") && name.ends_with(".snap"))
    };
    let help = files(root, "crates/cli/tests/cli/snapshots", 1).filter(is_help);
    documents(root).into_iter().chain(help).collect()
}

#[test]
fn user_documents_are_plain_english() {
    let root = metadata::root();
    let mut n_lines = 0;
    let mut hits = Vec::new();
    let texts = texts(&root);
    assert!(texts.len() > 15, "{texts:?}");
    for path in texts {
        let text = fs::read_to_string(&path).expect("a readable text");
        for (number, line) in prose(&text) {
            n_lines += 1;
            let found = dialect(&line);
            if !found.is_empty() {
                hits.push(format!("{}:{number}: {}", path.display(), found.join(", ")));
            }
        }
    }
    assert!(
        hits.len() * DOCUMENT_LINES_PER_HIT <= n_lines,
        "{} of {n_lines} lines speak a dialect:\n{}",
        hits.len(),
        hits.join("\n")
    );
}

/// Returns the text of a line that is a comment as a whole, without its words of code.
fn comment(line: &str) -> Option<String> {
    let text = line.trim_start().strip_prefix("//")?;
    let text = text.trim_start_matches(['/', '!']).trim();
    let words: Vec<&str> = text.split('`').step_by(2).collect();
    (!text.is_empty()).then(|| words.join(" "))
}

/// Returns whether a sentence of a comment starts with a question word where a noun should stand.
fn starts_with_a_question(comment: &str) -> bool {
    let sentences = comment.split_inclusive(['.', ':', ';']);
    sentences.map(str::trim_start).any(|sentence| {
        let first = sentence.split(' ').next().unwrap_or_default();
        matches!(first, "What" | "Which" | "Who" | "Whom" | "Whose")
    })
}

#[test]
fn comments_are_plain_english() {
    let root = metadata::root();
    let mut n_lines = 0;
    let mut hits = Vec::new();
    for path in names::sources(&root) {
        let text = fs::read_to_string(&path).expect("a readable source");
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = comment(line) else {
                continue;
            };
            n_lines += 1;
            let found = dialect(&comment);
            if !found.is_empty() || starts_with_a_question(&comment) {
                hits.push(format!("{}:{number}: {}", path.display(), comment.trim()));
            }
        }
    }
    assert!(n_lines > 10_000, "{n_lines}");
    println!("{} of {n_lines} comment lines speak a dialect", hits.len());
    assert!(
        hits.len() * COMMENT_LINES_PER_HIT <= n_lines,
        "{} of {n_lines} comment lines speak a dialect:\n{}",
        hits.len(),
        hits.join("\n")
    );
}

#[test]
fn dialect_is_found_in_comments() {
    let found = comment("    /// The `nobody` account. What it may do.").expect("a comment");
    assert!(dialect(&found).is_empty());
    assert!(starts_with_a_question(&found));
    assert_eq!(comment("let in = 1; // not a whole line"), None);
    assert!(!starts_with_a_question("A job. It says what runs."));
}

#[test]
fn dialect_is_found_in_prose_only() {
    let document = "A job is let in.\n\n```sh\nwhoever\n```\nThe `nobody` account, and who waits.\n\
                    A user who submits a job.\n";
    let found: Vec<(usize, Vec<&str>)> = prose(document)
        .iter()
        .map(|(number, line)| (*number, dialect(line)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    assert_eq!(found, [(1, vec!["let in"]), (6, vec!["who"])]);
}

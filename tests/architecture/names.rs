//! A type's name says which one it is, and is declared once. Functions and tests are named by the words of the
//! field.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::{bindings, metadata, prose};

/// At most this share of the declarations may be of a name that is declared more than once.
const MAX_SHARED_PERCENT: usize = 2;

/// At most this share of the names may be a single word.
const MAX_ONE_WORD_PERCENT: usize = 8;

/// Question words and participles: they say of nothing what it is.
const NO_NOUNS: &[&str] = &[
    "Asked", "Counted", "Doing", "Done", "Drawn", "Given", "Heard", "Held", "Known", "Learned",
    "Said", "Seen", "Told", "Tried", "What", "Which", "Who", "Whom", "Whose", "Written",
];

/// The files of Rust code in the directories of the workspace.
pub(crate) fn sources(root: &Path) -> Vec<PathBuf> {
    let files = ["crates", "tests"].into_iter().flat_map(|dir| {
        let files = WalkDir::new(root.join(dir)).sort_by_file_name();
        files
            .into_iter()
            .map(|entry| entry.expect("a readable repository").into_path())
    });
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

/// The name that a line declares behind one of the keywords.
fn declared<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub")
            || matches!(*word, "super)" | "unsafe" | "const" | "async")
            || word.starts_with("crate::")
    });
    keywords.contains(&words.next()?).then_some(())?;
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

/// The name of the struct, enum, trait or union that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let name = declared(line, &["struct", "enum", "trait", "union"])?;
    name.starts_with(|letter: char| letter.is_uppercase())
        .then_some(name)
}

/// The words and phrases of the dialect in the name of a function. A name with `what` lacks a noun. In a name,
/// `none` is the value.
fn function_dialect(name: &str) -> Vec<String> {
    let words = name.split('_').filter(|word| *word == "what");
    let words = words.map(str::to_owned).chain(bindings::dialect(name));
    let phrases = prose::dialect(&name.replace('_', " ")).into_iter();
    let phrases = phrases.filter(|phrase| !phrase.ends_with(" none"));
    words.chain(phrases.map(str::to_owned)).collect()
}

fn is_one_word(name: &str) -> bool {
    let mut letters = name
        .chars()
        .skip(1)
        .skip_while(|letter| letter.is_uppercase());
    !letters.any(char::is_uppercase)
}

/// Each declared name with the files that declare it.
fn declarations(root: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut names: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in sources(root) {
        let text = fs::read_to_string(&path).expect("a readable source");
        for name in text.lines().filter_map(declared_type) {
            names.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    names
}

#[test]
fn type_names_are_rarely_shared() {
    let names = declarations(&metadata::root());
    let n_declared: usize = names.values().map(Vec::len).sum();
    assert!(n_declared > 1_000, "{n_declared}");
    let shared: Vec<_> = names.iter().filter(|(_, files)| files.len() > 1).collect();
    let n_shared: usize = shared.iter().map(|(_, files)| files.len()).sum();
    println!("{n_shared} of {n_declared} declarations share their name");
    assert!(
        n_shared * 100 <= n_declared * MAX_SHARED_PERCENT,
        "{n_shared} of {n_declared} declarations share their name: {shared:#?}"
    );
}

#[test]
fn type_names_are_specific() {
    let names = declarations(&metadata::root());
    let short: Vec<&String> = names.keys().filter(|name| is_one_word(name)).collect();
    println!("{} of {} names are one word", short.len(), names.len());
    assert!(
        short.len() * 100 <= names.len() * MAX_ONE_WORD_PERCENT,
        "{} of {} names are one word: {short:?}",
        short.len(),
        names.len()
    );
    let no_nouns: Vec<&&String> = short
        .iter()
        .filter(|name| NO_NOUNS.contains(&name.as_str()))
        .collect();
    assert!(no_nouns.is_empty(), "{no_nouns:?}");
}

#[test]
fn functions_and_tests_are_named_by_the_words_of_the_field() {
    let mut n_functions = 0;
    let mut found = Vec::new();
    for path in sources(&metadata::root()) {
        let text = fs::read_to_string(&path).expect("a readable source");
        for (number, line) in (1..).zip(text.lines()) {
            let Some(name) = declared(line, &["fn"]) else {
                continue;
            };
            n_functions += 1;
            let words = function_dialect(name);
            if !words.is_empty() {
                let words = words.join(", ");
                found.push(format!("{}:{number}: {name}: {words}", path.display()));
            }
        }
    }
    assert!(n_functions > 10_000, "{n_functions}");
    assert!(
        found.is_empty(),
        "{} of {n_functions} functions speak a dialect:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn dialect_is_found_in_names_of_functions() {
    assert_eq!(function_dialect("job_is_told_its_end").len(), 2);
    assert_eq!(function_dialect("task_is_taken_back"), ["taken back"]);
    assert_eq!(function_dialect("what_is_missing"), ["what"]);
    assert!(function_dialect("basket_is_none").is_empty());
}

#[test]
fn declarations_are_found() {
    assert_eq!(
        declared_type("pub(crate) struct JobSelector<'a> {"),
        Some("JobSelector")
    );
    assert_eq!(declared_type("    unsafe trait Raw: Sized {"), Some("Raw"));
    assert_eq!(declared_type("// struct Comment"), None);
    assert_eq!(
        declared("pub(super) const fn n_jobs<T>(", &["fn"]),
        Some("n_jobs")
    );
    assert_eq!(declared("let call: fn(u32);", &["fn"]), None);
    assert!(is_one_word("Gate") && is_one_word("SLA") && !is_one_word("GateInput"));
}

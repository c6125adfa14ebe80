//! A type's name says which one it is, and is declared once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::metadata;

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

/// The name of the struct, enum, trait or union that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub")
            || matches!(*word, "super)" | "unsafe")
            || word.starts_with("crate::")
    });
    matches!(words.next()?, "struct" | "enum" | "trait" | "union").then_some(())?;
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric());
    let name = &name[..end.unwrap_or(name.len())];
    name.starts_with(|letter: char| letter.is_uppercase())
        .then_some(name)
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
        for name in text.lines().filter_map(declared) {
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
fn type_names_say_which_one() {
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
fn declarations_are_found() {
    assert_eq!(
        declared("pub(crate) struct JobSelector<'a> {"),
        Some("JobSelector")
    );
    assert_eq!(declared("    unsafe trait Raw: Sized {"), Some("Raw"));
    assert_eq!(declared("// struct Comment"), None);
    assert!(is_one_word("Gate") && is_one_word("SLA") && !is_one_word("GateInput"));
}

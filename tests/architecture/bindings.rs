//! Tests that variables, parameters, fields and imports are named by the words of the field.
//!
//! Types and documents once spoke a dialect in which a job was not submitted but `asked`, and a program did
//! not print but `said`. A name of one of these words does not say which thing it is.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::thread;

use syn::visit::{self, Visit};

use crate::{metadata, names};

/// Words of the dialect: no part of a name may be one of them.
const DIALECT: &[&str] = &[
    // A request, a query, a submission, the requested number.
    "ask",
    "asked",
    "asker",
    "askers",
    "asking",
    "asks",
    "wish",
    "wishes",
    // An answer, a message, a notice, a forecast, printed text.
    "said",
    "say",
    "saying",
    "says",
    "speaking",
    "speaks",
    "told",
    "tell",
    "teller",
    "telling",
    "tells",
    // An event, received messages, a reader.
    "ear",
    "hear",
    "heard",
    "hears",
    "happened",
    "happening",
    "happenings",
    // The needed, chosen or expected thing.
    "unwanted",
    "want",
    "wanted",
    // The user, the key, the subject.
    "nobody",
    "nobodys",
    "somebody",
    "stranger",
    "strangers",
    "who",
    "whom",
    "whose",
    // A handle, a listener, a permit, the location of an attempt, options, a parameter, a sink.
    "anteroom",
    "door",
    "doors",
    "knob",
    "knobs",
    "outlet",
    "seat",
    "seats",
    // An action, a launch, an outcome, a state.
    "deed",
    "deeds",
    "doing",
    "doings",
    "duties",
    "duty",
    "fate",
    "fates",
    "standing",
    "standings",
    // Other figures of speech.
    "complain",
    "complaint",
    "dear",
    "dearest",
    "dues",
    "hungry",
    "impatient",
    "liar",
    "saboteur",
    "squatter",
    "squatters",
    "story",
    "stubborn",
    "talk",
    "tellable",
    "trouble",
    "voice",
];

/// A name that a source declares.
#[derive(Debug, PartialEq, Eq)]
struct DeclaredName {
    line: usize,
    name: String,
    /// The reason why the name is a fault; None for a correct name.
    fault: Option<String>,
}

/// Collects the names of bindings, fields and import aliases.
#[derive(Default)]
struct NameCollector {
    names: Vec<DeclaredName>,
}

impl NameCollector {
    fn add(&mut self, ident: &syn::Ident, fault: Option<String>) {
        self.names.push(DeclaredName {
            line: ident.span().start().line,
            name: ident.to_string(),
            fault,
        });
    }
}

impl<'ast> Visit<'ast> for NameCollector {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.add(&pattern.ident, dialect(&pattern.ident.to_string()));
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(ident) = &field.ident {
            self.add(ident, dialect(&ident.to_string()));
        }
        visit::visit_field(self, field);
    }

    fn visit_use_rename(&mut self, import: &'ast syn::UseRename) {
        let (name, alias) = (import.ident.to_string(), import.rename.to_string());
        let hides = alias != "_" && name != "self" && !contains_word(&alias, &name);
        self.add(&import.rename, hides.then(|| format!("hides `{name}`")));
    }
}

/// The words of [`DIALECT`].
static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| DIALECT.iter().copied().collect());

/// Returns the word of the dialect that is part of a name.
pub(crate) fn dialect(name: &str) -> Option<String> {
    let mut words = name.split('_');
    let word = words.find(|word| WORDS.contains(word))?;
    Some(format!("`{word}`"))
}

/// Returns whether an alias begins or ends with the name that it stands for.
fn contains_word(alias: &str, name: &str) -> bool {
    let (alias, name) = (alias.to_lowercase(), name.to_lowercase());
    alias.starts_with(&name) || alias.ends_with(&name)
}

/// Returns whether a source can declare a name that is a fault. Most cannot, and need not be parsed.
fn is_suspect(source: &str) -> bool {
    let lines = source.lines().map(str::trim_start);
    let mut code = lines.filter(|line| !line.starts_with("//"));
    code.any(|line| is_import_alias(line) || has_suspect_name(line))
}

/// Returns whether a line can have an import alias: `as` and a name that is no number type.
fn is_import_alias(line: &str) -> bool {
    let aliases = line.split(" as ").skip(1);
    let mut names = aliases.filter_map(|alias| alias.split([',', ';', '}', ' ']).next());
    names.any(|name| {
        let is_number = name.ends_with(|letter: char| letter.is_ascii_digit())
            || matches!(name, "usize" | "isize" | "_");
        !is_number
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

/// Returns whether a name in a line of code has a word of the dialect, and stands where a declared name can.
fn has_suspect_name(line: &str) -> bool {
    let mut rest = line;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphabetic()) {
        let name = &rest[start..];
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let (name, behind) = name.split_at(end.unwrap_or(name.len()));
        let behind = behind.trim_start();
        let ends_a_name = behind.is_empty()
            || behind.starts_with([':', ',', ')', '|', ';', '=', '}', ']', '@'])
            || behind.starts_with("in ");
        if ends_a_name && !rest[..start].ends_with('.') && dialect(name).is_some() {
            return true;
        }
        rest = behind;
    }
    false
}

/// Returns the names that a source declares.
fn declared_names(source: &str) -> Vec<DeclaredName> {
    let file = syn::parse_file(source).expect("a source that compiles");
    let mut collector = NameCollector::default();
    collector.visit_file(&file);
    collector.names
}

/// Returns the faults of the names in a file, as lines of a message.
fn faults(path: &Path) -> Vec<String> {
    let source = fs::read_to_string(path).expect("a readable source");
    if !is_suspect(&source) {
        return Vec::new();
    }
    let names = declared_names(&source).into_iter();
    let faults = names.filter_map(|name| {
        let fault = name.fault?;
        Some(format!(
            "{}:{}: {}: {fault}",
            path.display(),
            name.line,
            name.name
        ))
    });
    faults.collect()
}

#[test]
fn bindings_are_named_by_the_words_of_the_field() {
    let sources = names::sources(&metadata::root());
    assert!(sources.len() > 900, "{}", sources.len());
    let n_threads = thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<String> = thread::scope(|scope| {
        let parts = sources.chunks(sources.len().div_ceil(n_threads));
        let threads: Vec<_> = parts
            .map(|part| {
                scope.spawn(|| {
                    part.iter()
                        .flat_map(|path| faults(path))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let found = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        found.flatten().collect()
    });
    assert!(
        found.is_empty(),
        "{} names do not say which thing they are:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(usize, String)> {
        let names = declared_names(source).into_iter();
        let found = names.filter(|name| name.fault.is_some());
        found.map(|name| (name.line, name.name)).collect()
    }

    #[test]
    fn every_kind_of_name_is_found() {
        for source in [
            "fn f() {\n let said = 1; }",
            "fn f() {\n let (n_asked, b) = c; }",
            "fn f() {\n let g = |whom| 1; }",
            "fn f() {\n match a { Some(told) => 1, None => 2 }; }",
            "fn f() {\n if let Some(heard) = a {} }",
            "fn f(\n wanted: u32) {}",
            "trait T {\n fn f(seat: u32); }",
            "struct S {\n standing: u8 }",
            "enum E { A {\n fate: u8 } }",
            "mod m { use\n a::Instant as Moment; }",
            "use a::{b,\n now as clock};",
        ] {
            assert!(is_suspect(source), "{source}");
            let found = found(source);
            assert_eq!(found.len(), 1, "{source}: {found:?}");
            assert_eq!(found[0].0, 2, "{source}");
        }
    }

    #[test]
    fn similar_names_have_no_fault() {
        for source in [
            "fn f() { let task = said(); let basket = a.asked; }",
            "// let said = 1;\nfn f() { \"let said = 1\"; }",
            "use a::{Instant as MonotonicInstant, b as _, c::{self as d}, Command as ClapCommand};",
            "struct Asked; enum E { Told }",
        ] {
            assert_eq!(found(source), [], "{source}");
        }
    }

    #[test]
    fn names_of_other_words_need_no_parsing() {
        assert!(!is_suspect("// said\nfn f() { let task = 1 as u64; }"));
    }
}

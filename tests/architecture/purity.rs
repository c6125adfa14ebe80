//! Tests that pure crates stay pure: their sources name nothing that performs I/O or reads global
//! state.
//!
//! The sources are read as tokens, so comments and strings do not count, while macros and grouped
//! imports do. Unit tests count too: a test that reads a file belongs in `tests/`.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Punct, Spacing, TokenStream, TokenTree};
use walkdir::WalkDir;

use crate::layers::{CratePurity, rule_of};
use crate::metadata;

/// Modules, functions and macros that perform I/O or read global state. Naming one of these paths,
/// or any path below, is a breach.
const OUTSIDE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "rand::make_rng",
    "rand::random",
    "rand::random_bool",
    "rand::random_iter",
    "rand::random_range",
    "rand::random_ratio",
    "rand::rng",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
];

/// Names that refer to a global random source at any position in a path.
const GLOBAL_RANDOMNESS: &[&str] = &[
    "ThreadRng",
    "OsRng",
    "SysRng",
    "RandomState",
    "thread_rng",
    "from_entropy",
    "from_os_rng",
];

/// Returns the paths in `source` that perform I/O or read global state.
fn breaches(source: &str) -> Vec<String> {
    let mut paths = paths_in(source);
    paths.retain(|path| reaches_outside(path));
    paths
}

/// Returns the paths in `source`. A grouped import gives one path per member.
pub(crate) fn paths_in(source: &str) -> Vec<String> {
    let tokens: TokenStream = source.parse().expect("a source that compiles");
    let mut paths = Vec::new();
    collect_paths("", tokens, &mut paths);
    paths
}

fn reaches_outside(path: &str) -> bool {
    let mut words = path.split("::");
    OUTSIDE.iter().any(|outside| leads_through(path, outside))
        || words.any(|word| GLOBAL_RANDOMNESS.contains(&word))
}

/// Returns whether `path` contains `outside` as whole words, at any position.
fn leads_through(path: &str, outside: &str) -> bool {
    format!("::{path}::").contains(&format!("::{outside}::"))
}

/// Appends every `a::b::c` and every `a!` among `tokens`, with `prefix` before each path. A group
/// such as `a::{b, c::d}` gives one path per member, recursively.
fn collect_paths(prefix: &str, tokens: TokenStream, paths: &mut Vec<String>) {
    let mut path = prefix.to_owned();
    for token in tokens {
        match token {
            TokenTree::Ident(word) if path.is_empty() || path.ends_with("::") => {
                path.push_str(&word.to_string());
            }
            TokenTree::Ident(word) => {
                finish(&mut path, prefix, paths);
                path.push_str(&word.to_string());
            }
            TokenTree::Punct(mark) if is_path_separator(&mark, &path) => path.push(':'),
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Brace && path.ends_with("::") =>
            {
                collect_paths(&path, group.stream(), paths);
                prefix.clone_into(&mut path);
            }
            TokenTree::Group(group) => {
                finish(&mut path, prefix, paths);
                collect_paths("", group.stream(), paths);
            }
            TokenTree::Punct(mark) if mark.as_char() == '!' => {
                path.push('!');
                finish(&mut path, prefix, paths);
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => finish(&mut path, prefix, paths),
        }
    }
    finish(&mut path, prefix, paths);
}

/// Returns whether a colon is half of a `::`, and not the single colon before a type.
fn is_path_separator(mark: &Punct, path: &str) -> bool {
    mark.as_char() == ':' && (mark.spacing() == Spacing::Joint || path.ends_with(':'))
}

/// Appends the current path, and starts the next path.
fn finish(path: &mut String, prefix: &str, paths: &mut Vec<String>) {
    if path != prefix {
        paths.push(path.trim_matches(':').to_owned());
    }
    prefix.clone_into(path);
}

fn breaches_under(sources: &Path) -> Vec<String> {
    let files = WalkDir::new(sources).sort_by_file_name().into_iter();
    let files = files.map(|file| file.expect("sources can be listed").into_path());
    files
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .flat_map(|file| {
            let source = fs::read_to_string(&file).expect("a source can be read");
            breaches(&source)
                .into_iter()
                .map(move |path| format!("{}: {path}", file.display()))
        })
        .collect()
}

#[test]
fn pure_crates_use_no_io_clock_or_global_randomness() {
    let packages = metadata::workspace().packages;
    let pure = packages.iter().filter(|package| {
        rule_of(&package.name).is_some_and(|room| room.purity == CratePurity::Pure)
    });
    let breaches: Vec<_> = pure
        .flat_map(|package| breaches_under(&package.dir().join("src")))
        .collect();
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_impure_path_is_found() {
        for (source, path) in [
            ("use std::time::Instant;", "std::time::Instant"),
            (
                "use std::{fmt, time::{Duration as D, SystemTime}};",
                "std::time::SystemTime",
            ),
            ("use ::std::fs;", "use::std::fs"),
            ("fn f(file: ::std::fs::File) {}", "std::fs::File"),
            ("use std::env as world;", "std::env"),
            ("fn f() { g(&[std::net::lookup()]) }", "std::net::lookup"),
            (
                "fn f() { assert!(std::env::var(\"X\").is_ok()); }",
                "std::env::var",
            ),
            ("fn f() { std::thread::spawn(|| 1); }", "std::thread::spawn"),
            ("fn f() { std::process::exit(1) }", "std::process::exit"),
            ("fn f() { println!(\"x\") }", "println!"),
            ("fn f() -> u32 { rand::rng().random() }", "rand::rng"),
            ("use rand::{rngs::ThreadRng, Rng};", "rand::rngs::ThreadRng"),
            ("fn f() { let r = rand::thread_rng(); }", "rand::thread_rng"),
            ("fn f() { Pcg64::from_os_rng() }", "Pcg64::from_os_rng"),
        ] {
            assert_eq!(
                breaches(source).last().map(String::as_str),
                Some(path),
                "{source}"
            );
        }
    }

    #[test]
    fn similar_looking_path_is_not_a_breach() {
        for source in [
            "use crate::time::Instant; fn f(now: Instant) -> Instant { now }",
            "use std::{fmt, ops::Add};",
            "//! Never reads std::fs.\n/// Nor `std::env`.\nfn f() {}",
            "const WORDS: &str = \"std::time::Instant::now()\";",
            "use rand::{Rng, RngExt}; fn f(rng: &mut impl Rng) {}",
            "struct S { std: u8, env: u8 } fn f(fs: u8) -> u8 { fs }",
            "use tollgate_model::{Span, time};",
        ] {
            assert!(
                breaches(source).is_empty(),
                "{source}: {:?}",
                breaches(source)
            );
        }
    }
}

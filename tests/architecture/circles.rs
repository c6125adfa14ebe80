//! Circles of files that import each other: a file in a large circle cannot be read alone.
//!
//! A file imports another if it names a path into that file's module. Declarations of modules and unit tests do not
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use crate::layers::CRATE_RULES;
use crate::metadata;
use crate::purity::paths_in;

/// The maximum number of files in a circle.
const MAX_FILES: usize = 16;

/// The modules of a crate, each with the modules that it imports.
type ImportGraph = BTreeMap<String, BTreeSet<String>>;

/// Returns the sources of a crate by the path of their module, without their unit tests.
fn sources(root: &Path) -> BTreeMap<String, String> {
    let files = WalkDir::new(root).into_iter();
    let files = files.map(|file| file.expect("sources can be listed").into_path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let named = files.filter_map(|file| {
        let below = file.strip_prefix(root).expect("it is below");
        let module = below.with_extension("").display().to_string();
        let module = match module.as_str() {
            "main" => return None,
            "lib" => "crate".to_owned(),
            path => format!("crate::{}", path.replace('/', "::")),
        };
        let source = fs::read_to_string(&file).expect("a source can be read");
        let end = source.find("#[cfg(test)]\nmod tests {");
        Some((module, source[..end.unwrap_or(source.len())].to_owned()))
    });
    named.collect()
}

/// Returns the path from the root of the crate. None if the path leads into another crate, or names a local item.
fn absolute(path: &str, module: &str, is_module: impl Fn(&str) -> bool) -> Option<String> {
    let (first, rest) = path.split_once("::")?;
    let parent = |module: &str| Some(module.rsplit_once("::")?.0.to_owned());
    match first {
        "crate" => Some(path.to_owned()),
        "self" => Some(format!("{module}::{rest}")),
        "super" => {
            let parent = parent(module)?;
            match rest.starts_with("super::") {
                true => absolute(rest, &parent, is_module),
                false => Some(format!("{parent}::{rest}")),
            }
        }
        _ => {
            let child = format!("{module}::{path}");
            is_module(&format!("{module}::{first}")).then_some(child)
        }
    }
}

/// Returns the module that has the item at an absolute path.
fn module_of<T>(path: &str, modules: &BTreeMap<String, T>) -> String {
    let mut path = path;
    while !modules.contains_key(path) {
        path = path.rsplit_once("::").map_or("crate", |(parent, _)| parent);
    }
    path.to_owned()
}

fn imports(sources: &BTreeMap<String, String>) -> ImportGraph {
    let graph = sources.iter().map(|(module, source)| {
        let paths = paths_in(source);
        let of = |path: &String| absolute(path, module, |path| sources.contains_key(path));
        let named: BTreeSet<String> = paths.iter().filter_map(of).collect();
        // A path may go on from an imported module.
        let imported = named.iter().filter(|path| sources.contains_key(*path));
        let imported: BTreeMap<&str, &String> = imported
            .filter_map(|path| Some((path.rsplit_once("::")?.1, path)))
            .collect();
        let further = paths.iter().filter_map(|path| {
            let (first, rest) = path.split_once("::")?;
            Some(format!("{}::{rest}", imported.get(first)?))
        });
        let all = named.iter().cloned().chain(further);
        let modules = all.map(|path| module_of(&path, sources));
        let others = modules.filter(|other| other != module).collect();
        (module.clone(), others)
    });
    graph.collect()
}

/// Returns the modules that can be reached from one.
fn reached<'a>(graph: &'a ImportGraph, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = graph[from].iter().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(graph[module].iter().map(String::as_str));
        }
    }
    found
}

/// Returns the largest set of modules of which each reaches each.
fn largest_circle(graph: &ImportGraph) -> BTreeSet<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reached(graph, module)))
        .collect();
    let circle = |module: &&str| {
        let own = reached[module].iter().copied();
        own.filter(|other| reached[other].contains(module))
            .collect::<BTreeSet<&str>>()
    };
    let circles = reached.keys().map(circle);
    circles.max_by_key(BTreeSet::len).unwrap_or_default()
}

#[test]
fn circles_of_files_are_small() {
    let root = metadata::root().join("crates");
    let mut wrong = Vec::new();
    for rule in CRATE_RULES {
        let graph = imports(&sources(&root.join(rule.dir).join("src")));
        let circle = largest_circle(&graph);
        if circle.len() > MAX_FILES {
            let files: Vec<&str> = circle.iter().copied().collect();
            wrong.push(format!(
                "{}: {} files, at most {MAX_FILES}: {}",
                rule.dir,
                circle.len(),
                files.join(" ")
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files
            .iter()
            .map(|(module, source)| ((*module).to_owned(), (*source).to_owned()));
        let graph = imports(&sources.collect());
        largest_circle(&graph)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn circle_is_found_through_every_form_of_path() {
        for back in [
            "use crate::a::Item;",
            "use super::a;\nfn f() { a::item() }",
            "fn f() { crate::a::item() }",
            "use super::{a::Item, c};",
        ] {
            let files = [
                ("crate", "mod a; mod b; mod c;"),
                ("crate::a", "use crate::b::Item;"),
                ("crate::b", back),
                ("crate::c", ""),
            ];
            assert_eq!(circle(&files), ["crate::a", "crate::b"], "{back}");
        }
    }

    #[test]
    fn declarations_and_other_crates_are_no_circle() {
        let files = [
            ("crate", "mod a; pub use a::Item;"),
            ("crate::a", "mod b; use tollgate_model::b::Item;"),
            ("crate::a::b", "use std::fmt; fn f(a: u8) -> u8 { a }"),
        ];
        assert_eq!(circle(&files), [""; 0]);
    }
}

//! The module map at the top of a crate's `lib.rs`: it names every top-level module, and no other.

use std::collections::BTreeSet;
use std::fs;

use crate::layers::CRATE_RULES;
use crate::metadata;

/// The first line of each table that is part of a map.
const HEAD: &str = "//! | module |";

/// Returns the modules that the map names. Empty if there is no map.
fn mapped(lib: &str) -> BTreeSet<&str> {
    let paragraphs = lib.split("\n//!\n");
    let tables = paragraphs.filter(|paragraph| paragraph.starts_with(HEAD));
    let rows = tables.flat_map(|table| table.lines().skip(2));
    let cells = rows.filter_map(|row| row.strip_prefix("//! |")?.split('|').next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names
        .map(|name| name.strip_prefix("mod@").unwrap_or(name))
        .collect()
}

/// Returns the top-level modules that are part of the documentation.
fn declared(lib: &str) -> BTreeSet<&str> {
    let lines = lib.lines().zip(lib.lines().skip(1));
    let shown = lines.filter(|(above, _)| *above != "#[doc(hidden)]");
    let modules = shown.filter_map(|(_, line)| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    modules.collect()
}

/// Describes every difference between the map of a crate and its modules.
fn differences(dir: &str, lib: &str) -> Vec<String> {
    let (mapped, declared) = (mapped(lib), declared(lib));
    if mapped.is_empty() {
        return Vec::new();
    }
    let unknown = mapped.difference(&declared);
    let missing = declared.difference(&mapped);
    unknown
        .map(|name| format!("{dir}: the map names `{name}`, which is no module"))
        .chain(missing.map(|name| format!("{dir}: the map does not name the module `{name}`")))
        .collect()
}

#[test]
fn maps_name_exactly_the_modules_of_their_crates() {
    let root = metadata::root().join("crates");
    let mut wrong = Vec::new();
    for rule in CRATE_RULES {
        let lib = fs::read_to_string(root.join(rule.dir).join("src/lib.rs"));
        wrong.extend(differences(rule.dir, &lib.expect("a library")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: &str = "\npub mod open;\nmod queue;\n#[doc(hidden)]\npub mod fuzz;\n";

    fn count(rows: &str) -> usize {
        let map = format!("//! A crate.\n//!\n//! | module | contents |\n//! |---|---|\n{rows}");
        differences("crate", &format!("{map}{MODULES}")).len()
    }

    #[test]
    fn module_outside_the_map_is_a_difference() {
        assert_eq!(count("//! | [`mod@open`], `queue` | `files` |\n"), 0);
        assert_eq!(count("//! | [`open`](Queue) | files |\n"), 1);
    }

    #[test]
    fn name_without_a_module_is_a_difference() {
        assert_eq!(count("//! | `open`, `queue` | |\n//! | `Store` | |\n"), 1);
        assert_eq!(count("//! | `open`, `queue`, `fuzz` | |\n"), 1);
    }

    #[test]
    fn crate_without_a_map_has_no_difference() {
        assert!(differences("crate", MODULES).is_empty());
    }
}

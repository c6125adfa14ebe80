//! The table of crates in `ARCHITECTURE.md`, made from the manifests and from [`crate::layers`].
//!
//! `UPDATE_DOCS=1 cargo test -p tollgate-architecture` writes the table.

use std::fmt::Write as _;
use std::fs;

use crate::layers::{CRATE_RULES, CratePurity, CrateRule};
use crate::metadata::{self, CargoPackage};
use crate::prose;

const HEAD: &str = "| crate | what it is | pure | uses |\n|---|---|---|---|\n";

/// Returns the manifest of a crate. None if the crate is not built yet.
fn package_of<'a>(packages: &'a [CargoPackage], rule: &CrateRule) -> Option<&'a CargoPackage> {
    packages.iter().find(|package| {
        package.name.strip_prefix("tollgate-") == Some(rule.dir)
            && package.dir().ends_with(format!("crates/{}", rule.dir))
    })
}

/// Returns the crates of the workspace that a package is built from, in the order of the layers.
fn used_crates(package: &CargoPackage) -> Vec<&'static str> {
    let dirs = CRATE_RULES.iter().map(|rule| rule.dir);
    let is_used = |dir: &&str| {
        let mut used = package.dependencies.iter();
        used.any(|used| used.kind.is_none() && used.name.strip_prefix("tollgate-") == Some(*dir))
    };
    dirs.filter(is_used).collect()
}

fn table(packages: &[CargoPackage]) -> String {
    let mut table = HEAD.to_owned();
    for rule in CRATE_RULES {
        let Some(package) = package_of(packages, rule) else {
            continue;
        };
        let what = package.description.as_deref().unwrap_or_default();
        let pure = match rule.purity {
            CratePurity::Pure => "yes",
            CratePurity::Edge => "",
        };
        let uses: Vec<String> = used_crates(package)
            .into_iter()
            .map(|dir| format!("`{dir}`"))
            .collect();
        let uses = uses.join(", ");
        writeln!(table, "| `{}` | {what} | {pure} | {uses} |", rule.dir).expect("a string");
    }
    table
}

#[test]
fn table_of_crates_matches_the_manifests() {
    let expected = table(&metadata::workspace().packages);
    let path = metadata::root().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).expect("ARCHITECTURE.md");
    let start = text
        .find(HEAD)
        .expect("ARCHITECTURE.md has a table of crates");
    let len = text[start..].find("\n\n").expect("the table ends") + 1;
    if text[start..start + len] == expected {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_DOCS").is_some(),
        "the table of crates in ARCHITECTURE.md is not up to date: run \
         `UPDATE_DOCS=1 cargo test -p tollgate-architecture`\n{expected}"
    );
    let updated = format!("{}{expected}{}", &text[..start], &text[start + len..]);
    fs::write(path, updated).expect("ARCHITECTURE.md is written");
}

#[test]
fn paths_in_documents_exist() {
    let root = metadata::root();
    let mut gone = Vec::new();
    for document in prose::documents(&root) {
        // The changelog names what was there once.
        if document.ends_with("CHANGELOG.md") {
            continue;
        }
        let text = fs::read_to_string(&document).expect("a document");
        let paths = text.split('`').skip(1).step_by(2);
        let paths =
            paths.filter(|path| path.starts_with("crates/") && !path.contains(['<', ' ', '*']));
        let missing = paths.filter(|path| !root.join(path).exists());
        gone.extend(missing.map(|path| format!("{}: {path}", document.display())));
    }
    assert!(gone.is_empty(), "\n{}", gone.join("\n"));
}

#[test]
fn layers_allow_only_dependencies_that_exist() {
    let packages = metadata::workspace().packages;
    let mut unused = Vec::new();
    for rule in CRATE_RULES {
        let Some(package) = package_of(&packages, rule) else {
            continue;
        };
        let used = used_crates(package);
        let extra = rule.may_use.iter().filter(|dir| !used.contains(dir));
        unused.extend(extra.map(|dir| format!("{} does not use {dir}", rule.dir)));
    }
    assert!(unused.is_empty(), "\n{}", unused.join("\n"));
}

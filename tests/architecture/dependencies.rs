//! The legal dependencies between crates.
//!
//! The code of a crate uses only the crates on its list. Its tests may use every crate above it, so
//! that no test creates a cycle. Packages outside `crates/` may use any crate. No crate is built
//! from them, and only tests may use them.

use crate::layers::{CratePurity, CrateRule, layer, rule_of};
use crate::metadata::{self, CargoDependency, CargoPackage, DependencyKind};

/// The external crates that pure crates may be built from. None of them does I/O. [`crate::purity`]
/// checks that their global random sources are not used.
const PURE_LIBRARIES: &[&str] = &[
    "libm",
    "postcard",
    "rand",
    "rand_distr",
    "rand_pcg",
    "roxmltree",
    "serde",
    "statrs",
    "thiserror",
];

/// Describes every breach of the list of crates.
fn breaches(packages: &[CargoPackage]) -> Vec<String> {
    packages.iter().flat_map(breaches_of).collect()
}

fn breaches_of(package: &CargoPackage) -> Vec<String> {
    let in_crates = package
        .dir()
        .parent()
        .is_some_and(|dir| dir.ends_with("crates"));
    match rule_of(&package.name) {
        Some(room) if in_crates && package.dir().ends_with(room.dir) => package
            .dependencies
            .iter()
            .filter_map(|used| breach(room, used))
            .collect(),
        None if !in_crates => Vec::new(),
        Some(_) | None => vec![format!(
            "{} in {}: a crate called tollgate-<dir> lives in crates/<dir> and is on the list in layers.rs",
            package.name,
            package.dir().display()
        )],
    }
}

fn breach(room: &CrateRule, used: &CargoDependency) -> Option<String> {
    if !used.name.starts_with("tollgate") {
        return impure_library(room, used);
    }
    let Some(used_room) = rule_of(&used.name) else {
        if used.kind == Some(DependencyKind::Dev) {
            return None;
        }
        return Some(format!("{} uses {}, which is no room", room.dir, used.name));
    };
    let allowed = match used.kind {
        None | Some(DependencyKind::Build) => room.may_use.contains(&used_room.dir),
        Some(DependencyKind::Dev) => layer(used_room.dir) < layer(room.dir),
    };
    (!allowed).then(|| {
        format!(
            "{} uses {}, but may use only {:?} (and in tests any room above it)",
            room.dir, used_room.dir, room.may_use
        )
    })
}

fn impure_library(room: &CrateRule, used: &CargoDependency) -> Option<String> {
    let for_tests = used.kind == Some(DependencyKind::Dev);
    let allowed = for_tests
        || room.purity == CratePurity::Edge
        || PURE_LIBRARIES.contains(&used.name.as_str());
    (!allowed).then(|| {
        format!(
            "{} is pure and uses {}, which is not on the list of libraries without I/O",
            room.dir, used.name
        )
    })
}

#[test]
fn crates_use_only_allowed_dependencies() {
    let breaches = breaches(&metadata::workspace().packages);
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(dir: &str, uses: &[(&str, Option<DependencyKind>)]) -> CargoPackage {
        let name = dir.rsplit('/').next().expect("a directory");
        CargoPackage {
            name: format!("tollgate-{name}"),
            version: "0.1.0".to_owned(),
            description: None,
            license: None,
            source: None,
            manifest_path: format!("/house/{dir}/Cargo.toml").into(),
            dependencies: uses
                .iter()
                .map(|&(name, kind)| CargoDependency {
                    name: name.to_owned(),
                    kind,
                    req: "^1".to_owned(),
                    source: None,
                })
                .collect(),
        }
    }

    fn count(dir: &str, uses: &[(&str, Option<DependencyKind>)]) -> usize {
        breaches(&[package(dir, uses)]).len()
    }

    #[test]
    fn dependency_on_an_unlisted_layer_is_a_breach() {
        assert_eq!(count("crates/gate", &[("tollgate-policy", None)]), 0);
        assert_eq!(count("crates/gate", &[("tollgate-sim", None)]), 1);
        assert_eq!(count("crates/policy", &[("tollgate-risk", None)]), 1);
        assert_eq!(
            count(
                "crates/engine",
                &[("tollgate-sim", Some(DependencyKind::Build))]
            ),
            1
        );
    }

    #[test]
    fn dev_dependencies_may_point_up_but_not_down() {
        let dev = Some(DependencyKind::Dev);
        assert_eq!(count("crates/risk", &[("tollgate-policy", dev)]), 0);
        assert_eq!(count("crates/model", &[("tollgate-sim", dev)]), 1);
        assert_eq!(count("crates/model", &[("tollgate-model", dev)]), 1);
    }

    #[test]
    fn unlisted_crate_is_a_breach() {
        assert_eq!(count("crates/util", &[]), 1);
        assert_eq!(count("elsewhere/policy", &[]), 1);
        assert_eq!(count("tests/architecture", &[("tollgate-sim", None)]), 0);
        assert_eq!(count("crates/cli", &[("tollgate-architecture", None)]), 1);
    }

    #[test]
    fn io_library_in_a_pure_crate_is_a_breach() {
        assert_eq!(count("crates/policy", &[("tokio", None)]), 1);
        assert_eq!(
            count("crates/policy", &[("proptest", Some(DependencyKind::Dev))]),
            0
        );
        assert_eq!(count("crates/policy", &[("thiserror", None)]), 0);
        assert_eq!(count("crates/server", &[("tokio", None)]), 0);
    }
}

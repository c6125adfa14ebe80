//! Checks the licence and the source of every external crate, the list of banned crates, and that each dependency names
//! a version. The lists are in `deny.toml`, which `cargo deny` reads too. This check needs no installed tool.

use std::fs;

use serde::Deserialize;
use spdx::{Expression, LicenseReq, Licensee, ParseMode};

use crate::metadata::{self, CargoPackage};

/// The part of `deny.toml` that this module checks.
#[derive(Deserialize)]
struct DenyRules {
    licenses: LicenceList,
    bans: BanList,
}

#[derive(Deserialize)]
struct LicenceList {
    allow: Vec<String>,
    exceptions: Vec<LicenceException>,
}

/// More licences for one crate.
#[derive(Deserialize)]
struct LicenceException {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct BanList {
    deny: Vec<BannedCrate>,
}

#[derive(Deserialize)]
struct BannedCrate {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

impl DenyRules {
    fn read() -> Self {
        let text = fs::read_to_string(metadata::root().join("deny.toml"));
        toml::from_str(&text.expect("deny.toml can be read")).expect("deny.toml has both lists")
    }

    /// Describes every breach by an external package.
    fn breaches(&self, packages: &[CargoPackage]) -> Vec<String> {
        let foreign = packages.iter().filter(|package| package.source.is_some());
        let of_foreign = foreign.flat_map(|package| {
            [
                self.unlicensed(package),
                self.banned(package),
                unknown_source(package),
            ]
        });
        let ours = packages.iter().filter(|package| package.source.is_none());
        of_foreign
            .flatten()
            .chain(ours.flat_map(any_version))
            .collect()
    }

    fn unlicensed(&self, package: &CargoPackage) -> Option<String> {
        let licence = package.license.as_deref().unwrap_or("");
        let allowed = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|terms| {
            terms.evaluate(|requirement| self.allows(&package.name, requirement))
        });
        (!allowed).then(|| {
            format!(
                "{} {}: its licence `{licence}` is not on the list",
                package.name, package.version
            )
        })
    }

    fn allows(&self, package: &str, requirement: &LicenseReq) -> bool {
        let exceptions = self.licenses.exceptions.iter();
        let more = exceptions.filter(|exception| exception.name == package);
        let words = self.licenses.allow.iter();
        words
            .chain(more.flat_map(|exception| &exception.allow))
            .map(|word| Licensee::parse(word).expect("deny.toml lists SPDX licences"))
            .any(|licence| licence.satisfies(requirement))
    }

    fn banned(&self, package: &CargoPackage) -> Option<String> {
        let ban = self.bans.deny.iter().find(|ban| ban.name == package.name)?;
        Some(format!("{} is banned: {}", package.name, ban.reason))
    }
}

/// Describes a package that is not from the registry of crates, whose packages do not change.
fn unknown_source(package: &CargoPackage) -> Option<String> {
    let source = package.source.as_deref()?;
    (!source.starts_with("registry+")).then(|| format!("{} is from {source}", package.name))
}

/// Describes every dependency that is on any version of an external crate.
fn any_version(package: &CargoPackage) -> impl Iterator<Item = String> {
    let used = package.dependencies.iter();
    let any = used.filter(|used| used.source.is_some() && used.req == "*");
    any.map(|used| format!("{} takes any version of {}", package.name, used.name))
}

#[test]
fn external_packages_are_licensed_known_and_not_banned() {
    let breaches = DenyRules::read().breaches(&metadata::closure().packages);
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::CargoDependency;

    fn foreign(name: &str, license: Option<&str>) -> CargoPackage {
        CargoPackage {
            name: name.to_owned(),
            description: None,
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: Some("registry+elsewhere".to_owned()),
            manifest_path: "/elsewhere/Cargo.toml".into(),
            dependencies: Vec::new(),
        }
    }

    fn count(name: &str, license: Option<&str>) -> usize {
        DenyRules::read().breaches(&[foreign(name, license)]).len()
    }

    #[test]
    fn a_licence_off_the_list_is_a_breach() {
        assert_eq!(count("kind", Some("MIT OR Apache-2.0")), 0);
        assert_eq!(count("old-style", Some("Unlicense/MIT")), 0);
        assert_eq!(count("choice", Some("GPL-3.0-only OR MIT")), 0);
        assert_eq!(count("both", Some("GPL-3.0-only AND MIT")), 1);
        assert_eq!(count("copyleft", Some("AGPL-3.0-only")), 1);
        assert_eq!(count("silent", None), 1);
    }

    #[test]
    fn a_banned_crate_is_a_breach() {
        assert_eq!(count("figment", Some("MIT")), 1);
    }

    #[test]
    fn an_exception_is_for_one_crate() {
        assert_eq!(count("libfuzzer-sys", Some("MIT AND NCSA")), 0);
        assert_eq!(count("other", Some("MIT AND NCSA")), 1);
    }

    #[test]
    fn a_crate_from_elsewhere_is_a_breach() {
        let mut package = foreign("own-fork", Some("MIT"));
        package.source = Some("git+https://example.org/own-fork".to_owned());
        assert_eq!(DenyRules::read().breaches(&[package]).len(), 1);
    }

    #[test]
    fn any_version_of_an_external_crate_is_a_breach() {
        let used = |source: Option<&str>| CargoDependency {
            name: "used".to_owned(),
            kind: None,
            req: "*".to_owned(),
            source: source.map(str::to_owned),
        };
        let mut ours = foreign("tollgate-model", None);
        ours.source = None;
        ours.dependencies = vec![used(Some("registry+elsewhere")), used(None)];
        assert_eq!(DenyRules::read().breaches(&[ours]).len(), 1);
    }

    #[test]
    fn workspace_packages_need_no_licence_check() {
        let mut ours = foreign("tollgate-model", None);
        ours.source = None;
        assert!(DenyRules::read().breaches(&[ours]).is_empty());
    }
}

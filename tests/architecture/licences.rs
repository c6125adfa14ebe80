//! Checks the licence of every external crate, and the list of banned crates. Both lists are in
//! `deny.toml`, which `cargo deny` reads too. This check needs no installed tool.

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
        foreign
            .flat_map(|package| [self.unlicensed(package), self.banned(package)])
            .flatten()
            .collect()
    }

    fn unlicensed(&self, package: &CargoPackage) -> Option<String> {
        let licence = package.license.as_deref().unwrap_or("");
        let allowed = Expression::parse_mode(licence, ParseMode::LAX)
            .is_ok_and(|terms| terms.evaluate(|requirement| self.allows(requirement)));
        (!allowed).then(|| {
            format!(
                "{} {}: its licence `{licence}` is not on the list",
                package.name, package.version
            )
        })
    }

    fn allows(&self, requirement: &LicenseReq) -> bool {
        self.allow_list()
            .any(|licence| licence.satisfies(requirement))
    }

    fn allow_list(&self) -> impl Iterator<Item = Licensee> {
        let words = self.licenses.allow.iter();
        words.map(|word| Licensee::parse(word).expect("deny.toml lists SPDX licences"))
    }

    fn banned(&self, package: &CargoPackage) -> Option<String> {
        let ban = self.bans.deny.iter().find(|ban| ban.name == package.name)?;
        Some(format!("{} is banned: {}", package.name, ban.reason))
    }
}

#[test]
fn external_packages_are_licensed_and_not_banned() {
    let breaches = DenyRules::read().breaches(&metadata::closure().packages);
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(name: &str, license: Option<&str>) -> CargoPackage {
        CargoPackage {
            name: name.to_owned(),
            description: None,
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: Some("registry".to_owned()),
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
    fn workspace_packages_need_no_licence_check() {
        let mut ours = foreign("tollgate-model", None);
        ours.source = None;
        assert!(DenyRules::read().breaches(&[ours]).is_empty());
    }
}

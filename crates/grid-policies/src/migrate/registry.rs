//! The registry of migration policies, and the parser of `NAME[:KEY=VALUE,..]` specifications.

use tollgate_policy::{ParameterInfo, ParameterTable, PolicyError};

use super::builtin::{BuiltinMigrationPolicy, REGISTRY};
use super::settings::MigrationParams;

/// A chosen migration policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MigrationSpec {
    named: &'static BuiltinMigrationPolicy,
    settings: MigrationParams,
}

/// An error in a migration policy specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrationError {
    /// No migration policy has this name.
    #[error("there is no migration policy `{0}`: {names}", names = names())]
    Unknown(String),
    /// The policy has no such parameter, or the value is illegal.
    #[error(transparent)]
    Setting(#[from] PolicyError),
}

fn names() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|named| named.name).collect();
    names.join(", ")
}

impl MigrationSpec {
    /// Parses a specification into the named policy with the given parameters changed.
    ///
    /// # Errors
    /// Returns the first word that names no policy or no parameter.
    pub fn parse(words: &str) -> Result<Self, MigrationError> {
        let (name, changes) = match words.split_once(':') {
            Some((name, changes)) => (name, Some(changes)),
            None => (words, None),
        };
        let named = REGISTRY.iter().find(|named| named.name == name);
        let named = named.ok_or_else(|| MigrationError::Unknown(name.to_owned()))?;
        let mut choice = Self {
            named,
            settings: named.settings,
        };
        for pair in changes.into_iter().flat_map(|changes| changes.split(',')) {
            choice.settings.set_parameter(name, pair)?;
        }
        Ok(choice)
    }

    /// Returns the policy's name and description.
    pub const fn info(&self) -> &'static BuiltinMigrationPolicy {
        self.named
    }

    /// Returns the policy's parameters.
    pub const fn settings(&self) -> &MigrationParams {
        &self.settings
    }

    /// Returns the parameters that apply to this policy, for listings.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        self.settings.list_parameters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_listed_parameters_round_trip() {
        for named in REGISTRY {
            let choice = MigrationSpec::parse(named.name).unwrap();
            assert_eq!(choice.settings(), &named.settings);
            for parameter in choice.parameters() {
                let words = format!("{}:{}={}", named.name, parameter.key, parameter.value);
                assert_eq!(MigrationSpec::parse(&words), Ok(choice));
            }
        }
    }

    #[test]
    fn builtin_migration_policies_are_distinct() {
        for (at, one) in REGISTRY.iter().enumerate() {
            for other in &REGISTRY[..at] {
                assert_ne!(one.settings, other.settings, "{} {}", one.name, other.name);
                assert_ne!(one.name, other.name);
            }
        }
    }

    #[test]
    fn key_value_pairs_change_parameters() {
        let choice = MigrationSpec::parse("paper:history=1,donor=next,keep=0").unwrap();
        let settings = choice.settings();
        assert_eq!((settings.history, settings.keep), (1, 0));
        assert_eq!(settings.donor, crate::migrate::DonorRule::NextLowest);
    }

    #[test]
    fn parse_errors_list_the_valid_names() {
        let words = [
            "papre",
            "paper:history=0",
            "paper:weight=1",
            "paper:history",
        ];
        let messages = words.map(|words| MigrationSpec::parse(words).unwrap_err().to_string());
        insta::assert_snapshot!(messages.join("\n"));
    }
}

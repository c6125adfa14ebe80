//! The registry of policies, and the parser of `NAME[:KEY=VALUE,..]` specifications.

use std::fmt;

use tollgate_model::{Market, Probability};

use crate::definition::{PolicyDefinition, PolicySettings};
use crate::parameters::ParameterInfo;
use crate::policy::Policy;
use crate::policy_error::PolicyError;

/// The policies that can be chosen by name. Empty by default.
///
/// ```
/// use tollgate_policy::{PolicyError, PolicyRegistry};
///
/// // The crate `tollgate-policies` has a registry of the built-in policies.
/// let registry = PolicyRegistry::default();
/// let unknown = registry.parse_list("easy:depth=2");
/// assert!(matches!(unknown, Err(PolicyError::UnknownPolicy { policy, .. }) if policy == "easy"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PolicyRegistry {
    known: Vec<PolicySpec>,
}

/// A chosen policy with its parameters.
#[derive(Debug)]
pub struct PolicySpec {
    definition: PolicyDefinition,
    settings: Box<dyn PolicySettings>,
}

impl PolicyRegistry {
    /// Adds a policy, which is listed behind the others.
    ///
    /// # Panics
    /// If there is a policy of this name already, or if the name is not made of letters, digits and
    /// `-`.
    #[must_use]
    pub fn with(self, definition: PolicyDefinition) -> Self {
        self.with_chosen(PolicySpec::of(&definition))
    }

    /// Adds a policy whose present parameters are its defaults, which is listed behind the others.
    ///
    /// # Panics
    /// As [`Self::with`].
    #[must_use]
    pub fn with_chosen(mut self, policy: PolicySpec) -> Self {
        let name = policy.name();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(
            !name.is_empty() && name.chars().all(is_word),
            "a policy cannot be named `{name}`"
        );
        assert!(
            self.named(name).is_err(),
            "there is a policy `{name}` already"
        );
        self.known.push(policy);
        self
    }

    /// Returns every policy with its default parameters, in the order in which they are listed.
    pub fn policies(&self) -> impl Iterator<Item = PolicySpec> + '_ {
        self.known.iter().cloned()
    }

    /// Returns the policy with this name and its default parameters.
    ///
    /// # Errors
    /// Fails if no policy has this name.
    pub fn named(&self, name: &str) -> Result<PolicySpec, PolicyError> {
        let policy = self.known.iter().find(|policy| policy.name() == name);
        let unknown = || PolicyError::UnknownPolicy {
            policy: name.to_owned(),
            known: self.names().collect(),
        };
        policy.cloned().ok_or_else(unknown)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().map(PolicySpec::name)
    }

    /// Parses a list of policies: names separated by commas, each with `:KEY=VALUE` parameters.
    /// After a comma, a word with `=` before any `:` is a further parameter of the preceding
    /// policy.
    ///
    /// # Errors
    /// Returns the first word that names no policy or no parameter.
    pub fn parse_list(&self, words: &str) -> Result<Vec<PolicySpec>, PolicyError> {
        let mut choices: Vec<PolicySpec> = Vec::new();
        for word in words.split(',') {
            let is_setting = word
                .find(['=', ':'])
                .is_some_and(|at| word[at..].starts_with('='));
            match choices.last_mut() {
                Some(choice) if is_setting => choice.set(word)?,
                Some(_) | None => {
                    let (name, setting) = match word.split_once(':') {
                        Some((name, setting)) => (name, Some(setting)),
                        None => (word, None),
                    };
                    let mut choice = self.named(name)?;
                    setting.map_or(Ok(()), |setting| choice.set(setting))?;
                    choices.push(choice);
                }
            }
        }
        Ok(choices)
    }

    /// Returns the policies that run in a market when no policy is named.
    pub fn of_market(&self, market: Market) -> Vec<PolicySpec> {
        self.policies()
            .filter(|policy| policy.markets().contains(&market))
            .collect()
    }
}

/// Registries with the same names are equal.
impl PartialEq for PolicyRegistry {
    fn eq(&self, other: &Self) -> bool {
        self.names().eq(other.names())
    }
}

impl Clone for PolicySpec {
    fn clone(&self) -> Self {
        Self {
            definition: self.definition,
            settings: self.settings.clone_box(),
        }
    }
}

/// Choices with the same name and parameters are equal.
impl PartialEq for PolicySpec {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.parameters() == other.parameters()
    }
}

impl PolicySpec {
    fn of(definition: &PolicyDefinition) -> Self {
        Self {
            definition: *definition,
            settings: definition.settings.clone_box(),
        }
    }

    /// Creates a policy with settings that are made while the program runs. The settings of `definition` stand for
    /// the defaults of their parameters.
    pub fn with_settings(definition: PolicyDefinition, settings: Box<dyn PolicySettings>) -> Self {
        Self {
            definition,
            settings,
        }
    }

    fn set(&mut self, word: &str) -> Result<(), PolicyError> {
        self.settings.set(self.definition.name, word)
    }

    /// Returns the policy's name.
    pub fn name(&self) -> &'static str {
        self.definition.name
    }

    /// Returns the one-line description.
    pub fn summary(&self) -> &'static str {
        self.definition.summary
    }

    /// Returns where the policy fails, or what it does not do, in one line; may be empty.
    pub fn limits(&self) -> &'static str {
        self.definition.limits
    }

    /// Returns the publication or the place that the policy comes from.
    pub fn source(&self) -> &'static str {
        self.definition.source
    }

    /// Returns the markets in which the policy runs when no policy is named.
    pub fn markets(&self) -> &'static [Market] {
        self.definition.markets
    }

    /// Returns true if the policy's rules are defined in a market: without payments there are no
    /// budgets to weigh.
    pub fn runs_in(&self, market: Market) -> bool {
        market != Market::None || !self.settings.uses_bids()
    }

    /// Returns true if the policy plans with beliefs; see [`PolicySettings::uses_beliefs`].
    pub fn uses_beliefs(&self) -> bool {
        self.settings.uses_beliefs()
    }

    /// Returns true if promises are made around maintenance; see [`PolicySettings::plans_maintenance`].
    pub fn plans_maintenance(&self) -> bool {
        self.settings.plans_maintenance()
    }

    /// Returns true if the policy chooses the hosts of its jobs; see [`PolicySettings::chooses_hosts`].
    pub fn chooses_hosts(&self) -> bool {
        self.settings.chooses_hosts()
    }

    /// Returns true if the policy keeps the promises of another; see
    /// [`PolicySettings::takes_over_promises`].
    pub fn takes_over_promises(&self) -> bool {
        self.settings.takes_over_promises()
    }

    /// Returns true if jobs without a promise run with their deadlines; see
    /// [`PolicySettings::runs_unpromised`].
    pub fn runs_unpromised(&self) -> bool {
        self.settings.runs_unpromised()
    }

    /// Returns the probability at which the policy promises; see [`PolicySettings::promise_level`].
    pub fn promise_level(&self) -> Option<Probability> {
        self.settings.promise_level()
    }

    /// Returns true if jobs share nodes or are paused; see [`PolicySettings::shares_nodes`].
    pub fn shares_nodes(&self) -> bool {
        self.settings.shares_nodes()
    }

    /// Returns true if jobs that are submitted together have one decision; see
    /// [`PolicySettings::decides_arrays`].
    pub fn decides_arrays(&self) -> bool {
        self.settings.decides_arrays()
    }

    /// Returns true if another program decides; see [`PolicySettings::is_external`].
    pub fn is_external(&self) -> bool {
        self.settings.is_external()
    }

    /// Returns the parameters that apply to this policy, for listings.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        self.settings.list()
    }

    /// Creates the policy.
    pub fn build(&self, market: Market) -> Box<dyn Policy> {
        self.settings.build(market)
    }
}

/// Formats the name with the parameters that differ from the policy's own:
/// `easy:order=sjf,extra=false`.
impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let mut mark = ':';
        for ParameterInfo { key, value, .. } in self.parameters() {
            if self.definition.settings.value(key).as_ref() != Some(&value) {
                write!(f, "{mark}{key}={value}")?;
                mark = ',';
            }
        }
        Ok(())
    }
}

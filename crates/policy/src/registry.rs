//! The registry of policies, and the parser of `NAME[:KEY=VALUE,..]` specifications.

use std::fmt;

use tollgate_model::Market;

pub use crate::builtin::{BuiltinPolicy, FamilyParams, REGISTRY};
use crate::deadline_tail::{self, TailPolicy};
use crate::definition::{ParameterDefinition, ParameterValues, PolicyDefinition};
use crate::parameters::{self, PolicyParameter};
use crate::policy::Policy;
use crate::queue::{self, QueuePolicy};
use crate::share::{self, SharePolicy};

/// A chosen policy with its parameters.
#[derive(Clone, Debug)]
pub struct PolicySpec(Choice);

#[derive(Clone, Debug)]
enum Choice {
    Builtin(&'static BuiltinPolicy, FamilyParams),
    Defined(PolicyDefinition, ParameterValues),
}

/// The policies that can be chosen by name: the built-in ones, and those that other crates define.
#[derive(Clone, Debug)]
pub struct PolicyRegistry {
    defined: Vec<PolicyDefinition>,
}

/// A parameter of a policy, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// The key.
    pub key: &'static str,
    /// The legal values.
    pub values: &'static str,
    /// The meaning.
    pub meaning: &'static str,
    /// The present value.
    pub value: String,
}

/// An error in a policy specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error("there is no policy `{policy}`: {known}", known = known.join(", "))]
    UnknownPolicy {
        /// The given name.
        policy: String,
        /// The names of all policies.
        known: Vec<&'static str>,
    },
    /// The policy has no such parameter.
    #[error("policy `{policy}` has no parameter `{key}`: it has {known}", known = known.join(", "))]
    UnknownParameter {
        /// The policy.
        policy: String,
        /// The given key.
        key: String,
        /// The policy's keys.
        known: Vec<&'static str>,
    },
    /// The value is not legal for the parameter.
    #[error("policy `{policy}`: {key} is {values}, not `{value}`")]
    BadValue {
        /// The policy.
        policy: String,
        /// The parameter.
        key: &'static str,
        /// The given value.
        value: String,
        /// The legal values.
        values: &'static str,
    },
    /// A word behind the colon is not a `KEY=VALUE` pair.
    #[error("policy `{policy}`: expected KEY=VALUE, got `{word}`")]
    NotAPair {
        /// The policy.
        policy: String,
        /// The given word.
        word: String,
    },
}

impl PolicyRegistry {
    /// Returns the registry of the built-in policies.
    pub const fn builtin() -> Self {
        Self {
            defined: Vec::new(),
        }
    }

    /// Adds a policy, which is listed behind the others.
    ///
    /// # Panics
    /// If there is a policy of this name already, or if the name is not made of letters, digits and
    /// `-`.
    #[must_use]
    pub fn with(mut self, definition: PolicyDefinition) -> Self {
        let name = definition.name;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(
            !name.is_empty() && name.chars().all(is_word),
            "a policy cannot be named `{name}`"
        );
        assert!(
            self.named(name).is_err(),
            "there is a policy `{name}` already"
        );
        self.defined.push(definition);
        self
    }

    /// Returns every policy with its default parameters, in the order in which they are listed.
    pub fn policies(&self) -> impl Iterator<Item = PolicySpec> + '_ {
        let builtin = REGISTRY
            .iter()
            .map(|named| Choice::Builtin(named, named.settings));
        let defined = self
            .defined
            .iter()
            .map(|definition| Choice::Defined(*definition, ParameterValues::defaults(definition)));
        builtin.chain(defined).map(PolicySpec)
    }

    /// Returns the policy with this name and its default parameters.
    ///
    /// # Errors
    /// Fails if no policy has this name.
    pub fn named(&self, name: &str) -> Result<PolicySpec, PolicyError> {
        let mut policies = self.policies();
        policies
            .find(|policy| policy.name() == name)
            .ok_or_else(|| PolicyError::UnknownPolicy {
                policy: name.to_owned(),
                known: self.policies().map(|policy| policy.name()).collect(),
            })
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
        let names = |registry: &Self| -> Vec<&str> {
            registry.defined.iter().map(|policy| policy.name).collect()
        };
        names(self) == names(other)
    }
}

/// Choices with the same name and parameters are equal.
impl PartialEq for PolicySpec {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Choice::Builtin(one, values), Choice::Builtin(other, others)) => {
                one == other && values == others
            }
            (Choice::Defined(one, values), Choice::Defined(other, others)) => {
                one.name == other.name && values == others
            }
            (Choice::Builtin(..), Choice::Defined(..))
            | (Choice::Defined(..), Choice::Builtin(..)) => false,
        }
    }
}

impl PolicySpec {
    /// Returns the built-in policy with this name and its default parameters.
    ///
    /// # Errors
    /// Fails if no built-in policy has this name.
    pub fn named(name: &str) -> Result<Self, PolicyError> {
        PolicyRegistry::builtin().named(name)
    }

    fn set(&mut self, pair: &str) -> Result<(), PolicyError> {
        let policy = self.name();
        let (key, value) = pair.split_once('=').ok_or_else(|| PolicyError::NotAPair {
            policy: policy.to_owned(),
            word: pair.to_owned(),
        })?;
        match &mut self.0 {
            Choice::Builtin(_, FamilyParams::Queue(s)) => {
                parameters::set(queue::PARAMETERS, s, policy, key, value)
            }
            Choice::Builtin(_, FamilyParams::Share(s)) => {
                parameters::set(share::PARAMETERS, s, policy, key, value)
            }
            Choice::Builtin(_, FamilyParams::Tail(s)) => {
                parameters::set(deadline_tail::PARAMETERS, s, policy, key, value)
            }
            Choice::Defined(definition, values) => {
                parameters::check_defined(definition, key, value)?;
                values.set(key, value);
                Ok(())
            }
        }
    }

    /// Returns the policy's name.
    pub fn name(&self) -> &'static str {
        match &self.0 {
            Choice::Builtin(named, _) => named.name,
            Choice::Defined(definition, _) => definition.name,
        }
    }

    /// Returns the one-line description.
    pub fn summary(&self) -> &'static str {
        match &self.0 {
            Choice::Builtin(named, _) => named.summary,
            Choice::Defined(definition, _) => definition.summary,
        }
    }

    /// Returns the publication or the place that the policy comes from.
    pub fn source(&self) -> &'static str {
        match &self.0 {
            Choice::Builtin(named, _) => named.paper,
            Choice::Defined(definition, _) => definition.source,
        }
    }

    /// Returns the markets in which the policy runs when no policy is named.
    pub fn markets(&self) -> &'static [Market] {
        match &self.0 {
            Choice::Builtin(named, _) => named.markets,
            Choice::Defined(definition, _) => definition.markets,
        }
    }

    /// Returns true if the policy's rules are defined in a market: without payments there are no
    /// budgets to weigh.
    pub fn runs_in(&self, market: Market) -> bool {
        match (&self.0, market) {
            (Choice::Builtin(_, FamilyParams::Queue(settings)), Market::None) => {
                !settings.uses_rewards()
            }
            (Choice::Defined(definition, _), Market::None) => !definition.uses_bids,
            (Choice::Builtin(..) | Choice::Defined(..), _) => true,
        }
    }

    /// Returns the parameters that apply to this policy, for listings.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        match &self.0 {
            Choice::Builtin(_, FamilyParams::Queue(settings)) => list(queue::PARAMETERS, settings),
            Choice::Builtin(_, FamilyParams::Share(settings)) => list(share::PARAMETERS, settings),
            Choice::Builtin(_, FamilyParams::Tail(settings)) => {
                list(deadline_tail::PARAMETERS, settings)
            }
            Choice::Defined(definition, values) => {
                let parameters = definition.parameters.iter();
                let info = |parameter: &ParameterDefinition| ParameterInfo {
                    key: parameter.key,
                    values: parameter.values,
                    meaning: parameter.meaning,
                    value: values.word(parameter.key).to_owned(),
                };
                parameters.map(info).collect()
            }
        }
    }

    /// Returns the policy's own value of a parameter, whether it applies to this policy or not.
    fn usual_value(&self, key: &str) -> String {
        match &self.0 {
            Choice::Builtin(named, _) => match &named.settings {
                FamilyParams::Queue(usual) => parameters::value(queue::PARAMETERS, usual, key),
                FamilyParams::Share(usual) => parameters::value(share::PARAMETERS, usual, key),
                FamilyParams::Tail(usual) => {
                    parameters::value(deadline_tail::PARAMETERS, usual, key)
                }
            },
            Choice::Defined(definition, _) => {
                ParameterValues::defaults(definition).word(key).to_owned()
            }
        }
    }

    /// Creates the policy.
    pub fn build(&self, market: Market) -> Box<dyn Policy> {
        match &self.0 {
            Choice::Builtin(_, FamilyParams::Queue(settings)) => {
                Box::new(QueuePolicy::new(*settings, market))
            }
            Choice::Builtin(_, FamilyParams::Share(settings)) => {
                Box::new(SharePolicy::new(*settings, market))
            }
            Choice::Builtin(_, FamilyParams::Tail(settings)) => {
                Box::new(TailPolicy::new(*settings, market))
            }
            Choice::Defined(definition, values) => (definition.build)(values, market),
        }
    }
}

fn list<S>(table: &[PolicyParameter<S>], settings: &S) -> Vec<ParameterInfo> {
    table
        .iter()
        .filter(|parameter| (parameter.applies)(settings))
        .map(|parameter| ParameterInfo {
            key: parameter.key,
            values: parameter.values,
            meaning: parameter.meaning,
            value: (parameter.get)(settings),
        })
        .collect()
}

/// Formats the name with the parameters that differ from the policy's own:
/// `easy:order=sjf,extra=false`.
impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let changed = self
            .parameters()
            .into_iter()
            .filter(|parameter| parameter.value != self.usual_value(parameter.key));
        for (n, parameter) in changed.enumerate() {
            let mark = if n == 0 { ':' } else { ',' };
            write!(f, "{mark}{}={}", parameter.key, parameter.value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_never_panics_and_round_trips(
            words in "((easy|edf|libra|conservative|first-reward|tail-risk|x)?[:,=]?(order|depth|extra|test|slack|fit|overrun|hope|bound)?=?(sjf|all|2|true|keep|-1|0.25)?,?){0,4}",
        ) {
            if let Ok(choices) = PolicyRegistry::builtin().parse_list(&words) {
                let written: Vec<String> = choices.iter().map(PolicySpec::to_string).collect();
                prop_assert_eq!(PolicyRegistry::builtin().parse_list(&written.join(",")), Ok(choices));
            }
        }
    }

    #[test]
    fn builtin_policies_are_distinct() {
        for (n, one) in REGISTRY.iter().enumerate() {
            for other in &REGISTRY[n + 1..] {
                assert_ne!(one.name, other.name);
                assert_ne!(one.settings, other.settings, "{} {}", one.name, other.name);
            }
        }
    }

    #[test]
    fn policy_lists_round_trip() {
        let words = "easy:order=sjf,extra=false,edf:test=select,libra,libra-risk:overrun=full";
        let written: Vec<String> = PolicyRegistry::builtin()
            .parse_list(words)
            .unwrap()
            .iter()
            .map(PolicySpec::to_string)
            .collect();
        let expected = [
            "easy:order=sjf,extra=false",
            "edf:test=select",
            "libra",
            "libra-risk:overrun=full",
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn rewards_need_a_market() {
        let runs_in = |words: &str, market| {
            PolicyRegistry::builtin().parse_list(words).unwrap()[0].runs_in(market)
        };
        for words in ["first-reward", "easy:order=reward", "edf:admission=slack"] {
            assert!(!runs_in(words, Market::None), "{words}");
            assert!(runs_in(words, Market::Commodity), "{words}");
        }
        for market in Market::ALL {
            for choice in PolicyRegistry::builtin().of_market(market) {
                assert!(choice.runs_in(market), "{choice} in {market}");
            }
        }
        assert!(runs_in("libra-dollar", Market::None));
    }

    #[test]
    fn every_parameter_round_trips() {
        for named in REGISTRY {
            let choice = PolicySpec::named(named.name).unwrap();
            for parameter in choice.parameters() {
                let mut again = choice.clone();
                again
                    .set(&format!("{}={}", parameter.key, parameter.value))
                    .unwrap();
                assert_eq!(again, choice);
            }
        }
    }

    #[test]
    fn parse_errors_list_the_valid_names() {
        let answer = |words| {
            PolicyRegistry::builtin()
                .parse_list(words)
                .unwrap_err()
                .to_string()
        };
        insta::assert_snapshot!(answer("easy,fifo"), @"there is no policy `fifo`: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf");
        insta::assert_snapshot!(answer("libra:order=sjf"), @"policy `libra` has no parameter `order`: it has fit, admission, pricing, overrun, expired");
        insta::assert_snapshot!(answer("easy:order=size"), @"policy `easy`: order is fcfs, sjf, edf or reward, not `size`");
        insta::assert_snapshot!(answer("easy:extra"), @"policy `easy`: expected KEY=VALUE, got `extra`");
        insta::assert_snapshot!(answer("first-reward:slack=-1"), @"policy `first-reward`: slack is a number of seconds, not negative, not `-1`");
        insta::assert_snapshot!(answer(""), @"there is no policy ``: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf");
    }

    fn registry() -> PolicyRegistry {
        PolicyRegistry::builtin().with(PolicyDefinition {
            name: "easy-twice",
            summary: "as easy",
            source: "this test",
            markets: &[Market::Bid],
            uses_bids: true,
            parameters: &[ParameterDefinition {
                key: "times",
                default: "2",
                values: "a count",
                meaning: "how often",
                is_legal: |word| word.parse::<u32>().is_ok(),
            }],
            build: |_, market| PolicySpec::named("easy").unwrap().build(market),
        })
    }

    #[test]
    fn defined_policy_is_chosen_like_a_builtin_one() {
        let registry = registry();
        let words = "easy-twice:times=3,libra,easy-twice";
        let choices = registry.parse_list(words).unwrap();
        let written: Vec<String> = choices.iter().map(PolicySpec::to_string).collect();
        assert_eq!(written.join(","), words);
        assert_eq!(registry.parse_list(&written[0]).unwrap()[0], choices[0]);
        assert_ne!(choices[0], choices[2]);
        assert!(choices[2].runs_in(Market::Bid) && !choices[2].runs_in(Market::None));
        let last = |market| registry.of_market(market).last().map(PolicySpec::name);
        assert_eq!(last(Market::Bid), Some("easy-twice"));
        assert_ne!(last(Market::Commodity), Some("easy-twice"));
        let builtin = PolicyRegistry::builtin();
        assert_ne!(registry, builtin);
        assert!(builtin.named("easy-twice").is_err());
    }

    #[test]
    fn parse_errors_of_a_defined_policy_are_those_of_a_builtin_one() {
        let answer = |words| registry().parse_list(words).unwrap_err().to_string();
        insta::assert_snapshot!(answer("easy-twice:times=x"), @"policy `easy-twice`: times is a count, not `x`");
        insta::assert_snapshot!(answer("easy-twice:depth=1"), @"policy `easy-twice` has no parameter `depth`: it has times");
        assert!(answer("fifo").ends_with(", tail-risk-bf, easy-twice"));
    }

    #[test]
    #[should_panic(expected = "there is a policy `easy-twice` already")]
    fn two_policies_of_one_name_are_refused() {
        let registry = registry();
        let again = registry.defined[0];
        let _ = registry.with(again);
    }
}

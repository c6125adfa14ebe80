//! The registry of policies, and the parser of `NAME[:KEY=VALUE,..]` specifications.

use std::fmt;

use tollgate_model::Market;

pub use crate::builtin::{BuiltinPolicy, FamilyParams, REGISTRY};
use crate::deadline_tail::{self, TailPolicy};
use crate::parameters::{self, PolicyParameter};
use crate::policy::Policy;
use crate::queue::{self, QueuePolicy};
use crate::share::{self, SharePolicy};

/// A chosen policy with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    named: &'static BuiltinPolicy,
    settings: FamilyParams,
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
    #[error("there is no policy `{0}`: {names}", names = names())]
    UnknownPolicy(String),
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

/// Returns the names of all policies, separated by commas.
fn names() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|named| named.name).collect();
    names.join(", ")
}

impl PolicySpec {
    /// Returns the policy with this name and its default parameters.
    ///
    /// # Errors
    /// Fails if no policy has this name.
    pub fn named(name: &str) -> Result<Self, PolicyError> {
        REGISTRY
            .iter()
            .find(|named| named.name == name)
            .map(|named| Self {
                named,
                settings: named.settings,
            })
            .ok_or_else(|| PolicyError::UnknownPolicy(name.to_owned()))
    }

    /// Parses a list of policies: names separated by commas, each with `:KEY=VALUE` parameters.
    /// After a comma, a word with `=` before any `:` is a further parameter of the preceding
    /// policy.
    ///
    /// # Errors
    /// Returns the first word that names no policy or no parameter.
    pub fn parse_list(words: &str) -> Result<Vec<Self>, PolicyError> {
        let mut choices: Vec<Self> = Vec::new();
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
                    let mut choice = Self::named(name)?;
                    setting.map_or(Ok(()), |setting| choice.set(setting))?;
                    choices.push(choice);
                }
            }
        }
        Ok(choices)
    }

    /// Returns the policies that run in a market when no policy is named.
    pub fn of_market(market: Market) -> Vec<Self> {
        REGISTRY
            .iter()
            .filter(|named| named.markets.contains(&market))
            .map(|named| Self {
                named,
                settings: named.settings,
            })
            .collect()
    }

    fn set(&mut self, pair: &str) -> Result<(), PolicyError> {
        let policy = self.named.name;
        let (key, value) = pair.split_once('=').ok_or_else(|| PolicyError::NotAPair {
            policy: policy.to_owned(),
            word: pair.to_owned(),
        })?;
        match &mut self.settings {
            FamilyParams::Queue(s) => parameters::set(queue::PARAMETERS, s, policy, key, value),
            FamilyParams::Share(s) => parameters::set(share::PARAMETERS, s, policy, key, value),
            FamilyParams::Tail(s) => {
                parameters::set(deadline_tail::PARAMETERS, s, policy, key, value)
            }
        }
    }

    /// Returns the policy's name and description.
    pub fn info(&self) -> &'static BuiltinPolicy {
        self.named
    }

    /// Returns true if the policy's rules are defined in a market: without payments there are no
    /// budgets to weigh.
    pub fn runs_in(&self, market: Market) -> bool {
        match (&self.settings, market) {
            (FamilyParams::Queue(settings), Market::None) => !settings.uses_rewards(),
            (FamilyParams::Queue(_), Market::Commodity | Market::Bid)
            | (FamilyParams::Share(_) | FamilyParams::Tail(_), _) => true,
        }
    }

    /// Returns the parameters that apply to this policy, for listings.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        match &self.settings {
            FamilyParams::Queue(settings) => list(queue::PARAMETERS, settings),
            FamilyParams::Share(settings) => list(share::PARAMETERS, settings),
            FamilyParams::Tail(settings) => list(deadline_tail::PARAMETERS, settings),
        }
    }

    /// Returns a parameter's value, whether it applies to this policy or not.
    fn value(&self, key: &str) -> String {
        match &self.settings {
            FamilyParams::Queue(settings) => parameters::value(queue::PARAMETERS, settings, key),
            FamilyParams::Share(settings) => parameters::value(share::PARAMETERS, settings, key),
            FamilyParams::Tail(settings) => {
                parameters::value(deadline_tail::PARAMETERS, settings, key)
            }
        }
    }

    /// Creates the policy.
    pub fn build(&self, market: Market) -> Box<dyn Policy> {
        match self.settings {
            FamilyParams::Queue(settings) => Box::new(QueuePolicy::new(settings, market)),
            FamilyParams::Share(settings) => Box::new(SharePolicy::new(settings, market)),
            FamilyParams::Tail(settings) => Box::new(TailPolicy::new(settings, market)),
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
        f.write_str(self.named.name)?;
        let usual = Self {
            named: self.named,
            settings: self.named.settings,
        };
        let changed = self
            .parameters()
            .into_iter()
            .filter(|parameter| parameter.value != usual.value(parameter.key));
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
            if let Ok(choices) = PolicySpec::parse_list(&words) {
                let written: Vec<String> = choices.iter().map(PolicySpec::to_string).collect();
                prop_assert_eq!(PolicySpec::parse_list(&written.join(",")), Ok(choices));
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
        let written: Vec<String> = PolicySpec::parse_list(words)
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
        let runs_in =
            |words: &str, market| PolicySpec::parse_list(words).unwrap()[0].runs_in(market);
        for words in ["first-reward", "easy:order=reward", "edf:admission=slack"] {
            assert!(!runs_in(words, Market::None), "{words}");
            assert!(runs_in(words, Market::Commodity), "{words}");
        }
        for market in Market::ALL {
            for choice in PolicySpec::of_market(market) {
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
        let answer = |words| PolicySpec::parse_list(words).unwrap_err().to_string();
        insta::assert_snapshot!(answer("easy,fifo"), @"there is no policy `fifo`: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf");
        insta::assert_snapshot!(answer("libra:order=sjf"), @"policy `libra` has no parameter `order`: it has fit, admission, pricing, overrun, expired");
        insta::assert_snapshot!(answer("easy:order=size"), @"policy `easy`: order is fcfs, sjf, edf or reward, not `size`");
        insta::assert_snapshot!(answer("easy:extra"), @"policy `easy`: expected KEY=VALUE, got `extra`");
        insta::assert_snapshot!(answer("first-reward:slack=-1"), @"policy `first-reward`: slack is a number of seconds, not negative, not `-1`");
        insta::assert_snapshot!(answer(""), @"there is no policy ``: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf");
    }
}

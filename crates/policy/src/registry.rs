//! Policies by name: `NAME[:KEY=VALUE,..]` words made into policies.

use std::fmt;

use tollgate_model::Market;

pub use crate::builtin::{BuiltinPolicy, FamilyParams, REGISTRY};
use crate::deadline_tail::{self, TailPolicy};
use crate::parameters::{self, PolicyParameter};
use crate::policy::Policy;
use crate::queue::{self, QueuePolicy};
use crate::share::{self, SharePolicy};

/// A policy that was chosen, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    named: &'static BuiltinPolicy,
    settings: FamilyParams,
}

/// A setting of a policy, to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// How it is called.
    pub key: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What it is.
    pub value: String,
}

/// Why words name no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// There is no policy of that name.
    #[error("there is no policy `{0}`: {names}", names = names())]
    UnknownPolicy(String),
    /// The policy has no such setting.
    #[error("policy `{policy}` has no parameter `{key}`: it has {known}", known = known.join(", "))]
    UnknownParameter {
        /// Which policy.
        policy: String,
        /// What was given.
        key: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The setting cannot be that.
    #[error("policy `{policy}`: {key} is {values}, not `{value}`")]
    BadValue {
        /// Which policy.
        policy: String,
        /// Which setting.
        key: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        values: &'static str,
    },
    /// A word behind the colon is no `KEY=VALUE`.
    #[error("policy `{policy}`: expected KEY=VALUE, got `{word}`")]
    NotAPair {
        /// Which policy.
        policy: String,
        /// What was given.
        word: String,
    },
}

/// The names of all policies, in words.
fn names() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|named| named.name).collect();
    names.join(", ")
}

impl PolicySpec {
    /// The policy of that name, as it is.
    ///
    /// # Errors
    /// If there is none.
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

    /// Reads a list of policies: names divided by commas, each with `:KEY=VALUE` settings. After
    /// a comma, a word with `=` before any `:` is a further setting of the policy before it.
    ///
    /// # Errors
    /// The first word that names no policy or no setting.
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

    /// The policies that run in a market when none is named.
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

    /// What it is called and what is said of it.
    pub fn info(&self) -> &'static BuiltinPolicy {
        self.named
    }

    /// Whether its rules say what it does in a market: where nobody pays, there are no budgets
    /// to weigh.
    pub fn runs_in(&self, market: Market) -> bool {
        match (&self.settings, market) {
            (FamilyParams::Queue(settings), Market::None) => !settings.uses_rewards(),
            (FamilyParams::Queue(_), Market::Commodity | Market::Bid)
            | (FamilyParams::Share(_) | FamilyParams::Tail(_), _) => true,
        }
    }

    /// Its settings as they stand, to be listed: those that mean something for it.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        match &self.settings {
            FamilyParams::Queue(settings) => list(queue::PARAMETERS, settings),
            FamilyParams::Share(settings) => list(share::PARAMETERS, settings),
            FamilyParams::Tail(settings) => list(deadline_tail::PARAMETERS, settings),
        }
    }

    /// A setting's value, whether it means anything for this policy or not.
    fn value(&self, key: &str) -> String {
        match &self.settings {
            FamilyParams::Queue(settings) => parameters::value(queue::PARAMETERS, settings, key),
            FamilyParams::Share(settings) => parameters::value(share::PARAMETERS, settings, key),
            FamilyParams::Tail(settings) => {
                parameters::value(deadline_tail::PARAMETERS, settings, key)
            }
        }
    }

    /// The policy itself.
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

/// The name with the settings that differ from the policy's own: `easy:order=sjf,extra=false`.
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
        fn no_words_panic_and_what_is_read_is_written_back(
            words in "((easy|edf|libra|conservative|first-reward|tail-risk|x)?[:,=]?(order|depth|extra|test|slack|fit|overrun|hope|bound)?=?(sjf|all|2|true|keep|-1|0.25)?,?){0,4}",
        ) {
            if let Ok(choices) = PolicySpec::parse_list(&words) {
                let written: Vec<String> = choices.iter().map(PolicySpec::to_string).collect();
                prop_assert_eq!(PolicySpec::parse_list(&written.join(",")), Ok(choices));
            }
        }
    }

    #[test]
    fn no_two_policies_are_the_same() {
        for (n, one) in REGISTRY.iter().enumerate() {
            for other in &REGISTRY[n + 1..] {
                assert_ne!(one.name, other.name);
                assert_ne!(one.settings, other.settings, "{} {}", one.name, other.name);
            }
        }
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
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
    fn every_parameter_reads_what_it_writes() {
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
    fn wrong_words_are_answered_with_those_that_exist() {
        let answer = |words| PolicySpec::parse_list(words).unwrap_err().to_string();
        insta::assert_snapshot!(answer("easy,fifo"), @"there is no policy `fifo`: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf");
        insta::assert_snapshot!(answer("libra:order=sjf"), @"policy `libra` has no parameter `order`: it has fit, admission, pricing, overrun, expired");
        insta::assert_snapshot!(answer("easy:order=size"), @"policy `easy`: order is fcfs, sjf, edf or reward, not `size`");
        insta::assert_snapshot!(answer("easy:extra"), @"policy `easy`: expected KEY=VALUE, got `extra`");
        insta::assert_snapshot!(answer("first-reward:slack=-1"), @"policy `first-reward`: slack is a number of seconds, not negative, not `-1`");
        insta::assert_snapshot!(answer(""), @"there is no policy ``: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf");
    }
}

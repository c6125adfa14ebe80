//! The definition of a policy by another crate.

use std::fmt;
use std::str::FromStr;

use tollgate_model::Market;

use crate::policy::Policy;

/// A policy that another crate adds to a [`crate::PolicyRegistry`].
///
/// ```
/// use tollgate_model::Market;
/// use tollgate_policy::{ParameterDefinition, PolicyDefinition, PolicySpec};
///
/// const HASTY: PolicyDefinition = PolicyDefinition {
///     name: "hasty",
///     summary: "EASY backfilling for half of the queue",
///     source: "an example",
///     markets: &[Market::None],
///     uses_bids: false,
///     parameters: &[ParameterDefinition {
///         key: "part",
///         default: "0.5",
///         values: "a number, at most 1",
///         meaning: "part of the queue",
///         is_legal: |word| word.parse().is_ok_and(|part: f64| (0.0..=1.0).contains(&part)),
///     }],
///     build: |values, market| {
///         let _part: f64 = values.get("part");
///         PolicySpec::named("easy").expect("it is built in").build(market)
///     },
/// };
/// let registry = tollgate_policy::PolicyRegistry::builtin().with(HASTY);
/// let listed = registry.parse_list("easy,hasty:part=0.25")?;
/// assert_eq!(listed[1].to_string(), "hasty:part=0.25");
/// # Ok::<(), tollgate_policy::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PolicyDefinition {
    /// The policy's name: letters, digits and `-`.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication or the place that the policy comes from.
    pub source: &'static str,
    /// The markets in which the policy runs when no policy is named.
    pub markets: &'static [Market],
    /// True if decisions depend on budgets or penalty rates where users bid. Such a policy does not
    /// run without a market, and a study simulates it anew for each set of bids.
    pub uses_bids: bool,
    /// The parameters, in the order in which they are listed.
    pub parameters: &'static [ParameterDefinition],
    /// Creates the policy.
    pub build: fn(&ParameterValues, Market) -> Box<dyn Policy>,
}

/// A parameter of a [`PolicyDefinition`].
#[derive(Clone, Copy, Debug)]
pub struct ParameterDefinition {
    /// The key.
    pub key: &'static str,
    /// The value if none is given; a legal one.
    pub default: &'static str,
    /// The legal values, in words.
    pub values: &'static str,
    /// The meaning.
    pub meaning: &'static str,
    /// Returns true if a word is one of the legal values.
    pub is_legal: fn(&str) -> bool,
}

/// The value of each parameter of a [`PolicyDefinition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterValues(Vec<(&'static str, String)>);

impl ParameterValues {
    pub(crate) fn defaults(of: &PolicyDefinition) -> Self {
        let parameters = of.parameters.iter();
        Self(
            parameters
                .map(|parameter| (parameter.key, parameter.default.to_owned()))
                .collect(),
        )
    }

    pub(crate) fn set(&mut self, key: &str, word: &str) {
        for (known, value) in &mut self.0 {
            if *known == key {
                word.clone_into(value);
            }
        }
    }

    /// Returns a value as the user wrote it.
    ///
    /// # Panics
    /// If the definition has no parameter `key`.
    pub fn word(&self, key: &str) -> &str {
        let value = self.0.iter().find(|(known, _)| *known == key);
        let (_, word) = value.unwrap_or_else(|| panic!("the policy has no parameter `{key}`"));
        word
    }

    /// Returns a parsed value.
    ///
    /// # Panics
    /// If the definition has no parameter `key`, or calls a word legal that is no `T`.
    pub fn get<T: FromStr<Err: fmt::Debug>>(&self, key: &str) -> T {
        let word = self.word(key);
        word.parse()
            .unwrap_or_else(|error| panic!("parameter `{key}`: `{word}` is legal, yet {error:?}"))
    }
}

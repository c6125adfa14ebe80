//! A statement of a paper as data: the compared quantities, the relation and the margin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_model::Market;
use tollgate_risk::Objective;

use crate::keyword::{Keyword, KeywordEnum};
use crate::metric::MetricName;

/// A statement that a run of the experiment can confirm or refute.
///
/// The quantity it is about is the measure of a policy, less that of another if `than` names
/// some, less the same elsewhere if `against` says where else. Where lists name several things,
/// the statement must be true of each; the one that speaks most against it decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Claim {
    /// Its name in the ledger; unique in the file.
    pub id: String,
    /// Where the statement stands.
    pub source: String,
    /// The statement in words.
    pub claim: String,
    /// What is known to come out; `--strict` insists on `holds`.
    pub expected: Keyword<ClaimExpectation>,
    /// The sets of the experiment; each.
    pub sets: Vec<String>,
    /// The market; may be left out where there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market: Option<Keyword<Market>>,
    /// The scenarios it speaks of: each in a measure of runs, all together in a measure of risk.
    /// For the latter none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<String>,
    /// What is measured.
    pub measure: MetricName,
    /// Combinations of objectives that a measure of risk weighs equally; each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Vec<Keyword<Objective>>>,
    /// The policies it speaks of; each.
    pub policies: Vec<String>,
    /// The policies they are compared with; each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub than: Vec<String>,
    /// The least value of the varied setting that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// The greatest value of the varied setting that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// Where else the same is measured, to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<ClaimBaseline>,
    /// How the quantity must lie.
    pub relation: Keyword<ClaimRelation>,
    /// By how much at least; with a negative number, at most so much the other way. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<f64>,
    /// Which value, for `is` and `crosses`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// How far off at most, for `is`, `crosses` and `level`. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

/// Another place in the same experiment; what is not named is as in the claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClaimBaseline {
    /// Another set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Another scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Another combination of objectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objectives: Option<Vec<Keyword<Objective>>>,
    /// Another least value of the varied setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Another greatest value of the varied setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

/// The expected verdict of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimExpectation {
    /// The claim is confirmed.
    Holds,
    /// The claim is refuted or undecided.
    Fails,
}

/// The relation that the quantity of a claim must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimRelation {
    /// Above `by`.
    Greater,
    /// Below minus `by`.
    Less,
    /// At `value`, off by at most `within`; without `value` at 0.
    Is,
    /// The least-squares line over the varied setting rises by more than `by` from end to end.
    Rising,
    /// The same line falls by more than `by`.
    Falling,
    /// The same line neither rises nor falls by more than `within`.
    Level,
    /// The curves of `policies` and `than` cross at `value`, off by at most `within`.
    Crosses,
}

impl ClaimRelation {
    /// Returns whether the relation is about the shape of a curve rather than its height.
    pub const fn is_trend(self) -> bool {
        match self {
            Self::Rising | Self::Falling | Self::Level | Self::Crosses => true,
            Self::Greater | Self::Less | Self::Is => false,
        }
    }
}

impl KeywordEnum for ClaimExpectation {
    const KIND: &'static str = "an expectation";

    fn all() -> Vec<Self> {
        vec![Self::Holds, Self::Fails]
    }

    fn keyword(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
        }
    }
}

impl KeywordEnum for ClaimRelation {
    const KIND: &'static str = "a relation";

    fn all() -> Vec<Self> {
        vec![
            Self::Greater,
            Self::Less,
            Self::Is,
            Self::Rising,
            Self::Falling,
            Self::Level,
            Self::Crosses,
        ]
    }

    fn keyword(self) -> &'static str {
        match self {
            Self::Greater => "greater",
            Self::Less => "less",
            Self::Is => "is",
            Self::Rising => "rising",
            Self::Falling => "falling",
            Self::Level => "level",
            Self::Crosses => "crosses",
        }
    }
}

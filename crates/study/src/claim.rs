//! A statement of a paper as data: the compared quantities, the relation and the margin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tollgate_model::Market;
use tollgate_risk::Objective;

use crate::keyword::{Keyword, KeywordEnum};
use crate::metric::MetricName;

/// A statement that a run of the experiment can confirm or refute.
///
/// The quantity it is about is the measure of a policy, less that of another if `than` names
/// some, less the same elsewhere if `against` says where else. Where lists name several things,
/// the statement must be true of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Claim {
    /// Its name in the ledger; unique in the file.
    pub id: String,
    /// The author of the statement; ledgers count each kind apart.
    #[serde(default)]
    pub kind: Keyword<ClaimKind>,
    /// Where the statement stands.
    pub source: String,
    /// The statement in words.
    pub claim: String,
    /// The result that is known; `--strict` insists on `holds`.
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
    /// The measure.
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
    /// Where `greater`, `less` and `is` must be true of a measure of runs. It is at each value of the varied
    /// setting (`each`, the default), or only of the mean over these values (`mean`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Keyword<ClaimPoints>>,
    /// The least difference; with a negative number, the greatest difference in the other direction. By
    /// default the least effect that is visible in a plot. It is 0.01 of performance, volatility or distance,
    /// a hundredth of the greatest value in the scenario for a measure of runs, and 0 for other measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<f64>,
    /// The value, for `is` and `crosses`.
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
    /// How many times the quantity there is taken off; once if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
}

/// The origin of a claim.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum ClaimKind {
    /// A statement that the paper prints.
    Paper,
    /// A figure of another simulation of the paper's model.
    Reference,
    /// A statement of the study's author.
    #[default]
    Own,
    /// A statement that follows from the model or from what it was calibrated to. It says nothing
    /// about the paper; it fails if model or calibration break.
    Calibration,
}

/// The points at which a claim on heights must be true.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum ClaimPoints {
    /// Each value of the varied setting.
    #[default]
    Each,
    /// The mean over the values.
    Mean,
}

/// The expected verdict of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ClaimExpectation {
    /// The claim is confirmed.
    Holds,
    /// The claim is refuted or undecided.
    Fails,
}

/// The relation that the quantity of a claim must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
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

    /// Returns whether `by` means something in the relation.
    pub const fn has_margin(self) -> bool {
        match self {
            Self::Greater | Self::Less | Self::Rising | Self::Falling => true,
            Self::Is | Self::Level | Self::Crosses => false,
        }
    }
}

impl Claim {
    /// Returns the points at which the claim must be true; None for a claim on the shape of a
    /// curve.
    pub fn points(&self) -> Option<ClaimPoints> {
        let points = self.at.map(|at| at.0).unwrap_or_default();
        (!self.relation.0.is_trend()).then_some(points)
    }
}

impl KeywordEnum for ClaimKind {
    const KIND: &'static str = "a kind of claim";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

impl KeywordEnum for ClaimPoints {
    const KIND: &'static str = "a choice of points";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

impl KeywordEnum for ClaimExpectation {
    const KIND: &'static str = "an expectation";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

impl KeywordEnum for ClaimRelation {
    const KIND: &'static str = "a relation";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

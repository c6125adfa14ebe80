//! The claims ledger: the verdict on each claim.

use std::io::Write;

use strum::VariantArray;

use crate::claim::{Claim, ClaimExpectation, ClaimKind, ClaimPoints, ClaimRelation};
use crate::claim_metric::{ClaimEvidence, ClaimMetrics, SeedValues};
use crate::confidence::SeedMean;
use crate::keyword::KeywordEnum;
use crate::results::{ResultsError, StudyResults};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimVerdict {
    /// The quantity satisfies the claim, at 95 %.
    Holds,
    /// The quantity contradicts the claim, at 95 %.
    Fails,
    /// The quantity does neither at 95 %, or there is nothing to measure.
    Undecided,
}

/// An entry of the ledger: a claim with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResult {
    /// The claim.
    pub claim: Claim,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// How many points satisfy the claim.
    pub agreement: PointAgreement,
    /// The margin: by how much the claim must be true.
    pub margin: Option<f64>,
    /// The quantity over all seeds; of several quantities, the one that contradicts the claim
    /// most. None if there is no quantity, as the crossing of curves that never cross.
    pub measured: Option<SeedMean>,
}

/// The number of points of the varied setting at which the mean over seeds satisfies a claim. For the shape
/// of a curve, it is the number of its steps that go the right way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointAgreement {
    /// Points or steps that agree.
    pub agreeing: usize,
    /// All points or steps.
    pub all: usize,
}

/// The number of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// All claims.
    pub all: usize,
    /// Claims that hold.
    pub holds: usize,
    /// Claims that fail.
    pub fails: usize,
    /// Claims on which nothing is decided.
    pub undecided: usize,
    /// Claims that were expected to hold and do not.
    pub broken: usize,
}

/// Every claim of an experiment with its verdict, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResults {
    /// The entries, one per claim.
    pub entries: Vec<ClaimResult>,
}

impl PointAgreement {
    /// Returns the share of points that agree, 0 to 1; None if there are no points.
    pub fn share(self) -> Option<f64> {
        (self.all > 0).then(|| self.agreeing as f64 / self.all as f64)
    }
}

impl std::fmt::Display for ClaimCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            all,
            holds,
            fails,
            undecided,
            broken: _,
        } = self;
        write!(
            f,
            "{all} claims: {holds} hold, {fails} fail, {undecided} undecided"
        )
    }
}

impl ClaimResults {
    /// Tests every claim on `results`.
    pub fn of(results: &StudyResults) -> Self {
        let metrics = ClaimMetrics::of(results);
        let claims = results.experiment().claims.iter();
        let entries = claims.map(|claim| ClaimResult::of(claim, &metrics.evidence(claim)));
        Self {
            entries: entries.collect(),
        }
    }

    /// Returns the kinds of claims that there are, each with its counts.
    pub fn counts(&self) -> Vec<(ClaimKind, ClaimCounts)> {
        let kinds = ClaimKind::VARIANTS.iter().copied();
        let counted = kinds.map(|kind| (kind, self.counts_of(kind)));
        counted.filter(|(_, counts)| counts.all > 0).collect()
    }

    fn counts_of(&self, kind: ClaimKind) -> ClaimCounts {
        let mut counts = ClaimCounts::default();
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| entry.claim.kind.0 == kind) {
            counts.all += 1;
            match entry.verdict {
                ClaimVerdict::Holds => counts.holds += 1,
                ClaimVerdict::Fails => counts.fails += 1,
                ClaimVerdict::Undecided => counts.undecided += 1,
            }
            counts.broken += usize::from(entry.is_broken());
        }
        counts
    }

    /// Returns the claims that were expected to hold and do not.
    pub fn unexpected_failures(&self) -> impl Iterator<Item = &ClaimResult> {
        self.entries.iter().filter(|entry| entry.is_broken())
    }

    /// Writes the ledger as CSV with the columns [`LEDGER_COLUMNS`]; missing numbers are empty.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, out: impl Write) -> Result<(), ResultsError> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(LEDGER_COLUMNS)?;
        for entry in &self.entries {
            table.write_record(entry.cells())?;
        }
        table.flush().map_err(csv::Error::from)?;
        Ok(())
    }
}

/// The columns of the ledger. `at` is empty for claims on the shape of a curve, `agree` is the share
/// of points that satisfy the claim, `by` its margin.
pub const LEDGER_COLUMNS: [&str; 12] = [
    "id", "kind", "source", "claim", "expected", "verdict", "at", "agree", "by", "measured", "low",
    "high",
];

impl ClaimResult {
    fn of(claim: &Claim, evidence: &ClaimEvidence) -> Self {
        let test = ClaimTest {
            claim,
            margin: evidence.margin,
        };
        let means = |values: &[SeedValues]| -> Vec<Option<SeedMean>> {
            let means = values.iter();
            means
                .map(|values| SeedMean::of(values.as_ref()?, &claim.id))
                .collect()
        };
        let tested = means(&evidence.tested);
        let points = means(&evidence.points);
        let agreeing = points.iter().flatten();
        Self {
            claim: claim.clone(),
            verdict: test.joint_verdict(&tested),
            agreement: PointAgreement {
                agreeing: agreeing.filter(|point| test.agrees(point.mean)).count(),
                all: points.len(),
            },
            margin: claim.relation.0.has_margin().then_some(evidence.margin),
            measured: test.worst(&tested),
        }
    }

    /// Returns whether the claim was expected to hold and does not.
    fn is_broken(&self) -> bool {
        self.claim.expected.0 == ClaimExpectation::Holds && self.verdict != ClaimVerdict::Holds
    }

    fn cells(&self) -> [String; 12] {
        let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        let interval = self.measured.and_then(|measured| measured.interval);
        let at = self.claim.points().map(ClaimPoints::keyword);
        [
            self.claim.id.clone(),
            self.claim.kind.to_string(),
            self.claim.source.clone(),
            self.claim.claim.clone(),
            self.claim.expected.to_string(),
            self.verdict.to_string(),
            at.unwrap_or_default().to_owned(),
            number(self.agreement.share()),
            number(self.margin),
            number(self.measured.map(|measured| measured.mean)),
            number(interval.map(|interval| interval.low)),
            number(interval.map(|interval| interval.high)),
        ]
    }
}

/// The relation of a claim with its margin.
struct ClaimTest<'c> {
    claim: &'c Claim,
    margin: f64,
}

impl ClaimTest<'_> {
    /// Returns the verdict on all quantities of the claim: it holds if it holds of each, and fails
    /// if it fails of any.
    fn joint_verdict(&self, tested: &[Option<SeedMean>]) -> ClaimVerdict {
        let verdicts: Vec<ClaimVerdict> = tested.iter().map(|q| self.verdict(*q)).collect();
        let is = |verdict| move |known: &ClaimVerdict| *known == verdict;
        if verdicts.iter().any(is(ClaimVerdict::Fails)) {
            ClaimVerdict::Fails
        } else if !verdicts.is_empty() && verdicts.iter().all(is(ClaimVerdict::Holds)) {
            ClaimVerdict::Holds
        } else {
            ClaimVerdict::Undecided
        }
    }

    /// Returns the quantity that contradicts the claim most, first by verdict, then by its mean.
    /// None if a quantity that decides is missing.
    fn worst(&self, tested: &[Option<SeedMean>]) -> Option<SeedMean> {
        let verdict = self.joint_verdict(tested);
        let deciding = tested.iter().filter(|q| self.verdict(**q) == verdict);
        let deciding = deciding.copied().collect::<Option<Vec<SeedMean>>>()?;
        let off = |mean: &SeedMean| self.contradiction(mean.mean);
        deciding
            .into_iter()
            .max_by(|a, b| off(a).total_cmp(&off(b)))
    }

    /// Returns how far a value lies in the direction that contradicts the claim.
    fn contradiction(&self, value: f64) -> f64 {
        match self.claim.relation.0 {
            ClaimRelation::Greater | ClaimRelation::Rising => -value,
            ClaimRelation::Less | ClaimRelation::Falling => value,
            ClaimRelation::Is | ClaimRelation::Level | ClaimRelation::Crosses => {
                (value - self.target()).abs()
            }
        }
    }

    fn target(&self) -> f64 {
        self.claim.value.unwrap_or(0.0)
    }

    fn tolerance(&self) -> f64 {
        self.claim.within.unwrap_or(0.0)
    }

    /// Returns whether the value at a point, or the rise over a step, agrees with the claim.
    fn agrees(&self, value: f64) -> bool {
        match self.claim.relation.0 {
            ClaimRelation::Greater => value > self.margin,
            ClaimRelation::Less => value < -self.margin,
            ClaimRelation::Rising => value >= 0.0,
            ClaimRelation::Falling => value <= 0.0,
            ClaimRelation::Is | ClaimRelation::Level | ClaimRelation::Crosses => {
                self.contradiction(value) <= self.tolerance()
            }
        }
    }

    /// Returns the verdict on a quantity. With a single seed its value counts without an interval.
    fn verdict(&self, measured: Option<SeedMean>) -> ClaimVerdict {
        let Some(measured) = measured else {
            return match self.claim.relation.0 {
                ClaimRelation::Crosses => ClaimVerdict::Fails,
                ClaimRelation::Greater
                | ClaimRelation::Less
                | ClaimRelation::Is
                | ClaimRelation::Rising
                | ClaimRelation::Falling
                | ClaimRelation::Level => ClaimVerdict::Undecided,
            };
        };
        let (range, by) = (measured.range(), self.margin);
        let (inside, outside) = match self.claim.relation.0 {
            ClaimRelation::Greater | ClaimRelation::Rising => (range.low > by, range.high <= by),
            ClaimRelation::Less | ClaimRelation::Falling => (range.high < -by, range.low >= -by),
            ClaimRelation::Is | ClaimRelation::Level | ClaimRelation::Crosses => {
                let (low, high) = (
                    self.target() - self.tolerance(),
                    self.target() + self.tolerance(),
                );
                (
                    low <= range.low && range.high <= high,
                    range.high < low || high < range.low,
                )
            }
        };
        match (inside, outside) {
            (true, _) => ClaimVerdict::Holds,
            (false, true) => ClaimVerdict::Fails,
            (false, false) => ClaimVerdict::Undecided,
        }
    }
}

impl std::fmt::Display for ClaimVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        })
    }
}

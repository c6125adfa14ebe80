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
    /// The verdict where the weeks of the record are a sample too: by both intervals of each quantity, over seeds and over
    /// weeks. None where a quantity has no interval over weeks.
    pub over_weeks: Option<ClaimVerdict>,
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
    /// Claims with a verdict over weeks.
    pub over_weeks: usize,
    /// Claims that hold over weeks too.
    pub hold_over_weeks: usize,
    /// Claims that fail over weeks too.
    pub fail_over_weeks: usize,
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
            over_weeks,
            hold_over_weeks,
            fail_over_weeks,
        } = self;
        write!(
            f,
            "{all} claims: {holds} hold, {fails} fail, {undecided} undecided"
        )?;
        if *over_weeks > 0 {
            write!(
                f,
                "; over other weeks, of {over_weeks}: {hold_over_weeks} hold, {fail_over_weeks} fail"
            )?;
        }
        Ok(())
    }
}

impl ClaimResults {
    /// Tests every claim on `results`.
    pub fn of(results: &StudyResults) -> Self {
        let metrics = ClaimMetrics::of(results);
        let claims = results.experiment().claims.iter();
        let parts: Vec<ClaimMetrics<'_>> = results
            .without_parts()
            .iter()
            .map(ClaimMetrics::of)
            .collect();
        let entries = claims.map(|claim| {
            let without: Vec<ClaimEvidence> =
                parts.iter().map(|part| part.evidence(claim)).collect();
            ClaimResult::of(claim, &metrics.evidence(claim), &without)
        });
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
            counts.over_weeks += usize::from(entry.over_weeks.is_some());
            let is = |verdict| usize::from(entry.over_weeks == Some(verdict));
            counts.hold_over_weeks += is(ClaimVerdict::Holds);
            counts.fail_over_weeks += is(ClaimVerdict::Fails);
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
/// The last three are over weeks of the record: the interval and the verdict.
pub const LEDGER_COLUMNS: [&str; 15] = [
    "id",
    "kind",
    "source",
    "claim",
    "expected",
    "verdict",
    "at",
    "agree",
    "by",
    "measured",
    "low",
    "high",
    "weeks_low",
    "weeks_high",
    "weeks_verdict",
];

impl ClaimResult {
    /// Tests a claim, with the evidence `without` each part of the record.
    fn of(claim: &Claim, evidence: &ClaimEvidence, without: &[ClaimEvidence]) -> Self {
        let test = ClaimTest {
            claim,
            margin: evidence.margin,
        };
        let mean = |values: &SeedValues| SeedMean::of(values.as_ref()?, &claim.id);
        let quantities = evidence.tested.iter().enumerate();
        let tested = quantities.map(|(at, values)| {
            let parts = without.iter();
            let parts = parts.map(|part| part.tested.get(at).cloned().flatten());
            mean(values).map(|mean| mean.with_parts(parts))
        });
        let tested: Vec<Option<SeedMean>> = tested.collect();
        let points: Vec<Option<SeedMean>> = evidence.points.iter().map(mean).collect();
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
            over_weeks: test.verdict_over_weeks(&tested),
        }
    }

    /// Returns whether the claim was expected to hold and does not.
    fn is_broken(&self) -> bool {
        self.claim.expected.0 == ClaimExpectation::Holds && self.verdict != ClaimVerdict::Holds
    }

    fn cells(&self) -> [String; 15] {
        let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        let interval = self.measured.and_then(|measured| measured.interval);
        let weeks = self.measured.and_then(|measured| measured.by_weeks);
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
            number(weeks.map(|interval| interval.low)),
            number(weeks.map(|interval| interval.high)),
            self.over_weeks
                .map(|verdict| verdict.to_string())
                .unwrap_or_default(),
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

    /// Returns the verdict by the widest interval of each quantity; None where one has no interval over weeks.
    fn verdict_over_weeks(&self, tested: &[Option<SeedMean>]) -> Option<ClaimVerdict> {
        let widened = tested.iter().map(|measured| {
            let measured = (*measured)?;
            measured.by_weeks?;
            Some(Some(SeedMean {
                interval: measured.widest(),
                ..measured
            }))
        });
        let widened: Vec<Option<SeedMean>> = widened.collect::<Option<_>>()?;
        (!widened.is_empty()).then(|| self.joint_verdict(&widened))
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

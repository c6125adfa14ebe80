//! The claims ledger: the verdict on each claim.

use std::io::Write;

use crate::claim::{Claim, ClaimExpectation, ClaimRelation};
use crate::claim_metric::ClaimMetrics;
use crate::confidence::SeedMean;
use crate::keyword::Keyword;
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
    /// The quantity over all seeds; for several pairs of policies, the pair that contradicts the
    /// claim most. None if there is no quantity, as the crossing of curves that never cross.
    pub measured: Option<SeedMean>,
}

/// Every claim of an experiment with its verdict, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResults {
    /// The entries, one per claim.
    pub entries: Vec<ClaimResult>,
}

impl ClaimResults {
    /// Tests every claim on `results`.
    pub fn of(results: &StudyResults) -> Self {
        let quantities = ClaimMetrics::of(results);
        let claims = results.experiment().claims.iter();
        let entries = claims.map(|claim| {
            let values = quantities.values(claim);
            let measured = values.and_then(|values| SeedMean::of(&values, &claim.id));
            ClaimResult {
                claim: claim.clone(),
                verdict: verdict(claim, measured),
                measured,
            }
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// Returns the number of claims with `verdict`.
    pub fn count(&self, verdict: ClaimVerdict) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.verdict == verdict).count()
    }

    /// Returns the claims that were expected to hold and do not.
    pub fn unexpected_failures(&self) -> impl Iterator<Item = &ClaimResult> {
        self.entries.iter().filter(|entry| {
            entry.claim.expected.0 == ClaimExpectation::Holds
                && entry.verdict != ClaimVerdict::Holds
        })
    }

    /// Writes the ledger as CSV: `id,source,claim,expected,verdict,measured,low,high`; missing
    /// numbers are empty.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, out: impl Write) -> Result<(), ResultsError> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record([
            "id", "source", "claim", "expected", "verdict", "measured", "low", "high",
        ])?;
        for entry in &self.entries {
            table.write_record(entry.cells())?;
        }
        table.flush().map_err(csv::Error::from)?;
        Ok(())
    }
}

impl ClaimResult {
    fn cells(&self) -> [String; 8] {
        let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        let interval = self.measured.and_then(|measured| measured.interval);
        [
            self.claim.id.clone(),
            self.claim.source.clone(),
            self.claim.claim.clone(),
            self.claim.expected.to_string(),
            self.verdict.to_string(),
            number(self.measured.map(|measured| measured.mean)),
            number(interval.map(|interval| interval.low)),
            number(interval.map(|interval| interval.high)),
        ]
    }
}

/// Returns the verdict on a quantity. With a single seed its value counts without an interval.
fn verdict(claim: &Claim, measured: Option<SeedMean>) -> ClaimVerdict {
    let Some(measured) = measured else {
        return match claim.relation {
            Keyword(ClaimRelation::Crosses) => ClaimVerdict::Fails,
            Keyword(
                ClaimRelation::Greater
                | ClaimRelation::Less
                | ClaimRelation::Is
                | ClaimRelation::Rising
                | ClaimRelation::Falling
                | ClaimRelation::Level,
            ) => ClaimVerdict::Undecided,
        };
    };
    let range = measured.range();
    let (by, value) = (claim.by.unwrap_or(0.0), claim.value.unwrap_or(0.0));
    let within = claim.within.unwrap_or(0.0);
    let (inside, outside) = match claim.relation.0 {
        ClaimRelation::Greater | ClaimRelation::Rising => (range.low > by, range.high <= by),
        ClaimRelation::Less | ClaimRelation::Falling => (range.high < -by, range.low >= -by),
        ClaimRelation::Is | ClaimRelation::Level | ClaimRelation::Crosses => {
            let (low, high) = (value - within, value + within);
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

impl std::fmt::Display for ClaimVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        })
    }
}

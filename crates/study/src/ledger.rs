//! The claims ledger: what each claim came to.

use std::io::Write;

use crate::claim::{Claim, Expectation, Relation};
use crate::estimate::Estimate;
use crate::quantity::Quantities;
use crate::results::{Results, ResultsError};
use crate::words::Word;

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Its quantity lies where it says, at 95 %.
    Holds,
    /// It lies elsewhere, at 95 %.
    Fails,
    /// It cannot be told, or there is nothing to measure.
    Undecided,
}

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The claim.
    pub claim: Claim,
    /// What became of it.
    pub verdict: Verdict,
    /// Its quantity over all seeds; of several pairs of policies the one that speaks most
    /// against it. None if there is no such thing, as a crossing of curves that never cross.
    pub measured: Option<Estimate>,
}

/// Every claim of an experiment with what became of it, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// A claim each.
    pub entries: Vec<Entry>,
}

impl Ledger {
    /// Tests every claim on `results`.
    pub fn of(results: &Results) -> Self {
        let quantities = Quantities::of(results);
        let claims = results.experiment().claims.iter();
        let entries = claims.map(|claim| {
            let values = quantities.values(claim);
            let measured = values.and_then(|values| Estimate::of(&values, &claim.id));
            Entry {
                claim: claim.clone(),
                verdict: verdict(claim, measured),
                measured,
            }
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// How many claims came to `verdict`.
    pub fn count(&self, verdict: Verdict) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.verdict == verdict).count()
    }

    /// The claims that were expected to hold and do not.
    pub fn broken(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| {
            entry.claim.expected.0 == Expectation::Holds && entry.verdict != Verdict::Holds
        })
    }

    /// Writes the ledger as CSV: `id,source,claim,expected,verdict,measured,low,high`, numbers
    /// empty where there are none.
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

impl Entry {
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

/// Whether the quantity lies where the claim says. With a single seed it is taken as it is.
fn verdict(claim: &Claim, measured: Option<Estimate>) -> Verdict {
    let Some(measured) = measured else {
        return match claim.relation {
            Word(Relation::Crosses) => Verdict::Fails,
            Word(
                Relation::Greater
                | Relation::Less
                | Relation::Is
                | Relation::Rising
                | Relation::Falling
                | Relation::Level,
            ) => Verdict::Undecided,
        };
    };
    let range = measured.range();
    let (by, value) = (claim.by.unwrap_or(0.0), claim.value.unwrap_or(0.0));
    let within = claim.within.unwrap_or(0.0);
    let (inside, outside) = match claim.relation.0 {
        Relation::Greater | Relation::Rising => (range.low > by, range.high <= by),
        Relation::Less | Relation::Falling => (range.high < -by, range.low >= -by),
        Relation::Is | Relation::Level | Relation::Crosses => {
            let (low, high) = (value - within, value + within);
            (
                low <= range.low && range.high <= high,
                range.high < low || high < range.low,
            )
        }
    };
    match (inside, outside) {
        (true, _) => Verdict::Holds,
        (false, true) => Verdict::Fails,
        (false, false) => Verdict::Undecided,
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        })
    }
}

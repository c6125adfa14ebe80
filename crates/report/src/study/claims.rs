//! The claims ledger.

use tollgate_study::ClaimResults;
use tollgate_study::claim::ClaimExpectation;
use tollgate_study::claim_results::{ClaimResult, ClaimVerdict};
use tollgate_study::confidence::SeedMean;

use crate::page::{CellRole, PageBlock, PageCell, PageSection, PageTable};

/// Builds the section about claims. None if there are no claims.
pub(super) fn section(ledger: &ClaimResults) -> Option<PageSection> {
    if ledger.entries.is_empty() {
        return None;
    }
    let counts = format!(
        "Of {} statements {} hold, {} fail and {} cannot be told. {}",
        ledger.entries.len(),
        ledger.count(ClaimVerdict::Holds),
        ledger.count(ClaimVerdict::Fails),
        ledger.count(ClaimVerdict::Undecided),
        match ledger.unexpected_failures().count() {
            0 => "All that were expected to hold do.".to_owned(),
            broken => format!("{broken} that were expected to hold do not."),
        }
    );
    let table = PageTable {
        caption: String::new(),
        head: vec![
            PageCell::text("claim"),
            PageCell::text("statement"),
            PageCell::text("source"),
            PageCell::text("verdict"),
            PageCell::number("measured"),
            PageCell::number("from"),
            PageCell::number("to"),
        ],
        rows: ledger.entries.iter().map(row).collect(),
    };
    Some(PageSection {
        heading: "Claims".to_owned(),
        blocks: vec![PageBlock::Text { text: counts }, PageBlock::Table(table)],
    })
}

fn row(entry: &ClaimResult) -> Vec<PageCell> {
    let interval = entry
        .measured
        .and_then(|measured: SeedMean| measured.interval);
    let number = |value: Option<f64>| PageCell::number(value.map(four_digits).unwrap_or_default());
    vec![
        PageCell::text(&entry.claim.id),
        PageCell::text(&entry.claim.claim),
        PageCell::text(&entry.claim.source),
        verdict(entry),
        number(entry.measured.map(|measured| measured.mean)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
    ]
}

/// Builds the cell of the verdict, with a note if another verdict was expected.
fn verdict(entry: &ClaimResult) -> PageCell {
    let role = match entry.verdict {
        ClaimVerdict::Holds => CellRole::Good,
        ClaimVerdict::Fails => CellRole::Bad,
        ClaimVerdict::Undecided => CellRole::Unsure,
    };
    let surprise = match (entry.claim.expected.0, entry.verdict) {
        (ClaimExpectation::Holds, ClaimVerdict::Holds)
        | (ClaimExpectation::Fails, ClaimVerdict::Fails | ClaimVerdict::Undecided) => "",
        (ClaimExpectation::Holds, ClaimVerdict::Fails | ClaimVerdict::Undecided) => {
            ", expected to hold"
        }
        (ClaimExpectation::Fails, ClaimVerdict::Holds) => ", not expected to",
    };
    PageCell::of(role, format!("{}{surprise}", entry.verdict))
}

/// Formats a number with four significant digits, or with all digits before the point.
fn four_digits(value: f64) -> String {
    let digits = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    let decimals = (3 - digits).clamp(0, 6) as usize;
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let said = [0.0, 1.0, -12.3456, 123_456.7, 0.001_234_56, 1e-9].map(four_digits);
        assert_eq!(
            said,
            [
                "0.000",
                "1.000",
                "\u{2212}12.35",
                "123457",
                "0.001235",
                "0.000000"
            ]
        );
    }
}

//! The claims ledger.

use tollgate_study::ClaimResults;
use tollgate_study::claim::{ClaimExpectation, ClaimKind, ClaimPoints};
use tollgate_study::claim_results::{ClaimResult, ClaimVerdict, PointAgreement};
use tollgate_study::confidence::SeedMean;
use tollgate_study::keyword::KeywordEnum;

use crate::page::{CellRole, PageBlock, PageCell, PageSection, PageTable};

/// Builds the section about claims. None if there are no claims.
pub(super) fn section(ledger: &ClaimResults) -> Option<PageSection> {
    if ledger.entries.is_empty() {
        return None;
    }
    let table = PageTable {
        caption: "Agree: how many points of the varied setting satisfy the statement, or how many \
                  steps of a curve go the right way."
            .to_owned(),
        head: vec![
            PageCell::text("claim"),
            PageCell::text("kind"),
            PageCell::text("statement"),
            PageCell::text("source"),
            PageCell::text("verdict"),
            PageCell::text("at"),
            PageCell::number("agree"),
            PageCell::number("by"),
            PageCell::number("measured"),
            PageCell::number("from"),
            PageCell::number("to"),
            PageCell::number("weeks from"),
            PageCell::number("to"),
            PageCell::text("over weeks"),
        ],
        rows: ledger.entries.iter().map(row).collect(),
    };
    Some(PageSection {
        heading: "Claims".to_owned(),
        blocks: vec![
            PageBlock::Text {
                text: MEANING.to_owned(),
            },
            PageBlock::Table(counts(ledger)),
            PageBlock::Table(table),
        ],
    })
}

const MEANING: &str = "A claim with `each` must be true at every value of the varied setting, one \
                       with `mean` of the mean over them, one with neither of the line fitted \
                       through them. Measured is the value that contradicts the claim most. The \
                       verdict is on these jobs, with other draws; that over weeks is on other \
                       weeks of the same machine.";

/// Builds the table of the counts of claims by kind.
fn counts(ledger: &ClaimResults) -> PageTable {
    let rows = ledger.counts().into_iter().map(|(kind, counts)| {
        let figures = [
            counts.all,
            counts.holds,
            counts.fails,
            counts.undecided,
            counts.broken,
        ];
        let mut row = vec![PageCell::text(origin(kind))];
        row.extend(figures.map(|figure| PageCell::number(figure.to_string())));
        row
    });
    let heads = [
        "claims",
        "hold",
        "fail",
        "cannot be told",
        "expected to hold, do not",
    ];
    let mut head = vec![PageCell::text("kind")];
    head.extend(heads.map(PageCell::number));
    PageTable {
        caption: String::new(),
        head,
        rows: rows.collect(),
    }
}

/// Describes a kind of claim.
const fn origin(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Paper => "paper: statements of the paper",
        ClaimKind::Reference => "reference: figures of another simulation of its model",
        ClaimKind::Own => "own: statements of the study's author",
        ClaimKind::Calibration => "calibration: true by construction or calibration",
    }
}

fn row(entry: &ClaimResult) -> Vec<PageCell> {
    let interval = entry
        .measured
        .and_then(|measured: SeedMean| measured.interval);
    let weeks = entry
        .measured
        .and_then(|measured: SeedMean| measured.by_weeks);
    let at = entry.claim.points().map(ClaimPoints::keyword);
    let number = |value: Option<f64>| PageCell::number(value.map(four_digits).unwrap_or_default());
    vec![
        PageCell::text(&entry.claim.id),
        PageCell::text(entry.claim.kind.to_string()),
        PageCell::text(&entry.claim.claim),
        PageCell::text(&entry.claim.source),
        verdict(entry),
        PageCell::text(at.unwrap_or_default()),
        PageCell::number(agreement(entry.agreement)),
        number(entry.margin),
        number(entry.measured.map(|measured| measured.mean)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        number(weeks.map(|interval| interval.low)),
        number(weeks.map(|interval| interval.high)),
        PageCell::text(
            entry
                .over_weeks
                .map(|verdict| verdict.to_string())
                .unwrap_or_default(),
        ),
    ]
}

fn agreement(points: PointAgreement) -> String {
    match points.all {
        0 => String::new(),
        all => format!("{} of {all}", points.agreeing),
    }
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
        let formatted = [0.0, 1.0, -12.3456, 123_456.7, 0.001_234_56, 1e-9].map(four_digits);
        assert_eq!(
            formatted,
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

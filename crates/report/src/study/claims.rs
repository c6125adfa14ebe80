//! The claims ledger.

use tollgate_study::Ledger;
use tollgate_study::claim::Expectation;
use tollgate_study::estimate::Estimate;
use tollgate_study::ledger::{Entry, Verdict};

use crate::page::{Block, Cell, Role, Section, Table};

/// The section about claims, if there are any.
pub(super) fn section(ledger: &Ledger) -> Option<Section> {
    if ledger.entries.is_empty() {
        return None;
    }
    let counts = format!(
        "Of {} statements {} hold, {} fail and {} cannot be told. {}",
        ledger.entries.len(),
        ledger.count(Verdict::Holds),
        ledger.count(Verdict::Fails),
        ledger.count(Verdict::Undecided),
        match ledger.broken().count() {
            0 => "All that were expected to hold do.".to_owned(),
            broken => format!("{broken} that were expected to hold do not."),
        }
    );
    let table = Table {
        caption: String::new(),
        head: vec![
            Cell::words("claim"),
            Cell::words("statement"),
            Cell::words("source"),
            Cell::words("verdict"),
            Cell::number("measured"),
            Cell::number("from"),
            Cell::number("to"),
        ],
        rows: ledger.entries.iter().map(row).collect(),
    };
    Some(Section {
        heading: "Claims".to_owned(),
        blocks: vec![Block::Text { text: counts }, Block::Table(table)],
    })
}

fn row(entry: &Entry) -> Vec<Cell> {
    let interval = entry
        .measured
        .and_then(|measured: Estimate| measured.interval);
    let number = |value: Option<f64>| Cell::number(value.map(short).unwrap_or_default());
    vec![
        Cell::words(&entry.claim.id),
        Cell::words(&entry.claim.claim),
        Cell::words(&entry.claim.source),
        verdict(entry),
        number(entry.measured.map(|measured| measured.mean)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
    ]
}

/// The verdict, and that it was another one that was expected.
fn verdict(entry: &Entry) -> Cell {
    let role = match entry.verdict {
        Verdict::Holds => Role::Good,
        Verdict::Fails => Role::Bad,
        Verdict::Undecided => Role::Unsure,
    };
    let surprise = match (entry.claim.expected.0, entry.verdict) {
        (Expectation::Holds, Verdict::Holds)
        | (Expectation::Fails, Verdict::Fails | Verdict::Undecided) => "",
        (Expectation::Holds, Verdict::Fails | Verdict::Undecided) => ", expected to hold",
        (Expectation::Fails, Verdict::Holds) => ", not expected to",
    };
    Cell::of(role, format!("{}{surprise}", entry.verdict))
}

/// A number with four significant digits, or all before the point.
fn short(value: f64) -> String {
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
        let said = [0.0, 1.0, -12.3456, 123_456.7, 0.001_234_56, 1e-9].map(short);
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

//! Version 14: a sum that exceeds its column stays at the greatest number of the column, or the least.
//!
//! SQLite makes a real number of a sum that overflows, and refuses to store it in a column of integers.
//! The triggers of earlier versions failed then, and with them every later end of a job of the same user
//! and day. A cast makes the nearest integer of a real number, and leaves an integer as it is.

use std::collections::BTreeSet;

use super::promises::TOTALS;
use super::records;

/// The columns of `account`, `promise` and `total` that triggers add to. `expected` is a real number.
const TOTAL_SUMS: [&str; 12] = [
    "accepted",
    "budgets",
    "charges",
    "kept",
    "broken",
    "penalties",
    "promises",
    "submitted",
    "unpromised",
    "utility",
    "void",
    "wait",
];

/// Other sums and products in the triggers.
const EXPRESSIONS: [&str; 2] = ["cpu + NEW.cpu", "coalesce(budget, 0) * (judged + others)"];

/// Returns the migration.
pub(super) fn step() -> String {
    let triggers = [TOTALS, &records::triggers(&records::SUMS)].concat();
    let drops = names(&triggers).map(|name| format!("DROP TRIGGER {name};\n"));
    drops.collect::<String>() + &saturating(&triggers)
}

/// Returns the names of the triggers that a text creates.
pub(super) fn names(triggers: &str) -> impl Iterator<Item = &str> {
    let starts = triggers.split("CREATE TRIGGER ").skip(1);
    starts.filter_map(|text| text.split_whitespace().next())
}

/// Returns triggers whose sums stay in the range of their columns.
pub(super) fn saturating(triggers: &str) -> String {
    let sums = TOTAL_SUMS.iter().chain(&records::SUMS);
    let sums = sums.map(|name| format!("{name} + excluded.{name}"));
    let sums: BTreeSet<String> = sums.collect();
    let all = sums.iter().map(String::as_str).chain(EXPRESSIONS);
    all.fold(triggers.to_owned(), |text, sum| {
        text.replace(sum, &format!("CAST({sum} AS INTEGER)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sum_of_the_triggers_is_cast() {
        let text = saturating(&[TOTALS, &records::triggers(&records::SUMS)].concat());
        let n_sums = text.matches(" + excluded.").count();
        let n_reals = text.matches("expected + excluded.expected").count();
        let n_casts = text.matches("CAST(").count();
        // The other casts are those of the tenth of a probability and of processors times time.
        let others =
            text.matches("* 10 AS INTEGER").count() + text.matches("+ 500) / 1000").count();
        let products = EXPRESSIONS.map(|sum| text.matches(sum).count());
        assert!(products.iter().all(|&found| found > 0));
        let expected = n_sums - n_reals + others + products.iter().sum::<usize>();
        assert_eq!(n_casts, expected);
    }
}

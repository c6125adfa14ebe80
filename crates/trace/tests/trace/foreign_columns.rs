//! Properties of tables: their columns are read by name in any order, or the file is refused. Numbers under
//! the names of another program are never taken for those of SWF.

use proptest::prelude::*;
use tollgate_model::{Instant, Span};
use tollgate_trace::{ColumnSelection, OpenError, ReadOptions, Trace, TraceFormat, read};

fn outcome(text: &str) -> Result<Trace, OpenError> {
    let columns = ColumnSelection::All;
    read("jobs", text.as_bytes(), ReadOptions { columns })
}

/// Names of columns, as other programs have them.
const FOREIGN: [&str; 16] = [
    "id",
    "JobNumber",
    "submitted",
    "waited",
    "ran",
    "cores",
    "limit",
    "memory",
    "exit",
    "user_name",
    "group_id",
    "app",
    "queue_name",
    "partition_no",
    "parent",
    "think-time",
];

/// Generates names of columns, and rows of as many numbers.
fn any_table() -> impl Strategy<Value = (Vec<&'static str>, Vec<Vec<u32>>)> {
    let names = prop::sample::subsequence(FOREIGN.to_vec(), 3..=FOREIGN.len()).prop_shuffle();
    names.prop_flat_map(|names| {
        let row = prop::collection::vec(0u32..100_000, names.len());
        (Just(names), prop::collection::vec(row, 1..6))
    })
}

/// The columns that are read, with the values of one job.
const OWN: [(&str, &str); 7] = [
    ("job_id", "3"),
    ("submit_s", "5"),
    ("runtime_s", "60"),
    ("procs", "2"),
    ("estimate_s", "90"),
    ("user", "ann"),
    ("status", "completed"),
];

proptest! {
    #[test]
    fn numbers_under_foreign_names_are_never_swf(
        (names, rows) in any_table(),
        separator in prop::sample::select(vec!["\t", " ", "   ", ",", ";", "|"]),
    ) {
        let rows = rows.iter().map(|row| row.iter().map(u32::to_string).collect::<Vec<_>>());
        let lines: Vec<String> = rows.map(|row| row.join(separator)).collect();
        let text = format!("{}\n{}\n", names.join(separator), lines.join("\n"));
        let found = outcome(&text).map(|trace| trace.format);
        prop_assert!(found.is_err(), "{:?} of\n{}", found, text);
    }

    /// Behind words only all eighteen fields prove that numbers are those of SWF.
    #[test]
    fn numbers_behind_a_line_of_words_are_never_swf(
        words in "[a-zA-Z]{1,12}( [a-zA-Z]{1,12}){0,20}",
        rows in (5usize..18).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0u32..100_000, n), 1..6)),
    ) {
        let rows = rows.iter().map(|row| row.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
        let text = format!("{words}\n{}\n", rows.collect::<Vec<_>>().join("\n"));
        let found = outcome(&text).map(|trace| trace.format);
        prop_assert!(found.is_err(), "{:?} of\n{}", found, text);
    }

    #[test]
    fn own_columns_are_read_by_name_in_any_order(
        columns in Just(OWN.to_vec()).prop_shuffle(),
        others in prop::sample::subsequence(FOREIGN.to_vec(), 0..4),
        separator in prop::sample::select(vec!["\t", ",", ";", "|"]),
        is_quoted in any::<bool>(),
        is_upper in any::<bool>(),
    ) {
        let styled = |text: &str| if is_quoted { format!("\"{text}\"") } else { text.to_owned() };
        let named = |text: &str| styled(&if is_upper { text.to_uppercase() } else { text.to_owned() });
        let names = others.iter().copied().chain(columns.iter().map(|(name, _)| *name));
        let names: Vec<String> = names.map(named).collect();
        let cells = others.iter().map(|_| "77").chain(columns.iter().map(|(_, cell)| *cell));
        let cells: Vec<String> = cells.map(styled).collect();
        let text = format!("{}\n{}\n", names.join(separator), cells.join(separator));
        let trace = outcome(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(trace.format, Some(TraceFormat::Table));
        let job = trace.jobs[0];
        prop_assert_eq!((job.number, job.submit), (3, Instant::from_secs(5)));
        prop_assert_eq!((job.runtime, job.estimate), (Span::from_secs(60), Span::from_secs(90)));
        let names = trace.metadata.as_ref().unwrap();
        prop_assert_eq!((job.procs, names.user.get(0)), (2, Some("ann")));
    }

    /// Eighteen numbers a line are SWF, however they are separated.
    #[test]
    fn records_without_names_are_swf(
        rest in prop::collection::vec(-1i64..1000, 14),
        separator in prop::sample::select(vec!["\t", " ", "   "]),
    ) {
        let numbers = [1, 2, 3, 4].into_iter().chain(rest);
        let cells: Vec<String> = numbers.map(|number| number.to_string()).collect();
        let trace = outcome(&format!("{}\n", cells.join(separator))).unwrap();
        prop_assert_eq!((trace.format, trace.jobs.len()), (Some(TraceFormat::Swf), 1));
    }
}

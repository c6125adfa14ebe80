//! Properties of names that hold the separator of their format: the fields around them are those of a
//! record with a plain name.

use proptest::prelude::*;
use tollgate_trace::{
    ColumnSelection, ReadOptions, Trace, TraceFormat, TraceJob, TraceUsage, read,
};

use crate::record_template::template;

/// The last job without its name, and its name.
fn last(trace: &Trace) -> (TraceJob, TraceUsage, Option<String>, Option<String>) {
    let row = trace.jobs.len() - 1;
    let names = trace.metadata.as_ref().unwrap();
    let text = |name: Option<&str>| name.map(str::to_owned);
    (
        trace.jobs[row],
        trace.usage(row),
        text(names.user.get(row)),
        text(names.executable.get(row)),
    )
}

/// Generates a name of at most six pieces with `separator` between them, and one piece at least.
fn any_name(separator: char) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,6}",
        "[0-9]{1,10}",
        "[A-Z][a-z.]{0,4}",
        "NONE",
        "sge"
    ];
    prop::collection::vec(piece, 1..=6).prop_map(move |pieces| pieces.join(&separator.to_string()))
}

/// The columns of an export, with the cells of one job.
const CELLS: [(&str, &str); 10] = [
    ("JobID", "7"),
    ("JobName", ""),
    ("User", "ann"),
    ("State", "COMPLETED"),
    ("Submit", "2024-03-01T10:00:00"),
    ("Start", "2024-03-01T10:00:05"),
    ("End", "2024-03-01T10:00:45"),
    ("Elapsed", "00:00:40"),
    ("AllocCPUS", "4"),
    ("Timelimit", "00:15:00"),
];

fn sacct(columns: &[(&str, &str)], name: &str) -> Trace {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let cells = columns
        .iter()
        .map(|&(head, cell)| if head == "JobName" { name } else { cell });
    let cells: Vec<&str> = cells.collect();
    let text = format!("{}\n{}\n", heads.join("|"), cells.join("|"));
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    read("jobs", text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #[test]
    fn colons_in_names_and_requests_move_no_field_of_grid_engine(
        name in any_name(':'),
        limit in prop::sample::select(vec!["900", "15:00", "00:15:00", "0:15:0"]),
    ) {
        let grid_engine = template(TraceFormat::GridEngine);
        let (job, usage, user, found) = last(&grid_engine.read(&[("name", &name), ("limit", limit)]));
        let (plain_job, plain_usage, plain_user, _) = last(&grid_engine.read(&[]));
        prop_assert_eq!((job, usage, user), (plain_job, plain_usage, plain_user));
        prop_assert_eq!(found, Some(name));
    }

    #[test]
    fn bars_in_names_move_no_field_of_sacct(
        columns in Just(CELLS.to_vec()).prop_shuffle(),
        name in any_name('|'),
        is_bar_at_end in any::<bool>(),
    ) {
        let name = if is_bar_at_end { name + "|" } else { name };
        let (job, usage, user, found) = last(&sacct(&columns, &name));
        let (plain_job, plain_usage, plain_user, _) = last(&sacct(&columns, "plain"));
        prop_assert_eq!((job, usage, user), (plain_job, plain_usage, plain_user));
        prop_assert_eq!(found, Some(name));
    }
}

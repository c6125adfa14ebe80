//! Tests that written traces are read back: SWF and the job table keep the contents of any job
//! table.

use proptest::prelude::*;
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, job_table, open, swf};

const OPTIONS: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

fn read(text: &[u8]) -> Trace {
    open::read("round trip", text, OPTIONS).unwrap_or_else(|error| panic!("{error}"))
}

fn as_swf(trace: &Trace) -> Vec<u8> {
    let mut writer = swf::SwfWriter::new(Vec::new());
    writer.write(trace).unwrap();
    writer.finish().unwrap()
}

fn as_table(trace: &Trace) -> Vec<u8> {
    let mut text = Vec::new();
    job_table::write(trace, &mut text).unwrap();
    text
}

/// Generates a cell that may be empty.
fn maybe(cell: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop_oneof![3 => cell, 1 => Just(String::new())]
}

fn seconds(most: i64) -> impl Strategy<Value = String> {
    (0..most, 0..1_000_000u32).prop_map(|(whole, part)| match part % 3 {
        0 => format!("{whole}.{part:06}"),
        _ => whole.to_string(),
    })
}

/// Generates a line of a job table: all columns that SWF has a place for, then an account, a
/// deadline and an unknown column.
fn line() -> impl Strategy<Value = String> {
    let job = (
        any::<u64>().prop_map(|number| number.to_string()),
        seconds(2_000_000_000),
        prop_oneof![9 => seconds(1_000_000), 1 => Just("-1".to_owned())],
        maybe((1..100_000u32).prop_map(|procs| procs.to_string())),
        maybe(seconds(1_000_000)),
    );
    let names = prop_oneof!["[0-9]{1,3}", "[a-z ,;\"]{1,6}"];
    let names = prop::collection::vec(maybe(names.prop_map(|name| name.replace('"', "\"\""))), 5);
    let usage = (
        maybe(seconds(1_000_000)),
        maybe(Just("completed".to_owned())),
        maybe(seconds(1_000_000)),
    );
    (job, names, usage).prop_map(|(job, names, usage)| {
        let (id, submit, runtime, procs, estimate) = job;
        let (wait, status, deadline) = usage;
        let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!(
            "{id},{submit},{runtime},{procs},{estimate},{},{wait},{status},{deadline},x\n",
            names.join(",")
        )
    })
}

fn job_table() -> impl Strategy<Value = String> {
    let header = "job_id,submit_s,runtime_s,procs,estimate_s,user,group,account,executable,queue,\
                  wait_s,status,deadline_s,site\n";
    prop::collection::vec(line(), 1..20).prop_map(move |lines| header.to_owned() + &lines.concat())
}

/// Returns whether the same rows share a name in both columns, whatever the names are.
fn same_pattern(one: &NameColumn, two: &NameColumn) -> bool {
    let rows = 0..one.len();
    let mut pairs = rows.clone().flat_map(|a| rows.clone().map(move |b| (a, b)));
    one.len() == two.len()
        && rows
            .clone()
            .all(|row| one.get(row).is_some() == two.get(row).is_some())
        && pairs.all(|(a, b)| (one.get(a) == one.get(b)) == (two.get(a) == two.get(b)))
}

proptest! {
    #[test]
    fn job_table_keeps_everything(text in job_table()) {
        let trace = read(text.as_bytes());
        let again = read(&as_table(&trace));
        prop_assert_eq!(&again.jobs, &trace.jobs);
        prop_assert_eq!(&again.slas, &trace.slas);
        prop_assert_eq!(&again.metadata, &trace.metadata);
        prop_assert_eq!(&again.extra, &trace.extra);
        for row in 0..trace.jobs.len() {
            prop_assert_eq!(again.has_estimate(row), trace.has_estimate(row));
        }
    }

    #[test]
    fn swf_keeps_jobs_and_numbers_names(text in job_table()) {
        let trace = read(text.as_bytes());
        let written = as_swf(&trace);
        let again = read(&written);
        prop_assert_eq!(&again.jobs, &trace.jobs);
        let (names, named) = (again.metadata.unwrap(), trace.metadata.as_ref().unwrap());
        prop_assert!(same_pattern(&names.user, &named.user));
        prop_assert!(same_pattern(&names.group, &named.group));
        prop_assert!(same_pattern(&names.executable, &named.executable));
        prop_assert!(same_pattern(&names.queue, &named.queue));
        for (row, usage) in named.usage.iter().enumerate() {
            prop_assert_eq!(names.usage.get(row).unwrap().wait, usage.wait);
            prop_assert_eq!(names.usage.get(row).unwrap().status, usage.status);
            prop_assert_eq!(read(&written).has_estimate(row), trace.has_estimate(row));
        }
    }

    #[test]
    fn rewriting_written_swf_changes_nothing(text in job_table()) {
        let trace = read(&as_swf(&read(text.as_bytes())));
        let jobs = |written: Vec<u8>| {
            let text = String::from_utf8(written).unwrap();
            let jobs = text.lines().filter(|line| !line.starts_with(';'));
            jobs.map(str::to_owned).collect::<Vec<_>>()
        };
        let once = as_swf(&trace);
        let twice = as_swf(&read(&once));
        prop_assert_eq!(jobs(once), jobs(twice));
    }
}

#[test]
fn comments_of_swf_are_kept_and_directives_are_not_doubled() {
    let text = "; Computer: a machine\n;\n; UnixStartTime: 5\n; MaxProcs: 8\n;  Note: two  \n\
                7 0 3 10 4 2.5 100 4 20 200 1 31 12 5 2 -1 -1 -1\n\
                ; a remark among the jobs\n\
                8 9 -1 -1 -1 -1 -1 8 -1 -1 5 31 12 -1 0 -1 -1 -1\n";
    let written = String::from_utf8(as_swf(&read(text.as_bytes()))).unwrap();
    assert_eq!(
        written,
        "; Computer: a machine\n;\n; UnixStartTime: 5\n; MaxProcs: 8\n;  Note: two\n\
         ; Version: 2.2\n\
         7 0 3 10 4 2.5 100 4 20 200 1 31 12 5 2 -1 -1 -1\n\
         8 9 -1 -1 -1 -1 -1 8 -1 -1 5 31 12 -1 0 -1 -1 -1\n"
    );
}

#[test]
fn names_become_numbers_listed_at_the_end() {
    let text = "job_id,submit_s,runtime_s,procs,user,executable\n\
                1,0,10,1,ann,7\n2,1,10,1,1,\"a\nb\"\n3,2,10,1,ann,7\n";
    let written = String::from_utf8(as_swf(&read(text.as_bytes()))).unwrap();
    assert_eq!(
        written,
        "; Version: 2.2\n\
         1 0 -1 10 1 -1 -1 1 -1 -1 -1 1 -1 7 -1 -1 -1 -1\n\
         2 1 -1 10 1 -1 -1 1 -1 -1 -1 2 -1 1 -1 -1 -1 -1\n\
         3 2 -1 10 1 -1 -1 1 -1 -1 -1 1 -1 7 -1 -1 -1 -1\n\
         ; User: 1 ann\n; User: 2 1\n; Executable: 1 a b\n"
    );
}

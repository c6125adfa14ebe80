//! The tables of docs/policies/formats.md against the readers: a field is documented if and only if it is read.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tollgate_trace::{ColumnSelection, ReadOptions, TraceFormat, read};

use crate::record_template::template;

/// The fields of `accounting(5)`, in order.
const GRID_ENGINE: [&str; 45] = [
    "qname",
    "hostname",
    "group",
    "owner",
    "job_name",
    "job_number",
    "account",
    "priority",
    "submission_time",
    "start_time",
    "end_time",
    "failed",
    "exit_status",
    "ru_wallclock",
    "ru_utime",
    "ru_stime",
    "ru_maxrss",
    "ru_ixrss",
    "ru_ismrss",
    "ru_idrss",
    "ru_isrss",
    "ru_minflt",
    "ru_majflt",
    "ru_nswap",
    "ru_inblock",
    "ru_oublock",
    "ru_msgsnd",
    "ru_msgrcv",
    "ru_nsignals",
    "ru_nvcsw",
    "ru_nivcsw",
    "project",
    "department",
    "granted_pe",
    "slots",
    "task_number",
    "cpu",
    "mem",
    "io",
    "category",
    "iow",
    "pe_taskid",
    "maxvmem",
    "arid",
    "ar_submission_time",
];

/// Words in the sources of readers that look like names of fields and are values, or tell the format.
const NO_FIELDS: [&str; 15] = [
    "BOT",
    "BoT",
    "COMPOSITE",
    "DAG",
    "GlobalJobId",
    "INVALID",
    "MyType",
    "None",
    "ProcId",
    "UNITARY",
    "Unknown",
    "WORKFLOW",
    "LastJobStatus",
    "EnteredCurrentStatus",
    "LastRemoteWallClockTime",
];

/// Returns a section of the page, without its heading.
fn section(heading: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies/formats.md");
    let text = fs::read_to_string(page).unwrap();
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// Returns the words between backticks.
fn code_words(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns all that is kept of a file.
fn kept(text: &str) -> String {
    let columns = ColumnSelection::All;
    let trace = read("jobs", text.as_bytes(), ReadOptions { columns });
    let Ok(trace) = trace else {
        return "nothing".to_owned();
    };
    let usage: Vec<_> = (0..trace.jobs.len()).map(|row| trace.usage(row)).collect();
    let names = trace.metadata.as_ref().unwrap();
    let names: Vec<_> = (0..trace.jobs.len())
        .flat_map(|row| {
            [
                &names.user,
                &names.group,
                &names.account,
                &names.executable,
                &names.queue,
            ]
            .map(|column| column.get(row).map(str::to_owned))
        })
        .collect();
    format!("{:?} {usage:?} {names:?}", trace.jobs)
}

/// Returns the places of the fields whose change changes what is kept of one of these records.
fn read_fields(records: &[Vec<&str>], separator: &str, before: &str) -> BTreeSet<usize> {
    let file = |fields: &[&str]| format!("{before}{}\n", fields.join(separator));
    let is_read = |place: &usize| {
        records.iter().any(|record| {
            let usual = kept(&file(record));
            let others = [
                record[*place]
                    .parse::<i64>()
                    .map_or("other".to_owned(), |n| (n + 1).to_string()),
                "7".to_owned(),
            ];
            others.iter().any(|other| {
                let mut changed = record.clone();
                changed[*place] = other;
                kept(&file(&changed)) != usual
            })
        })
    };
    (0..records[0].len()).filter(is_read).collect()
}

#[test]
fn fields_of_swf_are_documented_if_they_are_read() {
    let usual = "1 100 5 40 4 35 1000 4 900 2000 1 7 2 11 3 1 -1 10";
    let unallocated = "1 100 5 40 -1 35 1000 4 900 2000 1 7 2 11 3 1 -1 10";
    let records = [usual, unallocated].map(|record| record.split(' ').collect());
    let read: BTreeSet<usize> = read_fields(&records, " ", "; Version: 2.2\n")
        .iter()
        .map(|place| place + 1)
        .collect();
    // Numbers at the beginning of a cell, and behind `else`, name fields.
    let mut documented = BTreeSet::new();
    for line in section("Standard Workload Format").lines() {
        let Some(cell) = line.split(" | ").nth(1) else {
            continue;
        };
        for part in cell.split("else ") {
            let numbers = part
                .split([':', '('])
                .next()
                .unwrap_or_default()
                .split(", ")
                .map_while(|word| {
                    let end = word.find(|letter: char| !letter.is_ascii_digit());
                    word[..end.unwrap_or(word.len())].parse::<usize>().ok()
                });
            documented.extend(numbers);
        }
    }
    assert_eq!(read, documented);
}

#[test]
fn fields_of_grid_engine_are_documented_if_they_are_read() {
    let usual = template(TraceFormat::GridEngine).file(&[]);
    let usual: Vec<&str> = usual.lines().next().unwrap().split(':').collect();
    assert_eq!(usual.len(), GRID_ENGINE.len());
    let with_account = [&usual[..6], &["p17"], &usual[7..]].concat();
    let read = read_fields(&[usual, with_account], ":", "");
    let read: BTreeSet<&str> = read.iter().map(|&place| GRID_ENGINE[place]).collect();
    let text = section("Grid Engine");
    let words = code_words(&text);
    let documented: BTreeSet<&str> = GRID_ENGINE
        .into_iter()
        .filter(|name| words.contains(name))
        .collect();
    assert_eq!(read, documented);
}

/// A reader of fields with names.
struct NamedReader {
    /// The heading of its section.
    heading: &'static str,
    sources: &'static [&'static str],
    /// Returns whether a text in the sources may be the name of a field.
    is_name: fn(&str) -> bool,
}

/// Returns the names in the sources of a reader that look like those of fields, without its tests.
fn names_in(reader: &NamedReader) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names = BTreeSet::new();
    for source in reader.sources {
        let text = fs::read_to_string(folder.join(source)).unwrap();
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in lines {
            let words = line.split('"').skip(1).step_by(2);
            names.extend(
                words
                    .filter(|word| (reader.is_name)(word))
                    .map(str::to_owned),
            );
        }
    }
    names.retain(|name| !NO_FIELDS.contains(&name.as_str()));
    names
}

#[test]
fn named_fields_are_documented_if_readers_have_them() {
    let is_camel = |word: &str| {
        let is_word = word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_word && word.len() > 2 && word.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let is_attribute = |word: &str| {
        let is_word = word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b));
        is_word && word.len() > 2
    };
    let readers = [
        NamedReader {
            heading: "HTCondor",
            sources: &["condor/job_ad.rs", "condor/history.rs"],
            is_name: is_camel,
        },
        NamedReader {
            heading: "PBS and Torque",
            sources: &["pbs.rs", "pbs/procs.rs"],
            is_name: is_attribute,
        },
        NamedReader {
            heading: "Slurm",
            sources: &["slurm/columns.rs"],
            is_name: is_camel,
        },
        NamedReader {
            heading: "Grid Workloads Format",
            sources: &["gwf.rs"],
            is_name: is_camel,
        },
    ];
    for reader in readers {
        let heading = reader.heading;
        let text = section(heading);
        let names = names_in(&reader);
        assert!(!names.is_empty(), "{heading}");
        let missing: Vec<&String> = names
            .iter()
            .filter(|name| !text.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "{heading} does not name {missing:?}");
    }
}

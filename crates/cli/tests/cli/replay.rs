//! `tollgate replay` on the embedded workload and on small files.

use std::fs;

use serde_json::Value;

use crate::program::{file, folder, tollgate, tollgate_reading};

/// Three jobs with SLAs, two columns that tollgate does not know, and a job that never ran.
const TABLE: &[u8] = b"\
job_id,submit_s,runtime_s,procs,estimate_s,deadline_s,budget,penalty_per_s,site,note
11,0,10,2,10,40,100,1,north,\"a, quoted\"
12,5.5,10,4,12,30,100,2,south,
13,6,0,1,5,10,10,1,south,never ran
14,6,8,2,8,9,100,0.5,north,late
";

#[test]
fn embedded_workload_needs_no_options() {
    insta::assert_snapshot!(tollgate(&["replay", "--last", "300"]));
}

#[test]
fn table_in_the_bid_market() {
    insta::assert_snapshot!(tollgate(&["replay", "--last", "300", "--market", "bid"]));
}

#[test]
fn table_in_the_commodity_market() {
    insta::assert_snapshot!(tollgate(&[
        "replay",
        "--last",
        "300",
        "--market",
        "commodity"
    ]));
}

#[test]
fn policies_as_a_list_and_repeated_with_settings() {
    let words = ["replay", "--last", "300", "--quiet", "--format", "csv"];
    let lists = [
        "--policy",
        "easy:order=sjf,extra=false,libra",
        "-p",
        "edf:test=select",
    ];
    let answer = tollgate(&[&words[..], &lists].concat()).answer();
    let policies: Vec<&str> = answer.lines().skip(1).collect();
    assert_eq!(policies.len(), 3);
    assert!(policies[0].starts_with("\"easy:order=sjf,extra=false\","));
    assert!(policies[1].starts_with("libra,"));
    assert!(policies[2].starts_with("edf:test=select,"));
}

#[test]
fn json_without_a_market() {
    let words = [
        "replay",
        "--last",
        "100",
        "--policy",
        "libra-risk,edf-bf",
        "--format",
        "json",
    ];
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn json_in_the_bid_market() {
    let words = [
        "replay",
        "--last",
        "100",
        "--policy",
        "first-reward",
        "--market",
        "bid",
    ];
    insta::assert_snapshot!(tollgate(
        &[&words[..], &["--format", "json", "-q"]].concat()
    ));
}

#[test]
fn csv_has_the_keys_of_json_as_columns() {
    let words = [
        "replay", "--last", "200", "--market", "bid", "--quiet", "--format",
    ];
    let csv = tollgate(&[&words[..], &["csv"]].concat()).answer();
    let json = tollgate(&[&words[..], &["json"]].concat()).answer();
    let json: Value = serde_json::from_str(&json).unwrap();
    let keys = json["policies"][0].as_object().unwrap().keys();
    let columns = csv.lines().next().unwrap().split(',');
    assert!(columns.eq(keys), "{csv}");
    insta::assert_snapshot!(csv);
}

#[test]
fn a_job_table_and_a_row_for_each_job() {
    let table = file("table.csv", TABLE);
    let words = [
        "replay",
        table,
        "--nodes",
        "4",
        "--policy",
        "edf,libra",
        "--market",
        "bid",
    ];
    insta::assert_snapshot!(tollgate(
        &[&words[..], &["--jobs-out", "rows.csv"]].concat()
    ));
    let rows = fs::read_to_string(folder().join("rows.csv")).unwrap();
    insta::assert_snapshot!("rows_of_a_job_table", rows);
}

#[test]
fn rows_without_a_market_have_no_money() {
    let words = [
        "replay",
        "-",
        "--quiet",
        "--policy",
        "easy",
        "--jobs-out",
        "free.csv",
    ];
    assert_eq!(tollgate_reading(&words, TABLE).code, Some(0));
    let rows = fs::read_to_string(folder().join("free.csv")).unwrap();
    insta::assert_snapshot!(rows);
}

#[test]
fn jobs_that_never_ran_can_be_kept() {
    let words = [
        "replay",
        "-",
        "--policy",
        "fcfs",
        "--never-ran",
        "one",
        "--format",
        "csv",
    ];
    insta::assert_snapshot!(tollgate_reading(&words, TABLE));
}

#[test]
fn seed_changes_only_the_synthesised_slas() {
    let run = |seed: &str| {
        let words = [
            "replay", "--last", "300", "--policy", "libra", "--format", "json",
        ];
        let json = tollgate(&[&words[..], &["-q", "--seed", seed]].concat()).answer();
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one["workload"], two["workload"]);
    assert_ne!(one["policies"], two["policies"]);
}

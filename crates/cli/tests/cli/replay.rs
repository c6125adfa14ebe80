//! `tollgate replay` on the embedded workload and on small files.

use std::fs;

use serde_json::Value;

use crate::program::{file, folder, tollgate, tollgate_reading};

/// Three jobs with SLAs, two columns that tollgate does not know, and a job that never ran.
const TABLE: &[u8] = b"\
job_id,submit_s,runtime_s,procs,estimate_s,deadline_s,budget,penalty_per_s,site,note
11,0,10,2,10,40,100,1,north,\"a, quoted\"
12,5.5,10,4,12,30,100,2,south,
13,6,-1,1,5,10,10,1,south,never ran
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
fn nodes_of_different_speeds() {
    let table = file("speeds-table.csv", TABLE);
    let words = [
        "replay",
        table,
        "--nodes",
        "4",
        "--speeds",
        "2*1,2",
        "--policy",
        "edf,libra",
        "--market",
        "bid",
        "--check",
        "--html",
        "speeds.html",
    ];
    insta::assert_snapshot!(tollgate(
        &[&words[..], &["--jobs-out", "speeds.csv"]].concat()
    ));
    let page = fs::read_to_string(folder().join("speeds.html")).unwrap();
    let note = "Speeds of the nodes, relative to those of the record: 2*1,2.";
    assert!(page.contains(note), "{page}");
    let rows = fs::read_to_string(folder().join("speeds.csv")).unwrap();
    insta::assert_snapshot!("rows_on_nodes_of_different_speeds", rows);
}

/// Twice as fast, the machine is offered half of the load, and more deadlines are possible.
#[test]
fn speeds_count_in_load_and_possible_deadlines() {
    let of = |speeds: &[&str]| -> Value {
        let words = [
            "replay", "-", "-q", "--policy", "easy", "--nodes", "2", "--format", "json",
        ];
        let answer = tollgate_reading(&[&words[..], speeds].concat(), TABLE).answer();
        serde_json::from_str(&answer).unwrap()
    };
    let (plain, fast) = (of(&[]), of(&["--speeds", "2"]));
    let load = |json: &Value| json["workload"]["offered_load_pct"].as_f64().unwrap();
    assert_eq!(load(&plain), 2.0 * load(&fast));
    assert_eq!(fast["settings"]["speeds"], "2");
    assert_eq!(plain["settings"].get("speeds"), None);
    let late = TABLE.to_vec();
    let late = String::from_utf8(late)
        .unwrap()
        .replace("10,40,100", "10,6,100");
    let possible = |speeds: &str| {
        let words = [
            "replay", "-", "-q", "--policy", "easy", "--nodes", "4", "--format", "json",
        ];
        let words = [&words[..], &["--speeds", speeds]].concat();
        let answer = tollgate_reading(&words, late.as_bytes()).answer();
        let json: Value = serde_json::from_str(&answer).unwrap();
        json["workload"]["deadlines_possible_pct"].as_f64().unwrap()
    };
    // The first job needs 10 s on two nodes of speed 1, within 6 s.
    let found = ["1", "3*1,2", "2*1,2"].map(possible);
    assert_eq!(found, [2.0, 2.0, 3.0].map(|n| n / 3.0 * 100.0));
}

#[test]
fn speed_1_is_the_default_for_every_policy() {
    for market in ["none", "commodity", "bid"] {
        let words = [
            "replay", "--last", "200", "-q", "--market", market, "--format", "csv",
        ];
        let given = tollgate(&[&words[..], &["--speeds", "100*1,1"]].concat());
        assert_eq!(tollgate(&words).answer(), given.answer(), "{market}");
    }
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
fn paper_deadlines_warn_of_their_leak() {
    let words = ["replay", "--last", "100", "--policy", "easy", "--deadlines"];
    let leaks = |model| {
        let ran = tollgate(&[&words[..], &[model]].concat());
        ran.stderr.contains("what is unknown at submission")
    };
    assert!(leaks("paper"));
    assert!(!leaks("habit"));
}

#[test]
fn machine_without_a_header_is_as_large_as_its_peak_use() {
    let table = b"job_id,submit_s,runtime_s,procs,estimate_s,user,wait_s\n\
        1,0,100,3,100,ann,0\n2,10,100,4,100,bob,0\n3,20,100,2,100,ann,90\n";
    let table = file("peak.csv", table);
    let of = |words: &[&str]| {
        let all = ["replay", table, "--policy", "easy", "--format", "json"];
        let ran = tollgate(&[&all[..], words].concat());
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        (json["settings"]["nodes"].clone(), ran.stderr)
    };
    let (nodes, notes) = of(&[]);
    assert_eq!(nodes, 7);
    assert!(notes.contains("the most that ran jobs at once"), "{notes}");
    assert!(notes.contains("the offered load is 643 %"), "{notes}");
    assert_eq!(of(&["--nodes", "+5"]).0, 12);
    assert_eq!(of(&["--nodes", "9"]).0, 9);
}

#[test]
fn several_machines_and_seeds() {
    let words = [
        "replay",
        "--last",
        "200",
        "--policy",
        "edf-bf,libra",
        "--nodes",
    ];
    let csv = [
        &words[..],
        &["64,+0,+64", "-q", "--seeds", "3", "--format", "csv"],
    ]
    .concat();
    let refused = tollgate(&csv);
    assert_eq!(refused.code, Some(2), "{refused}");
    let csv = [
        &words[..],
        &["64,+64", "-q", "--seeds", "3", "--format", "csv"],
    ]
    .concat();
    let csv = tollgate(&csv).answer();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let head = rows.headers().unwrap().clone();
    let at = |key: &str| head.iter().position(|column| column == key).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let nodes: Vec<&str> = rows.iter().map(|row| &row[at("nodes")]).collect();
    assert_eq!(nodes, ["64", "64", "192", "192"]);
    let number = |row: &csv::StringRecord, key| row[at(key)].parse::<f64>().unwrap();
    for row in &rows {
        let apart = (number(row, "sla_pct") - number(row, "sla_pct_mean")).abs();
        assert!(apart <= 3.0 * number(row, "sla_pct_deviation"), "{row:?}");
    }
    let table = tollgate(&[&words[..], &["64,128", "-q", "--seeds", "2"]].concat()).answer();
    assert!(
        table.contains("on 64 nodes\n") && table.contains("on 128 nodes\n"),
        "{table}"
    );
    assert!(table.contains("over all seeds"), "{table}");
}

#[test]
fn part_of_a_record_can_be_selected() {
    let table = b"job_id,submit_s,runtime_s,procs,estimate_s,user,queue\n\
        1,0,1,1,1,ann,long\n2,10,1,1,1,bob,short\n3,20,1,1,1,ann,short\n4,30,1,1,1,ann,short\n";
    let table = file("part.csv", table);
    let jobs = |words: &[&str]| {
        let all = [
            "replay", table, "-q", "--policy", "easy", "--format", "json",
        ];
        let json = tollgate(&[&all[..], words].concat()).answer();
        serde_json::from_str::<Value>(&json).unwrap()["workload"]["jobs"].clone()
    };
    assert_eq!(jobs(&["--user", "ann"]), 3);
    assert_eq!(jobs(&["--queue", "short", "--first", "2"]), 2);
    assert_eq!(jobs(&["--start", "10", "--end", "30"]), 2);
    let none = tollgate(&["replay", table, "--user", "eve"]);
    assert_eq!(none.code, Some(2), "{none}");
    let words = [
        "trace", "convert", table, "--to", "csv", "-q", "--user", "bob",
    ];
    let csv = tollgate(&words).answer();
    assert!(csv.lines().count() == 2 && csv.contains("bob"), "{csv}");
}

#[test]
fn page_begins_with_the_answer() {
    let words = [
        "replay",
        "--last",
        "100",
        "-q",
        "--policy",
        "easy,libra",
        "--html",
        "answer.html",
    ];
    tollgate(&words).answer();
    let page = fs::read_to_string(folder().join("answer.html")).unwrap();
    let lead = page.split("<p class=\"lead\">").nth(1).unwrap();
    insta::assert_snapshot!(lead.split("</p>").next().unwrap());
}

#[test]
fn rows_of_jobs_can_be_compressed() {
    let words = [
        "replay",
        "-",
        "-q",
        "--policy",
        "easy",
        "--jobs-out",
        "rows.csv.gz",
    ];
    assert_eq!(tollgate_reading(&words, TABLE).code, Some(0));
    let bytes = fs::read(folder().join("rows.csv.gz")).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
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
            "replay",
            "--last",
            "300",
            "--policy",
            "libra",
            "--format",
            "json",
            "--deadlines",
            "paper",
        ];
        let json = tollgate(&[&words[..], &["-q", "--seed", seed]].concat()).answer();
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one["workload"], two["workload"]);
    assert_ne!(one["policies"], two["policies"]);
}

#[test]
fn calibration_of_a_policy_that_states_probabilities_and_of_one_that_does_not() {
    insta::assert_snapshot!(tollgate(&[
        "replay",
        "--last",
        "1000",
        "--policy",
        "plan,edf-bf",
        "--calibration",
        "--quiet"
    ]));
}

#[test]
fn calibration_in_json_has_a_statement_for_each_promise() {
    let words = ["replay", "--last", "500", "--policy", "plan", "--quiet"];
    let more = ["--calibration", "--format", "json"];
    let answer: Value = serde_json::from_str(&tollgate(&[&words[..], &more].concat()).answer())
        .expect("the answer is JSON");
    let plan = &answer["policies"][0];
    let bins = plan["calibration"].as_array().expect("bins");
    let of_jobs = bins.iter().filter(|bin| bin["of"] == "jobs");
    let promises: u64 = of_jobs.map(|bin| bin["promises"].as_u64().unwrap()).sum();
    let of = |key: &str| plan[key].as_u64().unwrap();
    assert_eq!(promises, of("accepted") - of("unpromised"));
    let csv = tollgate(&[&words[..], &["--calibration", "--format", "csv"]].concat());
    insta::assert_snapshot!(csv);
}

#[test]
fn array_is_one_promise_in_the_calibration() {
    let table = b"job_id,submit_s,runtime_s,procs,estimate_s,deadline_s\n\
        1,0,10,1,10,40\n1,0,10,1,10,40\n2,0,10,1,10,40\n";
    let words = [
        "replay",
        "-",
        "--policy",
        "plan",
        "--calibration",
        "--quiet",
    ];
    insta::assert_snapshot!(tollgate_reading(&words, table));
}

/// Two jobs that outlive their estimates, the second one late, and one that does not.
const OVERLONG: &[u8] = b"\
job_id,submit_s,runtime_s,procs,estimate_s,deadline_s,user
1,0,20,1,10,40,ann
2,0,20,1,15,12,bob
3,0,10,1,10,40,ann
";

#[test]
fn job_killed_at_its_limit_is_void_or_late() {
    let words = ["replay", "-", "--policy", "easy", "--nodes", "3"];
    insta::assert_snapshot!(tollgate_reading(&words, OVERLONG));
    let kill = [&words[..], &["--overrun", "kill", "--check"]].concat();
    insta::assert_snapshot!(tollgate_reading(&kill, OVERLONG));
}

#[test]
fn kill_at_the_limit_holds_for_every_policy() {
    let words = [
        "replay",
        "-",
        "--nodes",
        "3",
        "--overrun",
        "kill",
        "--quiet",
    ];
    let more = ["--format", "csv", "--check"];
    insta::assert_snapshot!(tollgate_reading(&[&words[..], &more].concat(), OVERLONG));
}

#[test]
fn results_by_user_and_by_size() {
    let words = ["replay", "-", "--policy", "easy", "--nodes", "3", "--quiet"];
    let by_user = [&words[..], &["--by", "user", "--format", "csv"]].concat();
    insta::assert_snapshot!(tollgate_reading(&by_user, OVERLONG));
    let by_size = ["replay", "--last", "300", "--policy", "plan,edf-bf"];
    let by_size = [&by_size[..], &["--by", "size", "--quiet"]].concat();
    insta::assert_snapshot!(tollgate(&by_size));
}

#[test]
fn windows_have_results_of_their_own_and_policies_a_risk_over_them() {
    let words = [
        "replay",
        "--last",
        "300",
        "--quiet",
        "--policy",
        "easy,edf-bf",
        "--windows",
    ];
    let json = tollgate(&[&words[..], &["3", "--format", "json"]].concat()).answer();
    let report: Value = serde_json::from_str(&json).expect("JSON");
    for policy in report["policies"].as_array().expect("policies") {
        let windows = policy["groups"].as_array().expect("windows");
        let submitted = windows.iter().map(|window| window["submitted"].as_u64());
        assert_eq!(submitted.collect::<Vec<_>>(), [Some(91); 3]);
        let sums = windows.iter().map(|window| window["fulfilled"].as_u64());
        assert_eq!(sums.sum::<Option<u64>>(), policy["fulfilled"].as_u64());
        let risk = &policy["risk"];
        let separate = risk["separate"].as_object().expect("objectives");
        assert_eq!(separate.len(), 3, "no market, no profitability");
        let mean = separate
            .values()
            .map(|risk| risk["performance"].as_f64().expect("a number"));
        let mean = mean.sum::<f64>() / 3.0;
        let all = risk["integrated"]["performance"]
            .as_f64()
            .expect("a number");
        assert!((mean - all).abs() < 1e-9, "{risk}");
    }
    insta::assert_snapshot!(tollgate(&[&words[..], &["2"]].concat()));
    let many = tollgate(&[&words[..], &["28"]].concat());
    assert!(
        many.stderr
            .contains("28 windows need at least 280 jobs, and the record has 273")
    );
}

#[test]
fn treatments_of_unpredictable_jobs_are_compared() {
    // A user whose jobs take seconds or half a day, and one whose jobs take ten minutes each.
    let job = |number: i64| {
        let (user, run) = match number % 4 {
            0 => (1, 5),
            2 => (1, 43_000),
            _ => (2, 600),
        };
        let submit = number * 20_000;
        format!("{number} {submit} 0 {run} 1 -1 -1 1 50000 -1 1 {user} 1 -1 1 -1 -1 -1\n")
    };
    let jobs: String = (0..60).map(job).collect();
    let treatments = ["--unpredictable", "none,limit:4h,no-promise,dedicated:1"];
    let words = ["replay", "-", "--nodes", "3", "--policy", "plan", "-q"];
    let words = [words.as_slice(), &treatments].concat();
    insta::assert_snapshot!(tollgate_reading(&words, jobs.as_bytes()));
    let words = [
        "replay",
        "--policy",
        "easy",
        "--unpredictable",
        "dedicated:16",
        "-q",
    ];
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn job_gets_the_processors_that_its_memory_needs() {
    // By processor and in KiB: jobs that fit, need three nodes for their memory, need eight of four, and ask for five.
    let jobs = [
        (1, 524_288),
        (1, 3_145_728),
        (2, 4_194_304),
        (5, 1),
        (4, -1),
    ];
    let jobs = jobs.into_iter().enumerate().map(|(n, (procs, memory))| {
        let (submit, n) = (10 * n, n + 1);
        format!("{n} {submit} 0 600 {procs} -1 -1 {procs} 900 {memory} 1 {n} 1 -1 1 -1 -1 -1\n")
    });
    let record = format!("; MaxProcs: 4\n{}", jobs.collect::<String>());
    let words = [
        "replay",
        "-",
        "--policy",
        "easy,libra",
        "--deadlines",
        "class",
    ];
    let with = |more: &[&'static str]| {
        let words = [words.as_slice(), more].concat();
        tollgate_reading(&words, record.as_bytes())
    };
    insta::assert_snapshot!(with(&["--node-memory", "1G"]));
    let rows = with(&["--node-memory", "1G", "--jobs-out", "/dev/stdout", "-q"]).answer();
    let rows = rows.lines().filter(|line| line.starts_with("easy,"));
    let nodes = rows.map(|row| row.split(',').nth(7).unwrap().to_owned());
    assert_eq!(nodes.collect::<Vec<_>>(), ["0", "1-3", "", "", "0-3"]);
    let json = with(&["--node-memory", "1G", "--format", "json", "-q"]).answer();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["workload"]["jobs_widened"], 2);
    assert_eq!(json["settings"]["node_memory_bytes"], 1 << 30);
    assert_eq!(json["policies"][0]["rejected_by_reason"]["no_memory"], 1);
    // Nodes that hold every job change nothing.
    let ample = with(&["--node-memory", "1T", "-q"]).answer();
    assert_eq!(ample, with(&["-q"]).answer());
    insta::assert_snapshot!(tollgate(&["replay", "--node-memory", "4G", "-q"]));
    insta::assert_snapshot!(tollgate(&["replay", "--node-memory", "0", "-q"]));
}

//! The program of this crate has every command of `tollgate`, with one more policy.

use std::fs;
use std::process::Command;

/// Five jobs on four nodes, and one that is too wide. Job 1 leaves one node free until 100 s, and
/// job 2 takes it until 60 s.
const JOBS: &str = "\
job_id,submit_s,runtime_s,procs,estimate_s
1,0,100,3,100
2,10,50,1,50
3,20,30,2,30
4,30,100,4,100
5,40,20,5,20
6,50,10,1,10
";

fn program(words: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_widest-first"))
        .args(words)
        .output()
        .expect("the program runs");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{words:?}: {errors}");
    String::from_utf8(run.stdout).expect("text")
}

/// Replays [`JOBS`]; returns the output, and the table of jobs.
fn replay(policy: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let [jobs, rows] = ["jobs.csv", "rows.csv"].map(|name| folder.path().join(name));
    fs::write(&jobs, JOBS).expect("a file");
    let [jobs, out] = [&jobs, &rows].map(|path| path.to_str().expect("text"));
    let text = program(&[
        "replay",
        jobs,
        "--nodes",
        "4",
        "--policy",
        policy,
        "--check",
        "--jobs-out",
        out,
    ]);
    (text, fs::read_to_string(&rows).expect("a table"))
}

/// Returns the start of each job, or its decision if it never starts.
fn starts(policy: &str) -> Vec<String> {
    let (_, rows) = replay(policy);
    let mut table = csv::Reader::from_reader(rows.as_bytes());
    let heads = table.headers().expect("a header").clone();
    let column = |name| {
        heads
            .iter()
            .position(|head| head == name)
            .expect("a column")
    };
    let (start, decision) = (column("start_s"), column("decision"));
    let rows = table.records().map(|row| row.expect("a row"));
    let cells = rows.map(|row| match &row[start] {
        "" => row[decision].to_owned(),
        start => start.to_owned(),
    });
    cells.collect()
}

#[test]
fn widest_waiting_job_starts_first() {
    // At 100 s job 4 takes all nodes although job 3 came before it; jobs 3 and 6 follow at 200 s.
    let expected = ["0", "10", "200", "100", "rejected", "200"];
    assert_eq!(starts("widest-first"), expected);
}

#[test]
fn narrow_job_overtakes_by_the_parameter() {
    // Job 6 takes the node that job 2 leaves at 60 s.
    let expected = ["0", "10", "200", "100", "rejected", "60"];
    assert_eq!(starts("widest-first:overtake=true"), expected);
}

#[test]
fn refusal_of_the_policy_is_shown() {
    let (text, rows) = replay("widest-first:max-hours=0,easy");
    assert!(text.contains("estimate"), "{text}");
    assert!(text.contains("too long"), "{text}");
    assert!(rows.contains(",rejected,estimate_too_long,"), "{rows}");
    assert!(rows.contains(",rejected,too_many_procs,"), "{rows}");
}

#[test]
fn schedule_of_the_embedded_workload_is_possible() {
    let rows = program(&[
        "replay",
        "--policy",
        "easy,widest-first",
        "--check",
        "--format",
        "csv",
    ]);
    let policies: Vec<&str> = rows
        .lines()
        .skip(1)
        .filter_map(|row| row.split(',').next())
        .collect();
    assert_eq!(policies, ["easy", "widest-first"]);
}

#[test]
fn policy_is_listed_behind_the_builtin_ones() {
    let names = program(&["policies", "--quiet"]);
    assert_eq!(names.lines().last(), Some("widest-first"));
    let text = program(&["policies", "widest-first"]);
    assert!(text.contains("overtake=false"), "{text}");
}

#[test]
fn program_in_python_gives_the_same_schedule() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../exec-policy/widest_first.py"
    );
    let asked = format!("exec:python3 {script}");
    let schedule = |policy: &str| {
        let folder = tempfile::tempdir().expect("a directory");
        let rows = folder.path().join("rows.csv");
        let out = rows.to_str().expect("text");
        let words = [
            "replay",
            "--last",
            "300",
            "--arrival-factor",
            "0.2",
            "--check",
        ];
        program(&[&words[..], &["--policy", policy, "--jobs-out", out]].concat());
        let rows = fs::read_to_string(&rows).expect("a table");
        // The first column, up to the first comma, is the policy.
        let rows = rows
            .lines()
            .map(|row| row.split_once(',').expect("a row").1);
        rows.map(str::to_owned).collect::<Vec<String>>()
    };
    let expected = schedule("widest-first");
    assert!(expected.len() > 100, "{} rows", expected.len());
    assert_eq!(schedule(&asked), expected);
}

//! `tollgate site simulate`.

use crate::program::{ProgramOutput, file, tollgate};

/// Two jobs of others on four processors: the second one waits for the first.
const QUEUE: &str = "; MaxProcs: 4\n\
1 0 0 7200 4 -1 -1 4 7200 -1 1 1 1 1 1 -1 -1 -1\n\
2 60 0 3600 4 -1 -1 4 7200 -1 1 1 1 1 1 -1 -1 -1\n";

fn simulate(queue: &'static str, more: &[&'static str]) -> ProgramOutput {
    let mut words = vec!["site", "simulate", queue, "--skip", "1h", "--tasks", "8"];
    words.extend([
        "--within",
        "10m",
        "--cores",
        "2",
        "--run",
        "1m..5m",
        "--deadline",
        "4h..5h",
    ]);
    words.extend(more);
    tollgate(&words)
}

#[test]
fn policies_are_compared_on_a_recorded_queue() {
    let queue = file("pilot-queue.swf", QUEUE.as_bytes());
    let table = simulate(queue, &["--release", "60s,never", "--migrate", "marginal"]);
    insta::assert_snapshot!("table", table);
    let one = [
        "--acquire",
        "work",
        "--release",
        "15s",
        "--format",
        "json",
        "-q",
    ];
    insta::assert_snapshot!("json", simulate(queue, &one));
}

#[test]
fn figures_depend_on_the_seeds_alone() {
    let run = |threads: &'static str, seed: &'static str| {
        let words = [
            "site",
            "simulate",
            "--tasks",
            "20",
            "--release",
            "60s",
            "--format",
            "csv",
        ];
        let more = ["-q", "--seeds", "2", "--threads", threads, "--seed", seed];
        tollgate(&[&words[..], &more].concat())
    };
    let first = run("1", "1");
    assert_eq!(first.code, Some(0), "{first}");
    assert_eq!(run("2", "1"), first);
    assert_ne!(run("2", "2"), first);
}

#[test]
fn illegal_values_are_rejected_with_the_expected_ones() {
    let queue = file("pilot-queue.swf", QUEUE.as_bytes());
    let wrong = [
        ["--run", "5m..1m"],
        ["--run", "5m"],
        ["--burst", "0.5"],
        ["--time", "0s"],
        ["--release", "soon"],
        ["--acquire", "some"],
        ["--migrate", "papre"],
    ];
    let errors =
        wrong.map(|[flag, value]| tollgate(&["site", "simulate", queue, flag, value]).to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

//! `tollgate campus`.

use crate::program::{file, tollgate};

/// Two finished tasks and one cancelled task, from Tuesday 2010-03-02.
const HISTORY: &str = "\
ClusterId = 1\nQDate = 1267524000\nJobStatus = 4\nJobStartDate = 1267524060\n\
JobCurrentStartDate = 1267524060\nCompletionDate = 1267524660\nRemoteWallClockTime = 600.0\n\n\
ClusterId = 2\nQDate = 1267524000\nJobStatus = 4\nJobStartDate = 1267524060\n\
JobCurrentStartDate = 1267524060\nCompletionDate = 1267531260\nRemoteWallClockTime = 7200.0\n\n\
ClusterId = 3\nQDate = 1267524000\nJobStatus = 3\nJobStartDate = 1267524060\n\
EnteredCurrentStatus = 1267610460\nRemoteWallClockTime = 86400.0\n\n";

const LOGINS: &str = "computer,login,logout\na,1267524000,1267527600\nb,1267525000,\n";

#[test]
fn campus_replay_of_given_records() {
    let history = file("campus-history", HISTORY.as_bytes());
    let logins = file("campus-logins.csv", LOGINS.as_bytes());
    let words = |more: &[&'static str]| {
        let mut words = vec!["campus", history, "--logins", logins];
        words.extend(more);
        tollgate(&words)
    };
    let ran = words(&["--retry", "n2:0", "--retry", "x0", "--select", "c1,c2"]);
    insta::assert_snapshot!("own-records-table", ran);
    let ran = words(&[
        "--retry", "n2:0", "--select", "c2", "--format", "json", "-q",
    ]);
    insta::assert_snapshot!("own-records-json", ran);
}

#[test]
fn campus_without_records_is_synthetic() {
    let ran = tollgate(&[
        "campus",
        "--scale",
        "0.01",
        "--retry",
        "p1:99",
        "--retry",
        "d2:3,90h+a1:1h",
        "--format",
        "csv",
    ]);
    insta::assert_snapshot!(ran);
}

#[test]
fn replay_in_the_world_campus_has_the_answer_of_campus() {
    let flags = ["--scale", "0.01", "--retry", "n1:2", "--seed", "7"];
    let run = |words: &[&'static str]| tollgate(&[words, &flags].concat());
    let campus = run(&["campus"]);
    assert_eq!(campus.code, Some(0), "{campus}");
    assert_eq!(run(&["replay", "--world", "campus"]), campus);
    assert_eq!(run(&["replay", "--world=campus"]), campus);
}

#[test]
fn invalid_campus_options_are_rejected() {
    for (name, words) in [
        (
            "cluster-option-of-campus",
            &["campus", "--policy", "easy"][..],
        ),
        ("campus-option-of-replay", &["replay", "--retry", "n2:3"]),
        ("no-policy", &["campus", "--retry", "n2:many"]),
        ("no-choice", &["campus", "--select", "c9"]),
        ("one-record", &["campus", "--logins", "logins.csv"]),
        ("too-large", &["campus", "--scale", "-1"]),
    ] {
        insta::assert_snapshot!(name, tollgate(words));
    }
}

#[test]
fn campus_policies_are_listed() {
    insta::assert_snapshot!(tollgate(&["policies", "--world", "campus"]));
}

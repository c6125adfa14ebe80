//! `tollgate replay --gantt`: a picture of one policy's schedule.

use std::fs;

use crate::program::{folder, tollgate};

#[test]
fn the_schedule_of_a_policy_is_drawn() {
    let file = folder().join("schedule.svg");
    let name = file.to_str().unwrap();
    let words = [
        "replay", "--last", "300", "--policy", "edf-bf", "--gantt", name,
    ];
    tollgate(&words).answer();
    let svg = fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("edf-bf: ") && svg.contains("<title>job "));
}

#[test]
fn two_schedules_share_a_picture() {
    let file = folder().join("both.svg");
    let name = file.to_str().unwrap();
    let words = ["replay", "--last", "300", "--policy", "edf-bf,libra"];
    tollgate(&[&words[..], &["--gantt", name]].concat()).answer();
    let svg = fs::read_to_string(&file).unwrap();
    assert!(svg.contains("edf-bf and libra: ") && svg.contains(">libra</text>"));
    let axes = svg.matches(">day 1</text>").count();
    assert_eq!(axes, 2, "the schedules have the same time axis");
}

#[test]
fn chart_of_three_policies_is_rejected() {
    let ran = tollgate(&[
        "replay",
        "--policy",
        "edf,fcfs,easy",
        "--gantt",
        "never.svg",
    ]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(
        ran.stderr
            .contains("--gantt: expected one policy or two, got 3\nhint: choose those"),
        "{ran}"
    );
    assert!(!folder().join("never.svg").exists());
}

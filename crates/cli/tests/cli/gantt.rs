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
fn chart_of_several_policies_is_rejected() {
    let ran = tollgate(&["replay", "--policy", "edf,fcfs", "--gantt", "never.svg"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(
        ran.stderr
            .contains("--gantt: expected one policy, got 2\nhint: choose the one"),
        "{ran}"
    );
    assert!(!folder().join("never.svg").exists());
}

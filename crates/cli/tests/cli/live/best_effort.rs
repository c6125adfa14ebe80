//! Jobs whose deadlines cannot be promised, from submission to end.

use super::site::ClientTestSite;

/// One node, which the first job keeps.
const ONE_NODE: &str = "[local]\nnodes = 1\n";

fn occupied() -> ClientTestSite {
    let site = ClientTestSite::start(ONE_NODE);
    let first = [
        "submit", "-q", "-e", "1h", "-d", "+2h", "--", "sleep", "600",
    ];
    site.tollgate(&first).answer();
    site
}

#[test]
fn job_that_cannot_be_promised_runs_and_is_shown_without_a_promise() {
    let site = occupied();
    let job = ["-e", "30s", "-d", "+2m", "--", "true"];
    for command in ["quote", "submit"] {
        let answer = site.tollgate(&[&[command], &job[..]].concat()).answer();
        assert!(answer.contains(": not promised: "), "{answer}");
        assert!(!answer.contains("  deadline  "), "{answer}");
    }
    let listed = site.tollgate(&["jobs", "-q"]).answer();
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["2", "1"]);
    let explained = site.tollgate(&["explain", "2"]).answer();
    assert!(explained.contains("without a promise: "), "{explained}");
    assert!(
        !explained.contains("no_room"),
        "a key is not a word: {explained}"
    );
    assert!(
        explained.contains("  deadline  not promised; in time with probability "),
        "{explained}"
    );
    let decided = site.tollgate(&["wait", "--decision", "2"]);
    assert_eq!(decided.code, Some(0), "{decided:?}");
    site.tollgate(&["cancel", "1"]).answer();
    let ended = site.tollgate(&["wait", "2"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn requested_probability_rejects_a_job_that_cannot_have_it() {
    let site = occupied();
    let job = ["-e", "30s", "-d", "+2m", "--", "true"];
    for (flags, code) in [
        (&["--at-least", "0.8"][..], 3),
        (&["--confidence", "0.9"], 3),
        (&["--otherwise", "reject"], 3),
        (&["--at-least", "0.8", "--otherwise", "run"], 0),
        // Below the least that a service promises, which is 0.5 by default.
        (&["--at-least", "0.2"], 2),
    ] {
        for command in ["quote", "submit"] {
            let answer = site.tollgate(&[&[command], flags, &job[..]].concat());
            assert_eq!(answer.code, Some(code), "{command} {flags:?}: {answer:?}");
        }
    }
}

#[test]
fn jobs_wait_for_a_promise_by_the_settings_of_the_service() {
    let settings = format!("{ONE_NODE}[promise]\notherwise = \"wait\"\n");
    let site = ClientTestSite::start(&settings);
    let first = [
        "submit", "-q", "-e", "1h", "-d", "+2h", "--", "sleep", "600",
    ];
    site.tollgate(&first).answer();
    let answer = [
        "submit", "--format", "json", "-e", "30s", "-d", "+2m", "--", "true",
    ];
    let answer = site.tollgate(&answer).json();
    assert_eq!(answer["decision"], "waitlisted", "{answer}");
}

//! `tollgate signal`: running jobs that handle signals, and jobs that get none.

use std::fs;

use super::site::ClientTestSite;

/// Says that it is ready, and ends with 3 once it gets SIGUSR1.
const HANDLER: &str =
    "trap 'exit 3' USR1; echo > ready.$TOLLGATE_TASK; while :; do sleep 0.05; done";

#[test]
fn running_job_handles_a_signal_and_others_get_none() {
    let site = ClientTestSite::start("policy = \"fcfs\"\n");
    let submit = |words: &[&str]| {
        let words = [&["submit", "-q", "-e", "1s"], words].concat();
        site.tollgate(&words).answer();
    };
    submit(&["--", "sh", "-c", HANDLER]);
    submit(&["--hold", "--", "true"]);
    let ready = |task: &str| site.folder().join(format!("ready.{task}")).exists();
    site.until("the job is ready", || ready("0"));
    let sent = site.tollgate(&["signal", "usr1", "1"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert_eq!(sent.stderr, "note: job 1 signalled\n");
    assert_eq!(site.tollgate(&["wait", "-q", "1"]).code, Some(3));
    for (words, code, expected) in [
        (&["USR1", "1"][..], 1, "the job is over"),
        (&["USR1", "2"], 1, "the job does not run"),
        (&["USR1", "99"], 1, "error: job 99: no such job"),
        (&["KILL", "2"], 2, "`tollgate cancel` ends jobs"),
        (&["SIGSTOP", "2"], 2, "a stopped job would use up its time"),
        (&["USR7", "2"], 2, "expected one of HUP, INT, QUIT"),
        (&["USR1"], 2, "<ID>"),
    ] {
        let refused = site.tollgate(&[&["signal"], words].concat());
        assert_eq!(refused.code, Some(code), "{words:?}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{words:?}: {refused:?}");
    }
    submit(&["-a", "1-2", "--", "sh", "-c", HANDLER]);
    site.until("a task is ready", || ready("1"));
    site.tollgate(&["signal", "USR1", "3_1"]).answer();
    site.until("the other task is ready", || ready("2"));
    let all = site.tollgate(&["signal", "USR1", "--all"]);
    assert_eq!(all.stderr, "note: 1 job signalled\n", "{all:?}");
    assert_eq!(site.tollgate(&["wait", "-q", "3"]).code, Some(3));
}

#[test]
fn errors_of_a_job_are_shown_by_logs() {
    let site = ClientTestSite::start("");
    let script = "echo out; echo oops >&2; echo $0 >&2";
    let words = [
        "submit", "-q", "-e", "1s", "--error", "err.%j", "--", "sh", "-c", script, "job",
    ];
    site.tollgate(&words).answer();
    site.tollgate(&["submit", "-q", "-e", "1s", "--", "echo", "plain"])
        .answer();
    let _ = site.tollgate(&["wait", "-q", "1", "2"]);
    assert_eq!(site.tollgate(&["logs", "1"]).answer(), "out\n");
    assert_eq!(
        site.tollgate(&["logs", "--error", "1"]).answer(),
        "oops\njob\n"
    );
    assert_eq!(
        site.tollgate(&["logs", "-f", "--error", "1"]).answer(),
        "oops\njob\n"
    );
    let none = site.tollgate(&["logs", "--error", "2"]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(
        none.stderr
            .contains("job 2 has no file of its own for errors"),
        "{none:?}"
    );
    fs::remove_file(site.folder().join("err.1")).expect("it was written");
}

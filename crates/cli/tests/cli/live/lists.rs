//! `tollgate jobs`: limits, columns, order, failed jobs; and the counts of jobs that are changed.

use super::site::ClientTestSite;

/// One job uses every node, so that other jobs wait.
const IN_TURN: &str = "policy = \"easy\"\n";

fn submit(site: &ClientTestSite, words: &[&str]) -> String {
    let answer = site.tollgate(&[&["submit", "-q"], words].concat()).answer();
    answer.trim().to_owned()
}

#[test]
fn list_cut_by_its_limit_has_a_note() {
    let site = ClientTestSite::start(IN_TURN);
    for _ in 0..3 {
        submit(&site, &["--hold", "-e", "1s", "--", "true"]);
    }
    let array = submit(&site, &["--hold", "-a", "1-9", "-e", "1s", "--", "true"]);
    for (words, note) in [
        (&["jobs"][..], "latest 2 jobs"),
        (&["jobs", &array], "first 2 tasks"),
        (&["jobs", "--all", "-q"], "latest 2 jobs"),
    ] {
        let cut = site.tollgate(&[words, &["--limit", "2"]].concat());
        assert!(cut.stderr.contains(note), "{words:?}: {cut:?}");
        let whole = site.tollgate(&[words, &["--limit", "9"]].concat());
        assert_eq!(whole.stderr, "", "{words:?}");
    }
    let json = |limit: &str| {
        let words = ["jobs", "--limit", limit, "--format", "json"];
        site.tollgate(&words).json()
    };
    assert_eq!(json("3")["more"], true);
    assert_eq!(json("4")["more"], serde_json::Value::Null);
}

#[test]
fn jobs_are_listed_by_the_outcome_of_their_promises() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    let kept = submit(&site, &["-e", "1s", "--deadline", "+1h", "--", "true"]);
    let late = ["-e", "0.5s", "--deadline", "+2s", "--", "sleep", "60"];
    let late = submit(&site, &late);
    let none = submit(&site, &["-e", "1s", "--", "true"]);
    site.tollgate(&["wait", &kept, &none]).answer();
    let listed = |promise: &str| {
        let words = ["jobs", "-q", "--promise", promise];
        site.tollgate(&words).answer()
    };
    site.until("a promise is broken", || !listed("broken").is_empty());
    assert_eq!(listed("broken"), format!("{late}\n"));
    assert_eq!(listed("kept"), format!("{kept}\n"));
    assert_eq!([listed("void"), listed("at_risk")], ["", ""]);
    let all = ["jobs", "-q", "--all", "--promise", "none"];
    assert_eq!(site.tollgate(&all).answer(), format!("{none}\n"));
}

#[test]
fn columns_and_order_are_chosen_by_name() {
    let site = ClientTestSite::start(IN_TURN);
    for (name, estimate) in [("b", "30s"), ("c", "10s"), ("a", "2m")] {
        submit(
            &site,
            &["--hold", "--name", name, "-e", estimate, "--", "true"],
        );
    }
    let csv = |words: &[&str]| {
        let words = [&["jobs", "--format", "csv", "--columns"], words].concat();
        site.tollgate(&words).answer()
    };
    assert_eq!(csv(&["id,name"]), "id,name\n3,a\n2,c\n1,b\n");
    assert_eq!(csv(&["name", "--sort", "name"]), "name\na\nb\nc\n");
    assert_eq!(
        csv(&["estimate_s", "--sort", "-estimate_s"]),
        "estimate_s\n120\n30\n10\n"
    );
    // A job that never started comes last in both directions.
    assert_eq!(csv(&["id", "--sort", "started"]), "id\n3\n2\n1\n");
    let table = site.tollgate(&["jobs", "--columns", "name,estimate", "--sort", "id"]);
    assert_eq!(
        table.answer(),
        " name   estimate\n─────────────────\n b      30s\n c      10s\n a      2m\n"
    );
    for (words, expected) in [
        (
            &["jobs", "--columns", "nam"][..],
            "possible values: id, user_id",
        ),
        (&["jobs", "--sort", "nam"], "expected one of id, user_id"),
        (
            &["jobs", "--columns", "id", "--format", "json"],
            "JSON has every field",
        ),
        (&["jobs", "-q", "--format", "json"], "cannot be used with"),
    ] {
        let wrong = site.tollgate(words);
        assert_eq!(wrong.code, Some(2), "{words:?}: {wrong:?}");
        assert!(wrong.stderr.contains(expected), "{words:?}: {wrong:?}");
    }
}

#[test]
fn failed_jobs_and_tasks_are_listed() {
    let site = ClientTestSite::start("");
    let line = "case $TOLLGATE_TASK in 2) exit 3;; 4) kill -9 $$;; 6) sleep 60;; esac";
    let array = submit(
        &site,
        &["-a", "1-6", "-t", "2s", "-e", "1s", "--", "sh", "-c", line],
    );
    let good = submit(&site, &["-e", "1s", "--", "true"]);
    let bad = submit(&site, &["-e", "1s", "--", "false"]);
    for id in [&array, &good, &bad] {
        site.tollgate(&["wait", id]);
    }
    let failed = site.tollgate(&["jobs", &array, "--failed", "-q"]).answer();
    assert_eq!(failed, format!("{array}_2\n{array}_4\n{array}_6\n"));
    let some = format!("{array}_1-4");
    let failed = site.tollgate(&["jobs", &some, "--failed", "-q"]).answer();
    assert_eq!(failed, format!("{array}_2\n{array}_4\n"));
    let failed = site.tollgate(&["jobs", "--failed", "-q"]).answer();
    assert_eq!(failed, format!("{bad}\n{array}\n"));
}

#[test]
fn jobs_that_are_changed_are_counted() {
    let site = ClientTestSite::start(IN_TURN);
    for _ in 0..4 {
        submit(&site, &["--hold", "-e", "1s", "--", "true"]);
    }
    for (words, note) in [
        (&["release", "1"][..], "note: job 1 released\n"),
        (&["hold", "3-9"], "note: 0 jobs held\n"),
        (&["cancel", "2", "3"], "note: 2 jobs cancelled\n"),
        (&["cancel", "--all"], "note: 1 job cancelled\n"),
    ] {
        if words[0] == "cancel" {
            site.tollgate(&["wait", "1"]).answer();
        }
        let changed = site.tollgate(words);
        assert_eq!(
            (changed.code, changed.stderr.as_str()),
            (Some(0), note),
            "{words:?}"
        );
    }
}

#[test]
fn table_on_a_terminal_has_its_width_and_colours() {
    let site = ClientTestSite::start(IN_TURN);
    let name = "a-name-that-is-longer-than-the-narrow-terminal-of-this-test";
    submit(&site, &["--hold", "--name", name, "-e", "1s", "--", "true"]);
    let piped = site.tollgate(&["jobs"]).answer();
    assert!(piped.contains(name) && !piped.contains('\u{1b}'), "{piped}");
    // `script` runs the command on a terminal of its own.
    let line = "script -qec 'stty rows 24 cols 90; TERM=xterm tollgate jobs' /dev/null";
    let shown = site.shell(line).answer();
    assert!(!shown.contains(name), "{shown}");
    assert!(shown.contains("\u{1b}[33mheld\u{1b}[0m"), "{shown}");
    let width = |line: &str| console::measure_text_width(line.trim_end());
    assert!(shown.lines().all(|line| width(line) <= 90), "{shown}");
    let plain = site.shell(&line.replace("TERM=xterm", "NO_COLOR=1 TERM=xterm"));
    assert!(!plain.answer().contains('\u{1b}'));
}

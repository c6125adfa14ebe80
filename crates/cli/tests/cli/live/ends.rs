//! Jobs that end at a limit: of time, of memory, of output.

use std::fs;

use tollgate_needs::{Need, lacks};

use super::site::ClientTestSite;

/// Lists what users and other programs see of job `id`.
fn state(site: &ClientTestSite, id: &str) -> String {
    let explained = site.tollgate(&["explain", id, "--format", "json"]).json();
    explained["job"]["state"].as_str().unwrap().to_owned()
}

fn submit(site: &ClientTestSite, words: &[&str]) -> String {
    let options = ["submit", "-q", "--estimate", "1s"];
    let answer = site.tollgate(&[&options, words].concat()).answer();
    answer.trim().to_owned()
}

/// Returns the status of the only job in the site's record.
fn exported_status(site: &ClientTestSite) -> String {
    let file = site.folder().join("jobs.csv");
    let words = ["export", "jobs", "--out", file.to_str().unwrap()];
    site.tollgate(&words).answer();
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let column = lines.next().unwrap().split(',');
    let column = column.clone().position(|name| name == "status").unwrap();
    let first = lines.next().unwrap();
    first.split(',').nth(column).unwrap().to_owned()
}

#[test]
fn failed_job_is_tried_again_and_every_try_is_shown() {
    let site = ClientTestSite::start("");
    let script = "echo try >> tries; echo $TOLLGATE_ATTEMPT; test $(wc -l < tries) -ge 3";
    let dir = site.folder().join("work");
    fs::create_dir(&dir).unwrap();
    let words = [
        "--dir",
        dir.to_str().unwrap(),
        "-o",
        "out",
        "-d",
        "+1h",
        "--retries",
        "5",
    ];
    let job = submit(&site, &[&words[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(site.tollgate(&["wait", &job]).code, Some(0));
    assert_eq!(
        fs::read_to_string(dir.join("tries"))
            .unwrap()
            .lines()
            .count(),
        3
    );
    // Each try appends to the output.
    assert_eq!(
        fs::read_to_string(dir.join("out")).unwrap().lines().count(),
        3
    );
    let explained = site.tollgate(&["explain", &job, "--format", "json"]).json();
    assert_eq!(explained["job"]["attempts"], 3, "{explained}");
    assert_eq!(explained["job"]["retries"], "5", "{explained}");
    assert_eq!(explained["job"]["promise"], "kept", "{explained}");
    let words = explained["words"].to_string();
    assert!(
        words.contains("attempt 1: exit 1 after") && words.contains("attempt 2: exit 1 after"),
        "{words}"
    );
    let listed = site.tollgate(&["jobs", &job]).answer();
    assert!(listed.contains("attempts"), "{listed}");
    assert_eq!(
        site.tollgate(&["jobs", &job, "--failed", "-q"]).answer(),
        ""
    );
    let failing = submit(&site, &["--retries", "1:7", "--", "sh", "-c", "exit 7"]);
    assert_eq!(site.tollgate(&["wait", &failing]).code, Some(7));
    assert_eq!(
        site.tollgate(&["jobs", &failing, "--failed", "-q"])
            .answer(),
        format!("{failing}\n")
    );
    let refused = site.tollgate(&["submit", "--retries", "3:lost", "--", "true"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("as in 3 or 3:75,timed_out"),
        "{refused:?}"
    );
}

#[test]
fn failed_tasks_are_submitted_again_with_everything_but_the_deadline() {
    let site = ClientTestSite::start("");
    let dir = site.folder().join("work");
    fs::create_dir(&dir).unwrap();
    let script = dir.join("job.sh");
    let lines = "#!/bin/sh\n#TOLLGATE -a 1-6 --name sweep --account p17 -e 2s -t 3s -d +1h\n\
                 case $TOLLGATE_TASK in 2) exit 3;; 5) test -e fixed || exec sleep 60;; esac\n\
                 echo $GREETING $TOLLGATE_TASK\n";
    fs::write(&script, lines).unwrap();
    let words = [
        "submit",
        "-q",
        "--env",
        "GREETING=hello",
        "--dir",
        dir.to_str().unwrap(),
    ];
    let words = [&words[..], &["-o", "%j-%a", "--", script.to_str().unwrap()]].concat();
    let first = site.tollgate(&words).answer().trim().to_owned();
    assert_ne!(site.tollgate(&["wait", "-q", &first]).code, Some(0));
    // The job runs the script as it was submitted.
    fs::write(&script, "#!/bin/sh\nexit 9\n").unwrap();
    fs::write(dir.join("fixed"), "").unwrap();
    let again = site
        .tollgate(&["submit", "--failed-of", &first, "--format", "json"])
        .json();
    let second = again["id"].to_string();
    assert_eq!(again["deadline_at"], serde_json::Value::Null, "{again}");
    assert_eq!(site.tollgate(&["wait", "-q", &second]).code, Some(3));
    let details = |job: &str| {
        let mut job = site.tollgate(&["explain", job, "--format", "json"]).json()["job"].take();
        job.as_object_mut().unwrap().retain(|name, _| {
            [
                "name",
                "account",
                "command",
                "dir",
                "time_limit_s",
                "estimate_s",
                "procs",
            ]
            .contains(&name.as_str())
        });
        job
    };
    assert_eq!(details(&first), details(&second));
    let tasks = site.tollgate(&["jobs", &second, "--format", "json"]).json();
    let numbers: Vec<&serde_json::Value> = tasks["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["task"])
        .collect();
    assert_eq!(numbers, [2, 5]);
    let output = fs::read_to_string(dir.join(format!("{second}-5"))).unwrap();
    assert_eq!(output, "hello 5\n");
    // A deadline may be given, and nothing else.
    let due = [
        "submit",
        "--failed-of",
        &second,
        "-d",
        "+2h",
        "--format",
        "json",
    ];
    assert!(site.tollgate(&due).json()["deadline_at"].is_string());
    let more = site.tollgate(&["submit", "--failed-of", &first, "-n", "2"]);
    assert_eq!(more.code, Some(2), "{more:?}");
    let fine = submit(&site, &["--", "true"]);
    site.tollgate(&["wait", &fine]).answer();
    for (job, expected) in [(fine.as_str(), "has not failed"), ("999", "no such job")] {
        let refused = site.tollgate(&["submit", "--failed-of", job]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
}

#[test]
fn failed_job_without_its_script_is_not_submitted_again() {
    let site = ClientTestSite::start("[limits]\nkept_bytes = 0\n");
    let script = site.folder().join("job.sh");
    fs::write(&script, "#!/bin/sh\nexit 4\n").unwrap();
    let job = submit(&site, &["--", script.to_str().unwrap()]);
    assert_eq!(site.tollgate(&["wait", "-q", &job]).code, Some(4));
    let refused = site.tollgate(&["submit", "--failed-of", &job]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("its script is no longer kept"),
        "{refused:?}"
    );
    // A program is named in the row, so a job without texts of its own is submitted again.
    let plain = submit(&site, &["--", "false"]);
    assert_eq!(site.tollgate(&["wait", "-q", &plain]).code, Some(1));
    let again = site.tollgate(&["submit", "--failed-of", &plain]);
    assert!(
        again.code == Some(0) || again.stderr.contains("environment is no longer kept"),
        "{again:?}"
    );
}

#[test]
fn job_that_traps_the_signal_and_exits_0_at_its_time_limit_has_timed_out() {
    let site = ClientTestSite::start("");
    let script = "trap 'exit 0' TERM; sleep 600 & wait";
    let words = ["--deadline", "+1h", "--time-limit", "2s", "--", "sh", "-c"];
    let job = submit(&site, &[&words[..], &[script]].concat());
    let dependent = submit(&site, &["--after", &job, "--", "true"]);
    let any = format!("any:{job}");
    let any = submit(&site, &["--after", &any, "--", "true"]);
    let waited = site.tollgate(&["wait", &job]);
    assert_eq!(waited.code, Some(124), "{waited:?}");
    assert_eq!(waited.stdout, format!("job {job}: timed out exit 0\n"));
    assert_eq!(site.tollgate(&["wait", &dependent]).code, Some(1));
    assert_eq!(site.tollgate(&["wait", &any]).code, Some(0));
    let why = site.tollgate(&["explain", &dependent]).answer();
    let reached = format!("cancelled: job {job}, which it depends on, reached its time limit");
    assert!(why.contains(&reached), "{why}");
    let explained = site.tollgate(&["explain", &job, "--format", "json"]).json();
    assert_eq!(explained["job"]["state"], "timed_out");
    assert_eq!(explained["job"]["promise"], "void");
    assert_eq!(explained["job"]["exit_code"], 0);
    let words = explained["words"].to_string();
    assert!(
        words.contains("timed out: the job reached its time limit of 2 s"),
        "{words}"
    );
    let listed = |state: &str| {
        let words = ["jobs", "--state", state, "--quiet"];
        site.tollgate(&words).answer()
    };
    assert_eq!(listed("timed_out"), format!("{job}\n"));
    assert_eq!(listed("finished"), format!("{any}\n"));
    let table = site.tollgate(&["jobs", "--all"]).answer();
    assert!(table.contains("timed out, exit 0"), "{table}");
    assert_eq!(exported_status(&site), "timed_out");
}

#[test]
fn unknown_state_is_refused_with_those_that_there_are() {
    let site = ClientTestSite::start("");
    let refused = site.tollgate(&["jobs", "--state", "queuedd"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("timed_out"), "{}", refused.stderr);
}

#[test]
fn job_with_a_child_killed_for_memory_is_out_of_memory_at_any_exit_code() {
    let site = ClientTestSite::start("");
    let script = "python3 -c 'x = bytearray(200 << 20)'; exit 0";
    let words = ["--deadline", "+1h", "--mem", "50M", "--", "sh", "-c"];
    let job = submit(&site, &[&words[..], &[script]].concat());
    let waited = site.tollgate(&["wait", &job]);
    if state(&site, &job) == "finished" {
        lacks(Need::Cgroups, "memory is not limited by them");
        return;
    }
    assert_eq!(waited.code, Some(137), "{waited:?}");
    assert_eq!(waited.stdout, format!("job {job}: out of memory exit 0\n"));
    let explained = site.tollgate(&["explain", &job, "--format", "json"]).json();
    assert_eq!(explained["job"]["state"], "out_of_memory");
    assert_eq!(explained["job"]["promise"], "void");
    assert_eq!(exported_status(&site), "out_of_memory");
}

#[test]
fn job_with_too_long_output_breaks_the_promise_of_the_site_that_set_the_limit() {
    let site = ClientTestSite::start("[limits]\noutput_bytes = 1000\n");
    let script = "trap 'exit 0' TERM; head -c 100000 /dev/zero; sleep 600 & wait";
    let words = ["--deadline", "+1h", "--", "sh", "-c", script];
    let job = submit(&site, &words);
    let waited = site.tollgate(&["wait", &job]);
    assert_eq!(waited.code, Some(153), "{waited:?}");
    assert_eq!(waited.stdout, format!("job {job}: output limit exit 0\n"));
    let explained = site.tollgate(&["explain", &job, "--format", "json"]).json();
    assert_eq!(explained["job"]["state"], "output_limit");
    assert_eq!(explained["job"]["promise"], "broken");
    assert_eq!(exported_status(&site), "failed");
}

#[test]
fn array_counts_its_tasks_by_the_limits_that_ended_them() {
    let site = ClientTestSite::start("");
    let script = "[ $TOLLGATE_TASK = 1 ] || exec sleep 600";
    let words = ["--array", "1-2", "--time-limit", "2s", "--", "sh", "-c"];
    let job = submit(&site, &[&words[..], &[script]].concat());
    let waited = site.tollgate(&["wait", &job]);
    assert_eq!(waited.code, Some(124), "{waited:?}");
    let explained = site.tollgate(&["explain", &job, "--format", "json"]).json();
    assert_eq!(explained["job"]["state"], "timed_out");
    assert_eq!(explained["job"]["array"]["finished"], 1);
    assert_eq!(explained["job"]["array"]["timed_out"], 1);
    let table = site.tollgate(&["jobs", "--all"]).answer();
    assert!(table.contains("1 finished, 1 timed out of 2"), "{table}");
}

#[test]
fn job_gets_its_requested_signal_before_its_time_limit() {
    let site = ClientTestSite::start("");
    let script = "trap 'echo saved >> saved; exit 7' USR1; sleep 600 & wait";
    let limit = [
        "--time-limit",
        "600s",
        "--signal",
        "USR1@598s",
        "--array",
        "1-2",
    ];
    let job = submit(&site, &[&limit[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(site.tollgate(&["wait", &job]).code, Some(7));
    assert_eq!(state(&site, &job), "finished");
    let saved = fs::read_to_string(site.folder().join("saved")).unwrap();
    assert_eq!(saved, "saved\nsaved\n");
    let text = format!("#!/bin/sh\n#TOLLGATE -t 10m --signal USR1@598s\n{script}\n");
    fs::write(site.folder().join("job.sh"), text).unwrap();
    let job = submit(&site, &["./job.sh"]);
    let explained = site.tollgate(&["explain", &job, "--format", "json"]).json();
    assert_eq!(explained["job"]["signal"]["name"], "USR1");
    assert_eq!(site.tollgate(&["wait", &job]).code, Some(7));
    for wrong in [
        &["--signal", "USR1@60s"][..],
        &["-t", "30s", "--signal", "USR1@60s"],
    ] {
        let words = [&["submit", "-e", "1s"], wrong, &["true"]].concat();
        let refused = site.tollgate(&words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("add --time-limit"), "{refused:?}");
    }
}

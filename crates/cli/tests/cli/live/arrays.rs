//! Tests of arrays and dependent jobs.

use super::site::ClientTestSite;

const IN_TURN: &str = "policy = \"easy\"\n";

fn submit(site: &ClientTestSite, words: &[&str]) -> String {
    let answer = site.tollgate(&[&["submit", "-q"], words].concat()).answer();
    answer.trim().to_owned()
}

#[test]
fn an_array_runs_each_task_with_its_number() {
    let site = ClientTestSite::start(IN_TURN);
    let line = "echo task $TOLLGATE_TASK";
    let id = submit(
        &site,
        &["--array", "1-20:2", "-e", "1s", "--", "sh", "-c", line],
    );
    site.tollgate(&["wait", &id]).answer();
    assert_eq!(
        site.tollgate(&["logs", &format!("{id}_7")]).answer(),
        "task 7\n"
    );
    let outputs = site.folder().join(format!("tollgate-{id}"));
    assert_eq!(
        std::fs::read_to_string(outputs.join("7.out")).unwrap(),
        "task 7\n"
    );
    assert_eq!(std::fs::read_dir(outputs).unwrap().count(), 10);
    let all = site.tollgate(&["logs", &id]).answer();
    assert_eq!(all.lines().count(), 10);
    assert!(all.starts_with("task 1\ntask 3\n"), "{all}");
    let array = site.tollgate(&["explain", &id, "--format", "json"]).json();
    assert_eq!(array["job"]["array"]["finished"], 10);
    assert_eq!(array["words"][0], "10 tasks finished");
    let tasks = site
        .tollgate(&["jobs", &format!("{id}_1-5"), "-q"])
        .answer();
    assert_eq!(tasks, format!("{id}_1\n{id}_3\n{id}_5\n"));
    let task = site.tollgate(&["explain", &format!("{id}_7")]).answer();
    let lines: Vec<&str> = task.lines().collect();
    assert_eq!(
        lines[..2],
        [
            format!("job {id}_7: finished").as_str(),
            "  finished: exit 0"
        ]
    );
    let labels = lines[2..]
        .iter()
        .filter_map(|line| line.split_whitespace().next());
    let labels: Vec<&str> = labels.collect();
    assert_eq!(labels, ["estimate", "used", "host"]);
}

#[test]
fn task_goes_by_its_whole_number_in_every_command() {
    let site = ClientTestSite::start(IN_TURN);
    let single = submit(&site, &["--", "sh", "-c", "echo $TOLLGATE_NUMBER"]);
    let line = "echo number $TOLLGATE_NUMBER; [ $TOLLGATE_TASK != 9 ] || exit 3";
    let id = submit(&site, &["-a", "5,7,9", "--", "sh", "-c", line]);
    site.tollgate(&["wait", &single]).answer();
    assert_eq!(site.tollgate(&["wait", "1000000002"]).code, Some(3));
    site.tollgate(&["wait", "-f", "1000000000"]).answer();
    assert_eq!(site.tollgate(&["logs", &single]).answer(), "1\n");
    assert_eq!(
        site.tollgate(&["logs", "1000000001"]).answer(),
        "number 1000000001\n"
    );
    let listed = site
        .tollgate(&["jobs", "1000000001", "--format", "json"])
        .json();
    assert_eq!(listed["jobs"][0]["task"], 7, "{listed}");
    assert_eq!(listed["jobs"][0]["number"], 1_000_000_001, "{listed}");
    let listed = site.tollgate(&["jobs", "1000000001", "-q"]).answer();
    assert_eq!(listed, format!("{id}_7\n"));
    let explained = |words: &str| site.tollgate(&["explain", words]).answer();
    assert_eq!(explained("1000000002"), explained(&format!("{id}_9")));
    let go = site.folder().join("go");
    let line = format!("while [ ! -e {} ]; do sleep 0.01; done", go.display());
    let id = submit(&site, &["-a", "1-3", "--", "sh", "-c", &line]);
    site.tollgate(&["cancel", "1000000004"]).answer();
    std::fs::write(go, "").unwrap();
    site.tollgate(&["wait", "1000000003"]).answer();
    site.tollgate(&["wait", "1000000005"]).answer();
    let listed = site.tollgate(&["jobs", &id, "--format", "csv", "--columns", "id,state"]);
    assert_eq!(
        listed.answer(),
        format!("id,state\n{id}_1,finished\n{id}_2,cancelled\n{id}_3,finished\n")
    );
    let unknown = site.tollgate(&["explain", "1000000099"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("no such job"), "{unknown:?}");
}

#[test]
fn decisions_of_array_tasks_are_shown_as_ranges() {
    let site = ClientTestSite::start("policy = \"libra\"\n");
    let words = [
        "submit", "-a", "1-500", "-d", "+1h", "-e", "40m", "--format", "json", "--",
    ];
    let submitted = site.tollgate(&[&words[..], &["sleep", "600"]].concat());
    assert_eq!(submitted.code, Some(3), "some tasks are rejected");
    let answer: serde_json::Value = serde_json::from_str(&submitted.stdout).unwrap();
    let parts = answer["tasks"].as_array().unwrap();
    let decisions: Vec<&str> = parts
        .iter()
        .map(|it| it["decision"].as_str().unwrap())
        .collect();
    assert_eq!(decisions, ["accepted", "rejected"]);
    let count = |part: usize| parts[part]["count"].as_u64().unwrap();
    assert_eq!(count(0) + count(1), 500);
    assert_eq!(parts[1]["reasons"][0]["key"], "insufficient_share");
    let id = answer["id"].to_string();
    let last = format!("{id}_500");
    let explained = site.tollgate(&["explain", &last]).answer();
    assert!(
        explained.contains("rejected: too few nodes have enough processor share left for its deadline; its deadline was"),
        "{explained}"
    );
    // The test cancels one task, and then the other tasks.
    site.tollgate(&["cancel", &format!("{id}_1")]).answer();
    assert_eq!(site.tollgate(&["wait", &format!("{id}_1")]).code, Some(1));
    site.tollgate(&["cancel", &id]).answer();
    assert_eq!(site.tollgate(&["wait", &id]).code, Some(1));
    let listed = site.tollgate(&["jobs", "--all"]).answer();
    let cancelled = count(0);
    let rejected = count(1);
    let counts = format!("cancelled: {cancelled} cancelled, {rejected} rejected of 500");
    assert!(listed.contains(&counts), "{listed}");
}

#[test]
fn decision_about_a_waitlisted_array_is_that_about_its_last_task() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    let nodes = site.tollgate(&["nodes", "--format", "json"]).json();
    let all = nodes["nodes"].as_array().unwrap().len().to_string();
    let words = [
        "-n", &all, "-d", "+10min", "-e", "5min", "--", "sleep", "300",
    ];
    let long = submit(&site, &words);
    // The first job has the cores for longer than the tasks' deadline.
    let words = [
        "submit", "-n", &all, "-a", "1-2", "-d", "+4min", "-e", "1min",
    ];
    let array = ["--otherwise", "wait", "--", "true"];
    let array = site.tollgate(&[&words[..], &array].concat());
    assert!(array.stdout.contains("waitlisted"), "{array:?}");
    std::thread::scope(|scope| {
        let answer =
            scope.spawn(|| site.tollgate(&["wait", "--decision", "2", "--format", "json"]));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!answer.is_finished(), "nothing is decided yet");
        site.tollgate(&["cancel", &long]).answer();
        let array = answer.join().unwrap().json();
        assert_eq!(array["array"]["rejected"], 0, "{array}");
    });
    site.tollgate(&["wait", "2"]).answer();
    let array = site.tollgate(&["explain", "2", "--format", "json"]).json();
    assert_eq!(array["job"]["array"]["kept"], 2, "{array}");
}

#[test]
fn dependent_job_starts_after_its_dependencies_and_lists_them() {
    let site = ClientTestSite::start(IN_TURN);
    let first = submit(&site, &["--hold", "-e", "1s", "--", "true"]);
    let second = submit(&site, &["--after", &first, "-e", "1s", "--", "true"]);
    let third = submit(
        &site,
        &["--after", &format!("{second},any:{first}"), "--", "true"],
    );
    let explained = site.tollgate(&["explain", &second]).answer();
    let words = format!(
        "job {second}: dependent\n  dependent: waits for the end of job {first}; the policy decides then\n"
    );
    assert_eq!(explained, words);
    site.tollgate(&["release", &first]).answer();
    site.tollgate(&["wait", &third]).answer();
    // A failure cancels the jobs that depend on success.
    let failing = submit(&site, &["--hold", "-e", "1s", "--", "false"]);
    let vain = submit(&site, &["--after", &failing, "--", "true"]);
    site.tollgate(&["release", &failing]).answer();
    assert_eq!(site.tollgate(&["wait", &vain]).code, Some(1));
    let explained = site.tollgate(&["explain", &vain]).answer();
    assert!(
        explained.contains(&format!("cancelled: job {failing},")),
        "{explained}"
    );
    let refused = site.tollgate(&["submit", "--after", &failing, "--", "true"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let unknown = site.tollgate(&["submit", "--after", "99", "--", "true"]);
    assert!(
        unknown.stderr.contains("after: no such job: 99"),
        "{unknown:?}"
    );
}

#[test]
fn later_job_is_shown_with_its_begin_everywhere() {
    let site = ClientTestSite::start(IN_TURN);
    let words = [
        "submit",
        "--begin",
        "2030-01-02T03:04Z",
        "--",
        "no-such-program-yet",
    ];
    let answer = site.tollgate(&words).answer();
    assert!(answer.contains("job 1: deferred"), "{answer}");
    assert!(
        answer.contains("\n  begin     2030-01-02 03:04"),
        "{answer}"
    );
    let quoted = site
        .tollgate(&["quote", "--begin", "+2h", "--format", "json"])
        .json();
    assert_eq!(quoted["decision"], "deferred", "{quoted}");
    assert!(quoted["begin_at"].is_string(), "{quoted}");
    let explained = site.tollgate(&["explain", "1"]).answer();
    let waits = "dependent: waits until 2030-01-02T03:04:00Z; the policy decides then";
    assert!(explained.contains(waits), "{explained}");
    site.tollgate(&["hold", "1"]).answer();
    let held = site.tollgate(&["explain", "1"]).answer();
    let waits = "held by its user; once released, it waits until 2030-01-02T03:04:00Z";
    assert!(held.contains(waits), "{held}");
    site.tollgate(&["release", "1"]).answer();
    let listed = site.tollgate(&["jobs", "--format", "json"]).json();
    assert_eq!(
        listed["jobs"][0]["begin_at"], "2030-01-02T03:04:00Z",
        "{listed}"
    );
    let table = site.tollgate(&["jobs"]).answer();
    assert!(table.contains("begin"), "{table}");
    for (words, expected) in [
        (
            &["submit", "--begin", "+2h", "-d", "+1h", "--", "true"][..],
            "begin_at: expected an instant before",
        ),
        (
            &["submit", "--begin", "later", "--", "true"],
            "begin: expected an instant",
        ),
        (
            &["quote", "--begin", "+2h", "--reserve", "60s"],
            "begin_at, begin_s: expected no begin",
        ),
    ] {
        let refused = site.tollgate(words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
    let noted = site.tollgate(&["submit", "--hold", "--begin", "2030-01-02", "--", "true"]);
    assert!(
        noted
            .stderr
            .contains("the start of Wednesday, 2030-01-02 (00:00)"),
        "{noted:?}"
    );
    assert_eq!(
        site.tollgate(&["jobs", "--format", "json"]).json()["jobs"][0]["state"],
        "held"
    );
}

#[test]
fn rejected_job_is_explained_with_an_acceptable_request() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    let words = [
        "-e",
        "1h",
        "-d",
        "+10s",
        "--otherwise",
        "reject",
        "--",
        "true",
    ];
    let answer = site.tollgate(&[&["submit"][..], &words].concat());
    assert_eq!(answer.code, Some(3), "{answer:?}");
    let explained = site.tollgate(&["explain", "1"]).answer();
    assert!(
        explained.contains("  now       accepted with a deadline of "),
        "{explained}"
    );
    let json = site.tollgate(&["explain", "1", "--format", "json"]).json();
    assert_eq!(json["quote"]["decision"], "rejected", "{json}");
    assert_eq!(json["quote"]["offers"][0]["change"], "deadline", "{json}");
    assert_eq!(
        json["quote"]["id"],
        serde_json::Value::Null,
        "a quote submits nothing"
    );
    let jobs = site.tollgate(&["jobs", "--all", "-q"]).answer();
    assert_eq!(jobs, "1\n");
}

#[test]
fn invalid_array_is_rejected_with_a_message() {
    let site = ClientTestSite::start("[limits]\narray = 1000\ntasks = 2000\n");
    for (words, expected) in [
        (["-a", "5-1"], "array: expected numbers of tasks"),
        (["-a", "1-9%0"], "array: expected numbers of tasks"),
        (["-a", "1-1001"], "array: expected at most 1000 tasks"),
        (["-a1-3", "-oout"], "output: expected a name with %a"),
    ] {
        let refused = site.tollgate(&[&["submit"][..], &words, &["--", "true"]].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
    let submit = || site.tollgate(&["submit", "--hold", "-a", "1-900", "--", "true"]);
    assert_eq!([submit().code, submit().code], [Some(0); 2]);
    let refused = submit();
    assert_eq!(refused.code, Some(1));
    let expected = "error: task limit reached: a user may have 2000 unfinished tasks\n\
                    hint: wait for some to end; the setting `limits.tasks` allows more\n";
    assert_eq!(refused.stderr, expected);
}

/// The runner gets short tasks ahead of time. It gives those back that wait behind a long one.
#[test]
fn tasks_beyond_the_limit_of_their_array_wait_for_one_another() {
    let site = ClientTestSite::start("policy = \"easy\"\n[local]\nnodes = 4\n");
    let ran = site.folder().join("ran");
    let line = format!(
        "echo $TOLLGATE_TASK >> {0}; while [ ! -e {0}.go ]; do sleep 0.01; done",
        ran.display()
    );
    let words = ["-a", "1-5%2", "-o", "none", "--", "sh", "-c", &line];
    let id = submit(&site, &words);
    let n_ran = || std::fs::read_to_string(&ran).map_or(0, |text| text.lines().count());
    site.until("two tasks run", || n_ran() == 2);
    let task = site.tollgate(&["explain", &format!("{id}_4")]).answer();
    let why = "queued: at most 2 of its array's tasks run at once";
    assert!(task.contains(why), "{task}");
    std::fs::write(site.folder().join("ran.go"), "").unwrap();
    site.tollgate(&["wait", &id]).answer();
    assert_eq!(n_ran(), 5);
}

#[test]
fn tasks_behind_a_long_one_are_held_or_run_once() {
    let site = ClientTestSite::start("policy = \"easy\"\n[local]\nnodes = 1\n");
    let ran = site.folder().join("ran");
    let ran_tasks = || -> Vec<u32> {
        let text = std::fs::read_to_string(&ran).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let line = format!(
        "echo $TOLLGATE_TASK >> {}; [ $TOLLGATE_TASK != 40 ] || sleep 2",
        ran.display()
    );
    let words = ["-a", "1-120", "-o", "none", "--", "sh", "-c", &line];
    let id = submit(&site, &words);
    site.until("the long task runs", || ran_tasks().contains(&40));
    site.tollgate(&["hold", &format!("{id}_44-53")]).answer();
    let counts = || {
        let job = site.tollgate(&["explain", &id, "--format", "json"]).json();
        let array = &job["job"]["array"];
        (array["finished"].as_u64(), array["held"].as_u64())
    };
    site.until("the others are over", || counts() == (Some(110), Some(10)));
    site.tollgate(&["release", &id]).answer();
    site.tollgate(&["wait", &id]).answer();
    let mut all = ran_tasks();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(1..=120));
}

#[test]
fn failed_tasks_are_named_by_how_they_ended() {
    let site = ClientTestSite::start("");
    let line = "case $TOLLGATE_TASK in 2|4) exit 2;; 3) exit 7;; esac";
    let id = submit(&site, &["-a", "1-5", "-e", "1s", "--", "sh", "-c", line]);
    let waited = site.tollgate(&["wait", &id]);
    assert_eq!(waited.code, Some(7), "{waited:?}");
    for named in [
        "failed, exit 2: 2 tasks (2,4)",
        "failed, exit 7: 1 task (3)",
    ] {
        assert!(waited.stdout.contains(named), "{waited:?}");
        let explained = site.tollgate(&["explain", &id]).answer();
        assert!(explained.contains(named), "{explained}");
    }
    let explained = site.tollgate(&["explain", &id, "--format", "json"]).json();
    let failures = &explained["job"]["array"]["failures"];
    assert_eq!(failures[0]["count"], 2, "{explained}");
    assert_eq!(failures[0]["tasks"], "2,4", "{explained}");
}

#[test]
fn array_that_hardly_ends_in_time_gets_another_deadline() {
    let site = ClientTestSite::start("");
    let words = [
        "-a", "1-40", "-e", "10m", "-d", "+20m", "--", "sleep", "600",
    ];
    let id = submit(&site, &words);
    let explained = || site.tollgate(&["explain", &id]).answer();
    let helps = "  helps     a deadline of ";
    assert!(explained().contains(helps), "{}", explained());
    let altered = site.tollgate(&["alter", &id, "--deadline", "+5d"]).answer();
    assert!(altered.contains(": accepted"), "{altered}");
    assert!(!explained().contains(helps), "{}", explained());
    let limited = site.tollgate(&["alter", &id, "--throttle", "1"]);
    assert!(limited.stderr.contains("`--deadline none`"), "{limited:?}");
    let words = ["alter", &id, "--deadline", "none", "--throttle", "1"];
    site.tollgate(&words).answer();
    let listed = site.tollgate(&["jobs", &id, "--format", "json"]).json();
    assert_eq!(listed["array"]["array"]["max_running"], 1, "{listed}");
    site.tollgate(&["cancel", &id]).answer();
    site.tollgate(&["wait", &id]);
}

#[test]
fn end_of_the_last_task_of_a_running_array_is_reported() {
    let site = ClientTestSite::start("");
    let line = "exec sleep 600";
    let words = ["-a", "1-400", "-e", "10m", "-d", "+10d", "--", "sh", "-c"];
    let id = submit(&site, &[&words[..], &[line]].concat());
    for command in ["explain", "jobs"] {
        let answer = site.tollgate(&[command, &id]).answer();
        for label in [
            "  run times ",
            "  last end  ",
            "  deadline  all end in time",
        ] {
            assert!(answer.contains(label), "{command}: {answer}");
        }
    }
    let answer = site.tollgate(&["explain", &id, "--format", "json"]).json();
    let ends = [
        "earliest_finish_at",
        "expected_finish_at",
        "latest_finish_at",
    ];
    let ends_of =
        |answer: &serde_json::Value| ends.map(|key| answer[key].as_str().unwrap().to_owned());
    assert!(ends_of(&answer).is_sorted(), "{answer}");
    assert_eq!(
        ends_of(&answer["job"]["array"]["outlook"]),
        ends_of(&answer)
    );
    let listed = |words: &[&str]| {
        let words = [&["jobs", "--format", "json"], words].concat();
        site.tollgate(&words).json()
    };
    let array = &listed(&[&id])["array"];
    assert_eq!(array["id"].to_string(), id, "{array}");
    let outlook = &array["array"]["outlook"];
    assert!(ends_of(outlook).is_sorted(), "{outlook}");
    assert!(outlook["probability"].is_f64(), "{outlook}");
    assert!(outlook["forecast_from"].is_string(), "{outlook}");
    // The list of all jobs plays no futures.
    let all = listed(&[]);
    assert!(all["jobs"][0]["array"]["running"].is_u64(), "{all}");
    assert!(all["jobs"][0]["array"]["outlook"].is_null(), "{all}");
    site.tollgate(&["cancel", &id]).answer();
    site.tollgate(&["wait", &id]);
    let over = &listed(&[&id])["array"]["array"];
    assert_eq!(over["cancelled"], 400, "{over}");
    assert!(over["outlook"].is_null(), "{over}");
}

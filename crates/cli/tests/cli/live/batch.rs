//! Tests that submit many different jobs at once, and act on many jobs at once.

use std::fs;

use super::site::ClientTestSite;

/// One job uses every node, so that other jobs wait.
const IN_TURN: &str = "policy = \"easy\"\n";

fn states(site: &ClientTestSite) -> Vec<String> {
    let jobs = site.tollgate(&["jobs", "--all", "--format", "json"]).json();
    let jobs = jobs["jobs"].as_array().unwrap().iter().rev();
    let state = |job: &serde_json::Value| job["state"].as_str().unwrap().to_owned();
    jobs.map(state).collect()
}

#[test]
fn each_line_of_a_file_is_a_job() {
    let site = ClientTestSite::start("");
    let file = site.folder().join("commands.txt");
    fs::write(
        &file,
        "# two jobs\necho one > 1.txt\n\n  echo two | tr a-z A-Z > 2.txt\n",
    )
    .unwrap();
    let submit = [
        "submit",
        "--each-line",
        "commands.txt",
        "-e",
        "5s",
        "-o",
        "none",
    ];
    let answer = site.tollgate(&submit).answer();
    assert_eq!(answer, "jobs 1-2: queued; each is admitted at its start\n");
    site.tollgate(&["wait", "1", "2"]).answer();
    let read = |name: &str| fs::read_to_string(site.folder().join(name)).unwrap();
    assert_eq!(
        (read("1.txt"), read("2.txt")),
        ("one\n".to_owned(), "TWO\n".to_owned())
    );
    let named = site.tollgate(&["explain", "2", "--format", "json"]).json();
    assert_eq!(named["job"]["name"], "echo");

    fs::write(&file, "# none\n").unwrap();
    let none = site.tollgate(&submit);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(
        none.stderr.contains("expected at least one job"),
        "{none:?}"
    );

    fs::write(&file, "a b\nc\n").unwrap();
    let submit = "tollgate submit -q -o out-%j --each-line - -- echo [{}] < commands.txt";
    assert_eq!(site.shell(submit).answer(), "3\n4\n");
    site.tollgate(&["wait", "3", "4"]).answer();
    assert_eq!(
        (read("out-3"), read("out-4")),
        ("[a b]\n".to_owned(), "[c]\n".to_owned())
    );
}

#[test]
fn jobs_of_a_json_file_are_submitted_all_or_none() {
    let site = ClientTestSite::start("");
    let file = site.folder().join("jobs.json");
    let submit = [
        "submit",
        "--from-json",
        "jobs.json",
        "-n",
        "1",
        "-o",
        "none",
        "-e",
        "9s",
    ];
    let good = r#"{"command": ["true"], "name": "first"}
        [{"command": ["sh", "-c", "exit 3"], "estimate_s": 2, "after": ["any:1"]}]"#;
    fs::write(&file, good.replace("\"any:1\"", "")).unwrap();
    assert_eq!(
        site.tollgate(&submit).answer(),
        "jobs 1-2: queued; each is admitted at its start\n"
    );
    assert_eq!(site.tollgate(&["wait", "1", "2"]).code, Some(3));
    let second = site.tollgate(&["explain", "2", "--format", "json"]).json();
    assert_eq!(second["job"]["estimate_s"], 2.0);

    for (bad, expected) in [
        (good.replace("any:1", "any:99"), "after: no such job: 99"),
        (
            good.replace("estimate_s\": 2", "estimate_s\": -2"),
            "jobs[1]: estimate_s: expected",
        ),
        (
            good.replace("estimate_s", "memory_bytes"),
            "jobs[1]: memory_bytes: 2 bytes are too little for any program",
        ),
        (good.replace("name", "nam"), "jobs[0]: unknown field `nam`"),
        ("[3]".to_owned(), "expected objects, got `3`"),
        ("[]".to_owned(), "expected at least one job"),
    ] {
        fs::write(&file, bad).unwrap();
        let answer = site.tollgate(&submit);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(answer.stderr.contains(expected), "{}", answer.stderr);
    }
    assert_eq!(states(&site).len(), 2, "none of the others");
}

#[test]
fn many_jobs_are_cancelled_at_once() {
    let site = ClientTestSite::start(IN_TURN);
    let file = site.folder().join("commands.txt");
    fs::write(&file, "sleep 600\n".repeat(12)).unwrap();
    let submit = [
        "submit",
        "--hold",
        "-q",
        "--each-line",
        "commands.txt",
        "-o",
        "none",
    ];
    assert_eq!(site.tollgate(&submit).answer().lines().count(), 12);
    site.tollgate(&["cancel", "1", "3-5"]).answer();
    let some = site.tollgate(&["cancel", "1", "2"]);
    assert_eq!(some.code, Some(1));
    assert!(
        some.stderr.contains("job 1: the job is over"),
        "{}",
        some.stderr
    );
    assert!(
        some.stderr.contains("1 of 2 jobs unchanged"),
        "{}",
        some.stderr
    );
    let cancelled = states(&site)
        .iter()
        .filter(|state| *state == "cancelled")
        .count();
    assert_eq!(cancelled, 5);
    // Those that are over are left out of a range.
    site.tollgate(&["release", "1-8"]).answer();
    assert_eq!(states(&site)[8], "held");
    site.tollgate(&["cancel", "--all"]).answer();
    // Those that ran are cancelled once their processes are gone.
    let over = site.tollgate(&["wait", "2", "6", "7", "8"]);
    assert_eq!(over.code, Some(1));
    assert!(states(&site).iter().all(|state| state == "cancelled"));
    assert_eq!(site.tollgate(&["cancel"]).code, Some(2), "none is named");
}

#[test]
fn output_is_followed_until_the_job_is_over() {
    let site = ClientTestSite::start("");
    let gate = site.folder().join("go-on");
    let line = "echo first; until [ -e go-on ]; do sleep 0.05; done; echo last";
    let submit = ["submit", "-q", "-e", "5s", "--", "sh", "-c", line];
    site.tollgate(&submit).answer();
    let follow = "tollgate logs -f 1 > followed & until grep -q first followed; do sleep 0.05; done; \
                  touch go-on; wait $!";
    site.shell(follow).answer();
    assert!(gate.exists());
    let followed = fs::read_to_string(site.folder().join("followed")).unwrap();
    assert_eq!(followed, "first\nlast\n");
    assert_eq!(
        site.tollgate(&["logs", "-f", "1"]).answer(),
        "first\nlast\n"
    );
    site.tollgate(&["submit", "-q", "-a", "1-2", "true"])
        .answer();
    let many = site.tollgate(&["logs", "-f", "2"]);
    assert_eq!(many.code, Some(2));
    assert!(
        many.stderr.contains("expected one job or one task"),
        "{}",
        many.stderr
    );
    let events = site.tollgate(&["wait", "--follow", "2"]).answer();
    assert!(events.ends_with("job 2: finished exit 0\n"), "{events}");
}

#[test]
fn time_limit_ends_a_job_where_jobs_have_their_cores_to_themselves() {
    let site = ClientTestSite::start("");
    let job = ["submit", "-q", "--time-limit", "1s", "--", "sleep", "600"];
    assert_eq!(site.tollgate(&job).answer(), "1\n");
    let end = site.tollgate(&["wait", "1"]);
    assert_eq!(end.code, Some(124));
    assert_eq!(end.stdout, "job 1: timed out signal 15\n");
    let low = site.tollgate(&["submit", "-t", "1m", "-e", "2m", "true"]);
    assert_eq!(low.code, Some(2));
    assert!(
        low.stderr.contains("at least the estimate"),
        "{}",
        low.stderr
    );
    let frontend = "echo 'sleep 600' | tollgate qsub -l walltime=0:01";
    let id = site
        .shell(&format!("TOLLGATE_STYLE=pbs {frontend}"))
        .answer();
    let id = id.trim().split('.').next().unwrap().to_owned();
    assert_eq!(site.tollgate(&["wait", &id]).code, Some(124));

    let shared = ClientTestSite::start("policy = \"libra\"\n");
    let job = [
        "submit",
        "-q",
        "-t",
        "1s",
        "--deadline",
        "+1h",
        "--",
        "sleep",
        "2",
    ];
    let answer = shared.tollgate(&job);
    assert!(
        answer.stderr.contains("the time limit is an estimate only"),
        "{answer:?}"
    );
    shared.tollgate(&["wait", "1"]).answer();
}

#[test]
fn job_of_a_batch_has_its_own_begin_or_the_one_in_common() {
    let site = ClientTestSite::start("");
    let jobs = site.folder().join("jobs.json");
    let text = r#"[{"command": ["true"]}, {"command": ["true"], "begin_at": "2030-01-02T00:00:00Z", "retries": "2"}]"#;
    fs::write(&jobs, text).expect("a file");
    let words = ["submit", "-q", "--begin", "+2h", "--from-json"];
    let words = [&words[..], &[jobs.to_str().expect("text")]].concat();
    assert_eq!(site.tollgate(&words).answer(), "1\n2\n");
    let listed = site.tollgate(&["jobs", "--format", "json"]).json();
    let job = |place: usize| &listed["jobs"][place];
    assert_eq!(job(0)["begin_at"], "2030-01-02T00:00:00Z", "{listed}");
    assert_eq!(job(0)["retries"], "2", "{listed}");
    assert_ne!(job(1)["begin_at"], job(0)["begin_at"], "{listed}");
    assert_eq!(
        [job(0), job(1)].map(|job| &job["state"]),
        ["dependent", "dependent"]
    );
}

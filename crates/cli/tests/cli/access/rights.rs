//! Tests each row of the tables in docs/service/users.md with running jobs: the rights of every user to
//! see and to change jobs.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use serde_json::json;

use super::site::{AccessTestSite, ONE, OTHER, ROOT};
use crate::live::open::WindowLink;

/// Returns a site on which job 1 of [`ONE`] runs a script, and the process of the job.
fn running() -> (AccessTestSite, Pid) {
    let site = AccessTestSite::new("users = \"all\"\n");
    site.write(
        ONE,
        "job.sh",
        "#!/bin/sh\necho $$ > pid\nwhile [ ! -e go ]; do sleep 0.05; done\n",
    );
    let words = [
        "submit", "--name", "hush", "--env", "KEY=hush", "--output", "out",
    ];
    site.run_ok(ONE, &[&words[..], &["--", "./job.sh", "hush"]].concat());
    let file = site.home(ONE).join("pid");
    let pid = || fs::read_to_string(&file).ok()?.trim().parse().ok();
    site.until("it runs", || pid().is_some());
    let pid = Pid::from_raw(pid().expect("a number")).expect("a process");
    (site, pid)
}

fn state(site: &AccessTestSite, user: u32, job: u64) -> String {
    let (_, job) = site.http(user, "GET", &format!("/v1/jobs/{job}"), None);
    job["state"].as_str().unwrap_or("none").to_owned()
}

/// Asserts that a command says the same of job 1, of another user, as of job 999, which nobody has. The message names the
/// job as it was typed.
fn assert_looks_missing(verb: &str, run: impl Fn(&str) -> (Option<i32>, String)) {
    let (code, theirs) = run("1");
    let theirs = theirs.replace("job 1:", "job 999:");
    assert_eq!((code, theirs), run("999"), "{verb}");
}

#[test]
fn running_job_of_another_user_is_hidden_and_cannot_be_cancelled() {
    if !tollgate_needs::root() {
        return;
    }
    let (site, _) = running();
    for verb in ["explain", "wait", "logs", "cancel", "hold", "release"] {
        assert_looks_missing(verb, |job| site.run_err(OTHER, &[verb, job]));
    }
    assert_looks_missing("alter", |job| {
        site.run_err(OTHER, &["alter", job, "--name", "x"])
    });
    assert_looks_missing("signal", |job| {
        site.run_err(OTHER, &["signal", "TERM", job])
    });
    assert_looks_missing("requeue", |job| site.run_err(OTHER, &["requeue", job]));
    site.run_ok(OTHER, &["cancel", "--all"]);
    site.run_ok(OTHER, &["cancel", "1-9"]);
    assert_eq!(state(&site, ONE, 1), "running");
    for operators_only in [
        &["drain"][..],
        &["resume"],
        &["prune", "--older-than", "1d"],
    ] {
        let (_, stderr) = site.run_err(OTHER, operators_only);
        let allowed = "only root and the service's own user";
        assert!(stderr.contains(allowed), "{stderr}");
    }
    let submit = ["--output", "none", "--", "true"];
    let after = |job| site.run_err(OTHER, &[&["submit", "--after", job], &submit[..]].concat());
    let (code, stderr) = after("1");
    assert_eq!((code, stderr.replace("job: 1", "job: 999")), after("999"));
    let (code, stderr) = site.run_err(OTHER, &["qdel", "1"]);
    assert_eq!(
        (code, stderr.replace('1', "999")),
        site.run_err(OTHER, &["qdel", "999"])
    );
    for (method, path, body) in [
        ("GET", "/v1/jobs/JOB", None),
        ("GET", "/v1/jobs/JOB/tasks", None),
        ("GET", "/v1/jobs/JOB/explain", None),
        ("GET", "/v1/jobs/JOB/wait", None),
        ("GET", "/v1/jobs/JOB/events", None),
        ("POST", "/v1/jobs/JOB/cancel", Some(json!({}))),
        ("POST", "/v1/jobs/JOB/hold", Some(json!({}))),
        ("POST", "/v1/jobs/JOB/release", Some(json!({}))),
        (
            "POST",
            "/v1/quotes/JOB/claim",
            Some(json!({"command": ["true"], "dir": "/"})),
        ),
    ] {
        let of = |job| site.http(OTHER, method, &path.replace("JOB", job), body.as_ref());
        let theirs = of("1");
        assert_eq!(theirs, of("999"), "{method} {path}");
        assert!(matches!(theirs.0, 404 | 204), "{method} {path}: {theirs:?}");
    }
    for path in [
        "/v1/jobs?live=true",
        "/v1/ledger",
        "/v1/objectives",
        "/v1/nodes",
        "/v1/status",
    ] {
        let (status, answer) = site.http(OTHER, "GET", path, None);
        assert_eq!(status, 200, "{path}");
        assert!(!answer.to_string().contains("hush"), "{path}: {answer}");
    }
    let qstat = site.run_ok(OTHER, &["qstat"]);
    assert!(!qstat.contains("hush"), "{qstat}");
    assert_eq!(
        state(&site, ONE, 1),
        "running",
        "all of that has changed nothing"
    );
    assert_eq!(state(&site, ROOT, 1), "running", "an operator sees it");
    assert!(site.run_ok(ROOT, &["jobs"]).contains("hush"));
    site.run_ok(ROOT, &["cancel", "1"]);
    site.until("an operator ends it", || {
        state(&site, ONE, 1) == "cancelled"
    });
}

#[test]
fn process_of_another_user_cannot_be_signalled_or_inspected() {
    if !tollgate_needs::root() {
        return;
    }
    let (site, pid) = running();
    let signal = move |signal| rustix::process::kill_process(pid, signal);
    for tried in [Signal::TERM, Signal::KILL, Signal::STOP] {
        assert_eq!(
            AccessTestSite::as_user(OTHER, move || signal(tried)),
            Err(Errno::PERM)
        );
    }
    for file in ["environ", "mem", "fd", "cwd"] {
        let path = format!("/proc/{}/{file}", pid.as_raw_pid());
        let opened = AccessTestSite::as_user(OTHER, move || fs::File::open(path).map(drop));
        let error = opened.expect_err(file).kind();
        assert_eq!(error, std::io::ErrorKind::PermissionDenied, "{file}");
    }
    // Only root reaches the runner and its files.
    for name in [
        "runner/socket",
        "runner/journal",
        "tollgate.db",
        "tokens.toml",
        "server.key",
    ] {
        let path = site.data().join(name);
        let opened =
            AccessTestSite::as_user(OTHER, move || fs::metadata(&path).and(fs::File::open(path)));
        assert!(opened.is_err(), "{name}");
    }
    assert_eq!(state(&site, ONE, 1), "running");
    site.write(ONE, "go", "");
    site.run_ok(ONE, &["wait", "1"]);
}

#[test]
fn reserved_quote_of_another_user_cannot_be_claimed() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new("users = \"all\"\n");
    let body = json!({"command": ["true"], "dir": "/", "hold_s": 600.0, "estimate_s": 5.0, "deadline_s": 900.0});
    let (status, quote) = site.http(ONE, "POST", "/v1/quotes", Some(&body));
    assert_eq!(status, 200, "{quote}");
    let id = quote["id"].as_u64().expect("it is held");
    let claim = json!({"command": ["true"], "dir": "/"});
    let path = |id| format!("/v1/quotes/{id}/claim");
    let theirs = site.http(OTHER, "POST", &path(id), Some(&claim));
    assert_eq!(theirs.0, 404);
    assert_eq!(theirs, site.http(OTHER, "POST", &path(999), Some(&claim)));
    let cancel = format!("/v1/jobs/{id}/cancel");
    assert_eq!(site.http(OTHER, "POST", &cancel, Some(&json!({}))).0, 404);
    assert_eq!(site.http(ONE, "POST", &path(id), Some(&claim)).0, 200);
}

#[test]
fn tokens_are_managed_by_their_own_user_only() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new("users = \"all\"\n");
    site.run_ok(ONE, &["token", "new"]);
    let (_, listed) = site.http(ONE, "GET", "/v1/tokens", None);
    let id = listed["tokens"][0]["id"]
        .as_str()
        .expect("its number")
        .to_owned();
    let (_, theirs) = site.http(OTHER, "GET", "/v1/tokens", None);
    assert_eq!(theirs["tokens"].as_array().map(Vec::len), Some(0));
    let revoke = |user, id: &str| site.http(user, "POST", &format!("/v1/tokens/{id}/revoke"), None);
    assert_eq!(revoke(OTHER, &id), revoke(OTHER, "0123456789ab"));
    site.run_err(OTHER, &["token", "new", "--user", "1"]);
    site.run_err(OTHER, &["token", "new", "--user", "0"]);
    assert_eq!(revoke(ONE, &id).0, 200);
}

#[test]
fn multi_user_service_rejects_a_worker_of_a_user() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new("users = \"all\"\n");
    let route = format!("unix:{}", site.data().join("socket").display());
    let data = site.home(ONE).join("worker");
    let data = data.to_string_lossy();
    let (_, stderr) = site.run_err(ONE, &["worker", "--connect", &route, "--data", &data]);
    assert!(stderr.contains("worker"), "{stderr}");
    let (_, nodes) = site.http(ROOT, "GET", "/v1/nodes", None);
    assert_eq!(nodes["workers"].as_array().map(Vec::len), Some(0));
}

#[test]
fn notices_of_a_service_for_all_users_name_the_user_and_are_sent_by_its_account() {
    if !tollgate_needs::root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(folder.path(), open).expect("it is ours");
    let file = folder.path().join("told");
    let command = format!(
        "echo $TOLLGATE_USER $TOLLGATE_NOTICE $(id -u) >> {}",
        file.display()
    );
    let site = AccessTestSite::new(&format!(
        "users = \"all\"\n[notices]\ncommand = [\"sh\", \"-c\", \"{command}\"]\n"
    ));
    let submit = ["submit", "--notify", "end", "-o", "none", "--", "true"];
    site.run_ok(ONE, &submit);
    let lines = || fs::read_to_string(&file).unwrap_or_default();
    site.until("the end is reported", || lines().ends_with('\n'));
    let line = lines();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [user, "end", sender] = words[..] else {
        panic!("{line}");
    };
    assert!(!user.is_empty());
    assert_ne!(sender, "0", "not root");
    assert_ne!(sender, ONE.to_string(), "not the user");
}

#[test]
fn window_of_a_service_for_all_users_is_that_of_the_user_with_the_link() {
    if !tollgate_needs::root() {
        return;
    }
    let settings = "users = \"all\"\n[web]\naddress = \"127.0.0.1:0\"\n";
    let site = AccessTestSite::new(settings);
    site.run_ok(ONE, &["submit", "--hold", "--name", "of-one", "--", "true"]);
    site.run_ok(
        OTHER,
        &["submit", "--hold", "--name", "of-other", "--", "true"],
    );
    let open = |user| {
        let link = site.run_ok(user, &["open", "--web", "--no-browser"]);
        let link = WindowLink(link.trim().to_owned());
        let session = link.session();
        (link, session)
    };
    for (user, own, other) in [(ONE, "of-one", "of-other"), (OTHER, "of-other", "of-one")] {
        let (link, session) = open(user);
        let get = |path: &str| link.send(&format!("GET {path}"), Some(&session), "");
        let (status, jobs) = get("/ui/page/jobs");
        assert_eq!(status, 200, "{jobs}");
        assert!(jobs.contains(own) && !jobs.contains(other), "{jobs}");
        // Results about the jobs of all users are for operators.
        assert_eq!(get("/v1/what-if").0, 403);
        let (_, page) = get("/ui/page/how-well");
        assert!(
            page.contains("How well") && !page.contains("well-risk"),
            "{page}"
        );
        let (status, refused) = link.send("POST /v1/drain", Some(&session), "{\"drained\":true}");
        assert_eq!(status, 403, "{refused}");
    }
    let (link, session) = open(ROOT);
    let (_, jobs) = link.send("GET /ui/page/jobs", Some(&session), "");
    assert!(
        jobs.contains("of-one") && jobs.contains("of-other"),
        "{jobs}"
    );
    let (_, page) = link.send("GET /ui/page/how-well", Some(&session), "");
    assert!(page.contains("windows need at least 60"), "{page}");
}

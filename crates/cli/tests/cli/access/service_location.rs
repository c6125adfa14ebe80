//! Tests of what a job on a worker knows of its service: where it is, and none of the worker's secrets.

use std::fs;

use super::site::{AccessTestSite, ONE, OTHER, ROOT, set_mode};

/// A service with a worker of root, over TCP, on which the next jobs run.
fn site_with_worker() -> (AccessTestSite, String) {
    let mut site = AccessTestSite::new(
        "users = \"all\"\npolicy = \"fcfs\"\n[listen]\naddress = \"127.0.0.1:0\"\n",
    );
    let nodes = site.nodes().to_string();
    let token = site.run_ok(ROOT, &["token", "new", "--worker", "--uses", "2"]);
    site.start_worker_over_tcp(&token);
    // Nodes of the service's host are used first, so a job keeps them busy.
    let words = ["submit", "--procs", &nodes, "--output", "none"];
    site.run_ok(OTHER, &[&words[..], &["--", "sleep", "600"]].concat());
    (site, token)
}

#[test]
fn secrets_of_a_worker_are_not_readable_by_its_jobs() {
    if !tollgate_needs::root() {
        return;
    }
    let (site, token) = site_with_worker();
    site.write(
        ONE,
        "spy.sh",
        "#!/bin/sh\nexec 2>&1\nenv\nfor pid in $1 $PPID; do\n\
         ls -l /proc/$pid/fd\n\
         for file in environ cmdline mem auxv fd/*; do timeout 5 head -c 100000 /proc/$pid/$file; done\n\
         done\nfind $2 $3 -type f | while read file; do cat $file; done\ncat $2 $3/key*\nexit 0\n",
    );
    let (worker, file) = (site.worker().to_string(), site.worker_token());
    let data = site.worker_data();
    let places = [&file, &data].map(|path| path.to_str().expect("text").to_owned());
    let words = ["submit", "--output", "seen", "--", "./spy.sh"];
    let words = [&words[..], &[&worker, &places[0], &places[1]]].concat();
    site.run_ok(ONE, &words);
    site.run_ok(ONE, &["wait", "2"]);
    let seen = fs::read(site.home(ONE).join("seen")).expect("its output");
    let seen = String::from_utf8_lossy(&seen);
    let key = fs::read_to_string(data.join("key")).expect("the worker's own key");
    for secret in [token.trim(), key.trim()] {
        assert!(secret.len() > 20, "a secret");
        assert!(!seen.contains(secret), "a secret of the worker: {seen}");
    }
    assert!(!seen.contains("TOLLGATE_TOKEN_FILE"), "{seen}");
    assert!(seen.contains("TOLLGATE_WORKER="), "it ran there: {seen}");
}

#[test]
fn job_on_a_worker_submits_with_the_token_of_its_user() {
    if !tollgate_needs::root() {
        return;
    }
    let (site, _) = site_with_worker();
    let token = site.run_ok(ONE, &["token", "new"]);
    let file = site.home(ONE).join("token");
    site.write(ONE, "token", &token);
    set_mode(&file, 0o600);
    let program = site.program();
    let (file, program) = (file.to_string_lossy(), program.to_string_lossy());
    let way = site.remote_args();
    let way: Vec<&str> = way.iter().map(String::as_str).collect();
    let job = [
        "-q", "--output", "out", "--", &program, "submit", "-q", "--hold", "true",
    ];
    let words = [&["submit"], &way[..], &["--token-file", &file], &job].concat();
    assert_eq!(site.run_ok(ONE, &words), "2\n");
    site.run_ok(ONE, &["wait", "2"]);
    assert_eq!(site.run_ok(ONE, &["logs", "2"]), "3\n");
    let (_, job) = site.http(ONE, "GET", "/v1/jobs/3", None);
    assert_eq!(job["user_id"], ONE);
}

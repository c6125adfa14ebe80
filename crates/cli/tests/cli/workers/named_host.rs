//! Jobs that ask for one host by its name.

use super::site::{TestProcess, WorkerTestSite};

/// A service with a node for each of two workers.
fn site_with_workers() -> (WorkerTestSite, [TestProcess; 2]) {
    let site = WorkerTestSite::start("policy = \"plan\"\n[workers]\ngrace_s = 6.0\n");
    let workers = ["red", "green"].map(|name| site.named_worker(name));
    site.until("the workers are there", || n_connected(&site) == 2);
    (site, workers)
}

fn n_connected(site: &WorkerTestSite) -> usize {
    let nodes = site.json(&["nodes", "--format", "json"]);
    let workers = nodes["workers"].as_array().unwrap().iter();
    workers
        .filter(|worker| worker["state"] == "connected")
        .count()
}

fn host_of(site: &WorkerTestSite, job: u64) -> String {
    let jobs = site.json(&["jobs", "--all", "--format", "json"]);
    let mut jobs = jobs["jobs"].as_array().unwrap().iter();
    let job = jobs.find(|other| other["id"] == job).unwrap();
    job["host"].as_str().unwrap_or("none").to_owned()
}

fn explained(site: &WorkerTestSite, job: u64) -> String {
    let answer = site.json(&["explain", &job.to_string(), "--format", "json"]);
    answer["words"][0].as_str().unwrap().to_owned()
}

fn submit_on(site: &WorkerTestSite, host: &str, flags: &[&str], command: &[&str]) {
    let head = ["submit", "--on", host, "--output", "none"];
    site.output_of(&[&head, flags, &["--"], command].concat());
}

#[test]
fn job_on_a_named_worker_waits_for_it_alone() {
    let (site, [_red, mut green]) = site_with_workers();
    for host in ["green", "red"] {
        submit_on(&site, host, &[], &["sleep", "600"]);
    }
    for (job, host) in [(1, "green"), (2, "red")] {
        site.until("it runs", || site.state(job) == "running");
        assert_eq!(host_of(&site, job), host);
    }
    // The service's own nodes are idle, and other jobs use them.
    submit_on(&site, "green", &["-d", "+1h", "-e", "1s"], &["true"]);
    assert_eq!(
        site.run(&["submit", "-q", "--", "true"]).status.code(),
        Some(0)
    );
    assert_eq!(site.run(&["wait", "4"]).status.code(), Some(0));
    assert_eq!(
        explained(&site, 3),
        "queued: all nodes of host green are busy"
    );

    green.kill();
    site.until("the worker is lost", || {
        n_connected(&site) == 1 && site.state(1) == "lost"
    });
    assert_eq!(
        explained(&site, 3),
        "queued: waits for host green, which takes no jobs now"
    );
    let _green = site.named_worker("green");
    assert_eq!(site.run(&["wait", "3"]).status.code(), Some(0));
    assert_eq!(host_of(&site, 3), "green");
    site.output_of(&["cancel", "2"]);
}

#[test]
fn name_that_no_host_has_is_rejected_with_the_names_that_there_are() {
    let (site, _workers) = site_with_workers();
    let ran = site.run(&["submit", "--on", "purple", "--", "true"]);
    assert_eq!(ran.status.code(), Some(3));
    let message = String::from_utf8(ran.stderr).unwrap() + &String::from_utf8(ran.stdout).unwrap();
    assert!(
        message.contains("no host is called purple; there is "),
        "{message}"
    );
    for name in ["red", "green"] {
        assert!(message.contains(name), "{message}");
    }
    // The host of the service has a name too.
    assert_eq!(
        site.run(&["submit", "-q", "--", "true"]).status.code(),
        Some(0)
    );
    assert_eq!(site.run(&["wait", "2"]).status.code(), Some(0));
    let here = host_of(&site, 2);
    submit_on(&site, &here, &[], &["true"]);
    assert_eq!(site.run(&["wait", "3"]).status.code(), Some(0));
    assert_eq!(host_of(&site, 3), here);
}

#[test]
fn policy_that_chooses_no_hosts_rejects_a_named_one() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n");
    let ran = site.run(&["quote", "--on", "red", "--format", "json", "--", "true"]);
    let message = String::from_utf8(ran.stderr).unwrap() + &String::from_utf8(ran.stdout).unwrap();
    assert!(message.contains("hosts_unplanned"), "{message}");
}

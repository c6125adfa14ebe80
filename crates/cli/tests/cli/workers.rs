//! Tests of a service and a worker that connects over TCP with TLS and a token. The worker runs the
//! jobs that it is given, its token gives no other access, and its jobs are requeued or lost when
//! it is killed.

mod desktops;
mod log_in;
mod named_host;
mod outputs;
mod overlap;
mod pilots;
mod site;
mod spread;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use site::{WorkerTestSite, lines};

/// Reads events until one of a worker has a state, and returns the kinds and states of those of workers and nodes.
fn states_until(events: &mut impl BufRead, last: &str) -> Vec<String> {
    let (mut states, mut kind) = (Vec::new(), String::new());
    let is_last = |states: &[String]| states.iter().any(|state| state == last);
    while !is_last(&states) {
        let mut line = String::new();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "{states:?}");
        match line.trim_end().split_once(": ") {
            Some(("event", name)) => kind = name.to_owned(),
            Some(("data", data)) if kind == "worker" || kind == "node" => {
                let data: serde_json::Value = serde_json::from_str(data).unwrap();
                assert!(data["worker"].is_string() && data["nodes"] == 1, "{data}");
                states.push(format!("{kind} {}", data["state"].as_str().unwrap()));
            }
            Some(_) | None => {}
        }
    }
    states
}

#[test]
fn events_of_a_worker_are_streamed_with_those_of_its_nodes() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n[workers]\ngrace_s = 2.0\n");
    let mut stream = UnixStream::connect(site.folder().join("data/socket")).unwrap();
    write!(stream, "GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut events = BufReader::new(stream);
    let mut head = String::new();
    events.read_line(&mut head).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let mut worker = site.worker();
    let states = states_until(&mut events, "node up");
    assert_eq!(states, ["worker connected", "node up"]);
    worker.kill();
    let states = states_until(&mut events, "node down");
    assert_eq!(states, ["worker disconnected", "worker lost", "node down"]);
}

/// A task that records its process and every earlier process that still runs, and waits for a file
/// before it ends.
const WITNESS: &str = "\
for pid in $(cat pids 2> /dev/null); do kill -0 $pid 2> /dev/null && echo $pid >> beside; done
echo $$ >> pids
while [ ! -e go ]; do sleep 0.05; done
";

#[test]
fn worker_runs_its_jobs_and_is_reported_lost_when_gone() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n[workers]\ngrace_s = 12.0\n");
    let mut worker = site.worker();
    site.until("the worker is there", || {
        site.state_of_worker() == "connected"
    });
    let status = site.json(&["status", "--format", "json"]);
    assert_eq!(status["workers"], 1);

    // Nodes of this host are used first. Once they are full, the worker's node is used.
    let here = status["nodes"].as_u64().unwrap() - 1;
    let procs = here.to_string();
    site.output_of(&[
        "submit", "--procs", &procs, "--output", "none", "--", "sleep", "600",
    ]);

    let script = site.folder().join("job.sh");
    fs::write(&script, "#!/bin/sh\necho \"$0\" > where\nexit 7\n").unwrap();
    site.output_of(&["submit", "--output", "none", "--", script.to_str().unwrap()]);
    assert_eq!(site.run(&["wait", "2"]).status.code(), Some(7));
    let place = fs::read_to_string(site.folder().join("where")).unwrap();
    assert!(
        Path::new(place.trim()).starts_with(site.worker_data()),
        "a copy that the worker keeps: {place}"
    );
    let jobs = site.json(&["jobs", "--all", "--format", "json"]);
    assert_eq!(jobs["jobs"][0]["host"], "blade");
    assert_ne!(jobs["jobs"][1]["host"], "blade");

    let (may, may_not) = (site.place("may"), site.place("may-not"));
    site.submit_at(&may, &["--requeue"], WITNESS);
    site.until("it runs", || lines(&may.join("pids")) == 1);
    worker.kill();
    assert_eq!(site.state(3), "running", "it may come back");
    site.output_of(&["cancel", "1"]);
    site.until("it runs here", || lines(&may.join("pids")) == 2);
    assert!(!may.join("beside").exists(), "one at a time");
    assert_eq!(site.state_of_worker(), "lost");
    fs::write(may.join("go"), "").unwrap();
    assert_eq!(site.run(&["wait", "3"]).status.code(), Some(0));

    // The worker comes back with a new incarnation. Jobs that may not run again are lost with the
    // old one.
    let mut worker = site.worker();
    site.until("the worker is back", || {
        site.state_of_worker() == "connected"
    });
    let nodes = site.json(&["nodes", "--format", "json"]);
    assert_eq!(nodes["workers"][0]["incarnation"], 2);
    site.output_of(&[
        "submit", "--procs", &procs, "--output", "none", "--", "sleep", "600",
    ]);
    site.submit_at(&may_not, &[], WITNESS);
    site.until("it runs", || lines(&may_not.join("pids")) == 1);
    worker.kill();
    site.until("it is lost", || site.state(5) == "lost");
    let explained = site.json(&["explain", "5", "--format", "json"]);
    assert_eq!(explained["words"][0], "lost (worker disconnected)");
    site.output_of(&["cancel", "4"]);
}

#[test]
fn signal_before_the_time_limit_reaches_a_job_on_a_worker() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n[local]\nnodes = 0\n");
    let _worker = site.worker();
    site.until("the worker is there", || {
        site.state_of_worker() == "connected"
    });
    let limit = ["--time-limit", "600s", "--signal", "USR1@598s"];
    let script = "trap 'exit 7' USR1; sleep 600 & wait";
    let program = ["--output", "none", "--", "sh", "-c", script];
    site.output_of(&[&["submit"], &limit[..], &program].concat());
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(7));
}

#[test]
fn worker_token_is_rejected_on_other_paths() {
    let site = WorkerTestSite::start("");
    let (worker, user) = (site.token("worker", &["--worker"]), site.token("user", &[]));
    for words in [
        &["jobs"][..],
        &["status"],
        &["ledger"],
        &["submit", "--", "true"],
        &["token", "list"],
    ] {
        let ran = site.run(&site.over_tcp(words, &worker));
        assert_eq!(ran.status.code(), Some(1), "{words:?}");
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert!(stderr.contains("this token can only take work"), "{stderr}");
    }
    assert!(site.run(&site.over_tcp(&["jobs"], &user)).status.success());

    // The token of a user accepts no work.
    let mut offer = site.worker_words(&user);
    let refused = site.run(&offer);
    assert_eq!(refused.status.code(), Some(1));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("this token cannot take work"), "{stderr}");

    // A revoked token ends the worker that connected with it.
    offer = site.worker_words(&worker);
    let mut running = site.spawn(&offer);
    site.until("the worker is there", || {
        site.state_of_worker() == "connected"
    });
    let listed = site.json(&["token", "list", "--format", "json"]);
    let tokens = listed["tokens"].as_array().unwrap();
    let its = tokens
        .iter()
        .find(|token| token["kind"] == "worker")
        .unwrap();
    site.output_of(&["token", "revoke", its["id"].as_str().unwrap()]);
    site.until("the worker has ended", || running.has_ended());
}

#[test]
fn service_log_names_workers_that_come_and_go_and_attempts_that_are_lost() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n[workers]\ngrace_s = 2.0\n");
    let mut worker = site.worker();
    site.until("it is logged", || {
        site.log_has("INFO worker has come name=")
    });
    let status = site.json(&["status", "--format", "json"]);
    let all = status["nodes"].as_u64().unwrap().to_string();
    // The job also needs the worker's node.
    site.output_of(&[
        "submit", "--procs", &all, "--output", "none", "--", "sleep", "600",
    ]);
    site.until("it runs", || site.state(1) == "running");
    worker.kill();
    site.until("it is logged", || site.log_has("worker is disconnected"));
    site.until("it is logged", || {
        site.log_has("WARN worker was given up name=")
    });
    let log = fs::read_to_string(site.folder().join("log")).unwrap();
    let lost = log.lines().find(|line| line.contains("attempt is lost"));
    let lost = lost.expect("it is logged");
    assert!(
        lost.contains("WARN attempt is lost job=1 task=0 attempt=1"),
        "{lost}"
    );
    site.until("it is lost", || site.state(1) == "lost");
}

#[test]
fn outputs_of_an_array_on_a_worker_are_in_its_directory_there() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n");
    let _worker = site.worker();
    site.until("the worker is there", || {
        site.state_of_worker() == "connected"
    });
    let status = site.json(&["status", "--format", "json"]);
    let here = (status["nodes"].as_u64().unwrap() - 1).to_string();
    // This host's nodes are taken, so the tasks run on the worker's node.
    site.output_of(&[
        "submit", "--procs", &here, "--output", "none", "--", "sleep", "600",
    ]);
    site.output_of(&[
        "submit",
        "-a",
        "1-2",
        "--",
        "sh",
        "-c",
        "echo task $TOLLGATE_TASK",
    ]);
    site.output_of(&["wait", "2"]);
    assert_eq!(site.output_of(&["logs", "2"]), "task 1\ntask 2\n");
    let output = site.folder().join("tollgate-2/2.out");
    assert_eq!(fs::read_to_string(output).unwrap(), "task 2\n");
    site.output_of(&["cancel", "1"]);
}

#[test]
fn wide_job_gets_all_of_its_processors_and_hosts() {
    let site = WorkerTestSite::start("policy = \"fcfs\"\n");
    let _worker = site.worker();
    site.until("the worker is there", || {
        site.state_of_worker() == "connected"
    });
    let all = site.json(&["status", "--format", "json"])["nodes"].to_string();
    let line = "echo \"$TOLLGATE_PROCS $TOLLGATE_HOSTS\" > told";
    let wide = [
        "submit", "--procs", &all, "-o", "none", "--", "sh", "-c", line,
    ];
    site.output_of(&wide);
    site.output_of(&["wait", "1"]);
    let written = fs::read_to_string(site.folder().join("told")).unwrap();
    let (procs, hosts) = written.trim().split_once(' ').unwrap();
    assert_eq!(procs, all);
    let parts: Vec<(&str, u32)> = hosts
        .split(',')
        .map(|part| part.split_once(':').unwrap())
        .map(|(host, n)| (host, n.parse().unwrap()))
        .collect();
    assert_eq!(parts.len(), 2, "{hosts}");
    assert!(parts.contains(&("blade", 1)), "{hosts}");
    let sum: u32 = parts.iter().map(|(_, n)| n).sum();
    assert_eq!(sum.to_string(), all);
}

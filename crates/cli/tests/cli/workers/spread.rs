//! Jobs on three workers that run copies of a program on all of them. No copy outlives its job.

use std::fs;
use std::path::Path;

use super::site::{TestProcess, WorkerTestSite};

/// The names of the workers.
const NAMES: [&str; 3] = ["red", "green", "blue"];
/// A copy that records its process, and ends only when it is killed.
const STUBBORN: &str = "trap '' TERM; echo $$ > new-$TOLLGATE_HOST; mv new-$TOLLGATE_HOST pid-$TOLLGATE_HOST; \
    while :; do sleep 1; done";

/// A service whose own nodes are drained, and three workers with a node each.
fn site_with_workers() -> (WorkerTestSite, Vec<TestProcess>) {
    let site = WorkerTestSite::start("policy = \"plan\"\n[workers]\ngrace_s = 6.0\n");
    let workers = NAMES.map(|name| site.named_worker(name)).into();
    site.output_of(&["drain"]);
    site.until("the workers are there", || {
        let nodes = site.json(&["nodes", "--format", "json"]);
        let workers = nodes["workers"].as_array().unwrap();
        let connected = workers
            .iter()
            .filter(|worker| worker["state"] == "connected");
        connected.count() == NAMES.len()
    });
    (site, workers)
}

/// Submits a job with a processor on each worker.
fn submit(site: &WorkerTestSite, dir: &Path, script: &str) {
    let path = format!("PATH={}:/usr/bin:/bin", program_dir().display());
    site.output_of(&[
        "submit",
        "-n",
        "3",
        "--deadline",
        "1h",
        "--estimate",
        "1m",
        "--env",
        &path,
        "--env",
        "TOLLGATE_SPREAD_ADDRESS=127.0.0.1",
        "--dir",
        dir.to_str().unwrap(),
        "-o",
        "out",
        "--",
        "sh",
        "-c",
        script,
    ]);
}

fn program_dir() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tollgate")).parent().unwrap()
}

fn sorted_lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns the processes that [`STUBBORN`] copies have recorded.
fn recorded(dir: &Path) -> Vec<u32> {
    let files = NAMES.map(|name| fs::read_to_string(dir.join(format!("pid-{name}"))));
    let pids = files.into_iter().flatten();
    pids.map(|pid| pid.trim().parse().unwrap()).collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn copies_run_on_every_host_and_the_first_failure_ends_all() {
    let (site, _workers) = site_with_workers();
    let dir = site.place("all");
    let copy = "echo $TOLLGATE_RANK of $TOLLGATE_COPIES on $TOLLGATE_HOST in $PWD";
    let script = format!(
        "tollgate spread -- sh -c '{copy}' > copies && sort $TOLLGATE_NODEFILE > nodes && \
         cat $PE_HOSTFILE > slots && echo $TOLLGATE_HOST > first"
    );
    submit(&site, &dir, &script);
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(0));
    assert_eq!(sorted_lines(&dir.join("nodes")), ["blue", "green", "red"]);
    let slots = sorted_lines(&dir.join("slots"));
    assert_eq!(slots[0], "blue 1 tollgate UNDEFINED");
    let copies = sorted_lines(&dir.join("copies"));
    let first = fs::read_to_string(dir.join("first")).unwrap();
    let here = format!(" in {}", dir.display());
    assert!(
        copies[0].starts_with(&format!("0 of 3 on {}", first.trim())),
        "{copies:?}"
    );
    for (rank, line) in copies.iter().enumerate() {
        assert!(line.starts_with(&format!("{rank} of 3 on ")) && line.ends_with(&here));
    }
    for name in NAMES {
        assert!(
            copies
                .iter()
                .any(|line| line.contains(&format!("on {name} ")))
        );
        let left = fs::read_dir(site.folder().join(name).join("runner-scripts")).unwrap();
        assert_eq!(
            left.count(),
            0,
            "the files of hosts are removed with the attempt"
        );
    }

    let dir = site.place("failure");
    let script = "tollgate spread -n 3 -- sh -c \
        'test $TOLLGATE_RANK = 2 && exit 7; echo $$ > pid-$TOLLGATE_HOST; exec sleep 600'; \
        echo $? > code; tollgate spread --on green -- sh -c 'echo $TOLLGATE_HOST > only'; \
        tollgate spread -n 4 -- true 2> many; tollgate spread --on white -- true 2> unknown; true";
    submit(&site, &dir, script);
    assert_eq!(site.run(&["wait", "2"]).status.code(), Some(0));
    let file = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    assert_eq!(file("code"), "7\n");
    assert_eq!(file("only"), "green\n");
    assert!(file("many").contains("expected 1 to 3"), "{}", file("many"));
    assert!(file("unknown").contains("host `white`: not a host of this job"));
    for pid in recorded(&dir) {
        assert!(!is_alive(pid), "ended with the copy that failed");
    }
    let jobs = site.json(&["jobs", "--all", "--format", "json"]);
    let jobs = jobs["jobs"].as_array().unwrap();
    assert!(jobs.iter().all(|job| job["promise"] == "kept"), "{jobs:?}");
}

#[test]
fn no_copy_outlives_its_job() {
    let (site, mut workers) = site_with_workers();
    for (job, what) in [(1, "cancelled"), (2, "ended")] {
        let dir = site.place(what);
        // The second job leaves its copies behind, in sessions of their own.
        let script = match what {
            "ended" => format!(
                "setsid tollgate spread -- sh -c '{STUBBORN}' & \
                 while [ $(ls pid-* 2> /dev/null | wc -l) -lt 3 ]; do sleep 0.05; done"
            ),
            _ => format!("tollgate spread -- sh -c '{STUBBORN}'"),
        };
        submit(&site, &dir, &script.replace("'' TERM", "\"\" TERM"));
        site.until("the copies run", || recorded(&dir).len() == NAMES.len());
        if what == "cancelled" {
            site.output_of(&["cancel", "1"]);
        }
        site.run(&["wait", &job.to_string()]);
        for pid in recorded(&dir) {
            assert!(!is_alive(pid), "{what}: its nodes are free, and {pid} runs");
        }
    }

    // A worker is killed. Its runner ends what runs there with the lease, and the service all else.
    let dir = site.place("lost");
    let script = format!("tollgate spread -- sh -c '{STUBBORN}'");
    submit(&site, &dir, &script.replace("'' TERM", "\"\" TERM"));
    site.until("the copies run", || recorded(&dir).len() == NAMES.len());
    workers[1].kill();
    site.until("the job is lost", || site.state(3) == "lost");
    site.until("no copy is left", || {
        !recorded(&dir).into_iter().any(is_alive)
    });
}

#[test]
fn spread_outside_a_job_fails_with_a_hint() {
    let site = WorkerTestSite::start("");
    let ran = site.run(&["spread", "--", "true"]);
    assert_eq!(ran.status.code(), Some(2));
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert!(
        stderr.contains("not set as for a job of tollgate") && stderr.contains("hint: submit it"),
        "{stderr}"
    );
}

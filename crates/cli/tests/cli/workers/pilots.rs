//! Tests of pilots: workers that end with a job of another scheduler, and leave nothing behind.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use super::site::{TestProcess, WorkerTestSite, lines};

/// A grace period in seconds that is longer than any test: a worker is gone only if it says so.
const LONG: &str = "policy = \"fcfs\"\n[local]\nnodes = 0\n[workers]\ngrace_s = 3600.0\n";
/// A task that ignores SIGTERM.
const STUBBORN: &str = "trap '' TERM\necho $$ >> pids\nwhile :; do sleep 0.05; done\n";

struct PilotScenario {
    site: WorkerTestSite,
    token: String,
}

impl PilotScenario {
    fn new(config: &str) -> Self {
        let site = WorkerTestSite::start(config);
        let token = site.token("token", &["--worker"]);
        Self { site, token }
    }

    fn pilot(&self, flags: &[&str]) -> TestProcess {
        let mut words = self.site.worker_words(&self.token);
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self.site.spawn(&words)
    }

    /// Submits a task to a directory of its own, and returns the directory once the task runs.
    fn run_task(&self, script: &str) -> PathBuf {
        let place = self.site.place("place");
        self.site.submit_at(&place, &["--requeue"], script);
        self.site
            .until("the task runs", || lines(&place.join("pids")) == 1);
        place
    }

    fn until_gone(&self, pilot: &mut TestProcess) {
        self.site.until("the pilot has ended", || pilot.has_ended());
    }

    fn worker_log(&self) -> String {
        fs::read_to_string(self.site.folder().join("worker-log")).unwrap()
    }
}

/// Returns the last process that a task recorded.
fn task_process(place: &std::path::Path) -> Pid {
    let pids = fs::read_to_string(place.join("pids")).unwrap();
    Pid::from_raw(pids.lines().next_back().unwrap().parse().unwrap()).unwrap()
}

/// Returns whether a process runs; one that only waits to be reaped does not.
fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn pilot_ends_its_tasks_and_its_runner_before_it_ends() {
    let scene = PilotScenario::new(LONG);
    for signal in [Signal::USR1, Signal::USR2, Signal::TERM, Signal::INT] {
        let mut pilot = scene.pilot(&["--pilot"]);
        let place = scene.run_task(STUBBORN);
        let (runner, watcher) = scene.site.runner_of_worker();
        // Batch systems send some signals to all processes of a job.
        for pid in [pilot.pid(), runner, watcher] {
            kill_process(pid, signal).unwrap();
        }
        // Another signal changes nothing.
        kill_process(pilot.pid(), Signal::TERM).unwrap();
        scene.until_gone(&mut pilot);
        let left = [task_process(&place), runner].map(is_alive);
        assert_eq!(left, [false, false], "{signal:?}");
        assert_eq!(scene.site.state_of_worker(), "lost", "{signal:?}");
        scene.site.output_of(&["cancel", &scene.site.last_job()]);
        fs::remove_dir_all(place).unwrap();
    }
}

#[test]
fn pilot_leaves_before_its_known_end() {
    let scene =
        PilotScenario::new("policy = \"fcfs\"\n[workers]\ngrace_s = 2.0\n[local]\nnodes = 0\n");
    let mut pilot = scene.pilot(&["--pilot", "--until", "+20s", "--site", "north"]);
    let script = "env | grep -E 'TOLLGATE_(WORKER|SITE|UNTIL)' | sort > told\n";
    let place = scene.run_task(&format!("{script}{STUBBORN}"));
    let nodes = scene.site.json(&["nodes", "--format", "json"]);
    let until = nodes["workers"][0]["until"].as_str().unwrap().to_owned();
    assert_eq!(nodes["workers"][0]["site"], "north");
    let script = fs::read_to_string(place.join("told")).unwrap();
    let expected = format!("TOLLGATE_SITE=north\nTOLLGATE_UNTIL={until}\nTOLLGATE_WORKER=blade\n");
    assert_eq!(script, expected);
    scene.until_gone(&mut pilot);
    assert!(!is_alive(task_process(&place)));
    let log = scene.worker_log();
    assert!(
        log.contains("the worker leaves reason=\"its end is near\""),
        "{log}"
    );
    let left: jiff::Timestamp = until.parse().unwrap();
    assert!(jiff::Timestamp::now() < left, "it ends before {until}");
}

#[test]
fn idle_pilot_leaves_when_no_job_waits() {
    let scene = PilotScenario::new(LONG);
    let mut pilot = scene.pilot(&["--pilot", "--idle", "2s"]);
    scene.until_gone(&mut pilot);
    assert_eq!(scene.site.state_of_worker(), "lost");
    let log = scene.worker_log();
    assert!(log.contains("the worker leaves reason=\"idle\""), "{log}");
    assert!(scene.site.log_has("worker has left name="));
    // The next pilot in the directory gets jobs, and another job keeps the pilot from leaving.
    let mut pilot = scene.pilot(&["--pilot", "--idle", "2s"]);
    let place = scene.run_task("echo $$ >> pids; sleep 3");
    assert_eq!(scene.site.run(&["wait", "1"]).status.code(), Some(0));
    assert!(place.exists());
    scene.until_gone(&mut pilot);
}

#[test]
fn end_of_a_pilot_is_never_guessed() {
    let scene = PilotScenario::new(LONG);
    for (until, hint) in [
        ("auto", "`auto` needs a job of Slurm or Grid Engine"),
        ("2001-01-01T00:00:00Z", "expected a time to come"),
        ("soon", "expected an instant"),
    ] {
        let mut words = scene.site.worker_words(&scene.token);
        words.extend(["--until".to_owned(), until.to_owned()]);
        let ran = scene.site.run(&words);
        assert_eq!(ran.status.code(), Some(2), "{until}");
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert!(stderr.contains(hint), "{stderr}");
    }
}

#[test]
fn token_of_one_use_is_for_one_pilot() {
    let mut scene = PilotScenario::new(LONG);
    scene.token = scene
        .site
        .token("once", &["--worker", "--uses", "1", "--expires", "24h"]);
    let mut pilot = scene.pilot(&["--pilot"]);
    scene.site.until("the pilot is there", || {
        scene.site.state_of_worker() == "connected"
    });
    let listed = scene.site.json(&["token", "list", "--format", "json"]);
    let tokens = listed["tokens"].as_array().unwrap();
    let once = tokens.iter().find(|token| token["uses_left"] == 0).unwrap();
    let key = tokens
        .iter()
        .find(|token| token["issued_with"] == once["id"])
        .unwrap();
    assert_eq!(key["kind"], "worker");
    let table = scene.site.output_of(&["token", "list"]);
    assert!(
        table.contains("0 left") && table.contains("key from"),
        "{table}"
    );
    // The pilot comes again with its key, as after a restart of its host.
    kill_process(pilot.pid(), Signal::TERM).unwrap();
    scene.until_gone(&mut pilot);
    let _pilot = scene.pilot(&["--pilot"]);
    scene.site.until("the pilot is back", || {
        scene.site.state_of_worker() == "connected"
    });
    // Another pilot is refused.
    let other = scene.site.folder().join("other-data");
    let mut words = scene.site.worker_words(&scene.token);
    let data = words.iter().position(|word| word == "--data").unwrap();
    words[data + 1] = other.to_str().unwrap().to_owned();
    let refused = scene.site.run(&words);
    assert_eq!(refused.status.code(), Some(1));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("this token is used up"), "{stderr}");
    assert!(
        stderr.contains("hint: `tollgate token new --worker --uses N`"),
        "{stderr}"
    );
    // Nor does the key do more than a worker's token.
    let key = scene
        .site
        .worker_data()
        .join("key")
        .to_str()
        .unwrap()
        .to_owned();
    let jobs = scene.site.run(&scene.site.over_tcp(&["jobs"], &key));
    let stderr = String::from_utf8(jobs.stderr).unwrap();
    assert!(stderr.contains("this token can only take work"), "{stderr}");
}

#[test]
fn pilot_that_starts_nothing_is_drained_and_leaves() {
    let scene = PilotScenario::new(LONG);
    // The jobs wait for a worker, on which their directory is missing then.
    for job in ["a", "b", "c", "d"] {
        let place = scene.site.place(job);
        scene.site.submit_at(&place, &[], "true");
        fs::remove_dir(place).unwrap();
    }
    let explained = scene.site.json(&["explain", "1", "--format", "json"]);
    assert_eq!(
        explained["words"][0],
        "queued: waits for a node: none takes jobs now"
    );
    let mut pilot = scene.pilot(&["--pilot"]);
    scene.until_gone(&mut pilot);
    let log = scene.worker_log();
    let reason = "retired by the service: 3 jobs in a row could not be started";
    assert!(log.contains(reason), "{log}");
    assert!(
        scene
            .site
            .log_has("WARN worker is drained: three jobs in a row could not be started")
    );
    assert_eq!(scene.site.state(4), "queued", "the next pilot is to run it");
    let nodes = scene.site.output_of(&["nodes"]);
    assert!(nodes.contains("blade: drained: 3 jobs in a row"), "{nodes}");
}

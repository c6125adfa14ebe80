//! `tollgate site keep` with a service and the engine `local`: pilots come with jobs and go without.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

use super::site::{ClientOutput, ClientTestSite};

/// A user whose home directory is that of the service.
struct KeepScenario {
    service: ClientTestSite,
}

impl KeepScenario {
    fn start() -> Self {
        let service = ClientTestSite::start("policy = \"plan\"\n[local]\nnodes = 0\n");
        let scene = Self { service };
        let root = match geteuid().is_root() {
            true => "--worker-arg --account --worker-arg root --worker-arg --root-jobs",
            false => "",
        };
        let add = format!("add lab --engine local --time 10m --idle 1s --dir . {root}");
        scene.site(&add).answer();
        scene
    }

    /// Runs `tollgate site` with these words.
    fn site(&self, words: &str) -> ClientOutput {
        self.service.shell(&format!(
            "PATH=$PWD/engine:$PATH; unset XDG_CONFIG_HOME XDG_STATE_HOME TOLLGATE_URL; HOME=$PWD tollgate site {words}"
        ))
    }

    /// Adds a site that is called `far`, with the stand-in for Slurm of the tests of `sites`.
    fn add_far(&self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sites/tests/engine");
        let engine = self.service.folder().join("engine");
        fs::create_dir_all(engine.join("jobs")).expect("a directory");
        for entry in fs::read_dir(source).expect("the stand-in") {
            let from = entry.expect("a script").path();
            let name = from.file_name().expect("a name");
            symlink(&from, engine.join(name)).expect("a link");
        }
        self.site("add far --engine slurm --time 2h").answer();
    }

    fn keep(&self) -> String {
        self.site("keep --once").answer()
    }

    fn status(&self) -> Value {
        self.site("status lab --format json").json()
    }

    /// Submits a job, and returns its number.
    fn submit(&self, flags: &[&str]) -> String {
        let mut words = vec!["submit", "--format", "json", "--output", "none"];
        words.extend(flags);
        words.extend(["--", "true"]);
        self.service.tollgate(&words).json()["id"].to_string()
    }
}

impl Drop for KeepScenario {
    fn drop(&mut self) {
        self.site("scale lab 0");
    }
}

#[test]
fn idle_pilot_is_released_long_before_its_idle_time() {
    let scene = KeepScenario::start();
    let root = match geteuid().is_root() {
        true => "--worker-arg --account --worker-arg root --worker-arg --root-jobs",
        false => "",
    };
    let add = format!("add calm --engine local --time 10m --idle 9m --dir . {root}");
    scene.site(&add).answer();
    let job = scene.submit(&["--deadline", "5m", "--estimate", "5s"]);
    let keep = || scene.site("keep calm --once").answer();
    keep();
    scene.service.tollgate(&["wait", &job]).answer();
    let status = || scene.site("status calm --format json").json();
    scene.service.until("the pilot leaves", || {
        keep();
        status()["running"] == 0
    });
    let log = status()["log"].to_string();
    assert!(
        log.contains("released pilot 1: it has run nothing"),
        "{log}"
    );
    let usage = scene.site("report calm --format json").json();
    assert_eq!(usage["sites"][0]["ends"]["by itself"], 1, "{usage}");
}

#[test]
fn pilots_come_with_jobs_and_go_without() {
    let scene = KeepScenario::start();
    let nothing = "site lab: nothing changed; 0 pending, 0 running: no task waits\n";
    assert_eq!(scene.keep(), nothing);
    // Half of the time counts without a promise, and three times 100 s within three minutes are more than one core can do.
    let jobs = [0; 3].map(|_| scene.submit(&["--deadline", "6m", "--estimate", "100s"]));
    assert_eq!(
        scene.site("keep --dry-run").answer(),
        "site lab: would have submitted 2 pilots: 3 tasks wait, 300 core-seconds of work\n"
    );
    assert_eq!(scene.status()["pilots"], Value::Array(Vec::new()));
    assert_eq!(
        scene.keep(),
        "site lab: submitted 2 pilots; 2 pending, 0 running: 3 tasks wait, 300 core-seconds of work\n"
    );
    for job in &jobs {
        scene.service.tollgate(&["wait", job]).answer();
    }
    scene
        .service
        .until("the pilots leave", || scene.status()["running"] == 0);
    assert_eq!(scene.keep(), nothing);
    let status = scene.status();
    assert_eq!(
        status["keep"]["text"],
        "no more pilots wanted: no task waits"
    );
    assert_eq!(
        (&status["pending"], &status["wanted"]),
        (&0.into(), &0.into())
    );
}

#[test]
fn other_policy_decides_and_its_pilots_leave_after_the_named_time() {
    let scene = KeepScenario::start();
    scene.submit(&["--deadline", "5m", "--estimate", "1s"]);
    scene.submit(&["--deadline", "5m", "--estimate", "1s"]);
    let two = "2 pilots; 2 pending, 0 running: 2 tasks wait, 2 core-seconds of work\n";
    // Two seconds of work need one pilot.
    assert_eq!(
        scene.site("keep --dry-run").answer(),
        "site lab: would have submitted 1 pilot: 2 tasks wait, 2 core-seconds of work\n"
    );
    assert_eq!(
        scene
            .site("keep --once --acquire all-at-once --release 2s")
            .answer(),
        format!("site lab: submitted {two}")
    );
    scene
        .service
        .until("the pilots leave", || scene.status()["running"] == 0);
    let failed = scene.site("keep --once --release soon");
    assert_eq!(failed.code, Some(2), "{failed:?}");
    assert!(failed.stderr.contains("or `never`"), "{failed:?}");
}

#[test]
fn job_that_no_pilot_can_hold_wants_none() {
    let scene = KeepScenario::start();
    let long = scene.submit(&["--estimate", "1h"]);
    assert_eq!(
        scene.keep(),
        "site lab: nothing changed; 0 pending, 0 running: \
         the shortest task that waits takes 3600 s, and a pilot has 590 s for tasks\n"
    );
    scene.service.tollgate(&["cancel", &long]).answer();
    scene.submit(&["--estimate", "1m", "--procs", "4"]);
    assert_eq!(
        scene.keep(),
        "site lab: nothing changed; 0 pending, 0 running: \
         the narrowest task that waits needs 4 cores, and a pilot has 1\n"
    );
}

#[test]
fn command_in_the_background_is_the_only_one_and_follows_the_jobs() {
    let scene = KeepScenario::start();
    let started = scene.site("keep --detach --every 1s");
    assert_eq!(started.code, Some(0), "{started:?}");
    let after = started.stderr.split("process ").nth(1).expect("a process");
    let number = after.split(',').next().expect("a number");
    let second = scene.site("keep --once");
    assert_eq!(second.code, Some(1), "{second:?}");
    let words = format!("another `tollgate site keep` runs as process {number}");
    assert!(second.stderr.contains(&words), "{second:?}");
    let job = scene.submit(&["--estimate", "10s"]);
    scene.service.tollgate(&["wait", &job]).answer();
    let process = number.parse().ok().and_then(Pid::from_raw);
    let process = process.expect("a process id");
    kill_process(process, Signal::TERM).expect("it runs");
    scene
        .service
        .until("it ends", || scene.site("keep --once").code == Some(0));
}

#[test]
fn service_that_does_not_answer_is_in_the_log() {
    let mut scene = KeepScenario::start();
    scene.service.stop();
    let failed = scene.site("keep --once");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let status = scene.status();
    let text = status["keep"]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("nothing decided: "), "{text}");
    assert_eq!(status["log"][0]["text"], text);
}

#[test]
fn site_with_a_silent_engine_is_paused_and_the_others_go_on() {
    let scene = KeepScenario::start();
    scene.add_far();
    let long = scene.submit(&["--estimate", "1h"]);
    let submitted = scene.keep();
    assert!(
        submitted.ends_with(
            "site far: submitted 1 pilot; 1 pending, 0 running: \
             1 task waits, 3600 core-seconds of work\n"
        ),
        "{submitted}"
    );
    scene.service.tollgate(&["cancel", &long]).answer();
    // The place in the queue is kept for a while.
    let kept = scene.keep();
    assert!(
        kept.ends_with("site far: nothing changed; 1 pending, 0 running: no task waits\n"),
        "{kept}"
    );
    fs::write(scene.service.folder().join("engine/down"), "").expect("a writable directory");
    let job = scene.submit(&["--estimate", "10s"]);
    let failed = scene.site("keep --once");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.stdout.starts_with("site lab: submitted 1 pilot;"),
        "{failed:?}"
    );
    scene.service.tollgate(&["wait", &job]).answer();
    let far = scene.site("status far --cached").answer();
    assert!(
        far.contains("paused for 1 min: site far: squeue: "),
        "{far}"
    );
}

//! Tests that no two attempts of a job overlap, whatever happens to a worker and its runner. The
//! attempts write the time stamps that the tests compare.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::site::{TestProcess, WorkerTestSite, lines};

/// A task that ignores SIGTERM, and writes time stamps as long as it runs.
const STUBBORN: &str = "\
trap '' TERM
while [ ! -e go ]; do date +%s%N >> try-$TOLLGATE_TRY; sleep 0.02; done
";
/// A task that ends on SIGTERM, and writes time stamps as long as it runs.
const GENTLE: &str = "\
while [ ! -e go ]; do date +%s%N >> try-$TOLLGATE_TRY; sleep 0.02; done
";
/// A short grace period in seconds, after which the service gives the worker up.
const SHORT: &str = "3.0";
/// A grace period in seconds that is longer than any test. The service gives the worker up only if
/// the worker announces its end.
const LONG: &str = "3600.0";

/// A job that runs on a worker, and can be requeued to this host.
struct OverlapScenario {
    worker: TestProcess,
    site: WorkerTestSite,
    place: PathBuf,
}

impl OverlapScenario {
    fn new(grace_s: &str, task: &str) -> Self {
        let site = WorkerTestSite::start(&format!(
            "policy = \"fcfs\"\n[workers]\ngrace_s = {grace_s}\n"
        ));
        let worker = site.worker();
        site.until("the worker is there", || {
            site.state_of_worker() == "connected"
        });
        let status = site.json(&["status", "--format", "json"]);
        let here = (status["nodes"].as_u64().unwrap() - 1).to_string();
        // Nodes of this host are used first. They are full until the job runs.
        site.output_of(&[
            "submit", "--procs", &here, "--output", "none", "--", "sleep", "600",
        ]);
        let place = site.place("place");
        site.submit_at(&place, &["--requeue"], task);
        let scene = Self {
            worker,
            site,
            place,
        };
        scene.until_stamped(1);
        scene.site.output_of(&["cancel", "1"]);
        scene
    }

    fn stamps(&self, attempt: u32) -> PathBuf {
        self.place.join(format!("try-{attempt}"))
    }

    fn until_stamped(&self, attempt: u32) {
        let file = self.stamps(attempt);
        let what = format!("attempt {attempt} runs");
        self.site.until(&what, || lines(&file) > 2);
    }

    fn runner(&self) -> Pid {
        self.site.runner_of_worker().0
    }

    /// Lets the second attempt begin, calls `then`, lets the attempt end, and asserts that the two
    /// attempts do not overlap.
    fn ends_without_overlap(self, then: impl FnOnce(&Self)) {
        self.until_stamped(2);
        then(&self);
        fs::write(self.place.join("go"), "").unwrap();
        let waited = self.site.run(&["wait", "2"]);
        assert_eq!(waited.status.code(), Some(0), "{waited:?}");
        let [first, second] = [1, 2].map(|attempt| run_of(&self.stamps(attempt)));
        let overlap_ns = first.1.min(second.1) - first.0.max(second.0);
        let ms = overlap_ns.max(0) / 1_000_000;
        assert_eq!(ms, 0, "ms side by side: {first:?} and {second:?}");
        assert!(!self.stamps(3).exists(), "two attempts are enough");
    }
}

/// Returns the first and the last time stamp of an attempt, in nanoseconds.
fn run_of(stamps: &Path) -> (i64, i64) {
    let text = fs::read_to_string(stamps).unwrap();
    let mut stamps = text.lines().map(|line| line.parse().unwrap());
    let first = stamps.next().unwrap();
    (first, stamps.next_back().unwrap_or(first))
}

fn send(pid: Pid, signal: Signal) {
    kill_process(pid, signal).unwrap();
}

#[test]
fn worker_stopped_by_sigtstp_leaves_no_overlapping_attempt() {
    for signal in [Signal::TSTP, Signal::STOP] {
        let scene = OverlapScenario::new(SHORT, STUBBORN);
        send(scene.worker.pid(), signal);
        // The worker continues, and learns that its incarnation is over.
        scene.ends_without_overlap(|scene| send(scene.worker.pid(), Signal::CONT));
    }
}

#[test]
fn worker_and_runner_stopped_together_leave_no_overlap() {
    let scene = OverlapScenario::new(SHORT, STUBBORN);
    let runner = scene.runner();
    send(scene.worker.pid(), Signal::STOP);
    send(runner, Signal::STOP);
    scene.ends_without_overlap(|scene| {
        send(runner, Signal::CONT);
        send(scene.worker.pid(), Signal::CONT);
    });
}

#[test]
fn worker_and_runner_killed_together_leave_no_overlap() {
    let mut scene = OverlapScenario::new(SHORT, STUBBORN);
    let runner = scene.runner();
    send(runner, Signal::KILL);
    scene.worker.kill();
    scene.ends_without_overlap(|_| {});
}

#[test]
fn worker_killed_and_runner_stopped_leave_no_overlap() {
    let mut scene = OverlapScenario::new(SHORT, STUBBORN);
    let runner = scene.runner();
    send(runner, Signal::STOP);
    scene.worker.kill();
    scene.ends_without_overlap(|_| send(runner, Signal::CONT));
}

#[test]
fn worker_and_runner_terminated_together_leave_no_overlap() {
    // Batch systems do the same at the end of the time limit of a pilot.
    let mut scene = OverlapScenario::new(LONG, STUBBORN);
    let (runner, watcher) = scene.site.runner_of_worker();
    for pid in [scene.worker.pid(), runner, watcher] {
        send(pid, Signal::TERM);
    }
    let OverlapScenario { site, worker, .. } = &mut scene;
    site.until("the worker has ended", || worker.has_ended());
    scene.ends_without_overlap(|_| {});
}

#[test]
fn terminated_worker_releases_its_jobs_at_once() {
    let mut scene = OverlapScenario::new(LONG, GENTLE);
    send(scene.worker.pid(), Signal::TERM);
    let OverlapScenario { site, worker, .. } = &mut scene;
    site.until("the worker has ended", || worker.has_ended());
    assert_eq!(site.state_of_worker(), "lost");
    scene.ends_without_overlap(|_| {});
}

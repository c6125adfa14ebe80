//! `study` and `serve` take the policy as well, and an index that is rebuilt equals one that grew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant as Clock};

use tollgate_model::{Instant, JobSpec, Market, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_policy::{ClusterState, View};
use widest_first::WIDEST_FIRST;

/// Maximum wait for a service.
const TIMEOUT: Duration = Duration::from_secs(60);

const STUDY: &str = r#"
name = "mine"
title = "Widest first against EASY"
seeds = 1

[workload]
last = 60
deadlines = "paper"

[[market]]
name = "none"
policies = ["easy", "widest-first:overtake=true"]

[[set]]
name = "A"

[[scenario]]
name = "load"
vary = "arrival-factor"
values = [0.5, 1]
"#;

fn run(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_widest-first"))
        .args(words)
        .current_dir(folder)
        .env("TOLLGATE_DATA", folder.join("data"))
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Returns the output of a run that succeeds.
fn answer(folder: &Path, words: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = run(folder, words);
    let errors = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{words:?}: {errors}");
    String::from_utf8(stdout).expect("text")
}

#[test]
fn study_runs_the_policy_and_reads_its_results_again() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("mine.toml"), STUDY).expect("a file");
    answer(folder.path(), &["study", "run", "mine.toml"]);
    let results = folder.path().join("mine/results.csv");
    let rows = || fs::read_to_string(&results).expect("results");
    let first = rows();
    assert_eq!(first.matches(",widest-first:overtake=true,").count(), 2);
    answer(folder.path(), &["study", "run", "mine.toml", "--resume"]);
    assert_eq!(rows(), first);
    answer(folder.path(), &["study", "report", "mine"]);
}

/// A service that is stopped when the value is dropped.
struct Service {
    folder: PathBuf,
    process: Child,
}

impl Service {
    fn start(folder: &Path, policy: &str) -> Self {
        let log = fs::File::create(folder.join("log")).expect("a log");
        let process = Command::new(env!("CARGO_BIN_EXE_widest-first"))
            .args(["serve", "--policy", policy, "--shadow"])
            .args(["widest-first:overtake=true", "--data"])
            .arg(folder.join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the service starts");
        let service = Self {
            folder: folder.to_owned(),
            process,
        };
        let began = Clock::now();
        while !run(folder, &["status"]).status.success() {
            let log = fs::read_to_string(service.folder.join("log"));
            assert!(began.elapsed() < TIMEOUT, "{log:?}");
            thread::sleep(Duration::from_millis(10));
        }
        service
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.process.wait();
    }
}

#[test]
fn service_decides_by_the_policy_also_after_a_restart() {
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path();
    for job in ["1", "2"] {
        let service = Service::start(folder, "widest-first");
        let status = answer(folder, &["status"]);
        assert!(
            status.contains("policy  widest-first, market none\n"),
            "{status}"
        );
        assert!(
            status.contains(": widest-first:overtake=true, "),
            "{status}"
        );
        answer(folder, &["submit", "-q", "-e", "5s", "-o", "none", "true"]);
        answer(folder, &["wait", job]);
        drop(service);
    }
}

#[test]
fn refusal_of_the_policy_is_answered_and_stored() {
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path();
    let service = Service::start(folder, "widest-first:max-hours=1");
    let refused = run(folder, &["submit", "-e", "2h", "-o", "none", "true"]);
    let text = String::from_utf8(refused.stdout).expect("text");
    assert_eq!(refused.status.code(), Some(3), "{text}");
    assert!(
        text.contains("its estimate is longer than this policy allows"),
        "{text}"
    );
    drop(service);
    let _service = Service::start(folder, "widest-first");
    let job = answer(folder, &["explain", "1"]);
    assert!(job.contains("rejected: estimate_too_long"), "{job}");
}

#[test]
fn rebuilt_index_equals_the_one_that_grew() {
    let registry = builtin_registry().with(WIDEST_FIRST);
    let policy = registry.named("widest-first").expect("it is defined");
    let mut grown = policy.build(Market::None);
    let mut state = ClusterState::default();
    state.add_nodes(8);
    let now = Instant::ZERO;
    for procs in [2, 5, 2, 8, 1] {
        let job = state.insert(JobSpec {
            restarts: 0,
            submit: now,
            estimate: Span::from_secs(60),
            procs,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla::default(),
        });
        grown.queued(View::new(&state, now), job);
    }
    let mut rebuilt = policy.build(Market::None);
    rebuilt.rebuild(View::new(&state, now));
    assert_eq!(format!("{rebuilt:?}"), format!("{grown:?}"));
    assert_eq!(rebuilt.pass_cost(View::new(&state, now)), 5);
    let mut again = grown.clone_box();
    again.rebuild(View::new(&state, now));
    assert_eq!(format!("{again:?}"), format!("{grown:?}"));
}

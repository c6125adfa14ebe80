//! Tests of outputs of tasks on a worker: the service asks the worker for them, and keeps their ends. The
//! file of a task is removed where the worker is to have a disk of its own.

use std::fs;
use std::process::Output;

use super::site::{TestProcess, WorkerTestSite};

/// Prints a line, waits for a file, and prints another line.
const TWO_LINES: &str = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two";

struct OutputScenario {
    /// Ends before the service, which it tells so.
    worker: TestProcess,
    site: WorkerTestSite,
    token: String,
}

impl OutputScenario {
    fn new(config: &str) -> Self {
        let config = format!("policy = \"fcfs\"\n[local]\nnodes = 0\n{config}");
        let site = WorkerTestSite::start(&config);
        let token = site.token("user", &[]);
        let worker = site.worker();
        site.until("the worker is there", || {
            site.state_of_worker() == "connected"
        });
        Self {
            worker,
            site,
            token,
        }
    }

    fn submit(&self, script: &str) {
        self.site.output_of(&["submit", "--", "sh", "-c", script]);
    }

    /// Runs `tollgate logs WORDS` as on another host.
    fn logs_elsewhere(&self, words: &[&str]) -> Output {
        let words = [&["logs"], words].concat();
        self.site.run(&self.site.over_tcp(&words, &self.token))
    }

    fn text_elsewhere(&self, words: &[&str]) -> String {
        let ran = self.logs_elsewhere(words);
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    fn error_output(&self, words: &[&str]) -> String {
        let ran = self.logs_elsewhere(words);
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        String::from_utf8(ran.stderr).unwrap()
    }
}

#[test]
fn output_on_a_worker_is_shown_while_the_job_runs_and_kept_after_it() {
    let scene = OutputScenario::new("");
    let site = &scene.site;
    scene.submit(TWO_LINES);
    site.until("it writes", || {
        let ran = scene.logs_elsewhere(&["1"]);
        ran.stdout == b"one\n"
    });
    let follower = std::thread::scope(|threads| {
        let follower = threads.spawn(|| scene.text_elsewhere(&["-f", "1"]));
        fs::write(site.folder().join("go"), "").unwrap();
        site.output_of(&["wait", "1"]);
        // At the moment of its end, whether it was collected by then or not.
        assert_eq!(scene.text_elsewhere(&["1"]), "one\ntwo\n");
        follower.join().unwrap()
    });
    assert_eq!(follower, "one\ntwo\n");
    // A file of another size in its place here is not the file.
    fs::write(site.folder().join("tollgate-1.out"), "other").unwrap();
    assert_eq!(site.output_of(&["logs", "1"]), "one\ntwo\n");
    fs::remove_file(site.folder().join("tollgate-1.out")).unwrap();
    assert_eq!(site.output_of(&["logs", "1"]), "one\ntwo\n");
    let kept = site.folder().join("data/outputs/1.0");
    assert!(kept.exists());
    site.until("it goes with its job", || {
        site.output_of(&["prune", "--older-than", "1s"]);
        !kept.exists()
    });
}

#[test]
fn errors_and_signals_go_over_the_line_of_a_worker() {
    let scene = OutputScenario::new("");
    let site = &scene.site;
    let script = "trap 'echo caught >&2; exit 0' USR1; echo out; echo ready >&2
        while :; do sleep 0.05; done";
    site.output_of(&["submit", "--error", "errors/%j", "--", "sh", "-c", script]);
    site.until("it writes", || {
        let ran = scene.logs_elsewhere(&["--error", "1"]);
        ran.stdout == b"ready\n"
    });
    site.output_of(&["signal", "USR1", "1"]);
    site.output_of(&["wait", "1"]);
    let kept = ["1.0", "1.0.err"].map(|name| site.folder().join("data/outputs").join(name));
    site.until("both are kept", || kept.iter().all(|file| file.exists()));
    fs::remove_dir_all(site.folder().join("errors")).unwrap();
    fs::remove_file(site.folder().join("tollgate-1.out")).unwrap();
    // The shell may say that its own child got the signal, too.
    let errors = site.output_of(&["logs", "--error", "1"]);
    let is_whole = errors.starts_with("ready\n") && errors.ends_with("caught\n");
    assert!(is_whole, "{errors}");
    assert_eq!(scene.text_elsewhere(&["1"]), "out\n");
    site.until("both go with their job", || {
        site.output_of(&["prune", "--older-than", "1s"]);
        !kept.iter().any(|file| file.exists())
    });
}

#[test]
fn only_the_end_of_a_long_output_is_kept_with_a_note() {
    let scene = OutputScenario::new("[outputs]\nkept_kib = 100\n");
    scene.submit("i=0; while [ $i -lt 40000 ]; do echo $i; i=$((i+1)); done");
    scene.site.output_of(&["wait", "1"]);
    let file = scene.site.folder().join("tollgate-1.out");
    let whole = fs::read_to_string(&file).unwrap();
    assert_eq!(
        scene.site.output_of(&["logs", "1"]),
        whole,
        "the file is here"
    );
    scene.site.until("it is kept", || {
        let kept = scene.site.folder().join("data/outputs/1.0");
        fs::metadata(kept).is_ok_and(|kept| kept.len() > 100 << 10)
    });
    fs::remove_file(file).unwrap();
    let ran = scene.logs_elsewhere(&["1"]);
    let left_out = whole.len() - (100 << 10);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), whole[left_out..]);
    let note = format!("job 1: {left_out} bytes before these are left out");
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains(&note),
        "{ran:?}"
    );
}

#[test]
fn outputs_of_an_array_come_back_task_by_task() {
    let scene = OutputScenario::new("");
    let script = "[ $TOLLGATE_TASK = 2 ] || printf 'task %s \\377\\n' $TOLLGATE_TASK";
    let words = ["submit", "-a", "1-3", "--", "sh", "-c", script];
    scene.site.output_of(&words);
    scene.site.output_of(&["wait", "1"]);
    let all = scene.logs_elsewhere(&["1"]);
    assert_eq!(all.stdout, b"task 1 \xff\ntask 3 \xff\n", "{all:?}");
    assert_eq!(scene.logs_elsewhere(&["1_3"]).stdout, b"task 3 \xff\n");
    assert_eq!(scene.text_elsewhere(&["1_2"]), "");
    let outputs = scene.site.folder().join("data/outputs");
    assert!(
        !outputs.join("1.2").exists(),
        "an empty output costs nothing"
    );
}

#[test]
fn link_in_the_place_of_the_output_is_not_followed() {
    let scene = OutputScenario::new("");
    scene.submit("rm tollgate-1.out; ln -s /etc/passwd tollgate-1.out");
    scene.site.output_of(&["wait", "1"]);
    let stderr = scene.error_output(&["1"]);
    assert!(stderr.contains("symbolic link"), "{stderr}");
}

#[test]
fn service_that_keeps_no_outputs_reports_it() {
    let scene = OutputScenario::new("[outputs]\nkept_kib = 0\n");
    scene.submit("echo one");
    scene.site.output_of(&["wait", "1"]);
    scene.site.until("the end is acknowledged", || {
        scene.logs_elsewhere(&["1"]).status.code() == Some(1)
    });
    let stderr = scene.error_output(&["1"]);
    assert!(stderr.contains("keeps no outputs"), "{stderr}");
    assert_eq!(
        scene.site.output_of(&["logs", "1"]),
        "one\n",
        "the file is here"
    );
    assert!(!scene.site.folder().join("data/outputs").exists());
}

#[test]
fn output_of_a_lost_worker_is_reported_as_missing() {
    let mut scene = OutputScenario::new("[workers]\ngrace_s = 2.0\n");
    scene.submit("echo one; sleep 600");
    scene.site.until("it writes", || {
        scene.logs_elsewhere(&["1"]).stdout == b"one\n"
    });
    scene.worker.kill();
    let site = &scene.site;
    site.until("it is lost", || site.state(1) == "lost");
    let stderr = scene.error_output(&["1"]);
    assert!(stderr.contains("its worker was lost"), "{stderr}");
}

#[test]
fn output_is_kept_before_a_worker_leaves() {
    let mut scene = OutputScenario::new("[workers]\ngrace_s = 3600.0\n");
    scene.submit("head -c 300000 /dev/zero | tr '\\0' x");
    let site = &scene.site;
    site.until("it runs", || site.state(1) != "queued");
    site.output_of(&["wait", "1"]);
    let pid = scene.worker.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    site.until("the worker has left", || scene.worker.has_ended());
    assert_eq!(scene.text_elsewhere(&["1"]), "x".repeat(300_000));
}

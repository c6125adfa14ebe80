//! `tollgate demo`.

use std::process::Command;

#[test]
fn demo_runs_its_sample_jobs_and_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["demo", "--once"])
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{stderr}");
    for expected in [
        "note: report: job 1 accepted, its deadline is kept with probability",
        "note: backup: job 3 queued",
        "note: forecast: job 4 rejected: ",
        "note: simulate: job 5 rejected: ",
        "note: report: finished exit 0",
        "note: broken: finished exit 3",
    ] {
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn signal_ends_the_demo_and_its_jobs() {
    use std::io::{BufRead, BufReader};

    let folder = tempfile::tempdir().unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("demo")
        .env("TMPDIR", folder.path())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(demo.stderr.take().unwrap()).lines();
    // By then the demo has submitted all jobs, and the longer jobs run for seconds.
    stderr
        .find(|line| {
            line.as_ref()
                .is_ok_and(|line| line.contains("Ctrl-C ends this"))
        })
        .expect("it says how to end it")
        .unwrap();
    let pid = rustix::process::Pid::from_raw(demo.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // The jobs of the demo ran in this directory, and none of them is left.
    let place = folder.path().canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let left = processes.filter(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&place))
    });
    assert_eq!(left.count(), 0, "jobs without a waiting client");
}

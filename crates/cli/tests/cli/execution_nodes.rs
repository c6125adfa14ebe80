//! Tests of pilots that are nodes of a personal Slurm: with stand-ins for Slurm's programs, and a job that
//! ignores SIGTERM.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::program::command;

/// The time within which a pilot does what a test waits for.
const LIMIT: Duration = Duration::from_secs(60);

/// A node with a `slurmd` that has one job, and a controller that writes down what it is asked.
struct SlurmStandIn {
    dir: TempDir,
    pilot: Child,
}

impl SlurmStandIn {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path();
        // The job leaves the daemon's session, as those of Slurm do.
        let job = "trap '' TERM; echo $$ >>pids; while :; do sleep 1; done";
        let slurmd = format!(
            "[ \"$1\" != -V ] || {{ echo slurm 22.05.8; exit 0; }}\necho $$ >>pids\nsetsid sh -c \"{}\" &\nwait",
            job.replace('$', "\\$")
        );
        for (program, body) in [
            ("munged", "setsid sleep 600 >/dev/null 2>&1 &"),
            ("slurmd", slurmd.as_str()),
            ("scontrol", "echo \"$*\" >>controller"),
            ("sinfo", "echo idle"),
            (
                "squeue",
                "[ -e requeued ] || echo 7; grep -q requeue controller && touch requeued; true",
            ),
        ] {
            let file = path.join("bin").join(program);
            fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
            let text = format!("#!/bin/sh\ncd '{}'\n{body}\n", path.display());
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let user = std::process::Command::new("id").arg("-un").output();
        let user = String::from_utf8(user.expect("a name").stdout).expect("text");
        let ticket = format!(
            "{{\"user\":\"{}\",\"uid\":{},\"address\":\"127.0.0.1\",\"port\":1,\
             \"access\":{{\"slurm\":{{\"host\":\"h\",\"key\":\"k\",\"node_port\":20000}}}}}}",
            user.trim(),
            geteuid().as_raw()
        );
        fs::write(path.join("ticket"), ticket).expect("a file");
        let search = format!("{}:/usr/bin:/bin", path.join("bin").display());
        let mut pilot = command(&["__execution-node", "--until", "+10m", "--idle", "10m"]);
        pilot.args(["--site", "north", "--number", "3", "--cores", "1"]);
        pilot.arg("--ticket").arg(path.join("ticket"));
        pilot.arg("--data").arg(path.join("data"));
        let pilot = pilot
            .env("PATH", search)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        Self { dir, pilot }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn processes(&self) -> Vec<i32> {
        let pids = self.text("pids");
        pids.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn await_job(&self) {
        wait("the job starts", || {
            self.processes().len() == 2 && self.text("controller").contains("reservation")
        });
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.pilot), signal).expect("the pilot runs");
    }

    fn await_silence(&self) {
        let processes = self.processes();
        wait("all processes end", || {
            processes.iter().all(|pid| !lives(*pid))
        });
    }
}

impl Drop for SlurmStandIn {
    fn drop(&mut self) {
        let _ = self.pilot.kill();
        let _ = self.pilot.wait();
    }
}

fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !condition() {
        assert!(began.elapsed() < LIMIT, "{what} within {LIMIT:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn leaving_node_requeues_its_job_before_it_is_returned() {
    let mut node = SlurmStandIn::start();
    node.await_job();
    node.signal(Signal::TERM);
    let status = node.pilot.wait().expect("a status");
    assert!(status.success(), "{status}");
    node.await_silence();
    let log = node.text("controller");
    let at = |words: &str| {
        log.find(words)
            .unwrap_or_else(|| panic!("no `{words}`:\n{log}"))
    };
    let order = [
        at("update nodename=north-3 nodeaddr=127.0.0.1"),
        at("create reservation reservationname=north-3"),
        at("update nodename=north-3 state=drain"),
        at("requeue 7"),
        at("update nodename=north-3 state=down"),
        at("delete reservation=north-3"),
        at("update nodename=north-3 state=future"),
    ];
    assert!(order.is_sorted(), "{log}");
}

#[test]
fn no_process_outlives_a_pilot_that_is_killed() {
    let mut node = SlurmStandIn::start();
    node.await_job();
    node.signal(Signal::KILL);
    node.pilot.wait().expect("a status");
    node.await_silence();
}

//! Tests of `tollgate session`: with the engine `local`, whose pilots are processes of this host.

mod moving;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{ProgramOutput, command};

/// A user with two sites, and a home directory in which nothing else is.
struct SessionUser {
    home: TempDir,
}

impl SessionUser {
    fn new() -> Self {
        let user = Self {
            home: tempfile::tempdir().expect("a directory"),
        };
        for site in ["one", "two"] {
            let dir = user.home.path().to_string_lossy().into_owned();
            let words = [
                "site", "add", site, "--engine", "local", "--time", "10m", "--dir", &dir,
            ];
            user.tollgate(&words).answer();
        }
        user
    }

    /// Runs the program outside of all sessions.
    fn tollgate(&self, words: &[&str]) -> ProgramOutput {
        self.run(words, &[])
    }

    /// Runs the program as the shell of a session does.
    fn inside(&self, session: &str, words: &[&str]) -> ProgramOutput {
        let dir = self.session(session);
        let [data, sites] = ["data", "sites"].map(|name| dir.join(name).display().to_string());
        let set = [
            ("TOLLGATE_DATA", data.as_str()),
            ("TOLLGATE_SITES", &sites),
            ("TOLLGATE_SESSION", session),
        ];
        self.run(words, &set)
    }

    fn run(&self, words: &[&str], set: &[(&str, &str)]) -> ProgramOutput {
        let mut command = command(words);
        command
            .env("HOME", self.home.path())
            .env("SHELL", "/bin/sh");
        for name in [
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "TOLLGATE_DATA",
            "TOLLGATE_URL",
            "TOLLGATE_SESSION",
            "TOLLGATE_SITES",
        ] {
            command.env_remove(name);
        }
        let output = command
            .envs(set.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("the program runs");
        ProgramOutput {
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        }
    }

    fn session(&self, name: &str) -> std::path::PathBuf {
        let sessions = self.home.path().join(".local/state/tollgate-sessions");
        sessions.join(name)
    }

    /// Returns the only session, as `tollgate session list` has it.
    fn listed(&self) -> Value {
        let list = self
            .tollgate(&["session", "list", "--format", "json"])
            .answer();
        let list: Value = serde_json::from_str(&list).expect("JSON");
        list["sessions"][0].clone()
    }

    /// Submits a job in the session `fit`, and returns its number.
    fn submit(&self, command: &[&str]) -> String {
        let mut words = vec!["submit", "--estimate", "5s", "--deadline", "5m"];
        words.extend(["--format", "json", "--output", "none", "--"]);
        words.extend(command);
        let answer = self.inside("fit", &words).answer();
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        answer["id"].to_string()
    }

    /// Returns the processes of which an argument lies in the home directory.
    fn processes(&self) -> Vec<Pid> {
        let home = self.home.path().to_string_lossy().into_owned();
        let pid = |entry: fs::DirEntry| -> Option<Pid> {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let is_own = String::from_utf8_lossy(&words).contains(&home);
            is_own.then(|| Pid::from_raw(pid)).flatten()
        };
        let all = fs::read_dir("/proc").expect("processes");
        all.filter_map(|entry| pid(entry.ok()?)).collect()
    }
}

impl Drop for SessionUser {
    fn drop(&mut self) {
        if self.session("fit").exists() {
            self.tollgate(&["session", "exit", "fit", "--force"]);
        }
    }
}

/// Returns the process that listens on a socket.
fn listener(socket: &Path) -> Pid {
    let stream = std::os::unix::net::UnixStream::connect(socket).expect("a listener");
    rustix::net::sockopt::socket_peercred(&stream)
        .expect("a peer")
        .pid
}

#[test]
fn session_runs_jobs_on_pilots_and_leaves_nothing() {
    let user = SessionUser::new();
    let start = ["session", "start", "--name", "fit", "--detached"];
    let started = user.tollgate(&start).answer();
    assert_eq!(
        started,
        "site one: submitted 1 pilot; 1 pending, 0 running: the site keeps at least 1, whether or not tasks wait\n\
         site two: submitted 1 pilot; 1 pending, 0 running: the site keeps at least 1, whether or not tasks wait\n"
    );
    assert_eq!(user.listed()["state"], "running");
    let again = user.tollgate(&start);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("runs already"), "{again}");

    let job = user.submit(&["true"]);
    user.inside("fit", &["wait", &job]).answer();
    let explained = user.inside("fit", &["explain", &job]).answer();
    assert!(explained.contains("promise kept"), "{explained}");
    let agents = user
        .tollgate(&["session", "agents", "--format", "json"])
        .answer();
    let agents: Value = serde_json::from_str(&agents).expect("JSON");
    let running = |site: usize| agents["sites"][site]["running"].as_u64();
    assert_eq!((running(0), running(1)), (Some(1), Some(1)), "{agents}");

    let long = user.submit(&["sleep", "1000"]);
    let refused = user.tollgate(&["session", "exit"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("1 job has not ended"), "{refused}");
    let ended = user.tollgate(&["session", "exit", "--force"]).answer();
    for line in [
        "1 job cancelled",
        "site one: no pilot is left",
        "site two: no pilot is left",
    ] {
        assert!(ended.contains(line), "{ended}");
    }
    assert_eq!(user.processes(), []);
    assert_eq!(user.listed()["state"], "ended");

    // The next session has the history of this one.
    user.tollgate(&start).answer();
    let cancelled = user
        .inside("fit", &["jobs", "--all", "--format", "json"])
        .answer();
    let cancelled: Value = serde_json::from_str(&cancelled).expect("JSON");
    assert_eq!(cancelled["jobs"][0]["id"].to_string(), long);
    assert_eq!(cancelled["jobs"][0]["state"], "cancelled");
    user.tollgate(&["session", "exit", "--forget"]).answer();
    assert_eq!(user.processes(), []);
    assert!(!user.session("fit").exists());
}

#[test]
fn attaching_starts_killed_processes() {
    let user = SessionUser::new();
    user.tollgate(&["session", "start", "--name", "fit", "--detached"])
        .answer();
    let data = user.session("fit").join("data");
    for socket in ["socket", "terminal.sock"] {
        let pid = listener(&data.join(socket));
        kill_process(pid, Signal::KILL).expect("a process");
        while test_kill_process(pid).is_ok() {
            std::thread::yield_now();
        }
    }
    assert_eq!(user.listed()["state"], "stopped");
    // The shell reads the end of its input, and with it the session ends.
    let attached = user.tollgate(&["session", "attach", "fit"]);
    assert!(attached.stdout.contains("no pilot is left"), "{attached}");
    assert_eq!(user.listed()["state"], "ended");
    assert_eq!(user.processes(), []);
}

#[test]
fn pilots_of_a_keeper_that_was_killed_are_those_of_the_next_one() {
    let user = SessionUser::new();
    user.tollgate(&["session", "start", "--name", "fit", "--detached"])
        .answer();
    let lock = user.session("fit").join("sites/keep.lock");
    let keeper = fs::read_to_string(&lock).expect("the lock of the keeper");
    let keeper = keeper.trim().parse().ok().and_then(Pid::from_raw);
    let keeper = keeper.expect("a process");
    kill_process(keeper, Signal::KILL).expect("a process");
    while test_kill_process(keeper).is_ok() {
        std::thread::yield_now();
    }
    // The lock of the one that was killed holds up no command, and its pilots are known.
    user.inside("fit", &["site", "keep", "--base", "--once"])
        .answer();
    for site in ["one", "two"] {
        let status = user.inside("fit", &["site", "status", site, "--format", "json"]);
        let status: Value = serde_json::from_str(&status.answer()).expect("JSON");
        let numbers = status["pilots"].as_array().expect("pilots").iter();
        let numbers: Vec<&Value> = numbers.map(|pilot| &pilot["number"]).collect();
        assert_eq!(numbers, [&Value::from(1)], "{status}");
    }
    let job = user.submit(&["true"]);
    user.inside("fit", &["wait", &job]).answer();
}

#[test]
fn session_needs_a_name_and_sites() {
    let user = SessionUser::new();
    let message = |words: &[&str]| {
        let refused = user.tollgate(words);
        assert_eq!(refused.code, Some(2), "{refused}");
        refused.stderr
    };
    let bad = message(&["session", "start", "--name", "../x"]);
    assert!(bad.contains("expected small letters"), "{bad}");
    let unknown = message(&["session", "agents", "nowhere"]);
    assert!(
        unknown.contains("there is no session `nowhere`"),
        "{unknown}"
    );
    let nothing = user.home.path().join("none.toml").display().to_string();
    let empty = message(&["session", "start", &nothing]);
    assert!(empty.contains("no sites"), "{empty}");
    let inside = user.inside("fit", &["session", "start"]);
    assert!(
        inside.stderr.contains("this shell is in session fit"),
        "{inside}"
    );
}

#[test]
fn session_with_a_failed_service_is_started_again_with_other_settings() {
    let user = SessionUser::new();
    let start = ["session", "start", "--name", "fit", "--detached"];
    let refused = user.tollgate(&[&start[..], &["--listen", "no-port"]].concat());
    assert!(refused.code != Some(0), "{refused}");
    assert!(
        refused.stderr.contains("expected an address and a port"),
        "{refused}"
    );
    assert_eq!(user.processes(), []);
    user.tollgate(&start).answer();
    assert_eq!(user.listed()["state"], "running");
}

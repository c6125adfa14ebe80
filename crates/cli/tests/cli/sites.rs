//! Tests of `tollgate site`: with a stand-in for Slurm that has faults, and with the engine `local`.
//!
//! The stand-in is the small scripts in `crates/sites/tests/engine`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{ProgramOutput, command};

/// A user with sites, and the stand-in on PATH.
struct SiteUser {
    home: TempDir,
}

impl SiteUser {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sites/tests/engine");
        fs::create_dir_all(home.path().join("engine/jobs")).expect("a directory");
        for entry in fs::read_dir(source).expect("the stand-in") {
            let from = entry.expect("a script").path();
            let name = from.file_name().expect("a name");
            symlink(&from, home.path().join("engine").join(name)).expect("a link");
        }
        Self { home }
    }

    fn tollgate(&self, words: &[&str]) -> ProgramOutput {
        let home = self.home.path();
        let path = format!("{}:/usr/bin:/bin", home.join("engine").display());
        let output = command(words)
            .env("HOME", home)
            .env("PATH", path)
            .env("TZ", "UTC")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .env_remove("TOLLGATE_DATA")
            .env_remove("TOLLGATE_URL")
            .stdin(Stdio::null())
            .output()
            .expect("the program runs");
        ProgramOutput {
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        }
    }

    /// Adds a site that is called `lab`, whose pilots reach the service by a socket.
    fn add(&self, engine: &str, more: &[&str]) {
        let words = [
            "site",
            "add",
            "lab",
            "--engine",
            engine,
            "--connect",
            "unix:/run/tollgate",
        ];
        self.tollgate(&[&words[..], more].concat()).answer();
    }

    fn faults(&self, faults: &[&str]) {
        let lines: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
        fs::write(self.home.path().join("engine/faults"), lines).expect("a writable directory");
    }

    /// Returns the names of the jobs that the stand-in has, without those that are cancelled.
    fn queue(&self) -> Vec<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.home.path().join("engine/jobs")).expect("a directory") {
            let dir = entry.expect("a job").path();
            let read = |file: &str| fs::read_to_string(dir.join(file)).expect("a whole job");
            if read("state").trim() != "CANCELLED" {
                names.push(read("name").trim().to_owned());
            }
        }
        names.sort();
        names
    }

    fn status(&self) -> Value {
        let answer = self
            .tollgate(&["site", "status", "lab", "--format", "json"])
            .answer();
        serde_json::from_str(&answer).expect("JSON")
    }

    /// Returns an output with stable words in the place of the key, the directory and the program.
    fn stable(&self, output: &ProgramOutput) -> String {
        let file = self.home.path().join(".config/tollgate/sites.toml");
        let settings = fs::read_to_string(file).unwrap_or_default();
        let key = settings
            .split("key = \"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let mut text = output.to_string();
        if let Some(key) = key {
            text = text.replace(key, "KEY");
        }
        text.replace(&self.home.path().display().to_string(), "HOME")
            .replace(env!("CARGO_BIN_EXE_tollgate"), "PROGRAM")
    }
}

#[test]
fn site_is_added_listed_and_removed() {
    let user = SiteUser::new();
    let added = user.tollgate(&[
        "site",
        "add",
        "west",
        "--engine",
        "slurm",
        "--cores",
        "4",
        "--memory",
        "2G",
        "--time",
        "30m",
        "--connect",
        "https://here:8443",
        "--",
        "-p",
        "main",
    ]);
    insta::assert_snapshot!("added", user.stable(&added));
    let listed = user.tollgate(&["site", "list"]);
    insta::assert_snapshot!("listed", user.stable(&listed));
    let preview = user.tollgate(&["site", "scale", "west", "2", "--dry-run"]);
    insta::assert_snapshot!("preview", user.stable(&preview));
    let again = user.tollgate(&["site", "add", "west", "--engine", "sge"]);
    insta::assert_snapshot!("added_again", user.stable(&again));
    let removed = user.tollgate(&["site", "remove", "west"]);
    insta::assert_snapshot!("removed", user.stable(&removed));
    let unknown = user.tollgate(&["site", "scale", "west"]);
    insta::assert_snapshot!("unknown", user.stable(&unknown));
}

#[test]
fn pilots_are_scaled_and_reported() {
    let user = SiteUser::new();
    user.add("slurm", &["--pilots", "2"]);
    user.faults(&["starts"]);
    let scaled = user.tollgate(&["site", "scale", "lab"]);
    insta::assert_snapshot!("scaled", user.stable(&scaled));
    let status = user.status();
    assert_eq!(
        (&status["pending"], &status["running"]),
        (&1.into(), &1.into())
    );
    assert_eq!(status["pilots"][0]["state"], "runs");
    assert_eq!(status["pilots"][0]["started_at"], "2026-11-23T12:00:00Z");
    let occupied = user.tollgate(&["site", "remove", "lab"]);
    insta::assert_snapshot!("occupied", user.stable(&occupied));
    let scaled = user.tollgate(&["site", "scale", "lab", "0"]);
    insta::assert_snapshot!("scaled_down", user.stable(&scaled));
    assert!(user.queue().is_empty());
    user.tollgate(&["site", "remove", "lab"]).answer();
}

#[test]
fn site_at_which_another_command_works_is_shown_as_last_seen() {
    let user = SiteUser::new();
    user.add("slurm", &["--pilots", "2"]);
    user.tollgate(&["site", "scale", "lab"]).answer();
    let lock = user
        .home
        .path()
        .join(".local/state/tollgate-sites/lab/lock");
    let lock = fs::File::open(lock).expect("a lock");
    lock.lock().expect("no other command is at work");
    let shown = user.tollgate(&["site", "status", "lab"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert!(shown.stdout.contains("2 pending, 0 running"), "{shown}");
    assert!(
        shown.stderr.contains("another command asks the engine now"),
        "{shown}"
    );
}

#[test]
fn refused_submission_quotes_the_engine() {
    let user = SiteUser::new();
    user.add("slurm", &[]);
    user.faults(&["invalid"]);
    let refused = user.tollgate(&["site", "scale", "lab", "1"]);
    insta::assert_snapshot!("refused", user.stable(&refused));
}

#[test]
fn command_that_is_killed_after_a_submission_leaves_no_second_pilot() {
    let user = SiteUser::new();
    user.add("slurm", &[]);
    user.faults(&["kills-after", "", "kills-after", "kills-after"]);
    let mut n_killed = 0;
    for _ in 0..10 {
        let ran = user.tollgate(&["site", "scale", "lab", "4"]);
        match ran.code {
            None => n_killed += 1,
            Some(_) => {
                ran.answer();
                break;
            }
        }
        let names = user.queue();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }
    assert_eq!(n_killed, 3);
    assert_eq!(user.queue().len(), 4);
    assert_eq!(user.status()["pending"], 4);
    user.tollgate(&["site", "scale", "lab", "0"]).answer();
    assert!(user.queue().is_empty());
}

#[test]
fn command_that_is_killed_before_a_submission_may_have_submitted() {
    let user = SiteUser::new();
    user.add("slurm", &[]);
    user.faults(&["", "kills-before"]);
    assert_eq!(user.tollgate(&["site", "scale", "lab", "3"]).code, None);
    user.tollgate(&["site", "scale", "lab", "3"]).answer();
    // One of the three is offered: it may be on its way, and counts until it cannot be any more.
    assert_eq!(user.queue().len(), 2);
    let status = user.status();
    assert_eq!(status["pending"], 3);
    assert_eq!(status["pilots"][1]["state"], "offered");
}

/// Returns the first two words of each line: a thing that a check looked at, and its outcome.
fn outcomes(checked: &ProgramOutput) -> Vec<(&str, &str)> {
    let lines = checked.stdout.lines();
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect()
}

#[test]
fn check_names_the_working_parts() {
    let user = SiteUser::new();
    user.add("slurm", &[]);
    user.faults(&["invalid"]);
    let checked = user.tollgate(&["site", "check", "lab"]);
    assert_eq!(checked.code, Some(1), "{checked}");
    assert_eq!(
        outcomes(&checked),
        [
            ("commands", "ok"),
            ("limits", "ok"),
            ("submission", "FAILS")
        ]
    );
}

#[test]
fn check_of_pilots_too_large_for_their_queue_fails_at_once() {
    // The stand-in has nodes of 8 cores and 16000 MiB, and a limit of a day.
    for (flags, why) in [
        (
            ["--time", "48h"],
            "its time is 2880 min and not at most 1440 min",
        ),
        (["--cores", "9"], "it has 9 cores and not at most 8"),
        (
            ["--memory", "16001M"],
            "it has 16001 MiB and not at most 16000 MiB",
        ),
    ] {
        let user = SiteUser::new();
        user.add("slurm", &flags);
        let checked = user.tollgate(&["site", "check", "lab"]);
        assert_eq!(checked.code, Some(1), "{checked}");
        assert_eq!(
            outcomes(&checked),
            [("commands", "ok"), ("limits", "FAILS")]
        );
        assert!(checked.stdout.contains(why), "{checked}");
        assert_eq!(user.queue(), Vec::<String>::new());
    }
}

#[test]
fn log_of_a_pilot_that_did_not_join_is_at_its_documented_path() {
    let user = SiteUser::new();
    let program = user.home.path().join("failing");
    fs::write(
        &program,
        "#!/bin/sh\necho the service refuses >&2\nexit 1\n",
    )
    .expect("a writable directory");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an own file");
    let program = program.display().to_string();
    let dir = user.home.path().join("nodes").display().to_string();
    user.add("local", &["--program", &program, "--dir", &dir]);
    user.tollgate(&["site", "scale", "lab", "1"]).answer();
    let settings =
        fs::read_to_string(user.home.path().join(".config/tollgate/sites.toml")).expect("settings");
    let key = settings
        .split("key = \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let folder = format!("tollgate-{}-lab.1", key.expect("a key"));
    let log = Path::new(&dir).join(folder).join("pilot.log");
    while !fs::read_to_string(&log).is_ok_and(|text| text == "the service refuses\n") {
        std::thread::yield_now();
    }
    while user.status()["running"] != 0 {}
    assert!(log.exists());
}

#[test]
fn pilot_of_all_cores_is_as_large_as_the_largest_node_of_its_queue() {
    let user = SiteUser::new();
    let add = |name: &str, engine: &str, more: &[&str]| {
        let words = ["site", "add", name, "--engine", engine, "--cores", "all"];
        user.tollgate(&[&words[..], more].concat())
    };
    let cores = || {
        let listed = user
            .tollgate(&["site", "list", "--format", "json"])
            .answer();
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        listed["sites"][0]["cores"].as_u64()
    };
    let added = add("whole", "slurm", &[]);
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stderr.contains("a whole node of 8 cores"), "{added}");
    assert_eq!(cores(), Some(8));
    let preview = user
        .tollgate(&["site", "scale", "whole", "1", "--dry-run"])
        .answer();
    assert!(preview.contains("--mem=0"), "{preview}");
    // An engine that cannot be queried, or does not report the limits, adds no site.
    for (engine, message) in [("local", "does not tell"), ("sge", "qconf")] {
        let refused = add("other", engine, &[]);
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(refused.stderr.contains(message), "{refused}");
    }
    let listed = user.tollgate(&["site", "list"]).answer();
    assert!(!listed.contains("other"), "{listed}");
}

#[test]
fn site_of_several_shapes_knows_the_size_of_a_whole_node() {
    let user = SiteUser::new();
    let shapes = ["--shapes", "1x10m,2x1h30m,whole", "--time", "2h"];
    user.add("slurm", &shapes);
    let listed = user.tollgate(&["site", "list", "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed.answer()).expect("JSON");
    let site = &listed["sites"][0];
    let known = (&site["shapes"], &site["cores"], &site["time_s"]);
    let shapes = json!(["1x10m", "2x1h30m", "whole"]);
    assert_eq!(known, (&shapes, &json!(1), &json!(7200.0)));
    let file = user.home.path().join(".config/tollgate/sites.toml");
    let settings = fs::read_to_string(file).expect("settings");
    assert!(settings.contains("node_cores = 8"), "{settings}");
    let preview = user
        .tollgate(&["site", "scale", "lab", "1", "--dry-run"])
        .answer();
    assert!(
        preview.contains("'--cpus-per-task=1' '--time=10'"),
        "{preview}"
    );
    assert!(!preview.contains("--mem"), "{preview}");
    for (shapes, message) in [
        ("8", "expected CORESxTIME"),
        ("0x1h", "expected CORESxTIME"),
        ("1x1s", "times of a minute to a year"),
    ] {
        let words = [
            "site", "add", "other", "--engine", "slurm", "--shapes", shapes,
        ];
        let refused = user.tollgate(&words);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(message), "{refused}");
    }
}

/// Writes a program that stands for tollgate on a node: it runs until it is ended.
fn sleeper(dir: &Path) -> PathBuf {
    let file = dir.join("sleeper");
    fs::write(&file, "#!/bin/sh\nexec sleep 600\n").expect("a writable directory");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("an own file");
    file
}

#[test]
fn local_pilots_are_processes_that_outlive_the_command() {
    let user = SiteUser::new();
    let program = sleeper(user.home.path());
    let program = program.display().to_string();
    let dir = user.home.path().join("pilots").display().to_string();
    user.add("local", &["--program", &program, "--dir", &dir]);
    user.tollgate(&["site", "scale", "lab", "2"]).answer();
    let status = user.status();
    assert_eq!(status["running"], 2, "{status}");
    user.tollgate(&["site", "scale", "lab", "2"]).answer();
    let ids = |status: &Value| {
        let pilots = status["pilots"].as_array().cloned().unwrap_or_default();
        let ids: Vec<u64> = pilots
            .iter()
            .filter_map(|pilot| pilot["id"].as_u64())
            .collect();
        ids
    };
    assert_eq!(ids(&user.status()), ids(&status));
    // A name is used once.
    let jobs = user.tollgate(&["__local-queue", "states"]).answer();
    let name = jobs.split_whitespace().nth(3).expect("a name").to_owned();
    let again = user.tollgate(&["__local-queue", "submit", &name]);
    assert!(
        again.stderr.contains("there is a job of this name"),
        "{again}"
    );
    user.tollgate(&["site", "scale", "lab", "0"]).answer();
    loop {
        let status = user.status();
        if status["ending"] == 0 {
            assert_eq!(
                (&status["pending"], &status["running"]),
                (&0.into(), &0.into())
            );
            break;
        }
    }
}

//! `tollgate demo`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn demo(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .arg("demo")
        .args(words)
        .env("TMPDIR", folder)
        .env("TZ", "UTC");
    command
}

/// Replaces the data directory, instants, spans and probabilities, and leaves out lines that depend on the
/// machine or on how long it took so far.
fn normalised(text: &str, data: &Path) -> String {
    let text = text.replace(data.to_str().unwrap(), "[data]");
    let is_fixed = |line: &&str| {
        let varies = ["8 in 10 ", "0", "surer ", "start ", "used ", "host "];
        !varies
            .iter()
            .any(|begin| line.trim_start().starts_with(begin))
    };
    let is_number = |word: &str| {
        let word = word.trim_start_matches('+');
        word.starts_with(|first: char| first.is_ascii_digit())
    };
    let lines = text.lines().filter(is_fixed).map(|line| match line {
        // Only the offer depends on the instant at which it is made.
        line if line.starts_with("$ ") && !line.contains("render") => line.to_owned(),
        line if line.starts_with('─') => "─".to_owned(),
        line => {
            let words = line.split_whitespace();
            let mut words: Vec<&str> = words
                .map(|word| if is_number(word) { "#" } else { word })
                .collect();
            // An instant of another day has its date before it.
            words.dedup_by(|word, before| *word == "#" && *before == "#");
            words.join(" ")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_step_of_the_demo_has_its_described_result() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo(folder.path(), &["--once"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let data = folder.path().join(format!("tollgate-demo-{}", demo.id()));
    let ran = demo.wait_with_output().unwrap();
    let stderr = String::from_utf8(ran.stderr).unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{stdout}{stderr}");
    assert_eq!(stderr, "");
    insta::assert_snapshot!(normalised(&stdout, &data));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Starts the demonstration, and interrupts it once it has printed a line that starts with `until`.
/// Returns its exit code.
fn interrupt(folder: &Path, words: &[&str], until: &str) -> Option<i32> {
    let mut demo: Child = demo(folder, words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(demo.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(until) {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "no {until}");
    }
    let pid = Pid::from_raw(demo.id() as i32).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    // Commands of the demonstration have this end of the pipe, too.
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    demo.wait().unwrap().code()
}

/// Asserts that neither files nor processes of the demonstration are left.
fn assert_nothing_left(folder: &Path) {
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    let place = folder.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let left = processes.filter(|process| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&place))
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn interrupted_demo_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    // A command waits for the end of the first job then.
    let code = interrupt(folder.path(), &[], "$ tollgate wait");
    assert_eq!(code, Some(1));
    assert_nothing_left(folder.path());
}

#[test]
fn demo_serves_after_its_last_step_until_it_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let code = interrupt(folder.path(), &[], "Ctrl-C ends the service");
    assert_eq!(code, Some(0));
    assert_nothing_left(folder.path());
}

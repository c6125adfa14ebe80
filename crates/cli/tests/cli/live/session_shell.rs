//! `tollgate session shell`, and the terminal of a session over the network.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::site::ClientTestSite;

impl ClientTestSite {
    /// Starts the program with these arguments and its standard streams at this test.
    fn interactive(&self, words: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(words)
            .current_dir(self.folder())
            .env("TOLLGATE_DATA", self.folder().join("data"))
            .env("TOLLGATE_SPREAD_ADDRESS", "127.0.0.1")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs")
    }

    fn has_state(&self, job: &str, state: &str) -> bool {
        let jobs = self.tollgate(&["jobs", "--all", "--format", "json"]).json();
        let jobs = jobs["jobs"].as_array().expect("jobs");
        let is_job = |entry: &&serde_json::Value| entry["id"].as_u64() == job.parse().ok();
        jobs.iter()
            .find(is_job)
            .is_some_and(|entry| entry["state"] == state)
    }
}

#[test]
fn command_of_a_job_reads_and_writes_here_and_its_exit_code_arrives() {
    let site = ClientTestSite::start("policy = \"fcfs\"\n");
    let script = "test -t 0 && test -t 1 && read line && echo \"<$line> in $(pwd)\"; exit 7";
    let mut shell = site.interactive(&["session", "shell", "--", "sh", "-c", script]);
    let mut input = shell.stdin.take().unwrap();
    input.write_all(b"typed\n").unwrap();
    let output = shell.wait_with_output().unwrap();
    drop(input);
    let text = String::from_utf8_lossy(&output.stdout);
    let folder = fs::canonicalize(site.folder()).unwrap();
    let expected = format!("<typed> in {}\r\n", folder.display());
    assert!(text.ends_with(&expected), "{text:?}");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    site.until("the job is over", || site.has_state("1", "finished"));
}

#[test]
fn shell_ends_at_the_end_of_its_input() {
    let site = ClientTestSite::start("policy = \"fcfs\"\n");
    let mut shell = site.interactive(&["session", "shell", "-n", "1"]);
    let mut input = shell.stdin.take().unwrap();
    input.write_all(b"echo nodes=$TOLLGATE_NODES.\n").unwrap();
    drop(input);
    let output = shell.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("nodes=0."), "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn job_ends_with_its_killed_terminal() {
    let site = ClientTestSite::start("policy = \"fcfs\"\n");
    let script = "trap 'echo gone > hup; exit' HUP; echo begun; while :; do sleep 0.1; done";
    let mut shell = site.interactive(&["session", "shell", "--", "sh", "-c", script]);
    let mut begun = [0; 5];
    shell
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begun)
        .unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    site.until("the command is hung up", || {
        site.folder().join("hup").exists()
    });
    site.until("the job is over", || site.has_state("1", "finished"));
}

#[test]
fn interrupt_ends_the_wait_and_the_job() {
    let site = ClientTestSite::start("policy = \"fcfs\"\n");
    site.tollgate(&["drain"]).answer();
    let mut shell = site.interactive(&["session", "shell"]);
    site.until("the job waits", || site.has_state("1", "queued"));
    kill_process(Pid::from_child(&shell), Signal::INT).unwrap();
    assert_eq!(shell.wait().unwrap().code(), Some(130));
    site.until("the job is cancelled", || site.has_state("1", "cancelled"));
}

#[test]
fn job_that_cannot_reach_its_terminal_is_reported() {
    let site = ClientTestSite::start("policy = \"fcfs\"\n");
    site.tollgate(&["drain"]).answer();
    let shell = site.interactive(&["session", "shell"]);
    site.until("the job waits", || site.has_state("1", "queued"));
    site.tollgate(&["cancel", "1"]).answer();
    let output = shell.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("job 1 ended before its terminal was connected: cancelled"),
        "{text}"
    );
}

#[test]
fn service_without_a_session_refuses_terminals_over_the_network() {
    let site = ClientTestSite::start("[listen]\naddress = \"127.0.0.1:0\"\n");
    let token = site
        .tollgate(&["token", "new", "--expires", "90d"])
        .answer();
    site.store_token(&token);
    let way = site.remote_args();
    let mut words = vec!["session", "attach"];
    words.extend(way.iter().map(String::as_str));
    let refused = site.tollgate(&words);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("no session"), "{refused:?}");
}

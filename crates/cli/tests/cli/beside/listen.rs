//! The read paths of `tollgate beside slurm --listen`, with a stand-in for Slurm.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use super::SlurmUser;

/// A follower that listens, until it is dropped.
struct ListeningFollower {
    child: Child,
    address: String,
}

impl ListeningFollower {
    fn new(user: &SlurmUser) -> Self {
        let words = [
            "beside",
            "slurm",
            "--every",
            "10m",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut child = user
            .command(&words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut notes = BufReader::new(child.stderr.take().expect("notes"));
        let mut line = String::new();
        while !line.starts_with("note: listening: http://") {
            line.clear();
            assert!(
                notes.read_line(&mut line).expect("a note") > 0,
                "no address"
            );
        }
        let address = line.trim_start_matches("note: listening: http://");
        let address = address.split('/').next().expect("an address").to_owned();
        Self { child, address }
    }

    /// Sends a request. Returns the status and the whole answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).expect("a status");
        (status.parse().expect("a status"), answer)
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, &self.address);
        assert_eq!(status, 200, "{path}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }
}

impl Drop for ListeningFollower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn read_paths_show_the_queue() {
    let user = SlurmUser::new();
    let follower = ListeningFollower::new(&user);
    let status = follower.get("/v1/status");
    assert_eq!(
        (&status["queued"], &status["running"]),
        (&1.into(), &1.into())
    );
    assert_eq!(status["policy"], "Slurm of lab");
    let live = follower.get("/v1/jobs?live=true&expect=true");
    let jobs = live["jobs"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 2);
    assert_eq!(
        (&jobs[0]["id"], &jobs[0]["state"]),
        (&900.into(), &"queued".into())
    );
    assert_eq!(jobs[0]["waits_for"]["key"], "priority");
    for when in [
        "expected_start_at",
        "latest_start_at",
        "expected_finish_at",
        "latest_finish_at",
    ] {
        assert!(jobs[0]["expected"][when].is_string(), "{when}: {live:#}");
    }
    assert_eq!(
        (&jobs[1]["id"], &jobs[1]["state"]),
        (&899.into(), &"running".into())
    );
    let ended = follower.get("/v1/jobs?state=finished&user=anna&limit=7");
    assert_eq!(
        (ended["jobs"].as_array().map(Vec::len), &ended["more"]),
        (Some(7), &true.into())
    );
    let job = follower.get("/v1/jobs/900");
    assert_eq!((&job["user"], &job["procs"]), (&"anna".into(), &16.into()));
    let explained = follower.get("/v1/jobs/900/explain");
    let words = explained["words"].to_string();
    assert!(
        words.contains("Why: Priority (jobs with a higher priority are before it)"),
        "{words}"
    );
    let history = follower.get("/v1/jobs/900/history");
    assert_eq!(history["turns"][0]["key"], "submitted");
    assert!(
        !history["samples"].as_array().expect("samples").is_empty(),
        "{history:#}"
    );
    let (status, metrics) = follower.ask("GET", "/metrics", &follower.address);
    assert_eq!(status, 200);
    assert!(
        metrics.contains("tollgate_beside_waiting_jobs{engine=\"slurm\",cluster=\"lab\"} 1"),
        "{metrics}"
    );
    assert_eq!(follower.ask("GET", "/healthz", &follower.address).0, 200);
}

#[test]
fn what_is_not_there_is_named() {
    let user = SlurmUser::new();
    let follower = ListeningFollower::new(&user);
    let own = follower.address.clone();
    for (method, path, host, expected, part) in [
        (
            "POST",
            "/v1/jobs",
            own.as_str(),
            405,
            "nothing can be changed here",
        ),
        (
            "DELETE",
            "/v1/jobs/900",
            &own,
            405,
            "nothing can be changed here",
        ),
        ("GET", "/v1/ledger", &own, 404, "no such path"),
        ("GET", "/v1/jobs/12345", &own, 404, "no such job"),
        (
            "GET",
            "/v1/jobs?failed=true",
            &own,
            422,
            "how jobs of another scheduler ended",
        ),
        (
            "GET",
            "/v1/jobs?state=lazy",
            &own,
            422,
            "state: expected one of",
        ),
        (
            "GET",
            "/v1/jobs",
            "evil.example",
            421,
            "Host: expected the address",
        ),
    ] {
        let (status, answer) = follower.ask(method, path, host);
        assert_eq!(status, expected, "{method} {path}: {answer}");
        assert!(answer.contains(part), "{method} {path}: {answer}");
    }
}

#[test]
fn address_that_others_reach_is_refused() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["beside", "slurm", "--listen", "0.0.0.0:9180"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output
            .stderr
            .contains("expected an address of this host alone"),
        "{output}"
    );
    user.set_answer("scontrol", "ClusterName = lab\nPrivateData = jobs\n");
    let output = user.tollgate(&["beside", "slurm", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output.stderr.contains("the site hides the jobs of others"),
        "{output}"
    );
}

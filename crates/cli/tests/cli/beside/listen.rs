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
    fn exchange(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        self.send(method, path, host, "")
    }

    fn send(&self, method: &str, path: &str, host: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).expect("a status");
        (status.parse().expect("a status"), answer)
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.exchange("GET", path, &self.address);
        assert_eq!(status, 200, "{path}: {answer}");
        serde_json::from_str(body(&answer)).expect("JSON")
    }

    /// Opens the window. Returns the header of its session.
    fn open_window(&self) -> String {
        let (status, answer) = self.exchange("GET", "/window", &self.address);
        assert_eq!(status, 303, "{answer}");
        let (_, ticket) = answer.split_once("location: /#ticket=").expect("a ticket");
        let ticket = ticket.split("\r\n").next().expect("a ticket");
        let request = format!("{{\"ticket\":\"{ticket}\"}}");
        let own = &self.address;
        let head = format!(
            "{own}\r\norigin: http://{own}\r\ncontent-type: application/json\r\ncontent-length: {}",
            request.len()
        );
        let (status, answer) = self.send("POST", "/ui/session", &head, &request);
        assert_eq!(status, 200, "{answer}");
        let session: Value = serde_json::from_str(body(&answer)).expect("JSON");
        let session = session["session"].as_str().expect("a session");
        format!("{own}\r\nauthorization: Bearer {session}")
    }
}

impl Drop for ListeningFollower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a body").1
}

#[test]
fn pages_of_the_window_show_the_queue() {
    let user = SlurmUser::new();
    let follower = ListeningFollower::new(&user);
    let own = follower.address.clone();
    let (status, shell) = follower.exchange("GET", "/", &own);
    assert!(status == 200 && !shell.contains("How well"), "{shell}");
    assert_eq!(follower.exchange("GET", "/ui/page/now", &own).0, 401);
    let session = follower.open_window();
    for (page, parts) in [
        (
            "now",
            [
                "Slurm of lab",
                "job?id=900",
                "jobs with a higher priority are before it",
            ],
        ),
        ("jobs", ["#900", "anna", "queued"]),
        (
            "job?id=900",
            [
                "Job 900",
                "No job has waited as long",
                "The outputs of jobs of another scheduler",
            ],
        ),
    ] {
        let (status, html) = follower.exchange("GET", &format!("/ui/page/{page}"), &session);
        assert_eq!(status, 200, "{page}: {html}");
        for part in parts {
            assert!(html.contains(part), "{page}: {part}: {html}");
        }
    }
    let (status, answer) = follower.exchange("POST", "/ui/submit", &session);
    assert!(status == 403 && answer.contains("read-only"), "{answer}");
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
    let (status, metrics) = follower.exchange("GET", "/metrics", &follower.address);
    assert_eq!(status, 200);
    assert!(
        metrics.contains("tollgate_beside_waiting_jobs{engine=\"slurm\",cluster=\"lab\"} 1"),
        "{metrics}"
    );
    assert_eq!(
        follower.exchange("GET", "/healthz", &follower.address).0,
        200
    );
}

#[test]
fn changes_and_missing_paths_are_refused() {
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
        let (status, answer) = follower.exchange(method, path, host);
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

//! The window, without a browser: links, sessions, and requests that reach the service.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::site::ClientTestSite;
use crate::program::command;

/// A link to a window.
pub(crate) struct WindowLink(pub(crate) String);

impl WindowLink {
    /// Returns a link to the window that the service of a site serves itself.
    fn of_service(site: &ClientTestSite, flags: &[&str]) -> Self {
        let words = [&["open", "--web", "--no-browser"], flags].concat();
        Self(site.tollgate(&words).answer().trim().to_owned())
    }

    /// Returns host and port of the window.
    fn host(&self) -> String {
        let rest = self.0.strip_prefix("http://").expect("a link of this host");
        rest.split('/').next().expect("a host").to_owned()
    }

    /// Sends a request, and returns the status and the body of the response.
    pub(crate) fn send(&self, request: &str, session: Option<&str>, body: &str) -> (u16, String) {
        let host = self.host();
        let mut stream = TcpStream::connect(&host).expect("the window listens");
        let session = session.map_or_else(String::new, |session| {
            format!("authorization: Bearer {session}\r\n")
        });
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{session}\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("the request is sent");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("an answer in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body.to_owned())
    }

    /// Trades the ticket of the link for a session.
    pub(crate) fn session(&self) -> String {
        let (_, ticket) = self.0.split_once("#ticket=").expect("a ticket");
        let body = json!({ "ticket": ticket }).to_string();
        let (status, answer) = self.send("POST /ui/session", None, &body);
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        answer["session"].as_str().expect("a session").to_owned()
    }
}

/// A window that ends with the test.
struct OpenWindow {
    child: Child,
    /// The first link.
    link: WindowLink,
}

impl OpenWindow {
    fn start(site: &ClientTestSite, flags: &[&str]) -> Self {
        let words = [&["open", "--no-browser"], flags].concat();
        let mut child = command(&words)
            .current_dir(site.folder())
            .env("TOLLGATE_DATA", site.folder().join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut link = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut link).expect("a link");
        Self {
            child,
            link: WindowLink(link.trim().to_owned()),
        }
    }

    /// Ends the window as Ctrl-C does, and returns its exit code and its notes.
    fn end(mut self) -> (Option<i32>, String) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("it runs");
        let status = self.child.wait().expect("it is ours");
        let mut notes = String::new();
        let stderr = self.child.stderr.as_mut().expect("a pipe");
        stderr.read_to_string(&mut notes).expect("text");
        (status.code(), notes)
    }
}

impl Drop for OpenWindow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn job_that_is_typed_into_the_window_is_submitted_and_cancelled_there() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    let window = OpenWindow::start(&site, &[]);
    let session = window.link.session();
    let send = |request: &str, body: &str| window.link.send(request, Some(&session), body);
    let folder = site.folder().to_str().expect("text");
    let job = json!({"command": "sleep 600", "dir": folder, "estimate": "10m", "deadline": "+3h", "name": "typed"});
    let (status, quoted) = send("POST /ui/quote", &job.to_string());
    assert!(
        status == 200 && quoted.contains("would be promised"),
        "{quoted}"
    );
    assert_eq!(
        site.tollgate(&["jobs", "--all", "--quiet"]).stdout.trim(),
        ""
    );
    let (status, answer) = send("POST /ui/submit", &job.to_string());
    assert!(
        status == 200 && answer.contains("href=\"job?id=1\""),
        "{answer}"
    );
    let (_, page) = send("GET /ui/page/job?id=1", "");
    assert!(
        page.contains("<bdi>typed</bdi>") && page.contains("sleep 600"),
        "{page}"
    );
    let (status, answer) = send("POST /ui/jobs/1/cancel", "{}");
    assert!(
        status == 200 && answer.contains("Job 1 is cancelled."),
        "{answer}"
    );
    site.until("it is cancelled", || {
        let jobs = site
            .tollgate(&["jobs", "--all", "--columns", "state"])
            .stdout;
        jobs.contains("cancelled")
    });
    let (code, notes) = window.end();
    assert_eq!(code, Some(0), "{notes}");
}

#[test]
fn output_of_a_job_is_read_as_the_user() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    site.tollgate(&["submit", "-e", "1s", "--", "echo", "written <by> the job"])
        .answer();
    site.tollgate(&["wait", "1"]).answer();
    let window = OpenWindow::start(&site, &["1"]);
    assert!(
        window.link.0.contains("/job?id=1#ticket="),
        "{}",
        window.link.0
    );
    let session = window.link.session();
    let (_, page) = window
        .link
        .send("GET /ui/page/job?id=1", Some(&session), "");
    assert!(page.contains("written &lt;by&gt; the job"), "{page}");
}

#[test]
fn flags_of_the_window_change_its_link_and_its_answers() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    let window = OpenWindow::start(&site, &["--read-only", "--prefix", "/user/me/"]);
    assert!(
        window.link.0.contains("/user/me/#ticket="),
        "{}",
        window.link.0
    );
    let session = window.link.session();
    for path in ["/v1/status", "/user/me/v1/status"] {
        let (status, answer) = window.link.send(&format!("GET {path}"), Some(&session), "");
        assert!(status == 200 && answer.contains("\"policy\""), "{answer}");
    }
    let (status, answer) = window.link.send("POST /v1/jobs", Some(&session), "{}");
    assert!(status == 403 && answer.contains("read-only"), "{answer}");
    let proxied = OpenWindow::start(&site, &["--origin", "https://hub.example"]);
    assert!(
        proxied.link.0.starts_with("https://hub.example/#ticket="),
        "{}",
        proxied.link.0
    );
    let port = window
        .link
        .host()
        .split(':')
        .nth(1)
        .expect("a port")
        .to_owned();
    let taken = site.tollgate(&["open", "--no-browser", "--port", &port]);
    assert_eq!(taken.code, Some(1));
    assert!(
        taken
            .stderr
            .contains(&format!("port {port}: cannot be used")),
        "{}",
        taken.stderr
    );
}

#[test]
fn service_that_goes_away_is_noted() {
    let mut site = ClientTestSite::start("policy = \"plan\"\n");
    let window = OpenWindow::start(&site, &[]);
    let session = window.link.session();
    site.stop();
    let (status, answer) = window.link.send("GET /ui/page/jobs", Some(&session), "");
    assert!(
        status == 502 && answer.contains("no service answers"),
        "{answer}"
    );
    assert!(site.serve_again(&[]));
    site.until("the window shows it", || {
        window.link.send("GET /ui/page/jobs", Some(&session), "").0 == 200
    });
    let none = command(&["open", "--no-browser", "--data", "nowhere"]).output();
    assert_eq!(none.expect("the program runs").status.code(), Some(1));
}

#[test]
fn window_of_the_service_has_links_and_sessions_that_outlive_it() {
    let mut site = ClientTestSite::start("policy = \"plan\"\n");
    let none = site.tollgate(&["open", "--web"]);
    assert_eq!(none.code, Some(1));
    let expected = "the service serves no window itself";
    assert!(none.stderr.contains(expected), "{}", none.stderr);
    site.stop();
    assert!(site.serve_again_with(&["--web", "127.0.0.1:0"], &[]));
    let link = WindowLink::of_service(&site, &["17"]);
    assert!(link.0.contains("/job?id=17#ticket="), "{}", link.0);
    let session = link.session();
    let (status, again) = {
        let (_, ticket) = link.0.split_once("#ticket=").expect("a ticket");
        let body = json!({ "ticket": ticket }).to_string();
        link.send("POST /ui/session", None, &body)
    };
    assert!(
        status == 403 && again.contains("was used before"),
        "{again}"
    );
    let typed =
        json!({"command": "sleep 600", "estimate": "10m", "deadline": "+3h", "name": "typed"});
    let (status, answer) = link.send("POST /ui/submit", Some(&session), &typed.to_string());
    assert!(
        status == 200 && answer.contains("href=\"job?id=1\""),
        "{answer}"
    );
    // A session makes neither tokens nor other links, which would outlive it.
    for path in ["/v1/tokens", "/v1/window"] {
        let (status, answer) = link.send(&format!("POST {path}"), Some(&session), "{}");
        assert!(
            status == 403 && answer.contains("at the socket"),
            "{answer}"
        );
    }
    let host = link.host();
    site.kill();
    assert!(site.serve_again_with(&["--web", &host], &[]));
    let (status, page) = link.send("GET /ui/page/jobs", Some(&session), "");
    assert!(status == 200 && page.contains("typed"), "{page}");
    assert_eq!(link.send("GET /ui/page/jobs", None, "").0, 401);
}

#[test]
fn window_of_the_service_follows_its_settings() {
    let site = ClientTestSite::start(
        "[web]\naddress = \"127.0.0.1:0\"\nprefix = \"/tollgate\"\nread_only = true\n",
    );
    let link = WindowLink::of_service(&site, &[]);
    assert!(link.0.contains("/tollgate/#ticket="), "{}", link.0);
    let session = link.session();
    for path in ["/v1/status", "/tollgate/v1/status"] {
        assert_eq!(link.send(&format!("GET {path}"), Some(&session), "").0, 200);
    }
    let (status, answer) = link.send("POST /v1/jobs", Some(&session), "{}");
    assert!(status == 403 && answer.contains("read-only"), "{answer}");
}

#[test]
fn window_of_the_service_is_refused_where_other_hosts_reach_it() {
    let refused = command(&["serve", "--web", "0.0.0.0:8018", "--data", "nowhere"]).output();
    let refused = refused.expect("the program runs");
    let words = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{words}");
    assert!(words.contains("reachable from other hosts"), "{words}");
    assert!(words.contains("ssh -L 8018:127.0.0.1:8018"), "{words}");
}

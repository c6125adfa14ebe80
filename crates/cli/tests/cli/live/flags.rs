//! Every flag of the commands of a service changes the request, or what is printed, or is refused.
//!
//! The flags come from the help of each command, so that a new one fails here until it has a value. Requests are
//! recorded on their way to a service.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use tollgate_client::KEY_HEADER;

use super::site::ClientTestSite;
use crate::flags::flags;
use crate::program::command;

/// Flags that change nothing here, with the reason.
const NO_CHANGE: [(&str, &str); 4] = [
    ("--reconnect", "no connection is lost"),
    ("--fingerprint", "it may be that of an address for workers"),
    (
        "logs --follow",
        "the job is over, so that its output is all there",
    ),
    ("wait --follow", "the job is over, so that no event comes"),
];

/// Calls of each command that has flags. No job of a submission starts, so that nothing is learned between calls.
const CALLS: [&[&str]; 29] = [
    &["submit", "--hold", "true"],
    &["submit", "--begin", "2030-01-01", "true"],
    &["submit", "--hold", "--array", "1-3", "true"],
    &[
        "submit",
        "--hold",
        "--time-limit",
        "1h",
        "--deadline",
        "+3h",
        "true",
    ],
    &["quote"],
    &["quote", "--deadline", "+3h"],
    &["jobs"],
    &["jobs", "2"],
    &["status"],
    &["explain", "1"],
    &["wait", "1"],
    &["alter", "3", "--name", "usual"],
    &["alter", "3", "--deadline", "none"],
    &["cancel", "1"],
    &["hold", "1"],
    &["release", "1"],
    &["requeue", "1"],
    &["signal", "USR1", "1"],
    &["logs", "1"],
    &["nodes"],
    &["top", "--once"],
    &["grant", "3", "--reason", "usual"],
    &["calibration"],
    &["ledger"],
    &["usage"],
    &["export", "jobs"],
    &["prune", "--older-than", "900d"],
    &["drain"],
    &["resume"],
];

/// Returns a value for a flag, unlike its default. None for a flag that takes none.
fn value(call: &[&str], flag: &str) -> Option<&'static str> {
    let value = match (call[0], flag) {
        ("logs", "--error") => return None,
        (
            _,
            "--hold" | "--one-host" | "--partial" | "--append" | "--requeue" | "--quiet" | "--all"
            | "--failed" | "--expect" | "--jobs" | "--history" | "--decision" | "--follow"
            | "--dry-run" | "--once" | "--no-deadline" | "--drop-late",
        ) => return None,
        ("jobs", "--format") => "csv",
        (_, "--format") => "json",
        ("top", "--color") => "always",
        ("usage", "--by") => "account",
        ("export", "--out") => "out.csv",
        (_, "--data") => "elsewhere",
        (_, "--url") => "https://127.0.0.1:9",
        (_, "--token-file" | "--certificate" | "--ca") => "no-such-file",
        (_, "--fingerprint") => {
            "sha256:0000000000000000000000000000000000000000000000000000000000000000"
        }
        (_, "--cluster" | "--to") => "elsewhere",
        (_, "--reconnect" | "--quote-wait" | "--reserve") => "7s",
        (_, "--quote" | "--failed-of") => "999",
        (_, "--each-line") => "lines.txt",
        (_, "--from-json") => "jobs.json",
        (_, "--prefer") => "cheapest",
        (_, "--procs" | "--throttle") => "2",
        (_, "--mem") => "2G",
        (_, "--on" | "--name" | "--account" | "--queue" | "--reason") => "other",
        (_, "--gres") => "gpu:1",
        (_, "--estimate") => "7m",
        (_, "--time-limit") => "9m",
        (_, "--signal") => "USR1@7s",
        (_, "--deadline") => "+5h",
        (_, "--begin") => "+2h",
        (_, "--budget" | "--limit") => "1",
        (_, "--penalty") => "1/s",
        (_, "--confidence") => "0.9",
        (_, "--at-least") => "0.6",
        (_, "--otherwise") => "reject",
        (_, "--env") => "GREETING=hello",
        (_, "--dir") => "/tmp",
        (_, "--output") => "other-%j-%a",
        (_, "--error") => "errors-%j-%a",
        (_, "--input") => "/dev/zero",
        (_, "--comment") => "a remark",
        (_, "--id") => "2,3",
        (_, "--user") => "0",
        (_, "--retries") => "3",
        (_, "--give-up") => "max-evictions:1",
        (_, "--notify") => "end",
        (_, "--array") => "1-2",
        (_, "--after") => "3",
        (_, "--state") => "held",
        (_, "--promise") => "kept",
        (_, "--columns") => "id",
        (_, "--sort") if call.contains(&"2") => "-status",
        (_, "--sort") => "-name",
        (_, "--since" | "--until") => "2020-01-01",
        (_, "--older-than") => "800d",
        _ => panic!("{call:?} {flag}: give it a value here"),
    };
    Some(value)
}

/// A socket that passes all on to the socket of a service, and records what is asked.
struct RecordingProxy {
    folder: tempfile::TempDir,
    requests: Arc<Mutex<Vec<u8>>>,
}

impl RecordingProxy {
    fn start(service: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join("socket")).expect("a socket");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (service, record) = (service.to_owned(), Arc::clone(&requests));
        thread::spawn(move || {
            for client in listener.incoming() {
                let service = UnixStream::connect(&service);
                if let (Ok(client), Ok(service)) = (client, service) {
                    pass_on(client, service, &record);
                }
            }
        });
        Self { folder, requests }
    }

    /// Returns the requests since the last call, without their keys.
    fn take_requests(&self) -> String {
        let requests = std::mem::take(&mut *self.requests.lock().expect("no panic"));
        let text = String::from_utf8_lossy(&requests).into_owned();
        let is_key = |line: &str| {
            let name = line.split(':').next().unwrap_or_default();
            name.eq_ignore_ascii_case(KEY_HEADER)
        };
        let lines: Vec<&str> = text.lines().filter(|line| !is_key(line)).collect();
        lines.join("\n")
    }
}

/// Passes bytes on in both directions until both ends have closed.
fn pass_on(client: UnixStream, service: UnixStream, record: &Arc<Mutex<Vec<u8>>>) {
    let clone = |stream: &UnixStream| stream.try_clone().expect("a descriptor");
    let (from_client, to_client) = (clone(&client), client);
    let (from_service, to_service) = (clone(&service), service);
    let record = Arc::clone(record);
    thread::spawn(move || copy(from_client, to_service, Some(&record)));
    thread::spawn(move || copy(from_service, to_client, None));
}

fn copy(mut from: UnixStream, mut to: UnixStream, record: Option<&Mutex<Vec<u8>>>) {
    let mut piece = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut piece) {
        if let Some(record) = record {
            record.lock().expect("no panic").extend(&piece[..n]);
        }
        if to.write_all(&piece[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The requests and the output of a call. Numbers and instants in the output differ from call to call.
#[derive(Debug, PartialEq, Eq)]
struct CallResult {
    requests: String,
    printed: String,
    code: Option<i32>,
}

fn run(site: &ClientTestSite, proxy: &RecordingProxy, words: &[&str]) -> CallResult {
    let output = command(words)
        .current_dir(site.folder())
        .env("TOLLGATE_DATA", proxy.folder.path())
        .env("TOLLGATE_CLUSTERS", site.folder().join("clusters.toml"))
        .output()
        .expect("the program runs");
    let printed = [output.stdout, b"\n".to_vec(), output.stderr].concat();
    let printed = String::from_utf8(printed).expect("text");
    let words: Vec<&str> = printed
        .split(|letter: char| letter.is_ascii_digit() || letter.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    CallResult {
        requests: proxy.take_requests(),
        printed: words.join(" "),
        code: output.status.code(),
    }
}

#[test]
fn every_flag_of_a_service_changes_the_request_or_the_answer_or_is_refused() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    for words in [
        &["submit", "--name", "done", "-e", "1s", "--", "echo", "1"][..],
        &[
            "submit",
            "-a",
            "1-3",
            "-e",
            "1s",
            "--",
            "sh",
            "-c",
            "test $TOLLGATE_TASK = 2 || kill -9 $$",
        ],
        &["submit", "--hold", "--name", "zzz", "--", "true"],
    ] {
        site.tollgate(words).answer();
    }
    let _ = site.tollgate(&["wait", "1", "2"]);
    fs::write(site.folder().join("lines.txt"), "a\nb\n").expect("a file");
    fs::write(
        site.folder().join("jobs.json"),
        "[{\"command\": [\"true\"]}]",
    )
    .expect("a file");
    let proxy = RecordingProxy::start(&site.folder().join("data/socket"));
    let mut silent = Vec::new();
    for call in CALLS {
        let name = match call[0] {
            "export" => "export jobs",
            name => name,
        };
        // The change of a first call is there at the second.
        run(&site, &proxy, call);
        let usual = run(&site, &proxy, call);
        assert_ne!(usual.code, Some(2), "{call:?}: {usual:?}");
        assert!(!usual.requests.is_empty(), "{call:?}: {usual:?}");
        let listed = flags(name);
        assert!(listed.len() > 5, "{name}: {listed:?}");
        for flag in listed {
            let own = name.split(' ').count();
            let given = [Some(flag.as_str()), value(call, &flag)];
            let given: Vec<&str> = given.into_iter().flatten().collect();
            let words = [&call[..own], &given, &call[own..]].concat();
            let result = run(&site, &proxy, &words);
            let with_name = format!("{name} {flag}");
            let is_exempt = NO_CHANGE
                .iter()
                .any(|(words, _)| *words == flag || *words == with_name);
            if result.code != Some(2) && result == usual && !is_exempt {
                silent.push(words.join(" "));
            }
        }
    }
    assert_eq!(silent, [""; 0]);
}

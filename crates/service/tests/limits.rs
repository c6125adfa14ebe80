//! Clients that are slow, greedy or malicious: none of them keeps another from being answered.

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use common::rules;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tollgate_engine::memory::Deed;
use tollgate_engine::{MemoryEngine, MemoryWorld};
use tollgate_model::{Instant, Market};
use tollgate_service::access::{Access, Limits};
use tollgate_service::api::server::{About, Service, router, serve_unix};
use tollgate_service::api::types::{Answer, JobRequest, Status};
use tollgate_service::keeper::{self, Ask, Door, Keeper};
use tollgate_service::scripts::Scripts;
use tollgate_service::store::Store;
use tollgate_service::{Client, ClientError};

/// A service that listens, over an engine that runs nothing.
struct Open {
    folder: tempfile::TempDir,
    stop: watch::Sender<bool>,
    door: Door,
    threads: Vec<JoinHandle<()>>,
}

impl Open {
    fn new(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("tollgate.db")).unwrap();
        let reader = store.reader().unwrap();
        let world = MemoryWorld::new(2, 1 << 30, Deed::of_command);
        let rules = rules("fcfs", Market::None);
        let clock = Box::new(|| Instant::from_secs(1));
        let mut keeper = Keeper::new(store, MemoryEngine::open(&world), &rules, clock).unwrap();
        keeper.limit_jobs(limits.jobs);
        let (door, thread) = keeper::start(keeper).unwrap();
        let service = Service {
            door: door.clone(),
            reader: Arc::new(Mutex::new(reader)),
            about: Arc::new(About {
                policy: rules.policy.to_string(),
                market: rules.market.to_string(),
                since: Instant::ZERO,
            }),
            limits,
            clock: || Instant::from_secs(1),
            scripts: Arc::new(Scripts::new(folder.path().join("scripts"))),
        };
        let access = Access {
            limits,
            ..Access::default()
        };
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = {
            let _entered = runtime.enter();
            UnixListener::bind(folder.path().join("socket")).unwrap()
        };
        let listening = std::thread::spawn(move || {
            runtime.block_on(serve_unix(listener, router(service), access, stopped));
        });
        Self {
            folder,
            stop,
            door,
            threads: vec![thread, listening],
        }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.socket()).unwrap()
    }

    /// All that is answered to these bytes until the service hangs up.
    fn answer_to(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may have hung up before it was told everything.
        let _ = stream.write_all(bytes);
        rest(stream)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        self.door.ask(Ask::Stop);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// All that still comes until the service hangs up.
fn rest(mut stream: UnixStream) -> String {
    let mut answer = Vec::new();
    // Hanging up on what was not read yet is an error to the other end.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn answers(socket: &Path) {
    let status: Status = Client::connect(socket).unwrap().get("/v1/status").unwrap();
    assert_eq!(status.nodes, 2);
}

fn hasty() -> Limits {
    Limits {
        request_s: 0.2,
        ..Limits::default()
    }
}

fn post(head: &str, body: &str) -> Vec<u8> {
    format!("POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\n{head}\r\n{body}").into_bytes()
}

#[test]
fn a_request_that_is_too_long_is_refused_before_it_is_read() {
    let open = Open::new(Limits {
        body_bytes: 100,
        ..Limits::default()
    });
    let word = "x".repeat(200);
    let request = JobRequest {
        command: vec![word.clone()],
        ..JobRequest::default()
    };
    let refused = Client::connect(&open.socket())
        .unwrap()
        .post::<Answer>("/v1/jobs", &request);
    let Err(ClientError::Refused { status, problem }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.as_u16(), 413);
    assert_eq!(problem.error, "expected a request of at most 100 bytes");
    // Nor by pieces, whose sum nobody has announced.
    let head =
        "content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n";
    let chunks = format!("c8\r\n{word}\r\n0\r\n\r\n");
    let answer = open.answer_to(&post(head, &chunks));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    answers(&open.socket());
}

#[test]
fn whoever_dawdles_is_hung_up_on() {
    let open = Open::new(hasty());
    let silent = open.connect();
    let mut slow_head = open.connect();
    slow_head
        .write_all(b"GET /v1/status HTTP/1.1\r\nhost:")
        .unwrap();
    let head = "content-type: application/json\r\ncontent-length: 50\r\n";
    let mut slow_body = open.connect();
    slow_body.write_all(&post(head, "{")).unwrap();
    answers(&open.socket());
    assert_eq!(rest(silent), "");
    let answer = rest(slow_head);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
        "{answer}"
    );
    let answer = rest(slow_body);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    answers(&open.socket());
}

#[test]
fn connections_beyond_the_limit_are_closed_and_seats_are_given_back() {
    let open = Open::new(Limits {
        connections: 3,
        ..Limits::default()
    });
    let taken: Vec<Client> = (0..3)
        .map(|_| {
            let mut client = Client::connect(&open.socket()).unwrap();
            let _: Status = client.get("/v1/status").unwrap();
            client
        })
        .collect();
    assert_eq!(rest(open.connect()), "");
    drop(taken);
    let answered = |_| {
        let client = Client::connect(&open.socket());
        client.and_then(|mut client| client.get::<Status>("/v1/status"))
    };
    // The service may need a moment to notice that they are gone.
    assert!((0..100_000).map(answered).any(|answer| answer.is_ok()));
}

#[test]
fn nonsense_is_answered_and_harms_nobody() {
    let open = Open::new(hasty());
    let deep = "[".repeat(100_000);
    let json = "content-type: application/json\r\nconnection: close\r\n";
    let with_length = |body: &str| {
        let head = format!("{json}content-length: {}\r\n", body.len());
        post(&head, body)
    };
    for (request, status) in [
        (b"\0\x01\x02 nonsense\r\n\r\n".to_vec(), "400"),
        (with_length(&deep), "422"),
        (with_length("{\"command\": [\"true\"], \"user\": 0}"), "422"),
        (
            with_length("{\"command\": [\"true\"], \"user_id\": 0}"),
            "422",
        ),
        (with_length("{\"command\": [\"\\u0000\"]}"), "422"),
        (
            with_length("{\"command\": [\"true\"], \"estimate_s\": 1e999}"),
            "400",
        ),
        (
            with_length("{\"command\": [\"true\"], \"procs\": 99999999999}"),
            "422",
        ),
        (
            post("content-length: 1\r\ncontent-length: 2\r\n", "{}"),
            "400",
        ),
    ] {
        let answer = open.answer_to(&request);
        let words = String::from_utf8_lossy(&request)
            .chars()
            .take(150)
            .collect::<String>();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{words:?}: {answer}"
        );
        answers(&open.socket());
    }
}

#[test]
fn a_user_has_only_so_many_jobs() {
    let open = Open::new(Limits {
        jobs: 3,
        ..Limits::default()
    });
    let mut client = Client::connect(&open.socket()).unwrap();
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        procs: 2,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    for _ in 0..3 {
        let _: Answer = client.post("/v1/jobs", &request).unwrap();
    }
    let refused = client.post::<Answer>("/v1/jobs", &request);
    let Err(ClientError::Refused { status, problem }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.as_u16(), 429);
    assert_eq!(
        problem.error,
        "expected at most 3 jobs of one user that are not over"
    );
    let _: serde_json::Value = client.post("/v1/jobs/3/cancel", &()).unwrap();
    let _: Answer = client.post("/v1/jobs", &request).unwrap();
}

//! Clients that are slow, greedy or malicious: none of them keeps another from being answered.

mod common;

use std::io::Write;
use std::path::Path;

use common::open::{Open, rest};
use tollgate_service::access::Limits;
use tollgate_service::api::types::{Answer, JobRequest, Status};
use tollgate_service::{Client, ClientError};

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
        "job limit reached: a user may have 3 unfinished jobs (each array task counts)"
    );
    let _: serde_json::Value = client.post("/v1/jobs/3/cancel", &()).unwrap();
    let _: Answer = client.post("/v1/jobs", &request).unwrap();
}

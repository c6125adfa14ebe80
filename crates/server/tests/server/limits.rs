//! Slow, greedy and malicious clients: none of them keeps another client from its responses.

use std::io::Write;
use std::path::Path;

use tollgate_client::types::{
    ErrorResponse, JobAction, JobDecision, JobRequest, JobsActionRequest, JobsActionResult,
    ServiceStatus, SubmitResponse,
};
use tollgate_client::{ApiClient, ClientError};
use tollgate_server::access::ServiceLimits;

use crate::common::test_service::{TestService, read_to_close};

fn answers(socket: &Path) {
    let status: ServiceStatus = ApiClient::connect(socket)
        .unwrap()
        .get("/v1/status")
        .unwrap();
    assert_eq!(status.nodes, 2);
}

fn short_timeouts() -> ServiceLimits {
    ServiceLimits {
        request_s: 0.2,
        ..ServiceLimits::default()
    }
}

fn post(head: &str, body: &str) -> Vec<u8> {
    format!("POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\n{head}\r\n{body}").into_bytes()
}

#[test]
fn too_long_request_is_rejected_before_it_is_read() {
    let open = TestService::new(ServiceLimits {
        body_bytes: 100,
        ..ServiceLimits::default()
    });
    let word = "x".repeat(200);
    let request = JobRequest {
        command: vec![word.clone()],
        ..JobRequest::default()
    };
    let refused = ApiClient::connect(&open.socket())
        .unwrap()
        .post::<SubmitResponse>("/v1/jobs", &request);
    let Err(ClientError::Refused { status, problem }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.as_u16(), 413);
    assert_eq!(problem.error, "expected a request of at most 100 bytes");
    // The same limit holds for a chunked body, whose length is not announced.
    let head =
        "content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n";
    let chunks = format!("c8\r\n{word}\r\n0\r\n\r\n");
    let answer = open.answer_to(&post(head, &chunks));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    answers(&open.socket());
}

#[test]
fn slow_client_is_disconnected() {
    let open = TestService::new(short_timeouts());
    let silent = open.connect();
    let mut slow_head = open.connect();
    slow_head
        .write_all(b"GET /v1/status HTTP/1.1\r\nhost:")
        .unwrap();
    let head = "content-type: application/json\r\ncontent-length: 50\r\n";
    let mut slow_body = open.connect();
    slow_body.write_all(&post(head, "{")).unwrap();
    answers(&open.socket());
    assert_eq!(read_to_close(silent), "");
    let answer = read_to_close(slow_head);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
        "{answer}"
    );
    let answer = read_to_close(slow_body);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    answers(&open.socket());
}

#[test]
fn connections_beyond_the_limit_are_refused_with_the_limit_and_permits_released() {
    let open = TestService::new(ServiceLimits {
        connections: 3,
        ..ServiceLimits::default()
    });
    let taken: Vec<ApiClient> = (0..3)
        .map(|_| {
            let mut client = ApiClient::connect(&open.socket()).unwrap();
            let _: ServiceStatus = client.get("/v1/status").unwrap();
            client
        })
        .collect();
    assert_eq!(read_to_close(open.connect()), "");
    let mut waiting = ApiClient::connect(&open.socket()).unwrap();
    let refused = waiting.get::<ServiceStatus>("/v1/status").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "connection limit reached: a user may have 3 connections"
    );
    drop((taken, waiting));
    let answered = |_| {
        let client = ApiClient::connect(&open.socket());
        client.and_then(|mut client| client.get::<ServiceStatus>("/v1/status"))
    };
    // The service may take a moment to notice the closed connections.
    assert!((0..100_000).map(answered).any(|answer| answer.is_ok()));
}

#[test]
fn malformed_requests_get_an_error_and_affect_no_other_client() {
    let open = TestService::new(short_timeouts());
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
fn jobs_per_user_are_limited() {
    let open = TestService::new(ServiceLimits {
        jobs: 3,
        ..ServiceLimits::default()
    });
    let mut client = ApiClient::connect(&open.socket()).unwrap();
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        procs: 2,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    for _ in 0..3 {
        let _: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    }
    let refused = client.post::<SubmitResponse>("/v1/jobs", &request);
    let Err(ClientError::Refused { status, problem }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.as_u16(), 429);
    assert_eq!(
        problem.error,
        "job limit reached: a user may have 3 unfinished jobs; an array counts as one"
    );
    let hint = "wait for some to end; the setting `limits.jobs` allows more";
    assert_eq!(problem.hint.as_deref(), Some(hint));
    let _: serde_json::Value = client.post("/v1/jobs/3/cancel", &()).unwrap();
    let _: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
}

#[test]
fn tasks_per_user_are_limited_and_an_array_is_one_job() {
    let open = TestService::new(ServiceLimits {
        jobs: 2,
        tasks: 50,
        ..ServiceLimits::default()
    });
    let mut client = ApiClient::connect(&open.socket()).unwrap();
    let mut submit = |tasks: &str| {
        let request = JobRequest {
            command: vec!["sleep".to_owned(), "60".to_owned()],
            array: Some(tasks.to_owned()),
            procs: 1,
            dir: "/".to_owned(),
            ..JobRequest::default()
        };
        client.post::<SubmitResponse>("/v1/jobs", &request)
    };
    submit("1-40").unwrap();
    let refused = submit("1-11");
    let Err(ClientError::Refused { status, problem }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.as_u16(), 429);
    assert_eq!(
        problem.error,
        "task limit reached: a user may have 50 unfinished tasks"
    );
    let hint = "wait for some to end; the setting `limits.tasks` allows more";
    assert_eq!(problem.hint.as_deref(), Some(hint));
    submit("1-10").unwrap();
}

#[test]
fn jobs_are_changed_together_and_those_that_cannot_be_are_left_out() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = ApiClient::connect(&open.socket()).unwrap();
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        procs: 2,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    for _ in 0..3 {
        let _: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    }
    let mut act = |action, ids: &[u64]| {
        let ids = ids.to_vec();
        let request = JobsActionRequest {
            action,
            ids,
            signal: None,
        };
        let answer: Result<JobsActionResult, _> = client.post("/v1/actions", &request);
        answer.map(|answer| answer.changed)
    };
    // The first one runs, and there is no job 99.
    assert_eq!(act(JobAction::Hold, &[3, 1, 2, 99]).unwrap(), [3, 2]);
    assert_eq!(act(JobAction::Release, &[2, 2]).unwrap(), [2]);
    assert_eq!(act(JobAction::Cancel, &[1, 2, 3]).unwrap(), [1, 2, 3]);
    let refused = act(JobAction::Cancel, &[1; 1_001]);
    let Err(ClientError::Refused { status, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.as_u16(), 422);
}

#[test]
fn request_with_two_lengths_is_rejected_and_its_connection_closed() {
    let open = TestService::new(ServiceLimits::default());
    let json = "content-type: application/json\r\n";
    for head in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "Content-Length: 0\r\nTRANSFER-ENCODING: chunked\r\n",
    ] {
        let smuggled = "GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let body = format!("0\r\n\r\n{smuggled}");
        // `answer_to` waits for the end of the connection, so the service has closed it.
        let answer = open.answer_to(&post(&format!("{json}{head}"), &body));
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        assert!(answer.contains("not both"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
    answers(&open.socket());
}

#[test]
fn request_from_a_foreign_origin_is_rejected_at_the_socket() {
    let open = TestService::new(ServiceLimits::default());
    let cancel = |head: &str| {
        let request = format!("POST /v1/jobs/1/cancel HTTP/1.1\r\nconnection: close\r\n{head}\r\n");
        open.answer_to(request.as_bytes())
    };
    for (head, status) in [
        ("host: localhost\r\n", "404"),
        ("host: localhost:8080\r\n", "404"),
        (
            "host: localhost:8080\r\norigin: http://localhost:8080\r\n",
            "404",
        ),
        ("", "421"),
        ("host: evil.example:8080\r\n", "421"),
        (
            "host: localhost:8080\r\norigin: https://evil.example\r\n",
            "403",
        ),
        ("host: localhost\r\norigin: null\r\n", "403"),
    ] {
        let answer = cancel(head);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{head:?}: {answer}"
        );
    }
}

#[test]
fn every_error_response_is_json() {
    let open = TestService::new(ServiceLimits::default());
    for (line, status, words) in [
        ("GET /v1/jobs/%ff", "400", "UTF-8"),
        ("GET /v1/jobs/99999999999999999999", "404", "no such job"),
        ("GET /v1/jobs/18446744073709551615", "404", "no such job"),
        ("PATCH /v1/jobs", "405", "PATCH: expected one of"),
        ("DELETE /v1/nodes", "405", "GET, HEAD"),
        ("GET /nowhere", "404", "nothing at this path"),
        ("GET /v1/jobs?limit=x", "400", "limit"),
        ("GET /v1/jobs/1/tasks", "404", "no such job"),
    ] {
        let request = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let answer = open.answer_to(request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")),
            "{line}: {answer}"
        );
        assert!(
            head.contains("content-type: application/json"),
            "{line}: {answer}"
        );
        assert_eq!(
            head.contains("\r\nallow: "),
            status == "405",
            "{line}: {answer}"
        );
        let problem: ErrorResponse = serde_json::from_str(body).unwrap();
        assert!(problem.error.contains(words), "{line}: {problem:?}");
    }
}

#[test]
fn job_that_is_over_is_not_an_unknown_one() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = ApiClient::connect(&open.socket()).unwrap();
    let cancel = |job: u64| {
        let line = format!("DELETE /v1/jobs/{job} HTTP/1.1");
        open.answer_to(format!("{line}\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes())
    };
    let request = JobRequest {
        command: vec!["true".to_owned()],
        procs: 10_000,
        // One job is all or nothing: the wish changes nothing.
        partial: true,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    let rejected: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    assert_eq!(rejected.decision, JobDecision::Rejected);
    let answer = cancel(1);
    assert!(answer.starts_with("HTTP/1.1 409"), "{answer}");
    assert!(answer.contains("the job is over"), "{answer}");
    let answer = cancel(2);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[test]
fn stored_bytes_per_user_are_limited_until_jobs_end() {
    let open = TestService::new(ServiceLimits {
        stored_bytes: 10_000,
        ..ServiceLimits::default()
    });
    let mut client = ApiClient::connect(&open.socket()).unwrap();
    let request = |bytes| JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        env: [("A".to_owned(), "x".repeat(bytes))].into(),
        procs: 2,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    let too_much = |refused: Result<SubmitResponse, ClientError>| {
        let Err(ClientError::Refused { status, problem }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(status.as_u16(), 429);
        assert_eq!(
            problem.error,
            "expected at most 10000 bytes of commands, environments and scripts of one user's \
             jobs that are not over"
        );
    };
    for _ in 0..2 {
        let _: SubmitResponse = client.post("/v1/jobs", &request(4_900)).unwrap();
    }
    too_much(client.post("/v1/jobs", &request(4_900)));
    let _: SubmitResponse = client.post("/v1/jobs", &request(100)).unwrap();
    let _: serde_json::Value = client.post("/v1/jobs/2/cancel", &()).unwrap();
    let _: SubmitResponse = client.post("/v1/jobs", &request(4_900)).unwrap();
    too_much(client.post("/v1/jobs", &request(4_900)));
}

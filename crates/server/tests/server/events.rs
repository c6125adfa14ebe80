//! Live events: in order, with explicit gaps, only for users that may see them, and without memory
//! for readers that do not read.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use tollgate_client::ApiClient;
use tollgate_client::types::{JobDetails, JobRef, JobRequest, SubmitResponse};
use tollgate_server::access::ServiceLimits;

use crate::common::test_service::{TestService, read_to_close};

/// A reader of an event stream: the lines after the response head.
struct EventReader {
    head: String,
    lines: BufReader<UnixStream>,
}

/// An event: identifier, kind and data.
type ReceivedEvent = (String, String, serde_json::Value);

impl TestService {
    fn events(&self, path: &str, last: Option<&str>) -> EventReader {
        let mut stream = self.connect();
        let seen = last.map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\n{seen}\r\n"
        )
        .unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        EventReader { head, lines }
    }

    fn client(&self) -> ApiClient {
        ApiClient::connect(&self.socket()).unwrap()
    }

    /// Submits a job and cancels it; returns once it has ended.
    fn job(&self) -> u64 {
        let request = JobRequest {
            command: vec!["sleep".to_owned(), "60".to_owned()],
            procs: 2,
            dir: "/".to_owned(),
            ..JobRequest::default()
        };
        let mut client = self.client();
        let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
        let id = answer.id.unwrap();
        let _: JobRef = client.post(&format!("/v1/jobs/{id}/cancel"), &()).unwrap();
        let _: JobDetails = client.get(&format!("/v1/jobs/{id}/wait")).unwrap();
        id
    }
}

impl EventReader {
    /// Returns the next event; None at the end of the stream.
    fn next(&mut self) -> Option<ReceivedEvent> {
        let mut reported = ReceivedEvent::default();
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // Chunk lengths appear between the events.
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => reported.0 = id.to_owned(),
                Some(("event", kind)) => reported.1 = kind.to_owned(),
                Some(("data", data)) => {
                    reported.2 = serde_json::from_str(data).unwrap();
                    return Some(reported);
                }
                Some(_) | None if line.trim_end() == "0" => return None,
                Some(_) | None => {}
            }
        }
    }

    fn kinds(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next().unwrap().1).collect()
    }
}

#[test]
fn events_are_streamed_in_order() {
    let open = TestService::new(ServiceLimits::default());
    let mut events = open.events("/v1/events", None);
    assert!(
        events.head.contains("content-type: text/event-stream"),
        "{}",
        events.head
    );
    let id = open.job();
    let reported: Vec<ReceivedEvent> = (0..4).map(|_| events.next().unwrap()).collect();
    let kinds: Vec<&str> = reported.iter().map(|(_, kind, _)| kind.as_str()).collect();
    assert_eq!(kinds[0], "queued");
    assert!(kinds.contains(&"started"), "{kinds:?}");
    for (_, kind, words) in &reported {
        assert_eq!(words["job"], id);
        assert_eq!(words["event"], **kind);
        assert!(words["at"].is_string());
    }
    // A stream resumes after the last event seen.
    let mut again = open.events("/v1/events", Some(&reported[0].0));
    assert_eq!(again.next().as_ref(), Some(&reported[1]));
    assert_eq!(again.next().as_ref(), Some(&reported[2]));
}

#[test]
fn events_of_nodes_are_for_every_user_and_in_no_stream_of_a_job() {
    let open = TestService::new(ServiceLimits::default());
    let mut client = open.client();
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        procs: 1,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    let path = format!("/v1/jobs/{}", answer.id.unwrap());
    let mut of_job = open.events(&format!("{path}/events"), None);
    let mut events = open.events("/v1/events", None);
    for (drained, state) in [(true, "drained"), (false, "up")] {
        let request = serde_json::json!({"drained": drained});
        let _: serde_json::Value = client.post("/v1/drain", &request).unwrap();
        let (id, kind, words) = events.next().unwrap();
        assert_eq!(kind, "node");
        let expected = serde_json::json!({
            "first_node": 0, "nodes": 2, "state": state, "at": "1970-01-01T00:00:01Z",
        });
        assert_eq!(words, expected);
        // A stream resumes after it.
        let next = open.events("/v1/events", Some(&id));
        assert!(next.head.starts_with("HTTP/1.1 200"));
    }
    let _: JobRef = client.post(&format!("{path}/cancel"), &()).unwrap();
    let kinds: Vec<String> = std::iter::from_fn(|| of_job.next())
        .map(|(_, kind, _)| kind)
        .collect();
    assert_eq!(kinds.last().map(String::as_str), Some("cancelled"));
    assert!(!kinds.contains(&"node".to_owned()), "{kinds:?}");
}

#[test]
fn dropped_events_are_reported_as_a_gap_in_the_stream() {
    let open = TestService::new(ServiceLimits::default());
    let id = open.job();
    for before in ["0-0", "999999-0"] {
        let mut events = open.events("/v1/events", Some(before));
        let (from, kind, _) = events.next().unwrap();
        assert_eq!(kind, "gap", "{before}");
        // A stream resumes from the gap without another gap.
        let next = open.events("/v1/events", Some(&from));
        assert!(next.head.starts_with("HTTP/1.1 200"));
        let mut events = open.events(&format!("/v1/jobs/{id}/events"), Some(before));
        assert_eq!(events.kinds(2), ["gap", "job"]);
        assert_eq!(events.next(), None, "it is over");
    }
    let nonsense = "GET /v1/events HTTP/1.1\r\nhost: localhost\r\nlast-event-id: soon\r\nconnection: close\r\n\r\n";
    let answer = open.answer_to(nonsense.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[test]
fn stream_of_a_job_ends_with_the_job() {
    let open = TestService::new(ServiceLimits::default());
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        procs: 1,
        dir: "/".to_owned(),
        ..JobRequest::default()
    };
    let mut client = open.client();
    let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    let path = format!("/v1/jobs/{}/events", answer.id.unwrap());
    let mut events = open.events(&path, None);
    let (_, kind, job) = events.next().unwrap();
    assert_eq!(
        (kind.as_str(), &job["id"]),
        ("job", &answer.id.unwrap().into())
    );
    // Events of other jobs are not in the stream.
    open.job();
    let _: JobRef = client
        .post(&format!("/v1/jobs/{}/cancel", answer.id.unwrap()), &())
        .unwrap();
    let reported: Vec<ReceivedEvent> = std::iter::from_fn(|| events.next()).collect();
    let (last, kind, _) = reported.last().unwrap();
    assert_eq!(kind, "cancelled");
    assert!(
        reported
            .iter()
            .all(|(_, _, words)| words["job"] == answer.id.unwrap())
    );
    // A browser that reconnects gets 204 and stops.
    let again = open.events(&path, Some(last));
    assert!(again.head.starts_with("HTTP/1.1 204"), "{}", again.head);
    let none = open.answer_to(
        b"GET /v1/jobs/999/events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    );
    assert!(none.starts_with("HTTP/1.1 404"), "{none}");
}

#[test]
fn streams_per_user_are_limited_and_released() {
    let open = TestService::new(ServiceLimits {
        streams: 2,
        ..ServiceLimits::default()
    });
    let taken = [
        open.events("/v1/events", None),
        open.events("/v1/events", None),
    ];
    let more = || open.events("/v1/events", None).head;
    assert!(more().starts_with("HTTP/1.1 429"));
    drop(taken);
    // The service may take a moment to notice the closed connections.
    assert!((0..100_000).any(|_| more().starts_with("HTTP/1.1 200")));
}

#[test]
fn stream_of_a_stalled_reader_is_closed_without_buffering() {
    let open = TestService::new(ServiceLimits {
        streams: 1,
        request_s: 0.2,
        ..ServiceLimits::default()
    });
    let stuck = open.events("/v1/events", None);
    // More data than the socket buffers hold, and more events than the log keeps.
    let mut client = open.client();
    let request = JobRequest {
        command: vec!["true".to_owned()],
        procs: 1_000_000,
        dir: "/".to_owned(),
        name: Some("x".repeat(100)),
        ..JobRequest::default()
    };
    let hung_up = || {
        open.events("/v1/events", None)
            .head
            .starts_with("HTTP/1.1 200")
    };
    let gave_up = (0..40_000).any(|n| {
        let _: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
        n % 500 == 499 && hung_up()
    });
    assert!(gave_up, "the one stream is free again");
    let mut rest_of_it = Vec::new();
    let _ = stuck.lines.into_inner().read_to_end(&mut rest_of_it);
    assert!(
        rest_of_it.len() < 2 << 20,
        "{} bytes were kept",
        rest_of_it.len()
    );
}

#[test]
fn streams_end_with_the_service() {
    let open = TestService::new(ServiceLimits::default());
    let events = open.events("/v1/events", None);
    drop(open);
    assert!(read_to_close(events.lines).ends_with("0\r\n\r\n"));
}

//! The OpenAPI document matches the responses of the service.

use std::io::Write;

use serde_json::{Value, json};
use tollgate_model::Otherwise;
use tollgate_server::access::ServiceLimits;
use tollgate_server::api::metrics::METRICS;
use tollgate_server::api::openapi::document;

use crate::common::test_service::{TestService, read_to_close};

impl TestService {
    /// Returns the status, head and body of a response.
    fn answer(&self, method: &str, path: &str, body: &Value) -> (u16, String, String) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = self.connect();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let answer = read_to_close(stream);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }
}

/// Returns the documented response; panics if the document has no such response.
#[track_caller]
fn described<'a>(document: &'a Value, method: &str, path: &str, status: u16) -> &'a Value {
    let operation = &document["paths"][path][method];
    let answer = &operation["responses"][status.to_string()];
    assert!(answer.is_object(), "{method} {path} answers {status}");
    match answer["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => answer,
    }
}

/// Checks a JSON response against its schema, which allows no undocumented fields.
#[track_caller]
fn check(document: &Value, answer: &Value, message: &str) {
    let mut schema = answer["content"]["application/json"]["schema"].clone();
    schema["components"] = document["components"].clone();
    schema["unevaluatedProperties"] = false.into();
    let message: Value = serde_json::from_str(message).unwrap();
    let checked = jsonschema::validate(&schema, &message);
    assert!(checked.is_ok(), "{checked:?}: {message:#}");
}

#[test]
fn every_response_matches_its_schema() {
    let open = TestService::new(ServiceLimits::default());
    let document = document();
    let job = json!({"command": ["sleep", "60"], "procs": 2, "dir": "/", "estimate_s": 60.0});
    let many = json!({"command": ["true"], "procs": 1, "dir": "/", "array": "1-20"});
    let huge = json!({"command": ["true"], "procs": 100, "dir": "/"});
    let held = json!({"procs": 2, "hold_s": 60.0});
    let no = Value::Null;
    let conversation: &[(&str, &str, &str, &Value, u16)] = &[
        ("get", "/healthz", "/healthz", &no, 200),
        ("get", "/metrics", "/metrics", &no, 200),
        ("get", "/v1/openapi.json", "/v1/openapi.json", &no, 200),
        ("post", "/v1/jobs", "/v1/jobs", &job, 201),
        ("post", "/v1/jobs", "/v1/jobs", &many, 201),
        ("post", "/v1/jobs", "/v1/jobs", &huge, 200),
        ("post", "/v1/jobs", "/v1/jobs", &json!({"command": []}), 422),
        ("post", "/v1/jobs", "/v1/jobs", &json!("no object"), 422),
        ("get", "/v1/jobs", "/v1/jobs?limit=-1", &no, 400),
        ("get", "/v1/jobs/{id}/tasks", "/v1/jobs/1/tasks", &no, 200),
        ("get", "/v1/jobs/{id}/tasks", "/v1/jobs/99/tasks", &no, 404),
        (
            "post",
            "/v1/jobs/{id}/resubmit",
            "/v1/jobs/1/resubmit",
            &json!({"deadline_s": 60.0}),
            409,
        ),
        ("post", "/v1/quotes", "/v1/quotes", &job, 200),
        ("post", "/v1/quotes", "/v1/quotes", &held, 200),
        (
            "post",
            "/v1/quotes/{id}/claim",
            "/v1/quotes/99/claim",
            &job,
            404,
        ),
        ("get", "/v1/jobs", "/v1/jobs?live=true&limit=5", &no, 200),
        (
            "get",
            "/v1/jobs",
            "/v1/jobs?live=true&expect=true",
            &no,
            200,
        ),
        (
            "get",
            "/v1/jobs/{id}/history",
            "/v1/jobs/1/history",
            &no,
            200,
        ),
        (
            "get",
            "/v1/jobs/{id}/history",
            "/v1/jobs/2_1/history",
            &no,
            200,
        ),
        (
            "get",
            "/v1/jobs/{id}/history",
            "/v1/jobs/99/history",
            &no,
            404,
        ),
        (
            "get",
            "/v1/placements",
            "/v1/placements?since=1970-01-01T00:00:00Z",
            &no,
            200,
        ),
        ("get", "/v1/placements", "/v1/placements?job=99", &no, 404),
        (
            "get",
            "/v1/placements",
            "/v1/placements?since=yesterday",
            &no,
            422,
        ),
        ("get", "/v1/jobs/{id}", "/v1/jobs/1", &no, 200),
        ("get", "/v1/jobs/{id}", "/v1/jobs/2", &no, 200),
        ("get", "/v1/jobs/{id}", "/v1/jobs/99", &no, 404),
        (
            "get",
            "/v1/jobs/{id}/tasks",
            "/v1/jobs/2/tasks?limit=3",
            &no,
            200,
        ),
        ("get", "/v1/jobs/{id}/output", "/v1/jobs/1/output", &no, 200),
        (
            "get",
            "/v1/jobs/{id}/output",
            "/v1/jobs/1/output?from=1&last=2",
            &no,
            422,
        ),
        ("get", "/v1/jobs/{id}/output", "/v1/jobs/2/output", &no, 422),
        (
            "get",
            "/v1/jobs/{id}/output",
            "/v1/jobs/99/output",
            &no,
            404,
        ),
        (
            "get",
            "/v1/jobs/{id}/explain",
            "/v1/jobs/1/explain",
            &no,
            200,
        ),
        (
            "get",
            "/v1/jobs/{id}/explain",
            "/v1/jobs/2/explain",
            &no,
            200,
        ),
        (
            "get",
            "/v1/jobs/{id}/explain",
            "/v1/jobs/3/explain",
            &no,
            200,
        ),
        (
            "get",
            "/v1/jobs/{id}/wait",
            "/v1/jobs/1/wait?decision=true",
            &no,
            200,
        ),
        (
            "post",
            "/v1/jobs/{id}/alter",
            "/v1/jobs/1/alter",
            &json!({"name": "other"}),
            409,
        ),
        ("post", "/v1/jobs/{id}/hold", "/v1/jobs/2/hold", &no, 200),
        (
            "post",
            "/v1/jobs/{id}/release",
            "/v1/jobs/2/release",
            &no,
            200,
        ),
        (
            "post",
            "/v1/jobs/{id}/release",
            "/v1/jobs/1/release",
            &no,
            409,
        ),
        // Job 2 comes first: it would start and end once job 1 is gone.
        ("delete", "/v1/jobs/{id}", "/v1/jobs/2", &no, 200),
        (
            "post",
            "/v1/jobs/{id}/cancel",
            "/v1/jobs/1/cancel",
            &no,
            200,
        ),
        ("get", "/v1/jobs/{id}/events", "/v1/jobs/1/events", &no, 200),
        ("get", "/v1/events", "/v1/events", &no, 200),
        ("get", "/v1/status", "/v1/status", &no, 200),
        ("get", "/v1/ledger", "/v1/ledger", &no, 200),
        ("get", "/v1/usage", "/v1/usage?by=user,day", &no, 200),
        ("get", "/v1/usage", "/v1/usage?since=yesterday", &no, 422),
        (
            "get",
            "/v1/export/jobs",
            "/v1/export/jobs?limit=1&until=2030-01-01",
            &no,
            200,
        ),
        (
            "get",
            "/v1/export/ledger",
            "/v1/export/ledger?after=1",
            &no,
            422,
        ),
        ("get", "/v1/export/ledger", "/v1/export/ledger", &no, 200),
        (
            "get",
            "/v1/export/evictions",
            "/v1/export/evictions?after=1",
            &no,
            422,
        ),
        (
            "get",
            "/v1/export/evictions",
            "/v1/export/evictions?after=1.0.1",
            &no,
            200,
        ),
        ("get", "/v1/evictions", "/v1/evictions", &no, 200),
        (
            "get",
            "/v1/export/logins",
            "/v1/export/logins?after=x",
            &no,
            422,
        ),
        ("get", "/v1/export/logins", "/v1/export/logins", &no, 200),
        (
            "post",
            "/v1/prune",
            "/v1/prune",
            &json!({"older_than_s": 60.0, "dry_run": true}),
            200,
        ),
        (
            "post",
            "/v1/prune",
            "/v1/prune",
            &json!({"older_than_s": 60.0}),
            200,
        ),
        ("get", "/v1/objectives", "/v1/objectives", &no, 200),
        ("get", "/v1/calibration", "/v1/calibration", &no, 200),
        (
            "post",
            "/v1/drain",
            "/v1/drain",
            &json!({"drained": true}),
            200,
        ),
        (
            "post",
            "/v1/drain",
            "/v1/drain",
            &json!({"worker": "x", "drained": true}),
            404,
        ),
        (
            "post",
            "/v1/worker-ends",
            "/v1/worker-ends",
            &json!({"ends": [{"worker": "x", "until": "2030-01-01T00:00:00Z"}]}),
            200,
        ),
        (
            "post",
            "/v1/expected-pilots",
            "/v1/expected-pilots",
            &json!({"site": "lab", "valid_for_s": 60.0, "pilots": [
                {"worker": "lab.1", "cores": 2, "stays_s": 600.0, "starts_in_s": [10.0, 20.0]},
                {"cores": 2, "stays_s": 600.0, "starts_in_s": [10.0, 20.0]},
            ]}),
            200,
        ),
        (
            "post",
            "/v1/expected-pilots",
            "/v1/expected-pilots",
            &json!({"site": "lab", "valid_for_s": 60.0, "pilots": [
                {"cores": 0, "stays_s": 600.0, "starts_in_s": [20.0, 10.0]},
            ]}),
            422,
        ),
        (
            "post",
            "/v1/worker-ends",
            "/v1/worker-ends",
            &json!({"ends": [{"worker": "x", "until": "soon"}]}),
            422,
        ),
        (
            "post",
            "/v1/worker-releases",
            "/v1/worker-releases",
            &json!({"workers": ["x"]}),
            200,
        ),
        (
            "post",
            "/v1/jobs/{id}/signal",
            "/v1/jobs/999/signal",
            &json!({"signal": "USR1"}),
            404,
        ),
        (
            "post",
            "/v1/jobs/{id}/signal",
            "/v1/jobs/1/signal",
            &json!({"signal": "STOP"}),
            422,
        ),
        (
            "post",
            "/v1/jobs/{id}/requeue",
            "/v1/jobs/999/requeue",
            &no,
            404,
        ),
        (
            "post",
            "/v1/jobs/{id}/steps",
            "/v1/jobs/999/steps",
            &json!({"attempt": 1, "name": "solve", "tasks": 1, "procs": 1, "hosts": ["n1"]}),
            404,
        ),
        (
            "post",
            "/v1/jobs/{id}/steps",
            "/v1/jobs/1/steps",
            &json!({"attempt": 0}),
            422,
        ),
        (
            "post",
            "/v1/jobs/{id}/steps/{step}/end",
            "/v1/jobs/999/steps/0/end",
            &json!({"attempt": 1, "exit_code": 0}),
            404,
        ),
        ("get", "/v1/steps", "/v1/steps?ids=1,999", &no, 200),
        (
            "post",
            "/v1/jobs/{id}/grant",
            "/v1/jobs/999/grant",
            &json!({"reason": "a conference"}),
            404,
        ),
        (
            "post",
            "/v1/jobs/{id}/grant",
            "/v1/jobs/1/grant",
            &json!({"reason": ""}),
            422,
        ),
        ("get", "/v1/nodes", "/v1/nodes", &no, 200),
        (
            "post",
            "/v1/learn",
            "/v1/learn",
            &json!({"records": [{
                "id": "1", "user": "ada", "name": "simulate", "procs": 1, "run_s": 60.0,
                "submitted_at": "2026-12-01T09:00:00Z", "finished_at": "2026-12-01T09:01:00Z",
            }]}),
            200,
        ),
        (
            "post",
            "/v1/batches",
            "/v1/batches",
            &json!({"common": {"dir": "/"}, "jobs": [{"command": ["true"]}, {"command": ["false"]}]}),
            201,
        ),
        (
            "post",
            "/v1/batches",
            "/v1/batches",
            &json!({"jobs": []}),
            422,
        ),
        (
            "post",
            "/v1/actions",
            "/v1/actions",
            &json!({"action": "hold", "ids": [1, 999]}),
            200,
        ),
        ("get", "/v1/work", "/v1/work", &no, 426),
        ("post", "/v1/session/attach", "/v1/session/attach", &no, 426),
        ("get", "/v1/tokens", "/v1/tokens", &no, 200),
        (
            "post",
            "/v1/tokens",
            "/v1/tokens",
            &json!({"kind": "worker", "expires_s": 60.0}),
            201,
        ),
        ("get", "/v1/what-if", "/v1/what-if?windows=6", &no, 404),
        ("post", "/v1/window", "/v1/window", &no, 404),
        (
            "post",
            "/v1/tokens/{id}/revoke",
            "/v1/tokens/abc/revoke",
            &no,
            404,
        ),
    ];
    for &(method, path, sent, body, expected) in conversation {
        let answer = described(&document, method, path, expected);
        let content = &answer["content"];
        if content["text/event-stream"].is_object() && sent == "/v1/events" {
            // The stream never ends.
            continue;
        }
        let (status, head, message) = open.answer(&method.to_uppercase(), sent, body);
        assert_eq!(status, expected, "{method} {sent}: {message}");
        let media = content.as_object().unwrap().keys().next().unwrap();
        assert!(
            head.contains(&format!("content-type: {media}")),
            "{sent}: {head}"
        );
        if content["application/json"]["schema"].is_object() {
            check(&document, answer, &message);
        }
    }
    let paths = document["paths"].as_object().unwrap();
    for (path, operations) in paths {
        for method in operations.as_object().unwrap().keys() {
            let sent = conversation
                .iter()
                .any(|(m, p, ..)| m == method && p == path);
            assert!(sent, "{method} {path} is not tried here");
        }
    }
}

#[test]
fn reserved_quote_response_matches_its_schema() {
    let open = TestService::with_policy("libra");
    let document = document();
    let held = json!({"procs": 1, "estimate_s": 60.0, "hold_s": 60.0});
    let job = json!({"command": ["true"], "procs": 1, "dir": "/"});
    for (path, sent, body) in [
        ("/v1/quotes", "/v1/quotes", held),
        ("/v1/quotes/{id}/claim", "/v1/quotes/1/claim", job),
    ] {
        let (status, _, message) = open.answer("POST", sent, &body);
        assert_eq!(status, 200, "{message}");
        check(&document, described(&document, "post", path, 200), &message);
        assert!(message.contains("\"id\":1"), "{message}");
    }
}

#[test]
fn every_schema_reference_resolves() {
    let document = document();
    let text = document.to_string();
    let mut references = text.split("\"$ref\":\"#").skip(1);
    assert!(references.clone().count() > 50);
    assert!(references.all(|rest| {
        let path = rest.split('"').next().unwrap();
        document.pointer(path).is_some()
    }));
}

#[test]
fn metrics_contain_no_user_data() {
    let open = TestService::new(ServiceLimits::default());
    let job = json!({"command": ["true"], "procs": 1, "dir": "/", "name": "very-secret"});
    let huge = json!({"command": ["true"], "procs": 100, "dir": "/"});
    open.answer("POST", "/v1/jobs", &job);
    open.answer("GET", "/v1/jobs/1/wait", &Value::Null);
    open.answer("POST", "/v1/jobs", &huge);
    open.answer("POST", "/v1/quotes", &job);
    let (_, _, text) = open.answer("GET", "/metrics", &Value::Null);
    assert!(text.ends_with("# EOF\n"));
    // The latency of the quote, and the number of requests per commit, vary between runs.
    let varies = ["tollgate_quote_seconds_", "tollgate_commits_total "];
    let stable: Vec<&str> = text
        .lines()
        .filter(|line| !varies.iter().any(|name| line.starts_with(name)))
        .collect();
    insta::assert_snapshot!(stable.join("\n"));
    assert!(
        text.contains("\ntollgate_quote_seconds_bucket{le=\"+Inf\"} 1\n"),
        "{text}"
    );
    assert!(
        text.contains("\ntollgate_quote_seconds_count 1\n"),
        "{text}"
    );
    let mut family = None;
    for line in text.lines().take_while(|line| *line != "# EOF") {
        if let Some(named) = line.strip_prefix("# TYPE ") {
            let mut families = METRICS.iter();
            family =
                families.find(|family| named == format!("{} {}", family.name, family.kind.key()));
            continue;
        }
        let family = family.unwrap_or_else(|| panic!("no family: {line}"));
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert_eq!(help, format!("{} {}", family.name, family.help));
            continue;
        }
        let (sample, _) = line.rsplit_once(' ').unwrap();
        let (name, label) = match sample.split_once('{') {
            Some((name, labels)) => (name, labels.split_once('=').map(|(label, _)| label)),
            None => (sample, None),
        };
        let mut suffixes = family.kind.suffixes().iter();
        assert!(
            suffixes.any(|suffix| name == format!("{}{suffix}", family.name)),
            "{line}"
        );
        assert!(
            label.is_none_or(|label| family.labels.contains(&label)),
            "{line}"
        );
    }
}

/// Returns the documented schema of a request body.
fn body_schema(document: &Value, path: &str) -> Value {
    let body = &document["paths"][path]["post"]["requestBody"];
    let mut schema = body["content"]["application/json"]["schema"].clone();
    schema["components"] = document["components"].clone();
    schema
}

#[test]
fn schema_accepts_a_body_if_and_only_if_the_service_does() {
    let open = TestService::new(ServiceLimits::default());
    let document = document();
    let soon = "1971-01-01T00:00:00Z";
    let long = "x".repeat(129);
    // Bodies, and whether they are valid.
    let jobs = [
        (json!({"command": ["true"]}), true),
        (
            json!({"command": ["true"], "umask": 18.0, "procs": 1.0}),
            true,
        ),
        (json!({"command": ["true"], "memory_bytes": 1e9}), true),
        (json!({"command": ["true"], "deadline_at": soon}), true),
        (json!({"command": ["true"], "array": "1-9:2%3"}), true),
        (json!({"command": [long]}), true),
        (json!({"command": ["true"], "name": "é".repeat(128)}), true),
        (json!({"command": []}), false),
        (json!({"command": [""]}), false),
        (json!({"procs": 1}), false),
        (json!({"command": ["true"], "umask": 512}), false),
        (json!({"command": ["true"], "umask": 1.5}), false),
        (json!({"command": ["true"], "procs": 0}), false),
        (
            json!({"command": ["true"], "procs": 4_294_967_296_u64}),
            false,
        ),
        (json!({"command": ["true"], "name": long}), false),
        (json!({"command": ["true"], "name": "a\u{85}b"}), false),
        (json!({"command": ["true"], "memory_bytes": 0}), false),
        (json!({"command": ["true"], "memory_bytes": 999_999}), false),
        (
            json!({"command": ["true"], "memory_bytes": 1_000_000}),
            true,
        ),
        (json!({"command": ["true"], "deadline_s": 0}), false),
        (json!({"command": ["true"], "deadline_s": 4e9}), false),
        (
            json!({"command": ["true"], "deadline_s": 9.0, "deadline_at": soon}),
            false,
        ),
        (json!({"command": ["true"], "deadline_at": "soon"}), false),
        (json!({"command": ["true"], "begin_s": 60.0}), true),
        (json!({"command": ["true"], "begin_at": soon}), true),
        (json!({"command": ["true"], "begin_at": "soon"}), false),
        (
            json!({"command": ["true"], "begin_s": 9.0, "begin_at": soon}),
            false,
        ),
        (json!({"command": ["true"], "begin_s": 0}), false),
        (json!({"command": ["true"], "retries": "1000"}), true),
        (
            json!({"command": ["true"], "retries": "2:failed,255,timed_out"}),
            true,
        ),
        (json!({"command": ["true"], "retries": "0"}), false),
        (json!({"command": ["true"], "retries": "1001"}), false),
        (json!({"command": ["true"], "retries": "2:256"}), false),
        (json!({"command": ["true"], "retries": "2:lost"}), false),
        (json!({"command": ["true"], "budget": -1}), false),
        (json!({"command": ["true"], "budget": 2e12}), false),
        (json!({"command": ["true"], "confidence": 1.5}), false),
        (json!({"command": ["true"], "hold_s": 5}), false),
        (json!({"command": ["true"], "array": "+1"}), false),
        (
            json!({"command": ["true"], "array": "1-9", "output": "out"}),
            false,
        ),
        (json!({"command": ["true"], "after": ["+1"]}), false),
        (json!({"command": ["true"], "env": {"": "x"}}), false),
        (json!({"command": ["true"], "env": {"A=B": "x"}}), false),
        (json!({"command": ["true"], "env": {"A": "\u{0}"}}), false),
        (json!({"command": ["true"], "dir": "tmp"}), false),
        (json!({"command": ["true"], "output": ""}), false),
        (json!({"command": ["true"], "color": "red"}), false),
    ];
    let quotes = [
        (json!({}), true),
        (json!({"command": [], "array": null, "after": []}), true),
        (json!({"hold_s": 1}), true),
        (json!({"hold_s": 3601}), false),
        (json!({"begin_s": 9.0}), true),
        (json!({"begin_s": 9.0, "hold_s": 1}), false),
        (json!({"array": "1-3"}), true),
        (json!({"array": "1-3", "hold_s": 1}), false),
        (json!({"array": "1-3", "output": "out"}), false),
        (json!({"held": true}), false),
        (json!({"env": {"": "x"}}), false),
    ];
    let jobs = jobs.iter().map(|case| ("/v1/jobs", case));
    let quotes = quotes.iter().map(|case| ("/v1/quotes", case));
    for (path, (body, sound)) in jobs.chain(quotes) {
        let schema = body_schema(&document, path);
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        assert_eq!(validator.is_valid(body), *sound, "{path}: {body}");
        let (status, _, message) = open.answer("POST", path, body);
        assert_eq!(status < 300, *sound, "{path}: {body}: {status} {message}");
    }
}

#[test]
fn document_lists_the_error_responses() {
    let document = document();
    let responses = |method: &str, path: &str| {
        let responses = &document["paths"][path][method]["responses"];
        let responses = responses.as_object().unwrap();
        responses.keys().cloned().collect::<Vec<_>>()
    };
    for (method, path, statuses) in [
        ("get", "/v1/jobs", &["400", "405"][..]),
        ("post", "/v1/jobs", &["400", "405", "415", "422"]),
        ("post", "/v1/quotes", &["400", "405", "415", "422"]),
        (
            "post",
            "/v1/quotes/{id}/claim",
            &["400", "404", "405", "409", "415"],
        ),
        ("post", "/v1/tokens", &["400", "405", "415", "422"]),
        ("get", "/v1/jobs/{id}/tasks", &["400", "404", "405"]),
        ("get", "/healthz", &["400", "405"]),
    ] {
        let named = responses(method, path);
        for status in statuses {
            assert!(
                named.iter().any(|one| one == status),
                "{method} {path} {status}"
            );
        }
    }
    let limit = &document["paths"]["/v1/jobs"]["get"]["parameters"];
    let limit = limit.as_array().unwrap();
    let limit = limit.iter().find(|one| one["name"] == "limit").unwrap();
    assert_eq!(limit["schema"]["maximum"], u32::MAX);
    let job = &document["components"]["schemas"]["JobDetails"]["properties"];
    assert_eq!(job["submitted_at"]["format"], "date-time");
}

#[test]
fn client_that_names_nothing_gets_the_default_of_the_site() {
    for (otherwise, decision) in [
        (Otherwise::Run, "unpromised"),
        (Otherwise::Wait, "waitlisted"),
        (Otherwise::Reject, "rejected"),
    ] {
        let service = TestService::with_default("plan", otherwise);
        let post = |body: Value| {
            let (status, _, body) = service.answer("POST", "/v1/jobs", &body);
            (status, serde_json::from_str::<Value>(&body).unwrap())
        };
        let full = json!({
            "command": ["sleep", "3600"], "dir": "/", "procs": 2, "estimate_s": 3600.0,
            "deadline_s": 7200.0,
        });
        let (_, answer) = post(full);
        assert_eq!(answer["decision"], "accepted", "{answer}");
        let late = json!({
            "command": ["sleep", "30"], "dir": "/", "estimate_s": 30.0, "deadline_s": 120.0,
        });
        let (_, answer) = post(late.clone());
        assert_eq!(answer["decision"], decision, "{answer}");
        // An explicit wish goes before the default.
        let mut named = late.clone();
        named["otherwise"] = json!("reject");
        assert_eq!(post(named).1["decision"], "rejected");
    }
}

#[test]
fn promise_below_the_least_of_the_site_or_above_the_level_is_refused() {
    let service = TestService::with_policy("plan");
    for (at_least, refused, hint) in [
        (0.49, true, None),
        (0.5, false, None),
        (0.9, true, Some("`confidence` asks for more")),
    ] {
        let job = json!({
            "command": ["sleep", "30"], "dir": "/", "estimate_s": 30.0, "deadline_s": 120.0,
            "at_least": at_least,
        });
        for (path, created) in [("/v1/quotes", 200), ("/v1/jobs", 201)] {
            let (found, _, body) = service.answer("POST", path, &job);
            let status = if refused { 422 } else { created };
            assert_eq!(found, status, "{path} {at_least}: {body}");
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(answer["hint"].as_str(), hint, "{answer}");
            if refused {
                let error = answer["error"].as_str().unwrap();
                let expected = "at_least: expected 0.5 to 0.8333";
                assert!(error.contains(expected), "{answer}");
            }
        }
    }
}

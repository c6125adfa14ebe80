//! Requests with a key, which their clients may send again: each is carried out once, and answered alike.

use tokio::sync::oneshot;
use tollgate_server::access::ServiceLimits;
use tollgate_server::controller::{
    ControllerRequest, KeyedRequest, NewJob, RequestError, RequestedTimes, SubmittedJob,
};
use tollgate_service::CommandResult;
use tollgate_store::StoredAnswer;

use crate::common::test_service::TestService;
use crate::common::{TestCluster, program, submission};

type Reply = oneshot::Receiver<Result<SubmittedJob, RequestError>>;

fn submit(user: u32, key: &str) -> (ControllerRequest, Reply) {
    let (reply, answer) = oneshot::channel();
    let mut submission = submission("job", 10);
    submission.user = user;
    let request = ControllerRequest::submit(NewJob {
        submission,
        times: RequestedTimes::default(),
        program: Box::new(program(&["sleep", "600"])),
        reply,
    });
    let keyed = KeyedRequest {
        user,
        key: key.to_owned(),
        request,
        render: Box::new(|results| {
            let [CommandResult::Submitted { job, .. }] = results else {
                return None;
            };
            Some(StoredAnswer {
                request: "the request".to_owned(),
                status: 201,
                body: format!("job {job}").into_bytes(),
            })
        }),
    };
    (ControllerRequest::Keyed(Box::new(keyed)), answer)
}

fn job_of(mut reply: Reply) -> Option<u64> {
    match reply.try_recv().unwrap() {
        Ok(submitted) => Some(submitted.job),
        Err(RequestError::AnsweredBefore) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn request_with_a_key_is_carried_out_once_for_each_user() {
    let mut site = TestCluster::new("libra");
    let requests = [(1, "a"), (1, "a"), (1, "b"), (2, "a")];
    let (sent, replies): (Vec<_>, Vec<_>) = requests
        .map(|(user, key)| submit(user, key))
        .into_iter()
        .unzip();
    site.tick(sent);
    let jobs: Vec<Option<u64>> = replies.into_iter().map(job_of).collect();
    assert_eq!(jobs, [Some(1), None, Some(2), Some(3)]);
    site.restart();
    let (again, reply) = submit(1, "a");
    site.tick(vec![again]);
    assert_eq!(job_of(reply), None);
    let answer = site.reader().answer(1, "a").unwrap().unwrap();
    assert_eq!(answer.body, b"job 1");
    assert_eq!(site.reader().answer(3, "a").unwrap(), None);
    assert!(site.reader().job(4).unwrap().is_none());
}

#[test]
fn answer_is_kept_for_a_day() {
    const DAY: i64 = 24 * 3_600;
    let mut site = TestCluster::new("libra");
    for (second, key) in [(10, "a"), (9 + DAY, "b"), (11 + DAY, "c")] {
        site.wait_until(second);
        let kept = site.reader().answer(1, "a").unwrap().is_some();
        assert_eq!(kept, second > 10, "after {second} s");
        let (request, reply) = submit(1, key);
        site.tick(vec![request]);
        assert!(job_of(reply).is_some());
    }
    assert!(site.reader().answer(1, "a").unwrap().is_none());
    assert!(site.reader().answer(1, "b").unwrap().is_some());
}

/// Sends a request and returns the status, and the body.
fn post(open: &TestService, path: &str, key: &str, body: &str) -> (String, String) {
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\nidempotency-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = open.answer_to(request.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.to_owned(), body.to_owned())
}

#[test]
fn repeated_request_gets_the_same_bytes() {
    let open = TestService::new(ServiceLimits::default());
    let job = r#"{"command": ["sleep", "600"], "dir": "/", "procs": 2}"#;
    let too_wide = r#"{"command": ["true"], "dir": "/", "procs": 10000}"#;
    let batch = r#"{"common": {"command": ["true"], "dir": "/"}, "jobs": [{}, {"procs": 10000}]}"#;
    for (path, key, body, status) in [
        ("/v1/jobs", "one", job, "201"),
        ("/v1/jobs", "wide", too_wide, "200"),
        ("/v1/batches", "batch", batch, "201"),
        ("/v1/jobs/1/hold", "cancel", "", "409"),
        ("/v1/jobs/1/cancel", "cancel", "", "200"),
        ("/v1/quotes", "quote", r#"{"hold_s": 60}"#, "200"),
    ] {
        let first = post(&open, path, key, body);
        assert_eq!(first.0, status, "{path}: {first:?}");
        assert_eq!(post(&open, path, key, body), first, "{path}");
    }
    let (status, other) = post(&open, "/v1/jobs", "one", too_wide);
    assert_eq!(status, "422", "{other}");
    assert!(other.contains("a key of its own"), "{other}");
    let long = "x".repeat(65);
    for key in ["", "a b", &long] {
        let (status, refused) = post(&open, "/v1/jobs", key, job);
        assert_eq!(status, "422", "{key}: {refused}");
    }
    let (_, jobs) = post(&open, "/v1/jobs", "last", job);
    assert!(
        jobs.contains("\"id\":5"),
        "jobs 1 to 4 were submitted: {jobs}"
    );
}

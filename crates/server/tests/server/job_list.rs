//! The list of jobs, by name, number, user, account, queue and time.

use tollgate_client::types::{JobDetails, JobList, JobRequest, SubmitResponse};
use tollgate_client::{ApiClient, ClientError, PathWithQuery};

use crate::common::test_service::TestService;

fn submit(client: &mut ApiClient, change: impl FnOnce(&mut JobRequest)) -> u64 {
    let mut request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        procs: 1,
        dir: "/".to_owned(),
        held: true,
        ..JobRequest::default()
    };
    change(&mut request);
    let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    answer.id.unwrap()
}

fn list(client: &mut ApiClient, query: &[(&str, &str)]) -> Result<Vec<String>, ClientError> {
    let path = query.iter();
    let path = path.fold(PathWithQuery::new("/v1/jobs"), |path, (name, value)| {
        path.with(name, value)
    });
    let list: JobList = client.get(&path.to_string())?;
    let id = |job: &JobDetails| match job.task {
        Some(task) => format!("{}_{task}", job.id),
        None => job.id.to_string(),
    };
    Ok(list.jobs.iter().map(id).collect())
}

#[test]
fn list_has_the_jobs_that_match_every_filter() {
    let service = TestService::with_policy("fcfs");
    let mut client = ApiClient::connect(&service.socket()).unwrap();
    submit(&mut client, |job| job.name = Some("a, b".to_owned()));
    submit(&mut client, |job| {
        job.name = Some("b".to_owned());
        job.account = Some("physics".to_owned());
    });
    submit(&mut client, |job| {
        job.array = Some("1-9".to_owned());
        job.output = None;
        job.queue = Some("long".to_owned());
    });
    let own = rustix::process::geteuid().as_raw().to_string();
    for (query, expected) in [
        (&[("name", "a, b")][..], &["1"][..]),
        (&[("name", "c")], &[]),
        (&[("account", "physics")], &["2"]),
        (&[("queue", "long")], &["3"]),
        (&[("user", &own)], &["3", "2", "1"]),
        (&[("user", "root"), ("name", "b")], &["2"]),
        (&[("ids", "1,3,99,1")], &["3", "1"]),
        (&[("ids", "2,3_7,3_12,3_2")], &["2", "3_7", "3_2"]),
        (&[("ids", "1000000001")], &["3_2"]),
        (&[("ids", "3_2"), ("queue", "short")], &[]),
        (&[("ids", "3_2"), ("state", "held")], &["3_2"]),
        (&[("ids", "1,2,3"), ("limit", "2")], &["3", "2"]),
        (&[("until", "1970-01-01T00:00:00Z")], &[]),
        (
            &[("until", "1970-01-01T00:00:02Z"), ("live", "true")],
            &["3", "2", "1"],
        ),
        (&[("since", "2030-01-01T00:00:00Z")], &["3", "2", "1"]),
        (
            &[("since", "2030-01-01T00:00:00Z"), ("before", "2")],
            &["1"],
        ),
    ] {
        let found = list(&mut client, query).unwrap();
        // Not every test runs as root.
        let of_root = own == "0" || !query.contains(&("user", "root"));
        let expected: &[&str] = if of_root { expected } else { &[] };
        assert_eq!(found, expected, "{query:?}");
    }
    let _: serde_json::Value = client.post("/v1/jobs/1/cancel", &()).unwrap();
    let live = list(&mut client, &[("since", "2030-01-01T00:00:00Z")]).unwrap();
    assert_eq!(live, ["3", "2"], "job 1 ended before");
    let ended = list(
        &mut client,
        &[("since", "1970-01-01T00:00:01Z"), ("name", "a, b")],
    );
    assert_eq!(ended.unwrap(), ["1"], "job 1 ended then");
}

#[test]
fn list_has_the_jobs_with_or_without_a_promise() {
    let service = TestService::with_policy("plan");
    let mut client = ApiClient::connect(&service.socket()).unwrap();
    let safe = submit(&mut client, |job| {
        job.held = false;
        job.estimate_s = Some(600.0);
        job.deadline_s = Some(90_000.0);
    });
    let none = submit(&mut client, |job| job.held = false);
    let mut found = |query: &[(&str, &str)]| list(&mut client, query).unwrap();
    assert_eq!(found(&[]), [none.to_string(), safe.to_string()]);
    assert_eq!(found(&[("promise", "none")]), [none.to_string()]);
    for promise in ["kept", "broken", "void", "at_risk"] {
        assert_eq!(found(&[("promise", promise)]), [""; 0], "{promise}");
    }
}

#[test]
fn wrong_words_of_a_query_are_named() {
    let service = TestService::with_policy("fcfs");
    let mut client = ApiClient::connect(&service.socket()).unwrap();
    for (query, expected) in [
        (("ids", "x"), "ids: expected numbers of jobs or tasks"),
        (("ids", "3_1-2"), "ids: expected numbers of jobs or tasks"),
        (
            ("user", "no such user"),
            "user: expected the name or number",
        ),
        (("since", "yesterday"), "since: expected an instant"),
        (
            ("promise", "later"),
            "promise: expected one of at_risk, kept, broken",
        ),
    ] {
        let error = list(&mut client, &[query]).unwrap_err().to_string();
        assert!(error.contains(expected), "{query:?}: {error}");
    }
}

#[test]
fn facts_of_a_submission_are_shown_with_the_job() {
    let service = TestService::with_policy("fcfs");
    let mut client = ApiClient::connect(&service.socket()).unwrap();
    let id = submit(&mut client, |job| {
        job.comment = Some("rule_7".to_owned());
        job.submit_line = Some("sbatch job.sh".to_owned());
        job.submit_host = Some("login1".to_owned());
        job.output = Some("out.%j".to_owned());
        job.error = Some("%x.err".to_owned());
        job.input = Some("/in/%u".to_owned());
        job.requeue = true;
    });
    let job: JobDetails = client.get(&format!("/v1/jobs/{id}")).unwrap();
    let text = |value: &'static str| Some(value.to_owned());
    assert_eq!(job.comment, text("rule_7"));
    assert_eq!(job.submit_line, text("sbatch job.sh"));
    assert_eq!(job.submit_host, text("login1"));
    assert_eq!(job.output, text("/out.1"));
    assert_eq!(job.error, text("/sleep.err"));
    assert_eq!(job.input, Some(format!("/in/{}", job.user)));
    assert!(job.requeue && job.group_id.is_some());
    let wait = job.waits_for.unwrap();
    assert_eq!((wait.key.key(), &*wait.text), ("held", "held by its user"));
    let same = submit(&mut client, |job| {
        job.output = Some("out".to_owned());
        job.error = Some("out".to_owned());
    });
    let job: JobDetails = client.get(&format!("/v1/jobs/{same}")).unwrap();
    assert_eq!((job.output, job.error), (text("/out"), None));
    let request = JobRequest {
        command: vec!["true".to_owned()],
        procs: 1,
        dir: "/".to_owned(),
        comment: Some("x".repeat(129)),
        ..JobRequest::default()
    };
    let refused = client.post::<SubmitResponse>("/v1/jobs", &request);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("comment: expected at most 128 characters"),
        "{refused}"
    );
}

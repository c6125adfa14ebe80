//! Promises that a policy makes only when it starts a job: recorded with their own probability, beside the quoted one.

use tollgate_client::ApiClient;
use tollgate_client::types::{JobDetails, JobRequest, SubmitResponse};
use tollgate_model::{BookEntry, Instant, Market, Otherwise, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{AdmissionState, ArraySpec, Submission, SubmissionOptions};

use crate::common::test_service::TestService;
use crate::common::{TestCluster, submission};

/// Policies that admit a job with a deadline when it starts.
const AT_START: [&str; 4] = ["edf", "fcfs-bf", "edf-bf", "tail-risk-bf"];
/// Those of them that test the deadline by the estimate. A distribution knows that such jobs take longer.
const BY_ESTIMATE: [&str; 3] = ["edf", "fcfs-bf", "edf-bf"];

fn job(name: &str, procs: u32, estimate_s: i64, deadline_s: i64) -> Submission {
    Submission {
        procs,
        deadline: Some(Span::from_secs(deadline_s)),
        ..submission(name, estimate_s)
    }
}

/// Returns a service under a policy, in a market that the policy knows.
fn site(policy: &str) -> TestCluster {
    let market = match policy {
        "edf" => Market::None,
        "tail-risk-bf" => Market::Commodity,
        _ => Market::Bid,
    };
    TestCluster::in_market(policy, market)
}

#[test]
fn promise_at_the_start_is_recorded_with_its_own_probability() {
    for policy in AT_START {
        let mut site = site(policy);
        site.submit_job(job("first", 2, 60, 1_000), &["work", "50"])
            .unwrap();
        let second = site.submit_job(job("second", 2, 30, 100), &["work", "20"]);
        let second = second.unwrap();
        assert_eq!(second.answer.admission, AdmissionState::Queued, "{policy}");
        let row = site.row(second.job);
        let quoted = row.probability.expect("a quote");
        assert_eq!((row.late_promise, row.decided), (None, None), "{policy}");
        site.advance(50);
        let row = site.row(second.job);
        let late = row.late_promise.expect("a promise");
        assert_eq!(row.state, "running", "{policy}");
        assert_eq!(late.at, Instant::from_secs(50), "{policy}");
        assert_eq!(late.quoted, Some(quoted), "{policy}");
        let jobs = vec![(second.job, None)];
        let now = site.request(|reply| ControllerRequest::Predict { jobs, reply });
        let now = now.unwrap()[0].expect("it runs").probability.unwrap();
        let promised = row.probability.unwrap();
        assert!(
            (promised - now.as_f64()).abs() < 1e-9,
            "{policy}: {promised} {now}"
        );
        assert!(
            (promised - quoted).abs() > 1e-3,
            "{policy}: {promised} {quoted}"
        );
        // Calibration counts the promise, not the quote.
        site.advance(30);
        assert_eq!(site.entry(second.job), Some("kept"), "{policy}");
        let tenths = site.reader().calibration(None).unwrap();
        let expected: f64 = tenths.iter().map(|(_, sums)| sums.expected).sum();
        let first = site.row(1).probability.unwrap();
        assert!(
            (expected - first - promised).abs() < 1e-9,
            "{policy}: {tenths:?}"
        );
    }
}

#[test]
fn quoted_and_promised_probability_are_shown_apart() {
    for (policy, is_promised) in [("fcfs", false), ("plan", true)] {
        let service = TestService::with_policy(policy);
        let mut client = ApiClient::connect(&service.socket()).unwrap();
        let mut submit = |procs, deadline_s| {
            let request = JobRequest {
                command: vec!["sleep".to_owned(), "60".to_owned()],
                dir: "/".to_owned(),
                procs,
                deadline_s,
                estimate_s: Some(60.0),
                ..JobRequest::default()
            };
            let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
            let path = format!("/v1/jobs/{}", answer.id.unwrap());
            client.get::<JobDetails>(&path).unwrap()
        };
        let free = submit(2, None);
        assert_eq!((free.quoted_probability, free.promised_at), (None, None));
        let waiting = submit(1, Some(1_000.0));
        assert!(
            waiting.quoted_probability.is_some(),
            "{policy}: {waiting:?}"
        );
        assert_eq!(waiting.probability, waiting.quoted_probability);
        assert_eq!(
            waiting.promised_probability.is_some(),
            is_promised,
            "{policy}"
        );
        assert_eq!(waiting.promised_at, waiting.decided_at, "{policy}");
    }
}

/// Returns a service with a minimum for a promise, in millionths.
fn careful_site(policy: &str, least: u32) -> TestCluster {
    let mut site = site(policy);
    site.rules.confidence = least;
    site.restart();
    site
}

/// Returns a job that could start shortly before its deadline: by its estimate in time, by the runs of such jobs not.
fn hopeful(site: &mut TestCluster, otherwise: Otherwise) -> u64 {
    for _ in 0..12 {
        let known = Submission {
            deadline: None,
            budget: None,
            ..job("slow", 2, 8, 0)
        };
        site.submit_job(known, &["work", "40"]).unwrap();
        site.advance(42);
    }
    site.submit_job(job("first", 2, 60, 1_000), &["work", "50"])
        .unwrap();
    let second = Submission {
        options: SubmissionOptions {
            otherwise,
            ..SubmissionOptions::default()
        },
        ..job("slow", 2, 8, 60)
    };
    let second = site.submit_job(second, &["work", "40"]).unwrap();
    assert_eq!(second.answer.admission, AdmissionState::Queued);
    second.job
}

#[test]
fn job_below_the_minimum_at_its_start_is_rejected_and_its_nodes_go_to_the_next() {
    for policy in BY_ESTIMATE {
        let mut site = careful_site(policy, 600_000);
        let second = hopeful(&mut site, Otherwise::Reject);
        let next = Submission {
            deadline: None,
            budget: None,
            ..job("next", 2, 10, 0)
        };
        let next = site.submit_job(next, &["work", "5"]).unwrap().job;
        site.advance(51);
        let row = site.row(second);
        assert_eq!(row.state, "rejected", "{policy} {row:?}");
        assert_eq!(row.reasons, ["confidence"], "{policy}");
        assert_eq!(
            (row.price, row.start, row.attempts),
            (None, None, 0),
            "{policy}"
        );
        assert_eq!(site.entry(second), None, "{policy}");
        assert_eq!(site.row(next).state, "running", "{policy}");
        site.controller().core().check_invariants().unwrap();
        site.restart();
        site.advance(10);
        assert_eq!(site.row(next).state, "finished", "{policy}");
        let rejected = site.reader().objective_sums(None).unwrap().books;
        assert_eq!(rejected.count(BookEntry::Rejected), 1, "{policy}");
        // Without a minimum the policy's own test decides.
        let mut site = self::site(policy);
        let second = hopeful(&mut site, Otherwise::Reject);
        site.advance(51);
        assert_eq!(site.row(second).state, "running", "{policy}");
        assert!(site.row(second).probability.unwrap() < 0.6, "{policy}");
    }
}

#[test]
fn job_below_the_minimum_at_its_start_runs_without_a_promise_if_its_user_wants_that() {
    for policy in BY_ESTIMATE {
        let mut site = careful_site(policy, 600_000);
        let second = hopeful(&mut site, Otherwise::Run);
        site.advance(51);
        let row = site.row(second);
        assert_eq!(row.state, "running", "{policy}");
        assert_eq!(
            (&*row.reasons, row.late_promise),
            (&["confidence".to_owned()][..], None)
        );
        site.advance(60);
        assert_eq!(site.entry(second), Some("unpromised_late"), "{policy}");
        let calibrated = site.reader().calibration(None).unwrap();
        let promises: u64 = calibrated.iter().map(|(_, sums)| sums.promises).sum();
        assert_eq!(promises, 1, "{policy}: only the first job was promised");
    }
}

#[test]
fn task_below_the_minimum_at_its_start_is_rejected() {
    let mut site = careful_site("edf-bf", 850_000);
    hopeful(&mut site, Otherwise::Reject);
    let array = Submission {
        options: SubmissionOptions {
            otherwise: Otherwise::Reject,
            array: Some(ArraySpec {
                tasks: "1-2".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..job("slow", 2, 8, 60)
    };
    let array = site.submit_job(array, &["work", "40"]).unwrap().job;
    site.advance(51);
    let tasks = site.reader().tasks(array, None, 10).unwrap().unwrap();
    let states: Vec<&str> = tasks.iter().map(|task| task.state.as_str()).collect();
    assert_eq!(states, ["rejected", "rejected"]);
    assert_eq!(tasks[0].reasons, ["confidence"]);
    site.controller().core().check_invariants().unwrap();
}

//! Quotes per second.

use std::time::{Duration, Instant};

use tollgate_client::ApiClient;
use tollgate_client::types::{JobDecision, JobRequest, SubmitResponse};
use tollgate_server::DEFAULT_POLICY;

use crate::server::BenchServer;

/// A policy that shares nodes in time, and the default.
const POLICIES: [&str; 2] = ["libra-risk", DEFAULT_POLICY];
/// Number of parallel connections.
const CONNECTIONS: usize = 4;
const ROUND: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;

pub(crate) fn measure() {
    for policy in POLICIES {
        for jobs in [0, 20, 200] {
            measure_beside(jobs, policy);
        }
    }
}

/// Prints the rate of each kind of request beside a number of jobs.
fn measure_beside(jobs: u32, policy: &str) {
    let server = BenchServer::start(tempfile::tempdir().expect("a folder"), policy);
    let mut client = server.client();
    for _ in 0..jobs {
        let job = JobRequest {
            command: vec!["sleep".to_owned(), "1000".to_owned()],
            budget: None,
            ..request(600.0, 86_400.0)
        };
        let answer: SubmitResponse = client.post("/v1/jobs", &job).expect("an answer");
        assert_eq!(answer.decision, JobDecision::Accepted);
    }
    let cases = [
        ("status", None),
        ("accepted", Some(request(60.0, 3_600.0))),
        (
            "refused, with counter-offers",
            Some(request(3_600.0, 600.0)),
        ),
    ];
    for (what, request) in cases {
        let mut rates: Vec<f64> = (0..ROUNDS).map(|_| round(&server, &request)).collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "{policy}, {jobs:4} jobs; {what:<30} {:8.0} a second",
            rates[ROUNDS / 2]
        );
    }
}

fn request(estimate_s: f64, deadline_s: f64) -> JobRequest {
    JobRequest {
        name: Some("work".to_owned()),
        procs: 1,
        estimate_s: Some(estimate_s),
        deadline_s: Some(deadline_s),
        budget: Some(1_000.0),
        dir: "/".to_owned(),
        umask: 0o022,
        ..JobRequest::default()
    }
}

/// Returns the number of responses per second over all connections.
fn round(server: &BenchServer, request: &Option<JobRequest>) -> f64 {
    let clients: Vec<ApiClient> = (0..CONNECTIONS).map(|_| server.client()).collect();
    let began = Instant::now();
    let n_quotes: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|client| scope.spawn(move || request_quotes(client, request, began)))
            .collect();
        let n_quotes = threads.into_iter().map(|it| it.join().expect("a client"));
        n_quotes.sum()
    });
    n_quotes as f64 / began.elapsed().as_secs_f64()
}

fn request_quotes(mut client: ApiClient, request: &Option<JobRequest>, began: Instant) -> u64 {
    let mut n_quotes = 0;
    while began.elapsed() < ROUND {
        match request {
            Some(request) => {
                let _: SubmitResponse = client.post("/v1/quotes", request).expect("an answer");
            }
            None => {
                let _: serde_json::Value = client.get("/v1/status").expect("an answer");
            }
        }
        n_quotes += 1;
    }
    n_quotes
}

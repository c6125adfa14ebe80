//! Signals to running jobs: of their users, of operators, and of nobody else.

use tollgate_client::types::{JobAction, SignalRequest, SignalResult, SubmitResponse};
use tollgate_client::types::{JobDetails, JobRequest, JobsActionRequest, JobsActionResult};
use tollgate_client::{ApiClient, ClientError};
use tollgate_model::WarningSignal;
use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::{ArraySpec, CommandError, Submission, SubmissionOptions};
use tollgate_workers::SignalReach;

use crate::common::test_service::TestService;
use crate::common::{TestCluster, submission};

fn send(
    site: &mut TestCluster,
    user: Option<u32>,
    job: u64,
    tasks: Option<&str>,
) -> Result<SignalReach, RequestError> {
    let tasks = tasks.map(|tasks| tasks.parse().expect("tasks"));
    site.request(|reply| ControllerRequest::Signal {
        user,
        job,
        tasks,
        signal: WarningSignal::Usr1,
        reply,
    })
}

const fn sent(n: u64) -> SignalReach {
    SignalReach {
        sent: n,
        unreached: 0,
    }
}

#[test]
fn running_job_gets_the_signal_of_its_user_or_an_operator() {
    let mut site = TestCluster::new("fcfs");
    let own = rustix::process::geteuid().as_raw();
    for _ in 0..3 {
        site.submit(&["sleep", "20"], 20).expect("taken up");
    }
    let unknown = Err(RequestError::Ignored(CommandError::UnknownJob));
    assert_eq!(send(&mut site, Some(own + 1), 1, None), unknown);
    assert_eq!(send(&mut site, Some(own), 99, None), unknown);
    let waits = Err(RequestError::NotRunning);
    assert_eq!(send(&mut site, Some(own), 3, None), waits);
    assert_eq!(send(&mut site, Some(own), 1, None), Ok(sent(1)));
    assert_eq!(send(&mut site, None, 2, None), Ok(sent(1)));
    site.advance(1);
    for job in [1, 2] {
        let end = ("finished".to_owned(), Some("signal 10".to_owned()));
        assert_eq!(site.state(job), end);
    }
    assert_eq!(send(&mut site, Some(own), 1, None), unknown, "it is over");
}

#[test]
fn tasks_of_an_array_get_signals_one_by_one_or_together() {
    let mut site = TestCluster::new("fcfs");
    let array = Submission {
        deadline: None,
        budget: None,
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: "1-4".parse().expect("tasks"),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..submission("sleep", 20)
    };
    site.submit_job(array, &["sleep", "20"]).expect("taken up");
    let waits = Err(RequestError::NotRunning);
    assert_eq!(send(&mut site, None, 1, Some("3-4")), waits);
    assert_eq!(send(&mut site, None, 1, Some("2-4")), Ok(sent(1)));
    site.advance(1);
    assert_eq!(send(&mut site, None, 1, None), Ok(sent(2)));
}

#[test]
fn signals_are_sent_over_the_network() {
    let service = TestService::with_policy("fcfs");
    let mut client = ApiClient::connect(&service.socket()).unwrap();
    for held in [false, true] {
        let request = JobRequest {
            command: vec!["sleep".to_owned(), "60".to_owned()],
            procs: 1,
            dir: "/".to_owned(),
            held,
            ..JobRequest::default()
        };
        let _: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    }
    let mut post = |job: &str, signal: &str| -> Result<SignalResult, ClientError> {
        let signal = signal.to_owned();
        let path = format!("/v1/jobs/{job}/signal");
        client.post(&path, &SignalRequest { signal })
    };
    for (job, signal, expected) in [
        ("1", "STOP", "signal: expected one of HUP, INT"),
        ("2", "USR1", "the job does not run"),
        ("7", "USR1", "no such job"),
    ] {
        let error = post(job, signal).unwrap_err().to_string();
        assert!(error.contains(expected), "{job} {signal}: {error}");
    }
    let reached = post("1", "sigusr1").unwrap();
    assert_eq!((reached.signalled, reached.unreached), (1, 0));
    let job: JobDetails = client.get("/v1/jobs/1/wait").unwrap();
    assert_eq!((job.exit_code, job.exit_signal), (Some(138), Some(10)));
    let mut post = |action, signal: Option<&str>| -> Result<JobsActionResult, ClientError> {
        let request = JobsActionRequest {
            action,
            ids: vec![1, 2, 7],
            signal: signal.map(str::to_owned),
        };
        client.post("/v1/actions", &request)
    };
    let none = post(JobAction::Signal, Some("USR1")).unwrap();
    assert_eq!(none.changed, [0; 0], "none of them runs");
    for (action, signal) in [(JobAction::Signal, None), (JobAction::Hold, Some("USR1"))] {
        let error = post(action, signal).unwrap_err().to_string();
        assert!(error.contains("signal: expected"), "{error}");
    }
}

//! The controller on an engine that runs nothing: responses survive restarts, each attempt is
//! started once, and no response is sent if the store cannot be written.

use tokio::sync::oneshot;
use tollgate_client::types::ClassCourse;
use tollgate_model::{Credits, Instant};
use tollgate_server::controller::{ClassChangeCounts, ControllerRequest, RequestError};
use tollgate_server::events::{EventId, EventSubject};
use tollgate_service::{AdmissionState, ServiceCommand, Submission};
use tollgate_store::{JobFilter, Store};

use crate::common::{TestCluster, submission};

#[test]
fn job_runs_ends_and_is_charged_once() {
    let mut site = TestCluster::new("libra");
    let verdict = site.submit(&["sleep", "5"], 10).unwrap();
    assert!(matches!(
        verdict.answer.admission,
        AdmissionState::Accepted { .. }
    ));
    assert_eq!(site.state(1).0, "running");
    site.restart();
    assert_eq!(site.state(1).0, "running");
    site.wait_until(6);
    assert_eq!(
        site.state(1),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
    site.restart();
    site.wait_until(7);
    let store = Store::open(&site.data_dir.path().join("tollgate.db")).unwrap();
    let reader = store.reader().unwrap();
    let accounts = reader.ledger(None).unwrap();
    assert_eq!(accounts.len(), 1);
    // 10 s at one credit per second, plus Libra's incentive: estimate over deadline.
    assert_eq!(accounts[0].charges, Credits::from_f64(10.1));
    assert_eq!(reader.attempts(1).unwrap().len(), 1);
}

#[test]
fn end_during_a_crash_is_recorded_after_the_restart() {
    let mut site = TestCluster::new("libra-risk");
    site.submit(&["sleep", "5"], 10).unwrap();
    site.controller = None;
    site.world.advance_to(Instant::from_secs(6));
    *site.clock.lock().unwrap() = Instant::from_secs(6);
    site.restart();
    site.tick(Vec::new());
    assert_eq!(
        site.state(1),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
}

#[test]
fn cancelled_job_ends_and_the_next_queued_job_starts() {
    let mut site = TestCluster::new("fcfs");
    for _ in 0..3 {
        site.submit(&["sleep", "50"], 60).unwrap();
    }
    assert_eq!(site.state(3).0, "queued");
    let (reply, mut answer) = oneshot::channel();
    site.tick(vec![ControllerRequest::Command {
        user: None,
        command: ServiceCommand::Cancel {
            job: 1,
            tasks: None,
        },
        reply,
    }]);
    assert_eq!(answer.try_recv().unwrap(), Ok(()));
    site.wait_until(10);
    assert_eq!(site.state(1).0, "cancelled");
    assert_eq!(site.state(3).0, "running");
    let (reply, mut answer) = oneshot::channel();
    let other_user = Some(rustix::process::geteuid().as_raw() + 1);
    site.tick(vec![ControllerRequest::Command {
        user: other_user,
        command: ServiceCommand::Cancel {
            job: 2,
            tasks: None,
        },
        reply,
    }]);
    assert!(matches!(
        answer.try_recv().unwrap(),
        Err(RequestError::Ignored(_))
    ));
}

#[test]
fn finished_jobs_improve_the_estimate_of_similar_jobs() {
    let mut site = TestCluster::new("libra");
    for n in 0..8 {
        site.submit(&["sleep", "5"], 10).unwrap();
        site.wait_until(6 * (n + 1));
    }
    let answer = site.quote(Submission {
        estimate: None,
        deadline: None,
        budget: None,
        ..submission("sleep", 10)
    });
    assert_eq!(answer.source, tollgate_service::EstimateSource::Class);
    let estimate = answer.spec.estimate.as_secs_f64();
    // They are one batch, and so one witness.
    assert!((5.0..20.0).contains(&estimate), "{estimate} s");
}

/// Returns the published changes of classes: the job, how its class runs, and its run time and the bounds in seconds.
fn published_changes(site: &mut TestCluster) -> Vec<(u64, ClassCourse, [f64; 3])> {
    let first = EventId {
        batch: 0,
        index: u32::MAX,
    };
    let log = site.controller().log();
    let events = log.events_after(first, usize::MAX).unwrap().into_iter();
    let steps = events.filter_map(|event| match event.subject {
        EventSubject::Class(step) => Some(step),
        EventSubject::Job(_) | EventSubject::Worker(_) | EventSubject::Nodes(_) => None,
    });
    let steps = steps.map(|step| {
        let [from, to] = step.expected;
        let times = [step.run_time, from, to].map(|span| span.as_secs_f64());
        (step.job, step.runs, times)
    });
    steps.collect()
}

fn class_changes(site: &mut TestCluster) -> ClassChangeCounts {
    let status = site.request(|reply| ControllerRequest::Status { user: None, reply });
    status.unwrap().class_changes
}

#[test]
fn class_that_takes_longer_is_noticed_and_counted() {
    let mut site = TestCluster::new("plan");
    let mut at_s = 0;
    let mut run = |site: &mut TestCluster, run_s: i64| {
        let program = ["sleep", &run_s.to_string()];
        let without_deadline = Submission {
            deadline: None,
            budget: None,
            ..submission("sleep", 4000)
        };
        let answer = site.submit_job(without_deadline, &program).unwrap().answer;
        // Another batch begins.
        at_s += run_s + 1000;
        site.wait_until(at_s);
        answer
    };
    for _ in 0..12 {
        run(&mut site, 50);
    }
    assert_eq!(class_changes(&mut site), ClassChangeCounts::default());
    run(&mut site, 600);
    let next = run(&mut site, 600).basis.to_string();
    assert!(
        next.ends_with("the last took longer than expected, so the bounds are wider"),
        "{next}"
    );
    assert_eq!(class_changes(&mut site).longer, 1);
    let next = run(&mut site, 600).basis.to_string();
    assert!(
        next.ends_with("two in a row took longer than expected, so the bounds are wider"),
        "{next}"
    );
    for _ in 0..4 {
        run(&mut site, 600);
    }
    assert_eq!(class_changes(&mut site).settled, 1);
    let published = published_changes(&mut site);
    let [
        (job, ClassCourse::Longer, times),
        (_, ClassCourse::AsExpected, _),
    ] = published[..]
    else {
        panic!("{published:?}");
    };
    let [run_time, from, to] = times;
    assert_eq!((job, run_time), (14, 600.0));
    assert!(from < to && to < run_time, "{from} {to}");
}

#[test]
fn quote_changes_no_state_and_agrees_with_the_submission() {
    let mut site = TestCluster::new("libra-risk");
    site.submit(&["sleep", "50"], 60).unwrap();
    let quoted = site.quote(submission("sleep", 60));
    let store = Store::open(&site.data_dir.path().join("tollgate.db")).unwrap();
    let jobs = store.reader().unwrap().jobs(&JobFilter {
        limit: 10,
        ..JobFilter::default()
    });
    assert_eq!(jobs.unwrap().len(), 1);
    let verdict = site.submit(&["sleep", "50"], 60).unwrap();
    assert_eq!(verdict.answer, quoted);
}

#[test]
fn job_of_an_unknown_user_ends_without_running() {
    let mut site = TestCluster::new("fcfs");
    let user = u32::MAX - 7;
    let submission = Submission {
        user,
        ..submission("sleep", 50)
    };
    site.submit_job(submission, &["sleep", "50"]).unwrap();
    site.tick(Vec::new());
    let (state, status) = site.state(1);
    assert_eq!(state, "finished");
    let status = status.unwrap();
    assert!(
        status.starts_with("not started: user: only jobs of"),
        "{status}"
    );
    // Its nodes are free again.
    site.restart();
    site.submit(&["sleep", "50"], 60).unwrap();
    site.submit(&["sleep", "50"], 60).unwrap();
    assert_eq!(site.state(3).0, "running");
}

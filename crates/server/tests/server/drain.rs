//! Nodes that are drained: what runs there goes on, nothing else starts, and promises are made without
//! them.

use tollgate_model::{NodeId, Span};
use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::{AdmissionState, Submission};

use crate::common::{TestCluster, submission};

fn drain(site: &mut TestCluster, drained: bool) {
    site.request(|reply| ControllerRequest::Drain {
        worker: None,
        drained,
        reply,
    })
    .unwrap();
    site.controller().core().check_invariants().unwrap();
}

fn job(secs: i64, due_s: i64) -> Submission {
    Submission {
        budget: None,
        deadline: Some(Span::from_secs(due_s)),
        ..submission("work", secs)
    }
}

fn runs_drained(policy: &str) {
    let mut site = TestCluster::new(policy);
    let words = ["sleep", "20"];
    let first = site.submit_job(job(20, 100), &words).unwrap().job;
    drain(&mut site, true);
    let second = site.submit_job(job(20, 1_000), &words);
    site.advance(30);
    assert_eq!(site.state(first).0, "finished", "{policy}: it goes on");
    if let Ok(second) = &second {
        let state = site.state(second.job).0;
        assert!(
            state == "queued" || state == "rejected",
            "{policy}: {state}"
        );
    }
    site.restart();
    site.controller().core().check_invariants().unwrap();
    let view = site
        .controller()
        .core()
        .gate()
        .view(tollgate_model::Instant::ZERO);
    assert!(!view.is_up(NodeId(0)) && view.n_idle() == 0, "{policy}");
    drain(&mut site, false);
    let third = site.submit_job(job(20, 1_000), &words).unwrap().job;
    site.advance(60);
    assert_eq!(site.state(third).0, "finished", "{policy}: it starts again");
}

#[test]
fn nothing_starts_on_drained_nodes_under_every_policy() {
    for policy in [
        "plan",
        "easy",
        "edf-bf",
        "conservative",
        "libra",
        "libra-risk",
        "tail-risk",
    ] {
        runs_drained(policy);
    }
}

#[test]
fn plan_promises_nothing_on_drained_nodes() {
    let mut site = TestCluster::new("plan");
    let running = site.submit_job(job(20, 100), &["sleep", "20"]).unwrap();
    assert!(matches!(
        running.answer.admission,
        AdmissionState::Accepted { .. }
    ));
    drain(&mut site, true);
    // Once the running job ends, its node takes no other.
    let answer = site.quote(job(20, 60));
    let AdmissionState::Waitlisted { .. } = answer.admission else {
        panic!("{answer:?}");
    };
    drain(&mut site, false);
    let answer = site.quote(job(20, 60));
    assert!(matches!(answer.admission, AdmissionState::Accepted { .. }));
}

#[test]
fn unknown_worker_is_named() {
    let mut site = TestCluster::new("plan");
    let failed = site.request(|reply| ControllerRequest::Drain {
        worker: Some("nobody".to_owned()),
        drained: true,
        reply,
    });
    let expected = RequestError::UnknownWorker("nobody".to_owned());
    assert_eq!(failed, Err(expected));
}

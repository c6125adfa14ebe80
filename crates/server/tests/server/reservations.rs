//! Reserved quotes: what they hold, and how they are claimed.

use tokio::sync::oneshot;
use tollgate_model::{Instant, Reason, Span};
use tollgate_server::controller::{ControllerRequest, RequestError, RequestedTimes, Responder};
use tollgate_service::{
    AdmissionState, CommandError, RejectReason, ServiceCommand, Submission, SubmitOutcome,
};
use tollgate_store::{JobProgram, Store};

use crate::common::{TestCluster, program, submission};
use crate::promises::refusals;

fn hold(site: &mut TestCluster, secs: i64) -> (Option<u64>, SubmitOutcome) {
    let submission = Submission {
        reserve_for: Some(Span::from_secs(secs)),
        ..submission("sleep", 20)
    };
    site.request(|reply| ControllerRequest::Reserve {
        submission,
        times: RequestedTimes::default(),
        reply,
    })
    .unwrap()
}

fn claim(site: &mut TestCluster, job: u64) -> Result<(), RequestError> {
    let user = rustix::process::geteuid().as_raw();
    let program = Box::new(program(&["sleep", "5"]));
    site.request(|reply| ControllerRequest::Claim {
        user,
        job,
        program,
        reply,
    })
}

#[test]
fn reserved_quote_keeps_its_nodes_until_it_expires() {
    let mut site = TestCluster::new("libra");
    let (job, answer) = hold(&mut site, 60);
    assert_eq!(job, Some(1));
    assert_eq!(answer.reserved_until, Some(Instant::from_secs(60)));
    assert_eq!(site.state(1).0, "reserved");
    assert!(
        site.controller().core().running_actions().is_empty(),
        "nothing runs for it"
    );
    // Its 20 s of work, and the 60 s by which its start may be delayed, leave a fifth of one node
    // free.
    let wide = Submission {
        procs: 2,
        ..submission("sleep", 30)
    };
    assert_eq!(
        refusals(&site.quote(wide.clone())),
        [RejectReason::Policy(Reason::InsufficientShare)]
    );
    site.restart();
    site.wait_until(59);
    assert_eq!(site.state(1).0, "reserved");
    assert_eq!(site.controller().next_wake(), Some(Instant::from_secs(60)));
    site.wait_until(60);
    assert_eq!(site.state(1).0, "expired");
    let gone = Err(RequestError::Ignored(CommandError::UnknownJob));
    assert_eq!(claim(&mut site, 1), gone);
    assert!(matches!(
        site.quote(wide).admission,
        AdmissionState::Accepted { .. }
    ));
    let store = Store::open(&site.store()).unwrap();
    assert_eq!(store.reader().unwrap().ledger(None).unwrap(), []);
}

#[test]
fn claimed_quote_runs_once_and_meets_its_deadline() {
    let mut site = TestCluster::new("libra");
    hold(&mut site, 60);
    site.wait_until(50);
    assert_eq!(claim(&mut site, 1), Ok(()));
    assert_eq!(site.state(1).0, "running");
    let twice = Err(RequestError::Ignored(CommandError::NoQuote));
    assert_eq!(claim(&mut site, 1), twice);
    site.restart();
    site.wait_until(70);
    let row = site.row(1);
    assert_eq!((row.state.as_str(), row.attempts), ("finished", 1));
    assert!(row.finish <= row.due);
}

/// Claims a quote with a key, as a client that may lose the answer.
fn claim_with(site: &mut TestCluster, job: u64, key: &str) -> Result<(), RequestError> {
    site.request(|reply| keyed_claim(job, key, reply))
}

fn keyed_claim(job: u64, key: &str, reply: Responder<()>) -> ControllerRequest {
    let program = Box::new(JobProgram {
        append: false,
        claim_key: Some(key.to_owned()),
        ..program(&["sleep", "5"])
    });
    ControllerRequest::Claim {
        user: rustix::process::geteuid().as_raw(),
        job,
        program,
        reply,
    }
}

#[test]
fn claim_with_the_same_key_is_confirmed_and_runs_once() {
    let mut site = TestCluster::new("libra");
    hold(&mut site, 60);
    let none = Err(RequestError::Ignored(CommandError::UnknownJob));
    assert_eq!(
        claim_with(&mut site, 2, "a"),
        none,
        "there is no such quote"
    );
    assert_eq!(claim_with(&mut site, 1, "a"), Ok(()));
    assert_eq!(claim_with(&mut site, 1, "a"), Ok(()));
    let other = Err(RequestError::Ignored(CommandError::NoQuote));
    assert_eq!(claim_with(&mut site, 1, "b"), other);
    assert_eq!(claim(&mut site, 1), other, "a claim without a key");
    site.restart();
    assert_eq!(claim_with(&mut site, 1, "a"), Ok(()));
    site.wait_until(70);
    assert_eq!(claim_with(&mut site, 1, "a"), Ok(()), "the job is over");
    assert_eq!(claim_with(&mut site, 1, "b"), none);
    let row = site.row(1);
    assert_eq!((row.state.as_str(), row.attempts), ("finished", 1));
}

#[test]
fn claim_that_is_sent_twice_at_once_is_confirmed_twice() {
    let mut site = TestCluster::new("libra");
    hold(&mut site, 60);
    let (first, mut first_answer) = oneshot::channel();
    let (second, mut second_answer) = oneshot::channel();
    // The bytes of the program are stored once, so the limit allows for no second one.
    let bytes = program(&["sleep", "5"]).bytes();
    site.controller().limit_stored_bytes(bytes);
    site.controller().tick(vec![
        keyed_claim(1, "a", first),
        keyed_claim(1, "a", second),
    ]);
    assert_eq!(first_answer.try_recv(), Ok(Ok(())));
    assert_eq!(second_answer.try_recv(), Ok(Ok(())));
    assert_eq!(site.row(1).attempts, 1);
}

#[test]
fn quote_without_a_promise_is_not_reserved() {
    let mut site = TestCluster::new("edf");
    let (job, answer) = hold(&mut site, 60);
    assert_eq!((job, answer.reserved_until), (None, None));
    assert_eq!(answer.admission, AdmissionState::Queued);
    let mut site = TestCluster::new("libra");
    for _ in 0..2 {
        site.submit(&["sleep", "90"], 90).unwrap();
    }
    let (job, answer) = hold(&mut site, 60);
    assert_eq!(job, None);
    assert!(!answer.offers.is_empty());
}

#[test]
fn reservations_per_user_are_limited() {
    let mut site = TestCluster::new("libra-risk");
    for _ in 0..16 {
        let (job, answer) = hold(&mut site, 1);
        assert!(job.is_some(), "{answer:?}");
    }
    let (job, answer) = hold(&mut site, 1);
    assert_eq!(
        (job, refusals(&answer)),
        (None, &[RejectReason::ReservationLimit][..])
    );
    // One reservation is cancelled.
    let command = ServiceCommand::Cancel {
        job: 3,
        tasks: None,
    };
    let user = None;
    site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    })
    .unwrap();
    assert_eq!(site.state(3).0, "expired");
    assert!(hold(&mut site, 1).0.is_some());
}

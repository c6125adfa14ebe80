//! Exceptions from the shares of users.

use tollgate_model::Span;
use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::{AdmissionState, CommandError, ServiceCommand, Submission};

use crate::common::{TestCluster, submission};

const OPERATOR: u32 = 0;

/// A job that takes more than a fifth of the two processors up to its deadline.
fn wide() -> Submission {
    Submission {
        budget: None,
        procs: 2,
        deadline: Some(Span::from_secs(100)),
        ..submission("work", 60)
    }
}

fn grant(site: &mut TestCluster, job: u64) -> Result<(), RequestError> {
    site.request(|reply| ControllerRequest::Command {
        user: None,
        command: ServiceCommand::Grant {
            job,
            by: OPERATOR,
            reason: "the institute's deadline".to_owned(),
        },
        reply,
    })
}

#[test]
fn operator_grants_a_job_beyond_the_share_and_the_ledger_records_it() {
    let mut site = TestCluster::new("plan:share=0.2");
    let job = site.submit_job(wide(), &["sleep", "20"]).unwrap();
    assert!(matches!(
        job.answer.admission,
        AdmissionState::Waitlisted { .. }
    ));
    let job = job.job;
    site.advance(2);
    assert_eq!(site.state(job).0, "queued");
    grant(&mut site, job).unwrap();
    let booked = |site: &TestCluster| site.reader().grant(job).unwrap();
    let expected = (OPERATOR, "the institute's deadline".to_owned());
    assert_eq!(
        booked(&site).map(|(_, by, reason)| (by, reason)),
        Some(expected)
    );
    site.restart();
    site.advance(30);
    assert_eq!(site.entry(job), Some("kept"));
    site.controller().core().check_invariants().unwrap();
    assert!(booked(&site).is_some());
    assert_eq!(site.reader().grant(job + 1).unwrap(), None);
}

#[test]
fn only_a_job_that_waits_for_a_promise_is_granted_one() {
    let mut site = TestCluster::new("plan:share=0.2");
    let short = Submission { procs: 1, ..wide() };
    let short = Submission {
        estimate: Some(Span::from_secs(5)),
        ..short
    };
    let promised = site.submit_job(short, &["sleep", "5"]).unwrap();
    assert!(matches!(
        promised.answer.admission,
        AdmissionState::Accepted { .. }
    ));
    let refused = |error| matches!(error, RequestError::Ignored(CommandError::NotWaitlisted));
    assert!(refused(grant(&mut site, promised.job).unwrap_err()));
    let unknown = grant(&mut site, 99).unwrap_err();
    assert!(matches!(
        unknown,
        RequestError::Ignored(CommandError::UnknownJob)
    ));
}

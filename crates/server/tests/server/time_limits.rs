//! A job is ended at its time limit, room is kept for no longer, and its promise is void then. Policies that
//! share nodes among tasks end none.

use tollgate_model::{Instant, Span};
use tollgate_service::{AdmissionState, Submission, SubmissionOptions};

use crate::common::{TestCluster, submission};

/// A job without an estimate that is ended after `limit_s`.
fn limited(limit_s: i64) -> Submission {
    Submission {
        estimate: None,
        budget: None,
        options: SubmissionOptions {
            time_limit: Some(Span::from_secs(limit_s)),
            ..SubmissionOptions::default()
        },
        ..submission("limited", 1)
    }
}

#[test]
fn job_is_ended_at_its_time_limit_and_its_promise_is_void() {
    let mut site = TestCluster::new("plan");
    let job = site.submit_job(limited(20), &["sleep", "50"]).unwrap();
    let AdmissionState::Accepted { .. } = job.answer.admission else {
        panic!("{:?}", job.answer);
    };
    let latest = job.answer.prediction.unwrap().latest;
    assert!(latest <= Instant::from_secs(20), "{latest:?}");
    site.wait_until(19);
    assert_eq!(site.state(job.job).0, "running");
    site.wait_until(21);
    let (state, status) = site.state(job.job);
    assert_eq!(state, "timed_out");
    assert_eq!(status.as_deref(), Some("signal 15 (time limit)"));
    assert_eq!(site.entry(job.job), Some("void"));
}

#[test]
fn time_limit_is_the_estimate_of_a_job_without_one() {
    let mut site = TestCluster::new("plan");
    let answer = site.quote(limited(20));
    assert_eq!(answer.spec.estimate, Span::from_secs(20));
    assert_eq!(answer.source.key(), "user");
    // Whatever is forecast: the plan keeps no more room than the limit.
    let estimated = Submission {
        estimate: Some(Span::from_secs(15)),
        deadline: Some(Span::from_secs(21)),
        ..limited(20)
    };
    let answer = site.quote(estimated);
    assert!(matches!(answer.admission, AdmissionState::Accepted { .. }));
}

#[test]
fn policies_that_share_nodes_end_no_job_at_its_limit() {
    let mut site = TestCluster::new("libra");
    let job = site.submit_job(limited(20), &["sleep", "50"]).unwrap();
    site.wait_until(60);
    let (state, status) = site.state(job.job);
    assert_eq!(
        (state.as_str(), status.as_deref()),
        ("finished", Some("exit 0"))
    );
}

//! The probability of a promise is corrected by what became of earlier ones, and the service keeps what it learned.

use tollgate_gate::JobPrediction;
use tollgate_model::{Probability, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{AdmissionState, ServiceCommand, Submission, SubmitOutcome};

use crate::common::{TestCluster, submission};

/// Returns a job whose deadline is its estimate: with a probability of about .9 it takes no longer.
fn tight() -> Submission {
    submission("tight", 100)
}

fn stated(answer: &SubmitOutcome) -> JobPrediction {
    assert!(
        matches!(answer.admission, AdmissionState::Accepted { .. }),
        "{answer:?}"
    );
    answer.prediction.expect("it is promised")
}

/// Returns by how much what is stated of a promise differs from the raw probability.
fn correction(prediction: &JobPrediction) -> f64 {
    let value = |probability: Option<Probability>| probability.expect("a deadline").as_f64();
    value(prediction.probability) - value(prediction.raw)
}

fn prediction_of(site: &mut TestCluster, job: u64) -> JobPrediction {
    let jobs = vec![(job, None)];
    let now = site.request(|reply| ControllerRequest::Predict { jobs, reply });
    now.unwrap()[0].expect("it runs")
}

#[test]
fn broken_promise_lowers_what_is_stated_of_later_ones_once_its_deadline_has_passed() {
    let mut site = TestCluster::new("plan");
    let late = site.submit_job(tight(), &["work", "300"]).unwrap();
    assert!(correction(&stated(&late.answer)).abs() < 1e-12);
    site.advance(100);
    assert!(correction(&stated(&site.quote(tight()))).abs() < 1e-12);
    site.advance(2);
    assert_eq!(site.entry(late.job), Some("broken"));
    // Another program, so that the belief in a long run does not stand in the way.
    let other = Submission {
        deadline: Some(Span::from_secs(2_000)),
        ..submission("other", 100)
    };
    let quoted = stated(&site.quote(other.clone()));
    let lowered = correction(&quoted);
    assert!(lowered < 0.0, "{quoted:?}");
    site.restart();
    assert_eq!(stated(&site.quote(other.clone())), quoted);

    // While the job waits or runs, its figures are corrected as when it was promised.
    let promised = site.submit_job(other, &["work", "20"]).unwrap();
    let first = stated(&promised.answer);
    assert_eq!(first, quoted);
    let row = site.row(promised.job);
    assert_eq!(row.probability, first.probability.map(Probability::as_f64));
    assert!(correction(&prediction_of(&mut site, promised.job)) < 0.0);
}

#[test]
fn kept_promises_raise_what_is_stated_and_void_ones_change_nothing() {
    let mut site = TestCluster::new("plan");
    let cancelled = site.submit_job(tight(), &["work", "50"]).unwrap();
    site.advance(5);
    let failed = site.submit_job(tight(), &["false"]).unwrap();
    let command = ServiceCommand::Cancel {
        job: cancelled.job,
        tasks: None,
    };
    let user = None;
    site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    })
    .unwrap();
    site.advance(20);
    for job in [cancelled.job, failed.job] {
        assert_eq!(site.entry(job), Some("void"));
    }
    assert!(correction(&stated(&site.quote(tight()))).abs() < 1e-12);
    let kept = site.submit_job(tight(), &["work", "90"]).unwrap();
    site.advance(91);
    assert_eq!(site.entry(kept.job), Some("kept"));
    assert!(correction(&stated(&site.quote(tight()))) > 0.0);
}

#[test]
fn job_without_a_promise_has_the_raw_probability() {
    let mut site = TestCluster::new("plan");
    let late = site.submit_job(tight(), &["work", "300"]).unwrap();
    site.advance(102);
    assert_eq!(site.entry(late.job), Some("broken"));
    let hopeful = Submission {
        deadline: Some(Span::from_secs(40)),
        ..submission("other", 100)
    };
    let answer = site.quote(hopeful);
    assert!(
        matches!(
            answer.admission,
            AdmissionState::Unpromised(_) | AdmissionState::Waitlisted { .. }
        ),
        "{answer:?}"
    );
    let prediction = answer.prediction.expect("it may run");
    assert_eq!(prediction.probability, prediction.raw);
}

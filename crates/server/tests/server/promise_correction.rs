//! The probability of a promise is corrected by the outcomes of earlier ones, and a restarted service still knows these.

use tollgate_gate::JobPrediction;
use tollgate_model::{Otherwise, Probability, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{
    AdmissionState, RejectReason, ServiceCommand, Submission, SubmissionOptions, SubmitOutcome,
};

use crate::common::{TestCluster, submission};

/// Returns a job that is due at twice its estimate: it is promised, but far from surely.
fn unsure() -> Submission {
    Submission {
        deadline: Some(Span::from_secs(200)),
        ..submission("unsure", 100)
    }
}

fn stated(answer: &SubmitOutcome) -> JobPrediction {
    assert!(
        matches!(answer.admission, AdmissionState::Accepted { .. }),
        "{answer:?}"
    );
    answer.prediction.expect("it is promised")
}

/// Returns the difference between the stated and the raw probability.
fn correction(prediction: &JobPrediction) -> f64 {
    let value = |probability: Option<Probability>| probability.expect("a deadline").as_f64();
    let raw = value(prediction.raw);
    // Nothing is cut off because too few outcomes are known.
    assert!(raw < 0.98, "{raw}");
    value(prediction.probability) - raw
}

fn prediction_of(site: &mut TestCluster, job: u64) -> JobPrediction {
    let jobs = vec![(job, None)];
    let now = site.request(|reply| ControllerRequest::Predict { jobs, reply });
    now.unwrap()[0].expect("it runs")
}

#[test]
fn broken_promise_lowers_later_probabilities_once_its_deadline_has_passed() {
    let mut site = TestCluster::new("plan");
    let late = site.submit_job(unsure(), &["work", "300"]).unwrap();
    assert!(correction(&stated(&late.answer)).abs() < 1e-12);
    site.advance(200);
    assert!(correction(&stated(&site.quote(unsure()))).abs() < 1e-12);
    site.advance(2);
    assert_eq!(site.entry(late.job), Some("broken_own_run"));
    let quoted = stated(&site.quote(unsure()));
    assert!(correction(&quoted) < 0.0, "{quoted:?}");
    site.restart();
    assert_eq!(stated(&site.quote(unsure())), quoted);

    // While the job waits or runs, its figures are corrected as when it was promised.
    let promised = site.submit_job(unsure(), &["work", "20"]).unwrap();
    let first = stated(&promised.answer);
    assert_eq!(first, quoted);
    let row = site.row(promised.job);
    assert_eq!(row.probability, first.probability.map(Probability::as_f64));
    assert!(correction(&prediction_of(&mut site, promised.job)) < 0.0);
}

#[test]
fn kept_promise_raises_later_probabilities_and_void_ones_change_nothing() {
    let mut site = TestCluster::new("plan");
    let cancelled = site.submit_job(unsure(), &["work", "50"]).unwrap();
    site.advance(5);
    let failed = site.submit_job(unsure(), &["false"]).unwrap();
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
    assert!(correction(&stated(&site.quote(unsure()))).abs() < 1e-12);
    let kept = site.submit_job(unsure(), &["work", "90"]).unwrap();
    site.advance(91);
    assert_eq!(site.entry(kept.job), Some("kept"));
    assert!(correction(&stated(&site.quote(unsure()))) > 0.0);
}

#[test]
fn requested_probability_is_promised_once_it_can_be_stated() {
    let mut site = TestCluster::new("plan");
    let sure = Submission {
        deadline: Some(Span::from_secs(100_000)),
        confidence: Some(990_000),
        ..submission("sure", 100)
    };
    let refused = site.quote(sure.clone());
    let AdmissionState::Rejected(reasons) = &refused.admission else {
        panic!("{refused:?}");
    };
    let [RejectReason::Confidence { probability, .. }] = &reasons[..] else {
        panic!("{reasons:?}");
    };
    assert!(
        (0.97..0.99).contains(&probability.as_f64()),
        "{probability}"
    );
    let unasked = Submission {
        confidence: None,
        ..sure.clone()
    };
    for _ in 0..50 {
        let kept = site.submit_job(unasked.clone(), &["work", "10"]).unwrap();
        site.advance(11);
        assert_eq!(site.entry(kept.job), Some("kept"));
    }
    let promised = stated(&site.quote(sure));
    assert!(
        promised.probability.unwrap().as_f64() >= 0.99,
        "{promised:?}"
    );
}

#[test]
fn job_without_a_promise_has_the_raw_probability() {
    let mut site = TestCluster::new("plan");
    let late = site.submit_job(unsure(), &["work", "300"]).unwrap();
    site.advance(202);
    assert_eq!(site.entry(late.job), Some("broken_own_run"));
    let hopeful = Submission {
        deadline: Some(Span::from_secs(60)),
        options: SubmissionOptions {
            otherwise: Otherwise::Run,
            ..SubmissionOptions::default()
        },
        ..unsure()
    };
    let answer = site.quote(hopeful);
    assert!(
        matches!(answer.admission, AdmissionState::Unpromised(_)),
        "{answer:?}"
    );
    let prediction = answer.prediction.expect("it runs");
    assert!(prediction.raw.is_some());
    assert_eq!(prediction.probability, prediction.raw);
}

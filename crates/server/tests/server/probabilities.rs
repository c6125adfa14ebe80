//! No quoted probability is 0 or 1, and a job about which nothing is known is not quoted as if its
//! estimate were true.

use tollgate_forecast::RatioSource;
use tollgate_model::Span;
use tollgate_service::{AdmissionState, ForecastBasis, RejectReason, Submission, SubmitOutcome};

use crate::common::{TestCluster, submission};

fn probability(outcome: &SubmitOutcome) -> f64 {
    let predicted = outcome.prediction.expect("it is admitted");
    predicted.probability.expect("a deadline").as_f64()
}

#[test]
fn first_quote_is_never_certain() {
    for policy in ["libra", "libra-risk", "tail-risk", "edf-bf"] {
        let mut site = TestCluster::new(policy);
        let loose = Submission {
            deadline: Some(Span::from_secs(1_000_000)),
            ..submission("new", 10)
        };
        let outcome = site.quote(loose.clone());
        let unknown = ForecastBasis::Estimate(RatioSource::Table);
        assert_eq!(outcome.basis, unknown, "{policy}");
        let found = probability(&outcome);
        assert!(found < 1.0, "{policy}: {found}");
        let text = outcome.prediction.unwrap().probability.unwrap().to_string();
        assert_eq!(text, "0.99", "{policy}");
        let sure = Submission {
            confidence: Some(1_000_000),
            ..loose
        };
        let outcome = site.quote(sure);
        assert!(
            matches!(outcome.admission, AdmissionState::Rejected(_)),
            "{policy}: nothing is promised for sure"
        );
    }
}

#[test]
fn confidence_above_that_of_the_usual_scenarios_is_told_by_more_of_them() {
    let mut site = TestCluster::new("plan");
    let mut outcome = |confidence| {
        site.quote(Submission {
            deadline: Some(Span::from_secs(1_000_000)),
            confidence,
            ..submission("new", 10)
        })
    };
    assert_eq!(probability(&outcome(None)), 32.5 / 33.0);
    let sure = outcome(Some(995_000));
    assert!(
        matches!(sure.admission, AdmissionState::Accepted { .. }),
        "{sure:?}"
    );
    assert_eq!(probability(&sure), 400.5 / 401.0);
    // No number of scenarios that are played can tell more than 0.99903.
    let surest = outcome(Some(999_500));
    let AdmissionState::Rejected(reasons) = &surest.admission else {
        panic!("{surest:?}");
    };
    assert!(
        matches!(reasons[..], [RejectReason::Confidence { .. }]),
        "{reasons:?}"
    );
}

#[test]
fn estimate_of_an_unknown_job_is_a_limit_that_some_jobs_exceed() {
    let mut site = TestCluster::new("edf-bf");
    // The deadline is the estimate: nine in ten jobs keep to theirs.
    let tight = Submission {
        deadline: Some(Span::from_secs(50)),
        ..submission("new", 50)
    };
    let found = probability(&site.quote(tight));
    assert!((0.85..0.95).contains(&found), "{found}");
}

#[test]
fn unknown_job_is_quoted_by_the_estimates_of_the_site_once_they_are_known() {
    let mut site = TestCluster::new("edf-bf");
    // The users of this site estimate twenty times too much.
    for n in 0..52 {
        let name = format!("class-{}", n % 4);
        let asked = Submission {
            deadline: None,
            budget: None,
            ..submission(&name, 100)
        };
        site.submit_job(asked, &["work", "5"]).unwrap();
        site.advance(6);
    }
    let asked = Submission {
        deadline: Some(Span::from_secs(60)),
        ..submission("new", 1_000)
    };
    let outcome = site.quote(asked.clone());
    assert_eq!(outcome.basis, ForecastBasis::Estimate(RatioSource::User));
    let stranger = Submission {
        user: asked.user + 1,
        ..asked
    };
    let outcome = site.quote(stranger);
    assert_eq!(outcome.basis, ForecastBasis::Estimate(RatioSource::Site));
}

//! No quoted probability is 0 or 1, and a job about which nothing is known is not quoted as if its
//! estimate were true.

use tollgate_forecast::{BeliefJob, BeliefModel};
use tollgate_model::{Instant, Probability, Span, UserId};
use tollgate_service::{AdmissionState, RejectReason, Submission, SubmitOutcome};

use crate::common::{TestCluster, submission};

fn probability(outcome: &SubmitOutcome) -> f64 {
    let predicted = outcome.prediction.expect("it is admitted");
    predicted.probability.expect("a deadline").as_f64()
}

fn decisive(outcome: &SubmitOutcome) -> f64 {
    let predicted = outcome.prediction.expect("it is admitted");
    predicted.decisive.expect("a deadline").as_f64()
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
        assert_eq!(outcome.basis.table, 1.0, "{policy}");
        let found = probability(&outcome);
        assert!(found < 1.0, "{policy}: {found}");
        let text = outcome.prediction.unwrap().probability.unwrap().to_string();
        assert_eq!(text, "0.999", "{policy}");
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
fn confidence_above_that_of_the_usual_scenarios_takes_more_of_them() {
    let mut site = TestCluster::new("plan");
    let mut outcome = |confidence| {
        site.quote(Submission {
            deadline: Some(Span::from_secs(1_000_000)),
            confidence,
            ..submission("new", 10)
        })
    };
    // Nothing surer is stated before promises were kept, whatever the plan keeps room for.
    let most = 1.0 - 1.0 / 64.0;
    assert!((probability(&outcome(None)) - most).abs() < 1e-12);
    assert_eq!(decisive(&outcome(None)), 32.5 / 33.0);
    let sure = outcome(Some(980_000));
    assert!(
        matches!(sure.admission, AdmissionState::Accepted { .. }),
        "{sure:?}"
    );
    assert_eq!(decisive(&sure), 100.5 / 101.0);
    assert!((probability(&sure) - most).abs() < 1e-12);
    // 0.995 cannot be stated yet, and no number of scenarios that are played can tell more than 0.99903.
    for (confidence, scenarios) in [(995_000, 400.0), (999_500, 512.0)] {
        let surest = outcome(Some(confidence));
        let AdmissionState::Rejected(reasons) = &surest.admission else {
            panic!("{surest:?}");
        };
        assert!(
            matches!(reasons[..], [RejectReason::Confidence { .. }]),
            "{reasons:?}"
        );
        assert_eq!(decisive(&surest), (scenarios + 0.5) / (scenarios + 1.0));
    }
}

#[test]
fn surer_promise_costs_the_time_that_the_plan_keeps_for_it() {
    let mut site = TestCluster::new("plan");
    let template = |deadline| Submission {
        deadline: Some(Span::from_secs(deadline)),
        ..submission("new", 100)
    };
    let price = |outcome: &SubmitOutcome| {
        let AdmissionState::Accepted { price, .. } = outcome.admission else {
            panic!("{outcome:?}");
        };
        price.as_f64()
    };
    let quoted = site.quote_with_levels(template(1_000));
    // No promise has been kept yet that would let a service state 0.99.
    let [surer] = &quoted.offers[..] else {
        panic!("{:?}", quoted.offers);
    };
    let sure = Submission {
        confidence: Some(970_000),
        ..template(1_000)
    };
    let surest = site.quote(sure.clone());
    // The belief about a job without history.
    let unknown = BeliefJob {
        user: UserId(0),
        program: None,
        procs: 1,
        request: Some(Span::from_secs(100)),
        queue: None,
        account: None,
        array: None,
        n_tasks: 1,
    };
    let belief = BeliefModel::default().belief(&unknown, Instant::ZERO);
    let kept = |level| {
        let level = Probability::new(level).unwrap();
        belief.distribution.quantile(level).as_secs_f64()
    };
    let base = price(&quoted);
    assert_eq!(surer.confidence.unwrap().as_f64(), 0.95);
    assert!(surer.probability.unwrap().as_f64() >= 0.95);
    for (price, confidence) in [
        (surer.price.unwrap().as_f64(), 0.95),
        (price(&surest), 0.97),
    ] {
        let factor = price / base;
        let expected = kept(confidence) / kept(0.8333);
        assert!(
            (factor / expected - 1.0).abs() < 0.02,
            "{factor} {expected}"
        );
    }
    // The offer is accepted, at its price.
    let offered = site.quote(Submission {
        confidence: Some(950_000),
        ..template(1_000)
    });
    assert_eq!(price(&offered), surer.price.unwrap().as_f64());
    // The deadline is between the times that the plan keeps for the surer promises.
    let tight_s = 0.5 * (kept(0.95) + kept(0.99));
    let tight = site.quote_with_levels(template(tight_s as i64));
    // Both prices are whole micro-credits.
    let scarcity = (100.0 + 100.0 / tight_s.floor()) / (100.0 + 100.0 / 1_000.0);
    assert!((price(&tight) - scarcity * base).abs() < 1.1e-6);
    let offered: Vec<f64> = tight
        .offers
        .iter()
        .map(|offer| offer.confidence.unwrap().as_f64())
        .collect();
    assert_eq!(offered, [0.95]);
    // A user with that confidence anyway gets no offer of a surer one.
    let quoted = site.quote_with_levels(sure);
    assert!(quoted.offers.is_empty(), "{:?}", quoted.offers);
    // A policy that keeps no time of its own for a job cannot be paid for it.
    let mut site = TestCluster::new("libra-risk");
    assert!(site.quote_with_levels(template(1_000)).offers.is_empty());
}

#[test]
fn estimate_of_an_unknown_job_is_a_limit_that_some_jobs_exceed() {
    let mut site = TestCluster::new("edf-bf");
    // The deadline is the estimate: at sites where it is a limit, nine in ten jobs keep to it.
    let tight = Submission {
        deadline: Some(Span::from_secs(50)),
        ..submission("new", 50)
    };
    let found = probability(&site.quote(tight));
    assert!((0.75..0.9).contains(&found), "{found}");
}

#[test]
fn unknown_job_is_quoted_by_the_estimates_of_the_site_once_they_are_known() {
    let mut site = TestCluster::new("edf-bf");
    // The users of this site estimate twenty times too much.
    for n in 0..52 {
        let name = format!("class-{}", n % 4);
        let template = Submission {
            deadline: None,
            budget: None,
            ..submission(&name, 100)
        };
        site.submit_job(template, &["work", "5"]).unwrap();
        site.advance(6);
    }
    let template = Submission {
        deadline: Some(Span::from_secs(60)),
        ..submission("new", 1_000)
    };
    let outcome = site.quote(template.clone());
    let [user, ..] = outcome.basis.groups;
    assert!(user.part > 0.5 && user.n_batches > 3, "{user:?}");
    let other = Submission {
        user: template.user + 1,
        ..template
    };
    let outcome = site.quote(other);
    assert!(outcome.basis.site > 0.2, "{outcome:?}");
}

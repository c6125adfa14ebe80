//! Rejections have reasons and offers that hold, reserved quotes keep their capacity until they are
//! claimed or expire, and deadlines below the minimum probability are not promised.

use tollgate_model::{
    Bytes, Credits, CreditsPerSecond, Instant, Market, Otherwise, Probability, Reason, Span,
};
use tollgate_policies::BUILTIN_POLICIES;
use tollgate_service::{
    AdmissionState, ConfidenceThreshold, CounterOffer, OfferAxis, RejectReason, Submission,
    SubmissionOptions, SubmitOutcome,
};
use tollgate_store::Store;

use crate::common::{TestCluster, submission};

pub(crate) fn refusals(answer: &SubmitOutcome) -> &[RejectReason] {
    match &answer.admission {
        AdmissionState::Rejected(refusals) => refusals,
        AdmissionState::Accepted { .. }
        | AdmissionState::Queued
        | AdmissionState::Waitlisted { .. }
        | AdmissionState::Unpromised(_)
        | AdmissionState::Deferred => {
            panic!("expected a refusal: {answer:?}")
        }
    }
}

fn offer(answer: &SubmitOutcome, axis: OfferAxis) -> Option<CounterOffer> {
    answer
        .offers
        .iter()
        .copied()
        .find(|offer| offer.axis == axis)
}

/// Returns the submission that accepts an offer.
fn taken(submission: &Submission, offer: &CounterOffer) -> Submission {
    Submission {
        deadline: offer.deadline,
        budget: offer.budget,
        procs: offer.procs,
        ..submission.clone()
    }
}

#[test]
fn rejection_names_every_reason_and_counter_offers() {
    let mut site = TestCluster::new("libra");
    for _ in 0..2 {
        site.submit(&["sleep", "90"], 90).unwrap();
    }
    let template = Submission {
        budget: Some(Credits::from_f64(1.0)),
        ..submission("sleep", 50)
    };
    let answer = site.quote(template.clone());
    let both = [Reason::OverBudget, Reason::InsufficientShare].map(RejectReason::Policy);
    assert_eq!(refusals(&answer), both);
    // No single change makes this job acceptable.
    assert_eq!(answer.offers, []);

    let template = submission("sleep", 50);
    let answer = site.quote(template.clone());
    assert_eq!(
        refusals(&answer),
        [RejectReason::Policy(Reason::InsufficientShare)]
    );
    let later = offer(&answer, OfferAxis::Deadline).expect("a later deadline");
    // A tenth of a node is free.
    let secs = later.deadline.unwrap().as_secs_f64();
    assert!((500.0..=520.0).contains(&secs), "{secs} s");
    let verdict = site
        .submit_job(taken(&template, &later), &["sleep", "1"])
        .unwrap();
    match verdict.answer.admission {
        AdmissionState::Accepted { price, .. } => assert_eq!(Some(price), later.price),
        AdmissionState::Queued
        | AdmissionState::Waitlisted { .. }
        | AdmissionState::Unpromised(_)
        | AdmissionState::Deferred
        | AdmissionState::Rejected(_) => {
            panic!("{later:?} was refused")
        }
    }
}

#[test]
fn counter_offers_reduce_processors_or_raise_the_budget() {
    let mut site = TestCluster::new("libra");
    let wide = Submission {
        procs: 5,
        ..submission("sleep", 10)
    };
    let answer = site.quote(wide);
    assert_eq!(
        refusals(&answer),
        [RejectReason::Policy(Reason::TooManyProcs)]
    );
    assert_eq!(
        offer(&answer, OfferAxis::Procs).map(|offer| offer.procs),
        Some(2)
    );

    site.rules.confidence = 500_000;
    site.restart();
    let poor = Submission {
        budget: Some(Credits::from_f64(1.0)),
        ..submission("sleep", 1_000)
    };
    let answer = site.quote(poor);
    let keys: Vec<&str> = refusals(&answer).iter().map(RejectReason::key).collect();
    assert_eq!(keys, ["over_budget", "insufficient_share"]);
    let poor = Submission {
        budget: Some(Credits::from_f64(1.0)),
        confidence: Some(1_000_000),
        ..submission("sleep", 99)
    };
    let answer = site.quote(poor);
    let keys: Vec<&str> = refusals(&answer).iter().map(RejectReason::key).collect();
    assert_eq!(keys, ["over_budget", "confidence"]);

    let poor = Submission {
        budget: Some(Credits::from_f64(1.0)),
        ..submission("sleep", 10)
    };
    let answer = site.quote(poor);
    assert_eq!(
        refusals(&answer),
        [RejectReason::Policy(Reason::OverBudget)]
    );
    let budget = offer(&answer, OfferAxis::Budget).and_then(|offer| offer.budget);
    // 10 s at one credit per second, plus the incentive: estimate over deadline.
    let budget = budget.expect("a budget").as_f64();
    assert!((10.1..10.3).contains(&budget), "{budget}");
}

#[test]
fn counter_offer_of_every_policy_would_be_admitted() {
    for named in BUILTIN_POLICIES {
        for &market in named.markets {
            let mut site = TestCluster::in_market(named.name, market);
            site.rules.confidence = 400_000;
            site.restart();
            for n in 0..30 {
                let template = Submission {
                    procs: 1 + n % 4,
                    deadline: Some(Span::from_secs(i64::from(5 + n * 7 % 90))),
                    budget: Some(Credits::from_f64(f64::from(n % 5) * 20.0)),
                    penalty: CreditsPerSecond::from_f64(f64::from(n % 3)),
                    ..submission("sleep", i64::from(5 + n * 13 % 60))
                };
                let answer = site.quote(template.clone());
                for offer in &answer.offers {
                    let again = site.quote(taken(&template, offer));
                    assert!(
                        !matches!(again.admission, AdmissionState::Rejected(_)),
                        "{} in {market}: {template:?}: {offer:?}: {:?}",
                        named.name,
                        again.admission
                    );
                }
                site.submit_job(template, &["sleep", "20"]).unwrap();
            }
        }
    }
}

#[test]
fn job_below_the_confidence_threshold_is_rejected() {
    // Risk alone would admit a single job with an impossible deadline: risk measures how unequal
    // the delays are.
    let impossible = Submission {
        deadline: Some(Span::from_secs(100)),
        budget: None,
        ..submission("sleep", 2_000)
    };
    let mut site = TestCluster::new("libra-risk");
    let answer = site.quote(impossible.clone());
    assert!(
        matches!(answer.admission, AdmissionState::Accepted { .. }),
        "{answer:?}"
    );
    site.rules.confidence = 500_000;
    site.restart();
    let answer = site.quote(impossible.clone());
    let [
        RejectReason::Confidence {
            probability,
            threshold: floor,
        },
    ] = refusals(&answer)
    else {
        panic!("{answer:?}");
    };
    assert!(probability.as_f64() < 0.5);
    assert_eq!(*floor, ConfidenceThreshold::Site(500_000));
    let later = offer(&answer, OfferAxis::Deadline).expect("a later deadline");
    assert!(later.probability >= Probability::new(0.5), "{later:?}");

    let sure = Submission {
        confidence: Some(950_000),
        ..impossible
    };
    let answer = site.quote(sure);
    let surer = offer(&answer, OfferAxis::Deadline).expect("a later deadline");
    assert!(surer.deadline > later.deadline);
    assert!(surer.probability >= Probability::new(0.95), "{surer:?}");
}

#[test]
fn probability_is_that_of_a_sufficiently_short_runtime() {
    // Half a node is free: the job must run in half of the time to its deadline.
    let mut site = TestCluster::new("libra");
    for _ in 0..2 {
        site.submit(&["sleep", "50"], 50).unwrap();
    }
    let template = Submission {
        deadline: Some(Span::from_secs(60)),
        ..submission("other", 20)
    };
    let prospect = site.quote(template).prediction.expect("a prospect");
    let probability = prospect.probability.expect("a deadline").as_f64();
    assert!(probability > 0.0 && probability < 1.0, "{probability}");
    assert!(prospect.earliest < prospect.latest);
}

#[test]
fn one_short_job_changes_forecasts_of_other_classes_little() {
    let mut site = TestCluster::new("libra-risk");
    site.rules.confidence = 500_000;
    site.restart();
    site.submit(&["sleep", "1"], 1).unwrap();
    site.wait_until(10);
    let template = Submission {
        deadline: Some(Span::from_secs(60)),
        budget: None,
        ..submission("other", 3_600)
    };
    let answer = site.quote(template);
    let [RejectReason::Confidence { probability, .. }] = refusals(&answer) else {
        panic!("{answer:?}");
    };
    // By the estimates of other sites alone it would be about one in six.
    assert!(
        (0.1..0.35).contains(&probability.as_f64()),
        "{probability:?}"
    );
}

#[test]
fn penalty_of_a_lost_job_is_that_of_the_delay_of_its_rerun() {
    let mut site = TestCluster::in_market("libra", Market::Bid);
    let template = Submission {
        penalty: CreditsPerSecond::from_f64(0.5),
        ..submission("sleep", 80)
    };
    site.submit_job(template, &["sleep", "80"]).unwrap();
    site.wait_until(50);
    let attempt = tollgate_model::AttemptId {
        job: 1,
        task: 0,
        attempt: 1,
    };
    site.world.mark_lost(attempt);
    site.wait_until(50);
    assert_eq!(site.state(1).0, "lost");
    let store = Store::open(&site.store()).unwrap();
    let accounts = store.reader().unwrap().ledger(None).unwrap();
    // A second attempt from 50 s on would end at 130 s, 30 s late.
    assert_eq!(accounts[0].penalties, Credits::from_f64(-15.0));
    assert_eq!(accounts[0].charges, Credits::ZERO);
}

#[test]
fn job_without_a_deadline_starts_on_idle_nodes() {
    for policy in ["libra", "libra-risk"] {
        let mut site = TestCluster::new(policy);
        site.submit(&["sleep", "50"], 50).unwrap();
        let whenever = Submission {
            deadline: None,
            ..submission("sleep", 20)
        };
        let prospect = site.quote(whenever).prediction.expect("a prospect");
        let quick = Instant::from_secs(50);
        assert!(prospect.finish < quick, "{policy}: {prospect:?}");
    }
}

#[test]
fn tasks_per_node_are_limited() {
    for policy in ["libra", "libra-risk", "tail-risk"] {
        let mut site = TestCluster::new(policy);
        let whenever = Submission {
            deadline: None,
            ..submission("sleep", 20)
        };
        for _ in 0..100 {
            site.submit_job(whenever.clone(), &["sleep", "20"]).unwrap();
        }
        let running = site.controller().core().running_actions().len();
        assert_eq!(
            running, 14,
            "{policy}: the last place of each node is left free"
        );
        assert_eq!(
            site.quote(whenever).admission,
            AdmissionState::Queued,
            "{policy}"
        );
        for promised in [101, 102] {
            site.submit(&["sleep", "1"], 1).unwrap();
            assert_eq!(site.state(promised).0, "running", "{policy}");
        }
        let answer = site.quote(submission("sleep", 1));
        assert_eq!(
            refusals(&answer),
            [RejectReason::Policy(Reason::NodeFull)],
            "{policy}"
        );
        site.restart();
        assert_eq!(
            site.controller().core().running_actions().len(),
            16,
            "{policy}"
        );
    }
}

#[test]
fn job_occupies_as_many_nodes_as_its_memory_needs() {
    for policy in ["libra-risk", "easy"] {
        let mut site = TestCluster::new(policy);
        let memory = 1 << 30;
        let template = |memory| Submission {
            memory: Some(memory),
            ..submission("sleep", 20)
        };
        let spec = site.quote(template(memory)).spec;
        assert_eq!((spec.procs, spec.memory), (1, memory));
        let spec = site.quote(template(memory + 1)).spec;
        assert_eq!((spec.procs, spec.memory), (2, memory / 2 + 1));
        let too_much = site.quote(template(2 * memory + 1));
        assert_eq!(
            refusals(&too_much),
            [RejectReason::Memory {
                most: Bytes::new(2 * memory)
            }]
        );
    }
}

#[test]
fn promises_to_one_user_take_at_most_a_share() {
    // Jobs of others could not be started here.
    let own = submission("work", 1).user;
    let template = |user: u32| Submission {
        user,
        budget: None,
        deadline: Some(Span::from_secs(100)),
        ..submission("work", 20)
    };
    let fill = |policy: &str| {
        let mut site = TestCluster::new(policy);
        let promised = (0..40).filter(|_| {
            let job = site.submit_job(template(own), &["sleep", "20"]).unwrap();
            matches!(job.answer.admission, AdmissionState::Accepted { .. })
        });
        let promised = promised.count();
        (site, promised)
    };
    let (_, all) = fill("plan");
    let (mut site, half) = fill("plan:share=0.5");
    assert!(half > 0 && (2 * half).abs_diff(all) <= 2, "{half} of {all}");
    let other = site.quote(template(own + 1));
    assert!(matches!(other.admission, AdmissionState::Accepted { .. }));
    site.controller().core().check_invariants().unwrap();
    let strict = TestCluster::new("plan:share=0.5").quote(Submission {
        estimate: Some(Span::from_secs(90)),
        procs: 2,
        options: SubmissionOptions {
            otherwise: Otherwise::Reject,
            ..SubmissionOptions::default()
        },
        ..template(own)
    });
    assert_eq!(refusals(&strict)[0].key(), "user_share");
}

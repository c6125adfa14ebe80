//! A change of the policy while jobs are unfinished: promises stay promises, and nothing that waited is
//! lost.

use tollgate_model::Span;
use tollgate_policies::builtin_registry;
use tollgate_service::{AdmissionState, Submission, TakeoverObstacle};
use tollgate_store::{Store, StoreError};

use crate::common::{TestCluster, rules, submission};
use tollgate_model::Market;

/// A job of one of two processors, due in `due_s`.
fn due(estimate_s: i64, due_s: i64) -> Submission {
    Submission {
        budget: None,
        deadline: Some(Span::from_secs(due_s)),
        ..submission("work", estimate_s)
    }
}

fn change_to(site: &mut TestCluster, policy: &str) {
    site.rules.policy = builtin_registry().parse_list(policy).unwrap().remove(0);
    site.restart();
    site.controller().core().check_invariants().unwrap();
}

fn obstacle(site: &mut TestCluster, policy: &str) -> Option<TakeoverObstacle> {
    site.controller = None;
    let recovered = Store::open(&site.store())
        .unwrap()
        .recover(&rules(policy, Market::Commodity));
    let found = match recovered {
        Err(StoreError::OtherRules { obstacle, .. }) => Some(obstacle),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    };
    site.restart();
    found
}

#[test]
fn plan_keeps_the_promises_that_it_made_with_other_settings() {
    let mut site = TestCluster::new("plan");
    let jobs: Vec<u64> = (0..6)
        .map(|_| site.submit_job(due(20, 100), &["sleep", "20"]).unwrap().job)
        .collect();
    site.advance(5);
    change_to(&mut site, "plan:share=0.5");
    // A later job gets nothing of what is promised.
    let late = site.submit_job(due(60, 70), &["sleep", "60"]).unwrap();
    assert!(!matches!(
        late.answer.admission,
        AdmissionState::Accepted { .. }
    ));
    site.advance(100);
    for job in jobs {
        assert_eq!(site.entry(job), Some("kept"), "{job}");
    }
}

#[test]
fn queue_becomes_a_plan_without_losing_a_job() {
    let mut site = TestCluster::new("fcfs");
    let running = site.submit_job(due(60, 300), &["sleep", "60"]).unwrap().job;
    let blocking = Submission {
        procs: 2,
        ..due(60, 1_000)
    };
    let wide = site.submit_job(blocking, &["sleep", "60"]).unwrap().job;
    // Behind the wide job it cannot be in time any more, and fcfs would run it all the same.
    let hopeless = site.submit_job(due(60, 30), &["sleep", "60"]).unwrap().job;
    let undated = Submission {
        deadline: None,
        ..due(10, 1)
    };
    let undated = site.submit_job(undated, &["sleep", "10"]).unwrap().job;
    site.advance(5);
    change_to(&mut site, "plan");
    site.advance(300);
    for job in [running, wide, hopeless, undated] {
        assert_eq!(site.state(job).0, "finished", "{job}");
    }
    // The waiting jobs that fit are promised now.
    assert_eq!(site.entry(wide), Some("kept"));
    assert_eq!(site.entry(hopeless), Some("unpromised_late"));
    assert_eq!(site.entry(undated), Some("no_deadline"));
}

#[test]
fn promised_waiting_job_goes_only_to_a_policy_that_keeps_promises() {
    let mut site = TestCluster::new("plan");
    for _ in 0..4 {
        site.submit_job(due(40, 200), &["sleep", "40"]).unwrap();
    }
    site.advance(1);
    let found = obstacle(&mut site, "easy");
    assert!(
        matches!(found, Some(TakeoverObstacle::Promises { jobs: 2, .. })),
        "{found:?}"
    );
    let found = obstacle(&mut site, "libra");
    assert!(
        matches!(found, Some(TakeoverObstacle::Sharing { jobs: 2, .. })),
        "{found:?}"
    );
    // Once they run, their promise depends on no other job.
    site.advance(50);
    change_to(&mut site, "easy");
    let more = site.submit_job(due(40, 200), &["sleep", "40"]).unwrap();
    assert_eq!(more.answer.admission, AdmissionState::Queued);
    site.advance(200);
    for job in 1..=4 {
        assert_eq!(site.entry(job), Some("kept"), "{job}");
    }
}

#[test]
fn a_crash_after_the_change_finds_the_same_jobs() {
    let mut site = TestCluster::new("easy");
    for n in 0..5 {
        site.submit_job(due(30 + n, 120), &["sleep", "30"]).unwrap();
    }
    site.advance(3);
    change_to(&mut site, "plan");
    let before = format!("{:?}", site.controller().core().jobs());
    site.restart();
    assert_eq!(format!("{:?}", site.controller().core().jobs()), before);
    site.advance(300);
    assert!(site.controller().core().jobs().is_empty());
}

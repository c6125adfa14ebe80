//! Promises at risk: those that are less likely to be kept than they were said to be.

use std::collections::BTreeMap;

use tollgate_model::{Market, Probability, Span};
use tollgate_service::{ArraySpec, PromiseRisk, ServiceCommand, Submission, SubmissionOptions};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};

fn driver() -> CoreDriver {
    CoreDriver::new(&rules("plan", Market::None))
}

/// Returns a job of a program, with a deadline.
fn job(program: &str, procs: u32, estimate_s: i64, due_s: i64) -> Submission {
    Submission {
        procs,
        deadline: Some(Span::from_secs(due_s)),
        budget: None,
        ..submission(program, estimate_s)
    }
}

fn n_reports(driver: &CoreDriver) -> usize {
    let texts = driver.decisions.iter();
    texts.map(|text| text.matches("AtRisk { job").count()).sum()
}

#[test]
fn array_of_tasks_longer_than_planned_is_at_risk_once() {
    let mut driver = driver();
    let array = Submission {
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: "1-30".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..job("sim.sh", 1, 60, 3_600)
    };
    driver.submit(1, array, 900);
    driver.wait(20);
    assert_eq!(driver.core.n_at_risk(), BTreeMap::new());
    driver.wait(1_800);
    let expected = BTreeMap::from([(PromiseRisk::OwnRun, 1)]);
    assert_eq!((driver.core.n_at_risk(), n_reports(&driver)), (expected, 1));
    // Once the deadline has passed, the promise is broken and no longer at risk.
    driver.wait(2_000);
    driver.wait(3_600);
    assert_eq!(
        (driver.core.n_at_risk(), n_reports(&driver)),
        (BTreeMap::new(), 1)
    );
}

#[test]
fn job_behind_one_that_runs_longer_is_at_risk_because_of_others() {
    let mut driver = driver();
    driver.submit(1, job("a", 3, 100, 300), 10_000);
    driver.submit(2, job("b", 3, 100, 500), 100);
    driver.wait(15);
    assert_eq!(driver.core.n_at_risk(), BTreeMap::new());
    driver.wait(275);
    driver.step(&[ServiceCommand::Tick]);
    let cause = |job| driver.core.promise_at_risk(job).map(|risk| risk.cause);
    assert_eq!(cause(1), Some(PromiseRisk::OwnRun));
    driver.wait(150);
    driver.step(&[ServiceCommand::Tick]);
    let cause = |job| driver.core.promise_at_risk(job).map(|risk| risk.cause);
    assert_eq!((cause(1), cause(2)), (None, Some(PromiseRisk::Others)));
    assert_eq!(n_reports(&driver), 2);
}

#[test]
fn promise_that_is_safe_is_never_at_risk() {
    let mut driver = driver();
    for number in 1..=20 {
        driver.submit(number, job("c", 1, 60, 3_600), 50);
        driver.wait(40);
    }
    driver.wait(600);
    assert_eq!(
        (driver.core.n_at_risk(), n_reports(&driver)),
        (BTreeMap::new(), 0)
    );
}

/// Two batches of a program end long after what was asked for, while another job of it runs whose promise was made from its
/// request alone. The belief at its start, by which the policy decides, knows nothing of them.
#[test]
fn running_job_promised_from_its_request_is_at_risk_once_others_have_run_longer() {
    let mut driver = driver();
    driver.submit(1, job("sim.sh", 1, 60, 7_200), 1_600);
    driver.wait(700);
    driver.submit(2, job("sim.sh", 1, 60, 7_200), 900);
    driver.wait(870);
    driver.submit(3, job("sim.sh", 1, 60, 800), 900);
    driver.wait(20);
    let risk = |driver: &CoreDriver| driver.core.promise_at_risk(3).map(|risk| risk.cause);
    let open = driver.core.n_open_promises(None);
    assert_eq!((risk(&driver), open), (None, 3));
    // A user may want to know sooner.
    let at_risk = driver.core.risk_below(3, Probability::new(0.9).unwrap());
    assert!(at_risk.is_some_and(|risk| risk.probability.as_f64() > 0.8));
    driver.wait(12);
    let own_run = PromiseRisk::OwnRun;
    let by_cause = BTreeMap::from([(own_run, 1)]);
    assert_eq!(
        (risk(&driver), driver.core.n_at_risk()),
        (Some(own_run), by_cause)
    );
    let by_start = driver.core.predict(driver.now, 3).unwrap().probability;
    assert!(
        by_start.is_some_and(|chance| chance.as_f64() > 0.8),
        "{by_start:?}"
    );
    driver.wait(400);
    driver.step(&[ServiceCommand::Tick]);
    let reports = driver
        .decisions
        .iter()
        .map(|text| text.matches("AtRisk { job: 3,").count());
    assert_eq!(reports.sum::<usize>(), 1);
}

/// A look at a promise of a short queue costs little, so all promises are looked at together.
#[test]
fn promise_among_many_is_at_risk_at_the_next_look() {
    const N_JOBS: u64 = 40;
    let mut driver = driver();
    for number in 1..=N_JOBS {
        driver.submit(number, job("sim.sh", 1, 60, 2_400), 600);
    }
    assert_eq!(driver.core.n_open_promises(None) as u64, N_JOBS);
    let level = Probability::new(0.8).unwrap();
    let (mut low, mut reported) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..2_400 / 30 {
        driver.wait(30);
        driver.step(&[ServiceCommand::Tick]);
        for number in 1..=N_JOBS {
            if driver.core.promise_at_risk(number).is_some() {
                reported.entry(number).or_insert(driver.now);
            }
            if driver.core.risk_below(number, level).is_some() {
                low.entry(number).or_insert(driver.now);
            } else if !reported.contains_key(&number) {
                // Its chance has risen again before the next look.
                low.remove(&number);
            }
        }
    }
    assert!(low.len() > 20, "{low:?}");
    for (number, since) in low {
        let reported = reported.get(&number).map(|at| at.since(since));
        assert!(
            reported.is_some_and(|late| late <= Span::from_secs(90)),
            "{number}: {reported:?}"
        );
    }
}

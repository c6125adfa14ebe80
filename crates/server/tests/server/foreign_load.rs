//! Load of hosts that is not of jobs: running jobs and promises count on it, beliefs are about work, and its end is noticed.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, HostSlowdown, Instant, Market, Probability, Span};
use tollgate_service::{AdmissionState, Core, PromiseRisk, ServiceCommand, Submission};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};

/// The work of each job, in seconds.
const WORK: i64 = 600;
/// The slowdowns that are planted.
const SLOWDOWNS: [f64; 2] = [1.5, 3.0];

/// Returns a job that takes the three nodes of the host.
fn job(deadline_s: i64) -> Submission {
    Submission {
        procs: 3,
        deadline: Some(Span::from_secs(deadline_s)),
        budget: None,
        ..submission("sim.sh", WORK)
    }
}

/// Returns a service that knows the program of the jobs from eight batches.
fn driver() -> CoreDriver {
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    for number in 1..=8 {
        driver.submit(number, job(100_000), WORK);
        driver.wait(3 * 3_600);
    }
    driver
}

/// Loads the host, or ends its load: the rest of the work of the running jobs takes as many times as long.
fn slow(driver: &mut CoreDriver, from: f64, to: f64) {
    let now = driver.now;
    let ends: BTreeSet<(Instant, AttemptId)> = driver
        .scheduled_ends
        .iter()
        .map(|&(end, attempt)| {
            let left = end.since(now).as_secs_f64() * to / from;
            (now + Span::from_secs_f64(left), attempt)
        })
        .collect();
    driver.scheduled_ends = ends;
    report(driver, to);
}

/// Reports how much longer work takes from now on.
fn report(driver: &mut CoreDriver, slowdown: f64) {
    driver.step(&[ServiceCommand::WorkerSlowed {
        worker: WorkerId(0),
        incarnation: 1,
        slowdown: HostSlowdown::nearest(slowdown),
    }]);
}

fn cause(driver: &CoreDriver, job: u64) -> Option<PromiseRisk> {
    driver.core.promise_at_risk(job).map(|risk| risk.cause)
}

/// Returns the time from now until the expected end of a job.
fn left_s(driver: &CoreDriver, job: u64) -> f64 {
    let found = driver.core.predict(driver.now, job).unwrap();
    found.finish.since(driver.now).as_secs_f64()
}

/// Returns the run time that is expected of a new job.
fn expected_s(driver: &mut CoreDriver) -> f64 {
    let answer = driver.core.quote(driver.now, &job(100_000));
    let found = answer.prediction.expect("it starts");
    found.finish.since(found.start).as_secs_f64()
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.1 * expected
}

#[test]
fn promise_is_at_risk_before_it_breaks_and_safe_again_once_the_load_ends() {
    for slowdown in SLOWDOWNS {
        let mut driver = driver();
        driver.submit(9, job(800), WORK);
        driver.wait(60);
        assert_eq!(cause(&driver, 9), None);
        assert!(is_near(left_s(&driver, 9), 540.0));
        slow(&mut driver, 1.0, slowdown);
        let risk = driver.core.promise_at_risk(9).expect("it is at risk");
        assert_eq!(risk.cause, PromiseRisk::HostSlowed);
        assert!(
            risk.probability < Probability::new(0.5).unwrap(),
            "{risk:?}"
        );
        assert!(is_near(left_s(&driver, 9), 540.0 * slowdown));
        let load = driver.core.foreign_load_of(9).expect("a load");
        assert_eq!((load.slowdown.as_f64(), load.since), (slowdown, driver.now));
        let known = BTreeMap::from([(PromiseRisk::HostSlowed, 1)]);
        assert_eq!(driver.core.n_at_risk(), known);
        driver.wait(60);
        slow(&mut driver, slowdown, 1.0);
        assert_eq!(cause(&driver, 9), None);
        assert_eq!(driver.core.foreign_load_of(9), None);
        assert!(is_near(left_s(&driver, 9), 540.0 - 60.0 / slowdown));
    }
}

#[test]
fn new_promises_are_made_with_the_slower_speed() {
    for slowdown in SLOWDOWNS {
        let mut driver = driver();
        let is_promised = |driver: &mut CoreDriver, deadline_s| {
            let answer = driver.core.quote(driver.now, &job(deadline_s));
            matches!(answer.admission, AdmissionState::Accepted { .. })
        };
        assert!(is_promised(&mut driver, 800));
        slow(&mut driver, 1.0, slowdown);
        assert!(is_near(expected_s(&mut driver), 600.0 * slowdown));
        let answer = driver.core.quote(driver.now, &job(800));
        assert_eq!(answer.slowest_host.as_f64(), slowdown);
        assert!(!is_promised(&mut driver, 800));
        assert!(is_promised(&mut driver, (800.0 * slowdown) as i64));
        slow(&mut driver, slowdown, 1.0);
        assert!(is_promised(&mut driver, 800));
    }
}

/// A job that waits behind a slowed one is late with it, and promises of both are at risk.
#[test]
fn jobs_that_wait_are_planned_with_the_slower_speed() {
    let mut driver = driver();
    driver.submit(9, job(800), WORK);
    driver.submit(10, job(1_600), WORK);
    driver.wait(60);
    assert!(is_near(left_s(&driver, 10), 540.0 + 600.0));
    slow(&mut driver, 1.0, 3.0);
    assert!(is_near(left_s(&driver, 10), 3.0 * (540.0 + 600.0)));
}

#[test]
fn class_that_ran_under_load_is_believed_to_need_the_same_work() {
    let mut driver = driver();
    let before = expected_s(&mut driver);
    for number in 9..=12 {
        driver.submit(number, job(100_000), WORK);
        driver.wait(60);
        slow(&mut driver, 1.0, 3.0);
        driver.wait(4_000);
        slow(&mut driver, 3.0, 1.0);
        driver.wait(3 * 3_600);
    }
    assert!(
        driver.class_changes.is_empty(),
        "{:?}",
        driver.class_changes
    );
    assert!(is_near(expected_s(&mut driver), before));
}

/// Without the reports the same runs look like those of another program.
#[test]
fn class_that_ran_under_a_load_that_is_not_reported_is_believed_to_need_more() {
    let mut driver = driver();
    let late_s = |driver: &mut CoreDriver| {
        let answer = driver.core.quote(driver.now, &job(100_000));
        let found = answer.prediction.expect("it starts");
        found.latest.since(found.start).as_secs_f64()
    };
    let before = late_s(&mut driver);
    for number in 9..=12 {
        driver.submit(number, job(100_000), 3 * WORK);
        driver.wait(4 * 3_600);
    }
    assert!(!driver.class_changes.is_empty());
    assert!(late_s(&mut driver) > 1.5 * before);
}

#[test]
fn slowed_service_goes_on_from_its_snapshot() {
    let mut driver = driver();
    driver.submit(9, job(800), WORK);
    driver.wait(60);
    slow(&mut driver, 1.0, 3.0);
    driver.wait(30);
    let rules = rules("plan", Market::None);
    let again = Core::restore(driver.core.save(), rules);
    assert_eq!(
        again.predict(driver.now, 9),
        driver.core.predict(driver.now, 9)
    );
    assert_eq!(again.foreign_load_of(9), driver.core.foreign_load_of(9));
}

#[test]
fn report_about_an_earlier_incarnation_changes_nothing() {
    let mut driver = driver();
    driver.submit(9, job(800), WORK);
    driver.step(&[ServiceCommand::WorkerSlowed {
        worker: WorkerId(0),
        incarnation: 7,
        slowdown: HostSlowdown::nearest(3.0),
    }]);
    assert_eq!(driver.core.foreign_load_of(9), None);
}

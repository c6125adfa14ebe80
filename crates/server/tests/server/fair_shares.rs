//! `share=auto`: what the promises to one user leave to others.

use tollgate_model::{Market, Otherwise, Span};
use tollgate_service::{
    AdmissionState, ArraySpec, ServiceCommand, Submission, SubmissionOptions, SubmitOutcome,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};

const HOUR: i64 = 3600;
const ANN: u32 = 1;
const BOB: u32 = 2;

/// Returns a service on three nodes with the default policy.
fn driver() -> CoreDriver {
    CoreDriver::new(&rules(tollgate_server::DEFAULT_POLICY, Market::None))
}

fn array(user: u32, n_tasks: u32, estimate_s: i64, due_s: Option<i64>) -> Submission {
    let array = ArraySpec {
        tasks: format!("1-{n_tasks}").parse().unwrap(),
        max_at_once: None,
    };
    Submission {
        user,
        deadline: due_s.map(Span::from_secs),
        budget: None,
        options: SubmissionOptions {
            array: (n_tasks > 1).then_some(array),
            ..SubmissionOptions::default()
        },
        ..submission("work", estimate_s)
    }
}

fn submit(driver: &mut CoreDriver, submission: Submission) {
    driver.step(&[ServiceCommand::Submit(Box::new(submission))]);
}

fn is_promised(answer: &SubmitOutcome) -> bool {
    matches!(answer.admission, AdmissionState::Accepted { .. })
}

/// Returns how many of 200 tasks of an hour that are due in a day can be promised to a user.
fn promisable(driver: &mut CoreDriver, user: u32) -> u32 {
    let submission = array(user, 200, HOUR, Some(24 * HOUR));
    driver
        .core
        .quote(driver.now, &submission)
        .promisable
        .unwrap()
}

#[test]
fn five_hundred_promised_tasks_leave_free_nodes_to_other_users() {
    let mut driver = driver();
    let flood = array(ANN, 500, 60, Some(24 * HOUR));
    assert!(is_promised(&driver.core.quote(driver.now, &flood)));
    driver.runtimes.insert(1, Span::from_secs(60));
    submit(&mut driver, flood);
    driver.wait(90);
    for (job, user) in (2..).zip(BOB..BOB + 4) {
        let submission = array(user, 1, 600, Some(2 * HOUR));
        let answer = driver.core.quote(driver.now, &submission);
        assert!(is_promised(&answer), "user {user}: {answer:?}");
        driver.submit(job, submission, 600);
        let submitted = driver.now;
        driver.wait(61);
        let started = driver.started.iter().find(|(id, _)| id.job == job);
        let (_, start) = started.expect("it waits for one task at most");
        assert!(start.since(submitted) <= Span::from_secs(60));
        driver.wait(1200);
    }
    // The others asked for 40 minutes of three days.
    let more = array(ANN, 30, HOUR, Some(24 * HOUR));
    assert!(is_promised(&driver.core.quote(driver.now, &more)));
}

#[test]
fn array_counts_with_all_its_tasks_as_requested_work() {
    let mut alone = driver();
    let all = promisable(&mut alone, BOB);
    assert!(all > 40, "{all}");
    let mut shared = driver();
    // Two days of three processors, of which few tasks are queued at a time.
    submit(&mut shared, array(ANN, 3_000, 173, None));
    let part = promisable(&mut shared, BOB);
    assert!((2 * part).abs_diff(all) <= 4, "{part} of {all}");
    // A day later they are no request of the last day any more.
    shared.wait(25 * HOUR);
    assert!(promisable(&mut shared, BOB) + 4 >= all);
}

#[test]
fn work_too_long_for_its_deadline_reserves_no_share() {
    let mut driver = driver();
    let all = promisable(&mut driver, BOB);
    let mut refused = array(ANN, 3_000, 173, Some(60));
    refused.options.otherwise = Otherwise::Reject;
    submit(&mut driver, refused);
    assert_eq!(promisable(&mut driver, BOB), all);
}

#[test]
fn later_promises_leave_room_to_a_user_rejected_for_room() {
    let mut driver = driver();
    let left_for_ann = |driver: &mut CoreDriver| {
        let submission = array(ANN, 400, HOUR, Some(72 * HOUR));
        driver
            .core
            .quote(driver.now, &submission)
            .promisable
            .unwrap()
    };
    // Ann is alone, and has all of the next ten hours.
    let n_taken = promisable(&mut driver, ANN);
    driver.runtimes.insert(1, Span::from_secs(HOUR));
    submit(&mut driver, array(ANN, n_taken, HOUR, Some(24 * HOUR)));
    let alone = left_for_ann(&mut driver);
    let mut submission = array(BOB, 20, HOUR, Some(10 * HOUR));
    submission.options.otherwise = Otherwise::Reject;
    let answer = driver.core.quote(driver.now, &submission);
    assert!(matches!(answer.admission, AdmissionState::Rejected(_)));
    submit(&mut driver, submission.clone());
    let beside = left_for_ann(&mut driver);
    (0..50).for_each(|_| submit(&mut driver, submission.clone()));
    let at_least = left_for_ann(&mut driver);
    // All that is left of her half of the time.
    let half = 3 * 72 / 2 - n_taken;
    assert!(
        alone > beside && beside > at_least && at_least >= half,
        "{alone} {beside} {at_least}"
    );
}

//! Attempts that the engine starts later than they were ordered, because they wait in its queue.

use tollgate_gate::{OnEviction, WorkerId};
use tollgate_model::{Instant, Market, Span};
use tollgate_service::{AdmissionRules, HostOffer, ServiceCommand, Submission};

use crate::common::core_driver::CoreDriver;
use crate::common::{TestCluster, rules, submission};

/// The usual delay of the engine.
const USUAL_DELAY: Span = Span::from_secs(5);

/// A job that needs the whole host, with a deadline this long after its submission.
fn wide(estimate_s: i64, deadline_s: i64) -> Submission {
    let mut wide = submission("wide", estimate_s);
    wide.procs = 3;
    wide.deadline = Some(Span::from_secs(deadline_s));
    wide
}

fn driver(policy: &str, delay_s: i64) -> CoreDriver {
    let mut driver = CoreDriver::new(&AdmissionRules {
        start_delay: USUAL_DELAY,
        ..rules(policy, Market::None)
    });
    driver.engine_delay = Span::from_secs(delay_s);
    driver
}

/// Returns the end that is expected of a job by now.
fn expected_end(driver: &CoreDriver, job: u64) -> Instant {
    let expected = driver.core.predict(driver.now, job).expect("it will run");
    expected.finish
}

#[test]
fn run_counts_from_the_start_of_the_program_and_until_then_from_now() {
    for policy in ["easy", "plan", "edf-bf"] {
        let mut driver = driver(policy, 100);
        let ordered = driver.now;
        driver.submit(1, wide(60, 10_000), 60);
        let at_first = expected_end(&driver, 1);
        driver.wait(90);
        let live = driver.core.job(1).unwrap();
        assert_eq!(live.engine_wait.map(|wait| wait.ordered), Some(ordered));
        // A job behind the late one waits for it, too.
        let later = expected_end(&driver, 1);
        assert_eq!(later, at_first + Span::from_secs(90), "{policy}");
        driver.wait(30);
        let live = driver.core.job(1).unwrap();
        assert_eq!(live.engine_wait, None);
        let counted = ordered + Span::from_secs(100) - USUAL_DELAY;
        assert_eq!(live.started, Some(counted), "{policy}");
        let view = driver.core.gate().view(driver.now);
        assert_eq!(view.job(live.slot).start, live.started, "{policy}");
        driver.wait(100);
        assert!(driver.core.job(1).is_none(), "{policy}");
    }
}

fn n_at_risk(driver: &CoreDriver) -> usize {
    driver.core.n_at_risk().values().sum::<u32>() as usize
}

#[test]
fn promise_with_a_late_start_is_at_risk_once() {
    let mut driver = driver("plan", 200);
    driver.submit(1, wide(100, 150), 100);
    assert!(
        driver
            .decisions
            .iter()
            .any(|text| text.contains("Accepted"))
    );
    let n_reports = |driver: &CoreDriver| {
        let texts = driver.decisions.iter();
        texts
            .map(|text| text.matches("AtRisk { job").count())
            .sum::<usize>()
    };
    driver.wait(20);
    assert_eq!((n_at_risk(&driver), n_reports(&driver)), (0, 0));
    driver.wait(110);
    assert_eq!((n_at_risk(&driver), n_reports(&driver)), (1, 1));
    driver.wait(100);
    // It runs, and is late.
    assert_eq!((n_at_risk(&driver), n_reports(&driver)), (0, 1));
}

#[test]
fn promise_of_a_run_that_its_host_cuts_short_is_at_risk_once() {
    for (retry, at_risk) in [(OnEviction::Fail, 1), (OnEviction::Requeue, 0)] {
        let mut driver = driver("plan", 0);
        let worker = WorkerId(1);
        let until = |driver: &CoreDriver, secs| driver.now + Span::from_secs(secs);
        let lost = ServiceCommand::WorkerLost {
            worker: WorkerId(0),
            incarnation: 1,
        };
        let up = ServiceCommand::WorkerUp {
            worker,
            incarnation: 1,
            nodes: 3,
            memory: None,
            offer: HostOffer {
                closes: Some(until(&driver, 900)),
                ..HostOffer::default()
            },
        };
        driver.step(&[lost, up]);
        let job = Submission {
            retry,
            ..wide(100, 400)
        };
        driver.submit(1, job, 100);
        driver.wait(10);
        assert!(driver.core.job(1).unwrap().is_running());
        let mut move_end = |secs| {
            let closes = until(&driver, secs);
            let moved = ServiceCommand::WorkerCloses {
                worker,
                incarnation: 1,
                closes,
            };
            driver.step(&[moved]);
            let texts = driver.decisions.iter();
            let n_reports: usize = texts.map(|text| text.matches("AtRisk { job").count()).sum();
            let at = driver.core.closes_before_end(1);
            assert_eq!(at, (n_at_risk(&driver) == 1).then_some(closes));
            (n_at_risk(&driver), n_reports)
        };
        assert_eq!(move_end(800), (0, 0));
        assert_eq!(move_end(30), (at_risk, at_risk));
        assert_eq!(move_end(20), (at_risk, at_risk));
        assert_eq!(move_end(800), (0, at_risk));
    }
}

#[test]
fn usual_delay_counts_nothing_anew() {
    let mut driver = driver("plan", 5);
    let ordered = driver.now;
    driver.submit(1, wide(60, 10_000), 60);
    driver.wait(20);
    let live = driver.core.job(1).unwrap();
    assert_eq!((live.started, live.engine_wait), (Some(ordered), None));
    driver.wait(50);
    assert!(driver.core.job(1).is_none());
}

#[test]
fn every_attempt_is_shown_as_submitted_until_its_program_runs() {
    let mut cluster = TestCluster::new("easy");
    cluster.world.set_start_delay(Span::from_secs(20));
    let job = Submission {
        retry: OnEviction::Requeue,
        ..submission("sleep", 60)
    };
    let job = cluster.submit_job(job, &["sleep", "60"]).unwrap().job;
    for attempt in 1..=2 {
        let row = |cluster: &TestCluster| {
            let row = cluster.row(job);
            (row.state, row.attempts, row.awaits_engine)
        };
        cluster.advance(10);
        assert_eq!(row(&cluster), ("running".to_owned(), attempt, true));
        cluster.advance(15);
        assert_eq!(row(&cluster), ("running".to_owned(), attempt, false));
        // Its host vanishes, and the job is submitted again.
        let running = cluster.world.running()[0].attempt;
        cluster.world.mark_lost(running);
        cluster.advance(1);
    }
}

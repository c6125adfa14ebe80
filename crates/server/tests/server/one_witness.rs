//! A batch is one witness: what short test runs may promise about the real work behind them.

use tollgate_model::{Market, Otherwise, Span, TaskId};
use tollgate_service::{
    AdmissionState, ArraySpec, ServiceCommand, Submission, SubmissionOptions, SubmitOutcome,
    TaskRanges,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{TestCluster, rules, submission};

/// Returns an array of `tasks` tasks.
fn array(name: &str, tasks: u32, estimate_s: i64, deadline_s: Option<i64>) -> Submission {
    let options = SubmissionOptions {
        array: Some(ArraySpec {
            tasks: TaskRanges::new(1, tasks),
            max_at_once: None,
        }),
        ..SubmissionOptions::default()
    };
    Submission {
        deadline: deadline_s.map(Span::from_secs),
        budget: None,
        options,
        ..submission(name, estimate_s)
    }
}

fn submitted(submission: Submission) -> ServiceCommand {
    ServiceCommand::Submit(Box::new(submission))
}

fn is_promised(answer: &SubmitOutcome) -> bool {
    matches!(answer.admission, AdmissionState::Accepted { .. })
}

/// Returns the probability of an answer; 0 if none was computed.
fn probability(answer: &SubmitOutcome) -> f64 {
    let predicted = answer
        .prediction
        .and_then(|predicted| predicted.probability);
    predicted.map_or(0.0, |probability| probability.as_f64())
}

#[test]
fn hundred_short_test_tasks_promise_nothing_about_the_real_ones() {
    let mut site = TestCluster::in_market("plan", Market::None);
    site.submit_job(array("smoke", 100, 6, None), &["work", "1"])
        .unwrap();
    site.advance(130);
    // Twenty tasks a node of 5 s each.
    let real = array("real", 40, 6, Some(30));
    let answer = site.quote(real);
    assert!(
        !is_promised(&answer) && probability(&answer) <= 0.6,
        "{answer:?}"
    );
    let mut real = array("real", 40, 6, Some(30));
    real.options.otherwise = Otherwise::Run;
    site.submit_job(real, &["work", "5"]).unwrap();
    // Four have ended.
    site.advance(11);
    let core = site.controller().core();
    let last = core.predict(core.now(), TaskId { job: 2, task: 40 });
    let chance = last.and_then(|last| last.probability).expect("a chance");
    assert!(chance.as_f64() < 0.1, "{last:?}");
    let roomy = site.quote(array("real", 34, 6, Some(600)));
    assert!(is_promised(&roomy), "{roomy:?}");
}

#[test]
fn smoke_test_of_five_hundred_tasks_promises_no_work_that_does_not_fit() {
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    driver.runtimes.insert(1, Span::from_secs_f64(0.1));
    driver.step(&[submitted(array("smoke", 500, 60, None))]);
    driver.wait(60);
    assert!(driver.core.job(1).is_none(), "the smoke test is over");
    // 500 tasks that take their estimate on three nodes need eleven hours.
    let real = |tasks, due_s| array("sim.sh", tasks, 240, Some(due_s));
    let answer = driver.core.quote(driver.now, &real(500, 7_200));
    assert!(
        !is_promised(&answer) && probability(&answer) <= 0.6,
        "{answer:?}"
    );
    driver.submit(2, array("sim.sh", 500, 240, None), 240);
    // Three tasks have run for two minutes and a half.
    driver.wait(150);
    let running = driver.core.quote(driver.now, &real(497, 7_050));
    assert!(
        !is_promised(&running) && probability(&running) <= probability(&answer),
        "{running:?}"
    );
    // Three have ended: they are one witness of another array.
    driver.wait(100);
    let ended = driver.core.quote(driver.now, &real(494, 6_950));
    assert!(
        !is_promised(&ended) && probability(&ended) < 0.2,
        "{ended:?}"
    );
}

#[test]
fn two_short_runs_promise_no_ten_minutes_in_twenty_seconds() {
    let mut site = TestCluster::in_market("plan", Market::None);
    for _ in 0..2 {
        let short = Submission {
            deadline: None,
            budget: None,
            ..submission("a", 5)
        };
        site.submit_job(short, &["work", "1"]).unwrap();
        site.advance(3);
    }
    let long = Submission {
        deadline: Some(Span::from_secs(20)),
        budget: None,
        ..submission("a", 600)
    };
    let answer = site.quote(long);
    assert!(
        !is_promised(&answer) && probability(&answer) < 0.75,
        "{answer:?}"
    );
}

#[test]
fn answer_names_the_basis_of_the_belief() {
    let mut site = TestCluster::in_market("plan", Market::None);
    let template = |name: &str| Submission {
        deadline: None,
        budget: None,
        ..submission(name, 60)
    };
    let first = site.quote(template("a")).basis.to_string();
    assert_eq!(first, "your request, as at other sites");
    site.submit_job(array("a", 8, 60, None), &["work", "5"])
        .unwrap();
    site.advance(30);
    let second = site.quote(template("a")).basis.to_string();
    assert!(second.starts_with("8 runs of "), "{second}");
    assert!(second.contains(" in one batch"), "{second}");
}

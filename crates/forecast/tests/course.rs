//! When a forecaster hears of a job, and of its promises.

use tollgate_forecast::{
    ClassId, ClassStage, ClassSummary, CompletedJob, FeedbackTiming, ForecastJob, Forecaster,
    JobAttributes, OnlineForecaster,
};
use tollgate_model::{Instant, Span};

fn record(submit: i64, wait: i64, runtime: i64) -> CompletedJob {
    let submit = Instant::from_secs(submit);
    CompletedJob {
        job: ForecastJob {
            class: ClassId(0),
            procs: 1,
            request: None,
            context: JobAttributes::default(),
        },
        submit,
        finish: submit + Span::from_secs(wait + runtime),
        runtime: Span::from_secs(runtime),
    }
}

fn summary(course: &OnlineForecaster) -> ClassSummary {
    course.forecaster().summaries(ClassId(0))[0].0
}

#[test]
fn what_has_not_ended_is_not_known() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
    let mut heard = Vec::new();
    let first = course.submit(&record(0, 50, 100), |learned| heard.push(learned.nth));
    assert_eq!(first.unwrap().stage(), ClassStage::Unseen);
    let second = course.submit(&record(149, 0, 10), |learned| heard.push(learned.nth));
    assert_eq!(second.unwrap().stage(), ClassStage::Unseen);
    let third = course.submit(&record(150, 0, 10), |learned| heard.push(learned.nth));
    assert_eq!(third.unwrap().stage(), ClassStage::Cold);
    assert_eq!(heard, [0]);
    course.finish(|learned| heard.push(learned.nth));
    // The two that were handed in last ended in this order.
    assert_eq!(heard, [0, 1, 2]);
}

#[test]
fn one_step_knows_of_all_that_came_before() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::OneStep);
    course.submit(&record(0, 50, 100), |_| ()).unwrap();
    let second = course.submit(&record(0, 0, 10), |_| ()).unwrap();
    assert_eq!(second.stage(), ClassStage::Cold);
}

#[test]
fn a_promise_is_judged_when_it_falls_due_and_not_before() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
    for job in 0..40 {
        course.submit(&record(1000 * job, 0, 100), |_| ()).unwrap();
    }
    // All is known of those by now, and a job is promised to take about as long.
    course.submit(&record(50_000, 0, 9_000), |_| ()).unwrap();
    let before = summary(&course).judged[9];
    course.submit(&record(51_000, 0, 100), |_| ()).unwrap();
    let after = summary(&course).judged[9];
    // It runs on, and has outlived its bound: that is known already.
    assert_eq!((after.0, after.1), (before.0 + 1, before.1));
    assert_eq!(summary(&course).jobs, 40);
}

#[test]
fn a_job_that_never_ran_is_no_part_of_it() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
    assert!(course.submit(&record(0, 0, 0), |_| ()).is_err());
    assert_eq!(course.finish(|_| ()), Forecaster::default());
}

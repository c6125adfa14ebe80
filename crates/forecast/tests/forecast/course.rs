//! Tests of the timing of feedback on jobs and promises.

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
fn running_jobs_are_not_learned() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
    let mut observed = Vec::new();
    let first = course.submit(&record(0, 50, 100), |learned| observed.push(learned.nth));
    assert_eq!(first.unwrap().stage(), ClassStage::Unseen);
    let second = course.submit(&record(149, 0, 10), |learned| observed.push(learned.nth));
    assert_eq!(second.unwrap().stage(), ClassStage::Unseen);
    let third = course.submit(&record(150, 0, 10), |learned| observed.push(learned.nth));
    assert_eq!(third.unwrap().stage(), ClassStage::Cold);
    assert_eq!(observed, [0]);
    course.finish(|learned| observed.push(learned.nth));
    // The two jobs submitted last ended in this order.
    assert_eq!(observed, [0, 1, 2]);
}

#[test]
fn one_step_timing_learns_every_earlier_job() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::OneStep);
    course.submit(&record(0, 50, 100), |_| ()).unwrap();
    let second = course.submit(&record(0, 0, 10), |_| ()).unwrap();
    assert_eq!(second.stage(), ClassStage::Cold);
}

#[test]
fn promise_is_judged_only_when_due() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
    for job in 0..40 {
        course.submit(&record(1000 * job, 0, 100), |_| ()).unwrap();
    }
    // All earlier jobs have ended by now, and a new job is promised to take about as long.
    course.submit(&record(50_000, 0, 9_000), |_| ()).unwrap();
    let before = summary(&course).judged[9];
    course.submit(&record(51_000, 0, 100), |_| ()).unwrap();
    let after = summary(&course).judged[9];
    // The job still runs and has outlived its bound: the broken promise is counted already.
    assert_eq!((after.0, after.1), (before.0 + 1, before.1));
    assert_eq!(summary(&course).jobs, 40);
}

#[test]
fn promises_about_a_resource_are_judged_when_the_job_ends() {
    // Each job ends before the next one is submitted, so both timings teach the same.
    let learned = |timing| {
        let mut course = OnlineForecaster::new(Forecaster::default(), timing).of_resource();
        for job in 0..60 {
            let runtime = 100 + 37 * (job * job % 11);
            course
                .submit(&record(1000 * job, 0, runtime), |_| ())
                .unwrap();
        }
        course.finish(|_| ())
    };
    assert_eq!(
        learned(FeedbackTiming::Causal),
        learned(FeedbackTiming::OneStep)
    );
}

#[test]
fn job_that_never_ran_is_rejected() {
    let mut course = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
    assert!(course.submit(&record(0, 0, 0), |_| ()).is_err());
    assert_eq!(course.finish(|_| ()), Forecaster::default());
}

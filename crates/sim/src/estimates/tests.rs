//! Tests of estimates and beliefs.

use tollgate_model::Probability;
use tollgate_model::Sla;

use super::*;

fn provider(
    origin: EstimateOrigin,
    uses_beliefs: bool,
    contexts: &[JobContext],
) -> EstimateProvider<'_> {
    EstimateProvider {
        uses_beliefs,
        ..EstimateProvider::new(origin, contexts)
    }
}

fn arrival(estimate: i64, runtime: i64) -> JobArrival {
    JobArrival {
        spec: JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: Span::from_secs(estimate),
            procs: 1,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla::default(),
        },
        runtime: Span::from_secs(runtime),
        requested_memory: Default::default(),
        is_requested: true,
    }
}

#[test]
fn forecasts_follow_only_finished_jobs() {
    let level = Probability::new(0.9).unwrap();
    let mut learning = provider(EstimateOrigin::Forecast(level), false, &[]);
    let before = learning.estimate(0, &arrival(10_000, 50)).spec.estimate;
    for job in 1..50 {
        learning.estimate(job, &arrival(10_000, 50));
    }
    assert_eq!(
        learning.estimate(50, &arrival(10_000, 50)).spec.estimate,
        before
    );
    for job in 0..50 {
        learning.observe_start(job, Instant::ZERO);
        learning.observe_completion(job, Span::from_secs(50), Instant::from_secs(50));
    }
    let after = learning.estimate(51, &arrival(10_000, 50));
    assert!(
        after.spec.estimate.as_secs_f64() < before.as_secs_f64() / 10.0,
        "{}",
        after.spec.estimate
    );
    assert_eq!(after.forecast.unwrap().quantile(level), after.spec.estimate);
}

#[test]
fn estimate_not_given_by_the_user_is_hidden_from_forecasts() {
    let level = Probability::new(0.9).unwrap();
    let known = [JobContext {
        has_user_estimate: false,
        ..JobContext::default()
    }; 2];
    let estimate = |job, runtime| {
        [
            EstimateOrigin::Forecast(level),
            EstimateOrigin::Larger(level),
        ]
        .map(|estimates| {
            let mut hidden = provider(estimates, false, &known);
            hidden
                .estimate(job, &arrival(runtime, runtime))
                .spec
                .estimate
        })
    };
    assert_eq!(estimate(0, 5), estimate(1, 500_000));
}

#[test]
fn larger_estimate_is_never_below_the_user_estimate() {
    let level = Probability::new(0.9).unwrap();
    let mut estimates = provider(EstimateOrigin::Larger(level), false, &[]);
    for job in 0..50 {
        estimates.estimate(job, &arrival(10_000, 50));
        estimates.observe_start(job, Instant::ZERO);
        estimates.observe_completion(job, Span::from_secs(50), Instant::from_secs(50));
    }
    let estimate = estimates.estimate(50, &arrival(10_000, 50));
    assert_eq!(estimate.spec.estimate, Span::from_secs(10_000));
    assert!(estimate.forecast.unwrap().quantile(level) < Span::from_secs(5_000));
}

#[test]
fn belief_moves_from_the_users_estimate_to_observed_run_times() {
    let mut provider = provider(EstimateOrigin::User, true, &[]);
    let first = provider.estimate(0, &arrival(10_000, 50));
    assert_eq!(first.spec.estimate, Span::from_secs(10_000));
    provider.admit(0, Instant::ZERO);
    let waiting = provider.estimate(1, &arrival(10_000, 50)).forecast.unwrap();
    assert_eq!(provider.take_revised(Instant::ZERO), []);
    provider.admit(1, Instant::ZERO);
    let [(0, first), (1, second)] = provider.take_revised(Instant::ZERO)[..] else {
        panic!("the waiting jobs have become a batch");
    };
    assert_eq!((first, second.distribution), (second, waiting));
    for job in 2..60 {
        provider.estimate(job, &arrival(10_000, 50));
        provider.observe_start(job, Instant::ZERO);
        let runtime = Span::from_secs(50);
        provider.observe_completion(job, runtime, Instant::from_secs(50));
    }
    let revised = provider.take_revised(Instant::from_secs(50));
    let [(0, _), (1, revised)] = revised[..] else {
        panic!("the waiting jobs: {revised:?}");
    };
    assert!(
        revised.distribution.median() < Span::from_secs(60),
        "{}",
        revised.distribution.median()
    );
    assert!(
        waiting.median() > Span::from_secs(1_000),
        "{}",
        waiting.median()
    );
}

#[test]
fn belief_under_true_estimates_is_the_run_time() {
    let mut provider = provider(EstimateOrigin::True, true, &[]);
    let estimate = provider.estimate(0, &arrival(10_000, 50));
    assert_eq!(estimate.spec.estimate, Span::from_secs(50));
    assert_eq!(
        estimate.forecast.unwrap().quantiles(),
        &[Span::from_secs(50); N_LEVELS]
    );
    assert_eq!(provider.take_revised(Instant::ZERO), []);
}

#[test]
fn no_belief_depends_on_the_run_time_of_a_job_without_a_request() {
    let known = [JobContext {
        has_user_estimate: false,
        ..JobContext::default()
    }];
    let estimate = |runtime| {
        let mut provider = provider(EstimateOrigin::User, true, &known);
        provider.estimate(0, &arrival(runtime, runtime)).forecast
    };
    assert_eq!(estimate(5), estimate(500_000));
}

//! Statements about a job never contradict each other, whatever has been learned, and a stored model makes the same ones.

use proptest::prelude::*;
use tollgate_forecast::{
    Belief, BeliefJob, BeliefModel, ClassId, CompletedJob, ForecastJob, JobAttributes,
    learn_beliefs,
};
use tollgate_model::{Instant, Span, UserId};

fn job(user: u32, procs: u32, request_s: Option<i64>) -> BeliefJob {
    let job = ForecastJob {
        class: ClassId(user),
        procs,
        request: request_s.map(Span::from_secs),
        context: JobAttributes {
            queue: Some(procs % 3),
            ..JobAttributes::default()
        },
    };
    BeliefJob::new(UserId(user), &job)
}

/// Returns a record of a job of each of these users, processors, requests and run times, in seconds.
fn record(jobs: &[(u32, u32, Option<i64>, f64)]) -> Vec<(BeliefJob, CompletedJob)> {
    let jobs = (0..).zip(jobs);
    let jobs = jobs.map(|(nth, &(user, procs, request_s, run_s))| {
        let believed = job(user, procs, request_s);
        let submit = Instant::from_secs(400 * nth);
        let runtime = Span::from_secs_f64(run_s);
        let ended = CompletedJob {
            job: ForecastJob {
                class: ClassId(user),
                procs,
                request: believed.request,
                context: JobAttributes::default(),
            },
            submit,
            finish: submit + runtime,
            runtime,
        };
        (believed, ended)
    });
    jobs.collect()
}

fn check(belief: &Belief) -> Result<(), TestCaseError> {
    let quantiles = belief.distribution.quantiles();
    prop_assert!(quantiles.is_sorted_by(|low, high| low < high), "{belief:?}");
    let median = belief.distribution.median();
    prop_assert!(quantiles[0] < median && median < quantiles[10]);
    let parts: f32 = belief
        .basis
        .sources()
        .iter()
        .map(|source| source.part)
        .sum();
    prop_assert!((parts - 1.0).abs() < 1e-3, "{parts}: {belief:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn statements_ascend_and_their_sources_are_whole(
        jobs in prop::collection::vec(
            (0u32..4, 1u32..5, prop::option::of(1i64..100_000), prop_oneof![0.01..9.0f64, 1.0..200_000.0f64]),
            1..500,
        ),
        query in (0u32..6, 1u32..5, prop::option::of(1i64..100_000)),
    ) {
        let mut model = BeliefModel::default();
        learn_beliefs(&mut model, &record(&jobs));
        let (user, procs, request_s) = query;
        let now = Instant::from_secs(1_000_000);
        let belief = model.belief(&job(user, procs, request_s), now);
        check(&belief)?;
        prop_assert_eq!(belief.within_request.is_some(), request_s.is_some());
        let text = serde_json::to_string(&model).unwrap();
        let restored: BeliefModel = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&restored, &model);
        let bytes = postcard::to_stdvec(&model).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<BeliefModel>(&bytes).unwrap(), &model);
    }
}

#[test]
fn ended_job_teaches_that_it_needs_more_or_nothing() {
    let jobs: Vec<_> = (0..40).map(|_| (1, 1, Some(3_600), 60.0)).collect();
    let mut model = BeliefModel::default();
    learn_beliefs(&mut model, &record(&jobs));
    let query = job(1, 1, Some(3_600));
    let now = Instant::from_secs(1_000_000);
    let end = |run_s: i64| {
        let mut model = model.clone();
        let id = tollgate_model::TaskId::from(1);
        model.submit(id, query, now);
        model.start(id, now);
        let runtime = Span::from_secs(run_s);
        model.end_at_least(id, runtime, now + runtime);
        model
            .belief(&query, Instant::from_secs(2_000_000))
            .distribution
    };
    let (before, after) = (end(5), end(1_800));
    // The parts of the sources change a little, which moves the lower quantiles by next to nothing.
    for (longer, shorter) in after.quantiles().iter().zip(before.quantiles()) {
        let ratio = longer.as_secs_f64() / shorter.as_secs_f64();
        assert!(ratio > 0.99, "{after:?} {before:?}");
    }
    assert!(
        after.quantiles()[11] > before.quantiles()[11],
        "{after:?} {before:?}"
    );
}

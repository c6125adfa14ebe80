//! Safety for any input: no panic, no infinite bound, reproducible bytes.

use proptest::prelude::*;
use tollgate_forecast::{
    BeliefModel, ClassId, ClassStage, CompletedJob, EvaluationConfig, FeedbackTiming, ForecastJob,
    Forecaster, ForecasterSnapshot, JobAttributes, LearnError, SnapshotVersionError, evaluate,
};
use tollgate_model::{Instant, Probability, Span};

const MAX_SPAN: Span = Span::from_secs(3_200_000_000);

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::ZERO),
        Just(-Span::TICK),
        Just(Span::TICK),
        Just(Span::MAX),
        (1i64..1_000_000).prop_map(Span::from_secs),
        any::<i64>().prop_map(Span::from_micros),
    ]
}

prop_compose! {
    fn record()(
        class in 0u32..3,
        executable in prop::option::of(0u32..3),
        procs in prop_oneof![Just(0), Just(1), Just(u32::MAX)],
        request in prop::option::of(span()),
        submit in any::<i64>(),
        finish in any::<i64>(),
        runtime in span(),
    ) -> CompletedJob {
        CompletedJob {
            job: ForecastJob { class: ClassId(class), procs, request, context: JobAttributes { executable, ..JobAttributes::default() } },
            submit: Instant::from_micros(submit),
            finish: Instant::from_micros(finish),
            runtime,
        }
    }
}

/// Learns all records, and checks every forecast on the way.
fn learn_all(records: &[CompletedJob]) -> Result<Forecaster, TestCaseError> {
    let mut forecaster = Forecaster::default();
    for record in records {
        let forecast = forecaster.forecast(&record.job);
        let quantiles = *forecast.distribution().quantiles();
        prop_assert!(quantiles.is_sorted());
        for span in quantiles.into_iter().chain([forecast.point()]) {
            prop_assert!(span >= Span::from_secs(1) && span <= MAX_SPAN);
        }
        let likely = [0.1, 0.9].map(|level| {
            let level = Probability::new(level).expect("a probability");
            forecast.distribution().quantile(level)
        });
        let stated = forecast.point_beside_distribution();
        prop_assert!(likely[0] <= stated && stated <= likely[1]);
        let learned = forecaster.learn(record, &forecast);
        prop_assert_eq!(learned.is_err(), record.runtime <= Span::ZERO);
    }
    Ok(forecaster)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn absurd_records_give_finite_bounds(records in prop::collection::vec(record(), 0..120)) {
        learn_all(&records)?;
    }

    #[test]
    fn restored_forecaster_continues_identically(
        records in prop::collection::vec(record(), 1..120),
    ) {
        let forecaster = learn_all(&records)?;
        let text = serde_json::to_string(&ForecasterSnapshot::from(forecaster.clone())).unwrap();
        let saved: ForecasterSnapshot = serde_json::from_str(&text).unwrap();
        let restored = Forecaster::try_from(saved).unwrap();
        prop_assert_eq!(&restored, &forecaster);
        let again = serde_json::to_string(&ForecasterSnapshot::from(restored)).unwrap();
        prop_assert_eq!(again, text);
    }

    #[test]
    fn decreasing_times_are_accepted(records in prop::collection::vec(record(), 0..60)) {
        for timing in [FeedbackTiming::OneStep, FeedbackTiming::Causal] {
            let ran = records.iter().filter(|r| r.runtime > Span::ZERO).count();
            let trial = EvaluationConfig { timing, min_jobs: 1 };
            let (forecaster, beliefs) = (Forecaster::default(), BeliefModel::default());
            let evaluation = evaluate(forecaster, beliefs, &records, trial, |_| 0, &mut ());
            prop_assert_eq!(evaluation.aggregate.score.jobs, ran);
        }
    }
}

fn ended(class: u32, runtime: Span) -> CompletedJob {
    CompletedJob {
        job: ForecastJob {
            class: ClassId(class),
            procs: 1,
            request: None,
            context: JobAttributes::default(),
        },
        submit: Instant::ZERO,
        finish: Instant::ZERO,
        runtime,
    }
}

#[test]
fn job_that_never_ran_is_rejected_without_state_change() {
    let mut forecaster = Forecaster::default();
    let record = ended(0, Span::ZERO);
    let refused = forecaster.learn_without_forecast(&record);
    assert_eq!(refused, Err(LearnError::NeverRan(Span::ZERO)));
    assert_eq!(forecaster, Forecaster::default());
    assert!(forecaster.summaries(ClassId(0)).is_empty());
}

#[test]
fn unknown_user_is_forecast_from_the_site_prior() {
    let mut forecaster = Forecaster::default();
    for secs in 100..300 {
        let record = ended(secs as u32 % 9, Span::from_secs(secs));
        forecaster.learn_without_forecast(&record).unwrap();
    }
    let forecast = forecaster.forecast(&ended(77, Span::TICK).job);
    assert_eq!(
        (forecast.stage(), forecast.leader()),
        (ClassStage::Unseen, None)
    );
    let point = forecast.point().as_secs_f64();
    assert!((190.0..210.0).contains(&point), "{point}");
}

#[test]
fn constant_class_is_forecast_exactly() {
    let mut forecaster = Forecaster::default();
    let record = ended(0, Span::from_secs(500));
    for _ in 0..300 {
        forecaster.learn_without_forecast(&record).unwrap();
    }
    let forecast = forecaster.forecast(&record.job);
    assert_eq!(forecast.stage(), ClassStage::Settled);
    let secs = forecast.point().as_secs_f64();
    assert!((secs - 500.0).abs() < 0.01, "{secs}");
}

#[test]
fn memory_per_class_is_constant() {
    let mut forecaster = Forecaster::default();
    let mut sizes = [0, 0];
    for (round, size) in sizes.iter_mut().enumerate() {
        for job in 0..3000 {
            let secs = 100 + (job * 7919 + round as i64) % 1000;
            forecaster
                .learn_without_forecast(&ended(0, Span::from_secs(secs)))
                .unwrap();
        }
        *size = serde_json::to_vec(&forecaster).unwrap().len();
    }
    let [before, after] = sizes.map(|size| size as f64);
    assert!(after < 1.05 * before, "{before} bytes, then {after}");
}

#[test]
fn state_of_another_version_or_truncated_is_an_error() {
    let text = serde_json::to_string(&ForecasterSnapshot::from(Forecaster::default())).unwrap();
    assert!(serde_json::from_str::<ForecasterSnapshot>(&text[..text.len() / 2]).is_err());
    let other = text.replacen("\"version\":7", "\"version\":8", 1);
    let saved: ForecasterSnapshot = serde_json::from_str(&other).unwrap();
    let refused = Forecaster::try_from(saved).unwrap_err();
    assert_eq!(refused, SnapshotVersionError { found: 8 });
    assert_eq!(
        refused.to_string(),
        "the forecasts were stored in format 8, and this program reads format 7"
    );
}

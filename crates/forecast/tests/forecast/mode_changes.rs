//! Tests that planted mode changes are found, with few false alarms, and soon forgotten.

use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;
use tollgate_forecast::{
    AlarmThreshold, AlarmTriggers, ClassEvent, ClassId, CompletedJob, ForecastJob, Forecaster,
};
use tollgate_model::{Instant, Span};

/// Number and length of the series, and the job of the change.
const SERIES: u64 = 200;
const JOBS: usize = 160;
const CHANGE: usize = 100;
/// Number of first jobs, from which the usual error is learned.
const WARM_UP: usize = 20;
/// Spread of ln run time within a mode, and a spread at which fixed thresholds raise false alarms.
const NOISE: f64 = 0.1;
const MUCH_NOISE: f64 = 0.3;
/// Shift of the mode, as a logarithm: a factor of 4.5 up or down.
const SHIFT: f64 = 1.5;

/// Returns the event at each job of a series, and the size of the forecast's error.
fn course(seed: u64, spread: f64, triggers: AlarmTriggers) -> Vec<(ClassEvent, f64)> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let noise = Normal::new(0.0, spread).expect("a spread");
    let shift = if seed.is_multiple_of(2) {
        SHIFT
    } else {
        -SHIFT
    };
    let mut forecaster = Forecaster::new(triggers);
    let job = ForecastJob {
        class: ClassId(0),
        procs: 1,
        request: None,
        context: tollgate_forecast::JobAttributes::default(),
    };
    let jobs = (0..JOBS).map(|idx| {
        let mode = if idx < CHANGE { 7.0 } else { 7.0 + shift };
        let ln_run: f64 = mode + noise.sample(&mut rng);
        let submit = Instant::from_secs(idx as i64 * 10_000);
        let runtime = Span::from_secs_f64(ln_run.exp());
        let record = CompletedJob {
            job,
            submit,
            finish: submit + runtime,
            runtime,
        };
        let forecast = forecaster.forecast(&job);
        let event = forecaster.learn(&record, &forecast).expect("it ran");
        let error = (forecast.point().as_secs_f64().ln() - ln_run).abs();
        (event, error)
    });
    jobs.collect()
}

fn courses(spread: f64, triggers: AlarmTriggers) -> impl Iterator<Item = Vec<(ClassEvent, f64)>> {
    (0..SERIES).map(move |seed| course(seed, spread, triggers))
}

fn check(spread: f64, threshold: AlarmThreshold) {
    let triggers = AlarmTriggers {
        threshold,
        ..AlarmTriggers::default()
    };
    let (mut found, mut false_alarms, mut quiet_jobs) = (0, 0, 0);
    let (mut own, mut after) = (0.0, 0.0);
    for course in courses(spread, triggers) {
        let alarm =
            |jobs: &[(ClassEvent, f64)]| jobs.iter().filter(|j| j.0 == ClassEvent::Alarm).count();
        found += alarm(&course[CHANGE..CHANGE + 3]).min(1);
        false_alarms += alarm(&course[WARM_UP..CHANGE]);
        quiet_jobs += CHANGE - WARM_UP;
        own += course[CHANGE - 40..CHANGE].iter().map(|j| j.1).sum::<f64>() / 40.0;
        after += course[CHANGE + 10..CHANGE + 20]
            .iter()
            .map(|j| j.1)
            .sum::<f64>()
            / 10.0;
    }
    let found = f64::from(found as u32) / SERIES as f64;
    let false_alarms = false_alarms as f64 / quiet_jobs as f64;
    println!(
        "{threshold:?} at {spread}: found {found}, false alarms {false_alarms}, error before {}, 10 jobs after {}",
        own / SERIES as f64,
        after / SERIES as f64
    );
    assert!(found >= 0.95, "found {found}");
    assert!(false_alarms <= 0.005, "false alarms {false_alarms}");
    assert!(after <= 1.3 * own, "error {after}, before the change {own}");
}

#[test]
fn fixed_thresholds_find_planted_changes() {
    check(NOISE, AlarmThreshold::Fixed);
}

#[test]
fn floating_thresholds_find_planted_changes() {
    check(NOISE, AlarmThreshold::Floating);
}

#[test]
fn floating_thresholds_adapt_to_noise() {
    check(MUCH_NOISE, AlarmThreshold::Floating);
}

#[test]
fn a_sustained_change_becomes_a_new_mode() {
    let started = courses(NOISE, AlarmTriggers::default()).filter(|course| {
        let after = &course[CHANGE..CHANGE + 20];
        after.iter().any(|job| job.0 == ClassEvent::NewMode)
    });
    let started = started.count() as f64 / SERIES as f64;
    println!("a new mode in {started}");
    assert!(started >= 0.95, "a new mode in {started}");
}

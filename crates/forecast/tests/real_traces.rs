//! Promises over archived traces: a quantile must be kept as often as it says, also when feedback
//! comes late.

mod archive;

use tollgate_forecast::{Expert, Forecaster, Setting, evaluate};
use tollgate_model::distribution::LEVELS;

/// The indices of the levels 0.90 and 0.95.
const PROMISED: [usize; 2] = [9, 10];
/// The fewest jobs of a class whose coverage is looked at alone.
const FEWEST: usize = 160;

#[test]
fn promises_over_sdsc_sp2_are_kept() {
    let Some(records) = archive::records("SDSC-SP2-1998-4.2-cln.swf.gz") else {
        return;
    };
    let everybody = evaluate(Forecaster::default(), &records, Setting::Causal, 1);
    for level in PROMISED {
        let held = everybody.overall.levels[level];
        let (nominal, coverage) = (LEVELS[level].as_f64(), held.coverage().unwrap());
        println!(
            "{nominal}: kept {coverage:.4}, ratio {:.2}",
            held.bound_ratio().unwrap()
        );
        assert!((coverage - nominal).abs() <= 0.01, "{nominal}: {coverage}");
    }
    assert!(everybody.overall.levels[9].bound_ratio().unwrap() <= 2.2);
    assert!(everybody.overall.levels[10].bound_ratio().unwrap() <= 2.9);
}

#[test]
fn forecasts_over_sdsc_sp2_beat_the_baselines() {
    let Some(records) = archive::records("SDSC-SP2-1998-4.2-cln.swf.gz") else {
        return;
    };
    for (setting, most_mdape) in [(Setting::OneStep, 27.0), (Setting::Causal, 42.0)] {
        let evaluation = evaluate(Forecaster::default(), &records, setting, FEWEST);
        let together = evaluation.overall.aggregate;
        println!("{setting:?}: {together:?}");
        assert!(together.mdape_pct.unwrap() <= most_mdape);
        for baseline in [Expert::Last, Expert::MeanOfTwo] {
            let better = evaluation.classes_better_than(baseline).unwrap();
            println!(
                "better than {} in {better:.2} of the classes",
                baseline.key()
            );
            assert!(better >= 0.85, "{}: {better}", baseline.key());
            let alone = evaluation.overall.experts[baseline as usize];
            assert!(together.mdape_pct < alone.mdape_pct, "{}", baseline.key());
            assert!(
                together.mean_abs_ln < alone.mean_abs_ln,
                "{}",
                baseline.key()
            );
        }
        for level in PROMISED {
            let within = evaluation.classes_within(level, 0.04).unwrap();
            println!(
                "level {}: {within:.2} of the classes",
                LEVELS[level].as_f64()
            );
            assert!(within >= 0.9, "level {}: {within}", LEVELS[level].as_f64());
        }
    }
}

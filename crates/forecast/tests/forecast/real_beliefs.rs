//! Beliefs over archived traces, against figures of an independent implementation with twice as fine a grid.

use tollgate_forecast::{BeliefJob, evaluate_beliefs};
use tollgate_model::UserId;

use crate::archive;

/// Checks the mean pinball loss and the coverage at .8333 and .95 over a trace.
fn check(name: &str, pinball: f64, [usual, high]: [f64; 2]) {
    let Some(records) = archive::records_with_programs(name) else {
        return;
    };
    let jobs: Vec<_> = records
        .iter()
        .map(|record| {
            (
                BeliefJob::new(UserId(record.job.class.0), &record.job),
                *record,
            )
        })
        .collect();
    let found = evaluate_beliefs(&jobs, None).all.expect("jobs ran");
    assert!((found.pinball - pinball).abs() < 0.005, "{name}: {found:?}");
    for (at, expected) in [(1, usual), (3, high)] {
        assert!(
            (found.coverage[at] - expected).abs() < 0.01,
            "{name}: {found:?}"
        );
    }
}

#[test]
fn beliefs_over_kth_sp2_are_those_of_the_reference() {
    check("KTH-SP2-1996-2.1-cln.swf.gz", 0.2089, [0.834, 0.959]);
}

#[test]
fn beliefs_over_sdsc_sp2_are_those_of_the_reference() {
    check("SDSC-SP2-1998-4.2-cln.swf.gz", 0.1963, [0.840, 0.948]);
}

//! Tests of the damaged inputs of the targets of the service.

use tollgate_mutation::{TARGETS, input};

/// Enough rounds to take every branch several times, in some seconds.
const ROUNDS: u64 = 400;

#[test]
fn every_target_survives_damage() {
    for target in TARGETS {
        for round in 0..ROUNDS {
            let _ = (target.run)(&input(target, 0xf022, round));
        }
    }
}

/// The undamaged samples are valid. Invalid samples would be rejected at once and would test
/// little.
#[test]
fn every_sample_is_read_undamaged() {
    for target in TARGETS {
        for sample in target.samples {
            assert!((target.run)(sample.as_bytes()), "{}: {sample}", target.name);
        }
    }
}

#[test]
fn rounds_are_the_same_for_the_same_seed() {
    for target in TARGETS {
        assert_eq!(input(target, 7, 3), input(target, 7, 3));
        assert!((0..20).any(|round| input(target, 7, round) != input(target, 8, round)));
    }
}

//! Random faults: whatever happens to submissions, the wanted number of pilots is there in the end,
//! each once.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::fake::FakeEngine;

/// The faults that end at once; a command that hangs has a test of its own.
const FAULTS: [&str; 8] = [
    "",
    "starts",
    "twice",
    "invalid",
    "full",
    "garbage",
    "reset-after",
    "reset-before",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_pilot_is_forgotten_or_there_twice(
        faults in prop::collection::vec(prop::sample::select(&FAULTS[..]), 0..8),
        target in prop::collection::vec(0..5_u32, 1..4),
        forget in any::<bool>(),
    ) {
        let engine = FakeEngine::new();
        engine.faults(&faults);
        for target in &target {
            let _ = engine.scale(*target);
        }
        if forget {
            std::fs::remove_dir_all(engine.state_dir()).expect("it was there");
        }
        engine.faults(&[]);
        let goal = target[0];
        // The first pass finds what is there; time passes until no submission is on its way.
        for _ in 0..3 {
            engine.pass_minutes(2);
            engine.scale(goal).expect("the engine answers");
        }
        let jobs = engine.live_jobs();
        let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        prop_assert_eq!(names.len(), jobs.len(), "{:?}", jobs);
        prop_assert_eq!(jobs.len(), goal as usize, "{:?}", jobs);
        let counts = engine.site().counts();
        prop_assert_eq!(counts.pending + counts.running, jobs.len());
    }
}

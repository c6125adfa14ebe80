//! A test that the oracles reproduce every worked example.

use tollgate_oracle::examples::WorkedExample;

#[test]
fn every_worked_example_is_reproduced() {
    let examples = WorkedExample::all();
    assert!(!examples.is_empty());
    let differences: Vec<String> = examples
        .iter()
        .flat_map(|example| example.differences(&example.run()))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn wrong_outcome_is_reported() {
    for example in WorkedExample::all() {
        let mut outcomes = example.run();
        outcomes.rotate_left(1);
        assert!(
            !example.differences(&outcomes).is_empty(),
            "{}",
            example.name
        );
    }
}

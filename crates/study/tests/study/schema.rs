//! The published schema of an experiment file.

use tollgate_study::Experiment;

#[test]
fn schema_matches_the_snapshot() {
    insta::assert_snapshot!(Experiment::schema());
}

//! The published schema of an experiment file.

use tollgate_study::Experiment;

#[test]
fn it_never_changes_silently() {
    insta::assert_snapshot!(Experiment::schema());
}

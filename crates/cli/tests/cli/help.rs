//! What the program says about itself.

use crate::program::tollgate;

#[test]
fn the_program() {
    insta::assert_snapshot!(tollgate(&["--help"]));
}

#[test]
fn replay() {
    insta::assert_snapshot!(tollgate(&["replay", "--help"]));
}

#[test]
fn the_list_of_policies() {
    insta::assert_snapshot!(tollgate(&["policies", "--help"]));
}

#[test]
fn no_words_are_answered_with_those_that_there_are() {
    insta::assert_snapshot!(tollgate(&[]));
}

#[test]
fn an_unknown_command_is_wrong_usage() {
    insta::assert_snapshot!(tollgate(&["replai"]));
}

#[test]
fn of_study() {
    insta::assert_snapshot!(tollgate(&["study", "--help"]));
    insta::assert_snapshot!(tollgate(&["study", "run", "--help"]));
}

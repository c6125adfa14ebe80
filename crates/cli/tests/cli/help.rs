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

#[test]
fn of_the_commands_of_a_service() {
    for command in ["submit", "quote", "wait", "worker", "qsub", "qstat", "qdel"] {
        insta::assert_snapshot!(command, tollgate(&[command, "--help"]));
    }
}

#[test]
fn help_of_help_is_the_help_of_the_program() {
    let help = tollgate(&["--help"]).answer();
    assert_eq!(tollgate(&["help", "--help"]).answer(), help);
    assert_eq!(tollgate(&["help", "-h"]).answer(), help);
}

#[test]
fn unknown_option_gets_a_tip_only_if_one_is_near() {
    for (command, option) in [
        ("replay", "--out"),
        ("replay", "--report"),
        ("replay", "--start"),
        ("submit", "--queue"),
    ] {
        let ran = tollgate(&[command, option]).to_string();
        assert!(ran.contains("unexpected argument"), "{ran}");
        assert!(!ran.contains("similar"), "{ran}");
        assert!(
            ran.contains(&format!("Usage: tollgate {command} [OPTIONS]")),
            "{ran}"
        );
    }
    let near = tollgate(&["submit", "--dedline", "17:00"]).to_string();
    assert!(
        near.contains("similar argument exists: '--deadline'"),
        "{near}"
    );
}

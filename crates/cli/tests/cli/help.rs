//! Tests of the help and the version of the program.

use crate::program::tollgate;

#[test]
fn program_help() {
    insta::assert_snapshot!(tollgate(&["--help"]));
}

#[test]
fn replay_help() {
    insta::assert_snapshot!(tollgate(&["replay", "--help"]));
}

#[test]
fn policies_help() {
    insta::assert_snapshot!(tollgate(&["policies", "--help"]));
}

#[test]
fn call_without_arguments_prints_the_commands() {
    insta::assert_snapshot!(tollgate(&[]));
}

#[test]
fn an_unknown_command_is_wrong_usage() {
    insta::assert_snapshot!(tollgate(&["replai"]));
}

#[test]
fn study_help() {
    insta::assert_snapshot!(tollgate(&["study", "--help"]));
    insta::assert_snapshot!(tollgate(&["study", "run", "--help"]));
}

#[test]
fn service_commands_help() {
    for command in ["submit", "quote", "wait", "worker", "qsub", "qstat", "qdel"] {
        insta::assert_snapshot!(command, tollgate(&[command, "--help"]));
    }
}

#[test]
fn site_help() {
    insta::assert_snapshot!(tollgate(&["site", "--help"]));
    insta::assert_snapshot!(tollgate(&["site", "add", "--help"]));
    insta::assert_snapshot!(tollgate(&["site", "keep", "--help"]));
    insta::assert_snapshot!(tollgate(&["site", "simulate", "--help"]));
}

#[test]
fn help_of_help_is_the_help_of_the_program() {
    let help = tollgate(&["--help"]).answer();
    assert_eq!(tollgate(&["help", "--help"]).answer(), help);
    assert_eq!(tollgate(&["help", "-h"]).answer(), help);
}

#[test]
fn unknown_option_gets_a_tip_only_for_a_similar_name() {
    for (command, option) in [
        ("replay", "--out"),
        ("replay", "--report"),
        ("replay", "--weight"),
        ("submit", "--weight"),
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

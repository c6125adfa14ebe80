//! No word of a user reaches a shell, a submit file or an engine's option reader as anything but
//! that word.

use std::process::Command;

use proptest::prelude::*;
use tollgate_batch::{EngineKind, shell};

use crate::job;

/// Any text without NUL, which no argument of a program can hold; rich in the letters that shells
/// and submit files treat in a way of their own.
fn word() -> impl Strategy<Value = String> {
    "[a-z \n\t'\"\\\\$`();|&<>*?~#!{}\\[\\]=%@é-]{0,24}"
}

/// Returns the words that a POSIX shell reads from a line.
fn read_by_a_shell(line: &str) -> Vec<String> {
    let program = format!("printf '%s\\0' {line}");
    let output = Command::new("/bin/sh").args(["-c", &program]).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{line}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("the words were text");
    let mut words: Vec<String> = text.split('\0').map(str::to_owned).collect();
    words.pop();
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shell_reads_exactly_the_quoted_words(words in prop::collection::vec(word(), 1..6)) {
        prop_assert_eq!(read_by_a_shell(&shell::line(&words)), words);
    }

    #[test]
    fn arguments_are_passed_on_as_they_are(words in prop::collection::vec(word(), 0..4)) {
        let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
        for kind in [EngineKind::Slurm, EngineKind::Sge, EngineKind::Htcondor] {
            let command = kind.dialect("tollgate").submit(&job("", &borrowed));
            prop_assert!(command.words.ends_with(&words));
            prop_assert_eq!(read_by_a_shell(&command.shell_line()), command.words);
        }
    }

    #[test]
    fn submit_file_holds_no_word_of_the_script(script in word()) {
        let file = EngineKind::Htcondor.dialect("tollgate").submit(&job(&script, &[])).input;
        let plain = EngineKind::Htcondor.dialect("tollgate").submit(&job("", &[])).input;
        prop_assert_eq!(file.lines().count(), plain.lines().count());
        prop_assert!(!file.contains('$'));
        let encoded = file.split("printf %s ").nth(1).and_then(|rest| rest.split(' ').next());
        let encoded = encoded.unwrap_or_default();
        prop_assert_eq!(file.replacen(encoded, "", usize::from(!encoded.is_empty())), plain.clone());
        let decoder = format!("printf %s {encoded} | base64 -d");
        let decoded = Command::new("/bin/sh").args(["-c", &decoder]).output().expect("a shell");
        prop_assert_eq!(String::from_utf8(decoded.stdout).expect("text"), script);
    }
}

//! Readers that stop reading, as in `tollgate replay | head`.

use std::process::Stdio;

use crate::program::command;

#[test]
fn closed_stdout_ends_the_program_silently() {
    for words in [
        &["replay", "--last", "50"][..],
        &["policies"],
        &["replay", "--help"],
    ] {
        let mut child = command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            !stderr.contains("panicked") && !stderr.contains("error"),
            "{stderr}"
        );
        assert_eq!(output.status.code(), Some(0), "{words:?}: {stderr}");
    }
}

#[test]
fn closed_stderr_does_not_change_the_answer() {
    let mut child = command(&["replay", "--last", "50", "--policy", "easy"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("easy"));
}

//! `tollgate generate`.

use std::process::{Command, Stdio};

fn tollgate(words: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(words)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_man_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("man");
    tollgate(&["generate", "man", "--out", man.to_str().unwrap()]);
    for (page, expected) in [
        ("tollgate.1", "tollgate\\-submit(1)"),
        ("tollgate-submit.1", "Latest finish"),
        ("tollgate-submit.1", "With \\-\\-url: file with the token"),
        ("tollgate-qsub.1", "\\-hold_jid"),
        ("tollgate-qstat.1", "\\-xml"),
        ("tollgate-qdel.1", "Cancel only these tasks"),
        ("tollgate-demo.1", "Show a quote"),
    ] {
        let text = std::fs::read_to_string(man.join(page)).unwrap();
        assert!(text.contains(expected), "{page}: {text}");
    }
}

#[test]
fn completions_are_valid_shell_code() {
    let script = tollgate(&["generate", "completions", "bash"]);
    assert!(script.contains("calibration"));
    let check = Command::new("bash")
        .arg("-nc")
        .arg(&script)
        .stderr(Stdio::piped())
        .output();
    // The shell may not be installed.
    if let Ok(check) = check {
        assert!(check.status.success(), "{check:?}");
    }
    for words in ["_tollgate_known", "tollgate jobs --all --quiet"] {
        assert!(script.contains(words), "{words}");
    }
    assert!(tollgate(&["generate", "completions", "zsh"]).starts_with("#compdef tollgate"));
    assert!(tollgate(&["generate", "completions", "fish"]).contains("calibration"));
}

#[test]
fn a_unit_names_the_program_and_the_folder() {
    let unit = tollgate(&["generate", "systemd", "--data", "/srv/tollgate"]);
    let program = env!("CARGO_BIN_EXE_tollgate");
    assert!(unit.contains(&format!(
        "ExecStart=\"{program}\" serve --data \"/srv/tollgate\"\n"
    )));
    assert!(
        unit.contains("KillMode=process\n") && unit.contains("Delegate=yes\n"),
        "{unit}"
    );
}

//! Tests of clients without a service.

use std::process::Command;

#[test]
fn commands_without_a_service_show_how_to_start_it() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["status"][..],
        &["jobs"],
        &["nodes"],
        &["calibration"],
        &["ledger"],
        &["explain", "1"],
        &["wait", "1"],
        &["cancel", "1"],
        &["submit", "true"],
        &["quote"],
    ] {
        let ran = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(words)
            .env("TOLLGATE_DATA", folder.path())
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(1), "{words:?}");
        let stderr = String::from_utf8(ran.stderr).unwrap();
        let socket = folder.path().join("socket");
        let expected = format!(
            "error: {}: no service answers\nhint: start one with `tollgate serve`, or name \
             its directory with `--data`\n",
            socket.display()
        );
        assert_eq!(stderr, expected, "{words:?}");
    }
}

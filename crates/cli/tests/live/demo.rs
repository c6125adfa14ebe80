//! `tollgate demo`.

use std::process::Command;

#[test]
fn it_runs_its_sample_jobs_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["demo", "--once"])
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{said}");
    for expected in [
        "note: report: job 1 accepted, its deadline is kept with probability",
        "note: backup: job 3 accepted, without a promise",
        "note: forecast: job 4 rejected: ",
        "note: simulate: job 5 rejected: ",
        "note: report: finished exit 0",
        "note: broken: finished exit 3",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

//! Root checks, backs up and restores the directory of a service that runs under an account.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output};

use super::site::{AccessTestSite, ONE, ROOT};

/// The account of [`AccessTestSite::account`].
const ACCOUNT: u32 = 3;

/// Runs a command of root and returns its output.
fn run(site: &AccessTestSite, words: &[&str]) -> Output {
    let mut command = Command::new(site.program());
    command.args(words).env("TOLLGATE_DATA", site.data());
    command.output().expect("the program runs")
}

#[test]
fn root_checks_and_restores_its_backup_of_an_account() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new("users = \"all\"\n");
    site.run_ok(ONE, &["submit", "--output", "none", "--", "true"]);
    site.run_ok(ONE, &["wait", "1"]);
    let places = tempfile::tempdir().expect("a folder");
    let saved = places.path().join("saved");
    let copied = run(&site, &["backup", &saved.to_string_lossy()]);
    assert!(copied.status.success(), "{copied:?}");
    // The copy says whose it is, so that programs that its rules name never run as root.
    let owner = fs::metadata(saved.join("tollgate.db")).expect("it is there");
    assert_eq!(owner.uid(), ACCOUNT);
    site.stop();
    let is_sound = |checked: Output| {
        let stdout = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(
            stdout.starts_with("nothing is damaged: 1 jobs"),
            "{checked:?}"
        );
    };
    is_sound(run(&site, &["check"]));
    fs::remove_dir_all(site.data()).expect("root may do that");
    let restored = run(&site, &["restore", &saved.to_string_lossy()]);
    assert!(restored.status.success(), "{restored:?}");
    is_sound(run(&site, &["check"]));
    site.start();
    let jobs = site.run_ok(ROOT, &["jobs", "--all"]);
    assert!(jobs.contains("finished"), "{jobs}");

    // Root would act on names that the account chose.
    site.stop();
    let prepared = run(&site, &["restore", &saved.to_string_lossy()]);
    let stdout = String::from_utf8_lossy(&prepared.stderr);
    assert!(stdout.contains("prepared for an account"), "{stdout}");
    assert!(stdout.contains("move the directory away"), "{stdout}");
}

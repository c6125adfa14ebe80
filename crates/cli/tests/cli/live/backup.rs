//! Tests of backups, and of a service whose data is missing.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::site::ClientTestSite;

fn submit(site: &ClientTestSite, words: &[&str]) {
    site.tollgate(&[&["submit", "-q", "-e", "1s"], words].concat())
        .answer();
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// Returns the number, state and attempts of each job.
fn jobs(site: &ClientTestSite, data: &str) -> Vec<(u64, String, u64)> {
    let words = ["jobs", "--all", "--format", "json", "--data", data];
    let answer = site.tollgate(&words).json();
    let jobs = answer["jobs"].as_array().unwrap().iter();
    let row = |job: &Value| {
        let state = job["state"].as_str().unwrap().to_owned();
        (
            job["id"].as_u64().unwrap(),
            state,
            job["attempts"].as_u64().unwrap(),
        )
    };
    jobs.map(row).collect()
}

#[test]
fn jobs_running_at_a_backup_are_lost_after_the_restore() {
    let site = ClientTestSite::start("policy = \"libra\"\n");
    submit(&site, &["--", "true"]);
    site.tollgate(&["wait", "1"]).answer();
    let task = |file: &str| format!("echo started >> {file}; sleep 600");
    submit(&site, &["--", "sh", "-c", &task("never-again")]);
    submit(&site, &["--requeue", "--", "sh", "-c", &task("again")]);
    let (never, again) = (
        site.folder().join("never-again"),
        site.folder().join("again"),
    );
    site.until("both run", || lines(&never) == 1 && lines(&again) == 1);

    let answer = site.tollgate(&["backup", "saved"]).answer();
    assert!(answer.starts_with("backup in saved: 3 jobs, "), "{answer}");
    let occupied = site.tollgate(&["backup", "saved"]);
    assert_eq!(occupied.code, Some(2), "{occupied:?}");
    submit(&site, &["--", "true"]);
    for job in ["2", "3"] {
        site.tollgate(&["cancel", job]).answer();
    }

    let other = site.folder().join("other").display().to_string();
    let answer = site
        .tollgate(&["restore", "saved", "--data", &other])
        .answer();
    assert!(
        answer.starts_with("restored what was backed up at 2"),
        "{answer}"
    );
    let second = site.serve_beside(&other);
    site.until("it runs again", || lines(&again) == 2);
    let expected = [
        (3, "running".to_owned(), 2),
        (2, "lost".to_owned(), 1),
        (1, "finished".to_owned(), 1),
    ];
    assert_eq!(jobs(&site, &other), expected);
    assert_eq!(lines(&never), 1);
    site.tollgate(&["cancel", "3", "--data", &other]).answer();
    let used = site.tollgate(&["check", "--data", &other]);
    assert_eq!(used.code, Some(1), "{used:?}");
    assert!(used.stderr.contains("another service uses"), "{used:?}");
    drop(second);
    let answer = site.tollgate(&["check", "--data", &other]).answer();
    assert!(
        answer.starts_with("nothing is damaged: 3 jobs, "),
        "{answer}"
    );
}

#[test]
fn service_without_its_store_does_not_start_until_it_is_restored() {
    let mut site = ClientTestSite::start("");
    submit(&site, &["--", "true"]);
    site.tollgate(&["wait", "1"]).answer();
    site.tollgate(&["backup", "saved"]).answer();
    site.stop();
    let data = site.folder().join("data");
    let store = data.join("tollgate.db");
    fs::write(&store, "").unwrap();
    for _ in 0..2 {
        let refused = site.tollgate(&["serve"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains("the store is missing or empty"),
            "{refused:?}"
        );
        assert!(
            refused.stderr.contains("hint: `tollgate restore BACKUP`"),
            "{refused:?}"
        );
        // The store was empty in the first round.
        let _ = fs::remove_file(&store);
    }
    site.tollgate(&["restore", "saved"]).answer();
    let again = site.tollgate(&["restore", "saved"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.stderr.contains("this directory already has a store"),
        "{again:?}"
    );
    let served = site.serve_beside(data.to_str().unwrap());
    let expected = [(1, "finished".to_owned(), 1)];
    assert_eq!(jobs(&site, data.to_str().unwrap()), expected);
    drop(served);
}

#[test]
fn damaged_backup_is_not_restored() {
    let mut site = ClientTestSite::start("");
    submit(&site, &["--", "true"]);
    site.tollgate(&["wait", "1"]).answer();
    site.tollgate(&["backup", "saved"]).answer();
    site.stop();
    damage(&site.folder().join("saved/tollgate.db"));
    let refused = site.tollgate(&["restore", "saved", "--data", "other"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("the rows of `job` are not what was written"),
        "{refused:?}"
    );
    assert!(!site.folder().join("other/tollgate.db").exists());
    let none = site.tollgate(&["restore", "data", "--data", "other"]);
    assert_eq!(none.code, Some(2), "{none:?}");
}

#[test]
fn service_answers_during_the_store_check_and_ends_on_damage() {
    let mut site = ClientTestSite::start("");
    submit(&site, &["--", "true"]);
    site.tollgate(&["wait", "1"]).answer();
    site.stop();
    let data = site.folder().join("data");
    let store = data.join("tollgate.db");
    // SQLite ignores bytes behind the last page, and sparse bytes use no disk space.
    let file = fs::File::options().write(true).open(&store).unwrap();
    file.set_len(300 << 20).unwrap();
    let served = site.serve_beside(data.to_str().unwrap());
    site.until("it is checked", || site.other_log_has("nothing is damaged"));
    drop(served);
    damage(&store);
    let refused = site.tollgate(&["serve"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("it is checked while the service answers"),
        "{refused:?}"
    );
    assert!(
        refused
            .stderr
            .contains("the rows of `job` are not what was written"),
        "{refused:?}"
    );
}

/// Changes a byte in the program of a job.
fn damage(store: &Path) {
    let mut bytes = fs::read(store).unwrap();
    let argv = b"\"argv\":[\"true";
    let program = bytes.windows(argv.len()).position(|words| words == argv);
    bytes[program.expect("it is there") + 9] = b'T';
    fs::write(store, bytes).unwrap();
}

#[test]
fn service_ends_with_a_message_when_its_data_directory_is_deleted() {
    let mut site = ClientTestSite::start("");
    fs::remove_dir_all(site.folder().join("data")).unwrap();
    assert_eq!(site.wait_for_end().code(), Some(1));
    assert!(site.log_has("the data directory is gone"));
    let log = fs::read_to_string(site.folder().join("log")).unwrap();
    assert!(log.lines().count() < 10, "{log}");
}

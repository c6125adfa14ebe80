//! Tests of outputs on a worker of root that serves every user: through the service, no user reads a file
//! that the user cannot read.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::site::{AccessTestSite, ONE, OTHER, ROOT};

const CONFIG: &str = "users = \"all\"\npolicy = \"fcfs\"\n[local]\nnodes = 0\n";

/// Submits a script as a user, and returns once it has ended.
fn run_script(site: &AccessTestSite, user: u32, script: &str) {
    site.run_ok(user, &["submit", "--", "sh", "-c", script]);
    let jobs = site.run_ok(user, &["jobs", "--all", "--format", "json"]);
    let jobs: serde_json::Value = serde_json::from_str(&jobs).expect("JSON");
    let id = jobs["jobs"][0]["id"].to_string();
    site.run(user, &["wait", &id]);
}

#[test]
fn output_on_a_worker_is_for_its_user_and_operators() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(CONFIG);
    site.start_worker();
    run_script(&site, ONE, "umask 077; echo private");
    let kept = site.data().join("outputs/1.0");
    site.until("it is kept", || kept.exists());
    fs::remove_file(site.home(ONE).join("tollgate-1.out")).expect("it was written");
    for user in [ONE, ROOT] {
        assert_eq!(site.run_ok(user, &["logs", "1"]), "private\n");
    }
    let (code, stderr) = site.run_err(OTHER, &["logs", "1"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("no such job"), "{stderr}");
    let (status, _) = site.http(OTHER, "GET", "/v1/jobs/1/output", None);
    assert_eq!(status, 404);
    let metadata = fs::metadata(&kept).expect("it is kept");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_ne!(metadata.uid(), ONE);
}

#[test]
fn task_cannot_put_the_file_of_another_user_in_the_place_of_its_output() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(CONFIG);
    site.start_worker();
    // A directory that leads elsewhere is no link in the last place, and the open does follow it.
    let secret = site.home(OTHER).join("tollgate-1.out");
    fs::write(&secret, "secret").expect("root may do that");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let home = site.home(ONE);
    let here = home.join("here");
    fs::create_dir(&here).expect("a directory");
    std::os::unix::fs::chown(&here, Some(ONE), Some(ONE)).expect("root may do that");
    let script = format!(
        "cd ..; rm -r here; ln -s {} here",
        site.home(OTHER).display()
    );
    let dir = here.to_str().expect("text").to_owned();
    site.run_ok(ONE, &["submit", "--dir", &dir, "--", "sh", "-c", &script]);
    site.run(ONE, &["wait", "1"]);
    assert_problem(&site, 1, "Permission denied");
    run_script(
        &site,
        ONE,
        "rm tollgate-2.out; ln -s /etc/shadow tollgate-2.out",
    );
    assert_problem(&site, 2, "symbolic link");
    run_script(&site, ONE, "rm tollgate-3.out; mkfifo tollgate-3.out");
    assert_problem(&site, 3, "not a regular file");
}

/// Checks that the service has nothing of an output, and why.
fn assert_problem(site: &AccessTestSite, job: u64, expected: &str) {
    let kept = site.data().join(format!("outputs/{job}.0"));
    site.until("the output is asked for", || kept.exists());
    let path = format!("/v1/jobs/{job}/output");
    let (status, answer) = site.http(ONE, "GET", &path, None);
    let problem = answer["problem"].as_str().unwrap_or_default();
    assert!(status == 200 && problem.contains(expected), "{answer}");
    assert_eq!(answer["size_bytes"], 0);
    assert_eq!(answer["text"].as_str().unwrap_or_default(), "");
}

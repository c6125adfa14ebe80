//! Tests of the service log: one line per event with time and level, as text or as JSON.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::site::ClientTestSite;

fn log(site: &ClientTestSite) -> String {
    fs::read_to_string(site.folder().join("log")).unwrap()
}

/// Returns whether a line begins with an instant in UTC.
fn is_timed(line: &str) -> bool {
    let instant = line.split(' ').next().unwrap();
    instant.ends_with('Z') && instant.parse::<jiff::Timestamp>().is_ok()
}

#[test]
fn service_log_has_time_and_level_in_each_line() {
    let site = ClientTestSite::start("policy = \"easy\"\n");
    let log = log(&site);
    let line = log
        .lines()
        .find(|line| line.contains("the service answers"));
    let line = line.expect("it says so");
    assert!(line.contains(" INFO "), "{line}");
    assert!(line.contains("policy=easy"), "{line}");
    assert!(log.lines().all(is_timed), "{log}");

    site.tollgate(&["submit", "--", "true"]).answer();
    site.tollgate(&["wait", "1"]).answer();
    let runner = fs::read_to_string(site.folder().join("data/runner/log")).unwrap();
    assert!(runner.contains("INFO the runner has started"), "{runner}");
    assert!(runner.lines().all(is_timed), "{runner}");
    assert!(!site.log_has("job accepted"), "that is for level debug");
}

#[test]
fn json_log_at_debug_has_an_object_a_line_and_admission_decisions() {
    let flags = ["--log-format", "json", "--log-level", "debug"];
    let site = ClientTestSite::start_with("policy = \"libra\"\n[log]\nformat = \"text\"\n", &flags);
    let submit = ["submit", "-d", "5s", "-e", "1h", "--", "true"];
    assert_eq!(site.tollgate(&submit).code, Some(3));
    site.until("the decision is logged", || site.log_has("job rejected"));
    let log = log(&site);
    let whole = log.lines().filter(|line| line.ends_with('}'));
    let lines: Vec<Value> = whole
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in &lines {
        let time = line["timestamp"].as_str().unwrap();
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{line}");
        assert!(line["message"].is_string(), "{line}");
    }
    let rejected = lines.iter().find(|line| line["message"] == "job rejected");
    let rejected = rejected.unwrap();
    assert_eq!(rejected["level"], "DEBUG");
    assert_eq!(rejected["job"], 1);
    assert_eq!(rejected["reasons"], "insufficient_share");
    let runner = fs::read_to_string(site.folder().join("data/runner/log")).unwrap();
    let first: Value = serde_json::from_str(runner.lines().next().unwrap()).unwrap();
    assert_eq!(first["message"], "the runner has started");
}

#[test]
fn refused_requests_are_logged_once_and_not_each_time() {
    let site = ClientTestSite::start_with("", &["--listen", "127.0.0.1:0"]);
    let token = site.tollgate(&["token", "new"]).answer();
    site.store_token(&token);
    let listed = site.tollgate(&["token", "list", "--format", "json"]).json();
    let id = listed["tokens"][0]["id"].as_str().unwrap();
    site.tollgate(&["token", "revoke", id]).answer();
    let way = site.remote_args();
    let way: Vec<&str> = way.iter().map(String::as_str).collect();
    for _ in 0..5 {
        let refused = site.tollgate(&[&["status"], &way[..]].concat());
        assert_eq!(refused.code, Some(1), "{refused:?}");
    }
    let log = log(&site);
    let refused = log.lines().filter(|line| line.contains("request refused"));
    let refused: Vec<&str> = refused.filter(|line| !line.contains("repeated")).collect();
    assert_eq!(refused.len(), 1, "{log}");
    assert!(refused[0].contains("WARN tcp{peer=127.0.0.1:"), "{log}");
    assert!(refused[0].contains("status=401"), "{log}");
}

#[test]
fn invalid_log_settings_are_rejected_with_the_expected_values() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    fs::write(&config, "[log]\nformat = \"xml\"\n").unwrap();
    let serve = |words: &[&str], level: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command
            .arg("serve")
            .args(words)
            .env("TOLLGATE_LOG_LEVEL", level);
        let ran = command
            .env("TOLLGATE_DATA", folder.path().join("data"))
            .output();
        let ran = ran.unwrap();
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        String::from_utf8(ran.stderr).unwrap()
    };
    let stderr = serve(&["--log-format", "xml"], "");
    assert!(stderr.contains("expected text or json"), "{stderr}");
    let stderr = serve(&["--config", config.to_str().unwrap()], "");
    assert!(
        stderr.contains("log.format: expected text or json, got xml"),
        "{stderr}"
    );
    let stderr = serve(&[], "loud");
    assert!(
        stderr.contains("log-level: expected error, warn, info or debug"),
        "{stderr}"
    );
}

#[test]
fn service_warns_of_fewer_cores_than_it_offers() {
    let warns = |nodes: u32| {
        let site = ClientTestSite::start(&format!("[local]\nnodes = {nodes}\n"));
        site.log_has("the service offers fewer nodes than `local.nodes`")
    };
    assert!(warns(1_000_000));
    assert!(!warns(1));
}

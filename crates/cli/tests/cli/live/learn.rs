//! Tests of `tollgate learn`: a service that is taught from records.

use std::fs;

use super::site::ClientTestSite;

/// Returns a table of jobs of this system's user that needed a tenth of their estimate, each submitted hours
/// after the one before. One of them never ran and one failed.
fn records(user: &str) -> String {
    let mut table =
        String::from("job_id,user,executable,submit_s,wait_s,runtime_s,procs,estimate_s,status\n");
    for n in 0..60 {
        let submit_s = 1_780_000_000 + 10_000 * n;
        let row = format!("{n},{user},/opt/simulate,{submit_s},10,100,1,1000,completed\n");
        table.push_str(&row);
    }
    table.push_str(&format!(
        "60,{user},/opt/simulate,1790020000,,0,1,1000,cancelled\n"
    ));
    table.push_str(&format!(
        "61,{user},/opt/simulate,1790020000,1,900,1,1000,failed\n"
    ));
    table
}

#[test]
fn service_is_taught_from_records_once() {
    let site = ClientTestSite::start("");
    let user = site.shell("id -un").answer();
    let file = site.folder().join("jobs.csv");
    fs::write(&file, records(user.trim())).unwrap();
    let file = file.to_str().unwrap();
    let quote = [
        "quote",
        "-d",
        "+4m",
        "--otherwise",
        "reject",
        "--format",
        "json",
        "--name",
        "simulate",
        "true",
    ];
    let refused = site.tollgate(&quote);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let before: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(before["estimate_source"], "default");
    assert_eq!(before["decision"], "rejected", "{before}");

    let answer = site.tollgate(&["learn", file]).answer();
    let expected =
        "learned 60 of 62 records: 0 known already, 1 without a run, 1 without success\n";
    assert_eq!(answer, expected);
    let again = site.tollgate(&["learn", file, "--format", "json"]).json();
    assert_eq!(again["learned"], 0, "{again}");
    assert_eq!(again["known"], 60, "{again}");

    let after = site.tollgate(&quote).json();
    // The records name another program than the quote: what is known are the jobs of the user.
    assert_eq!(after["estimate_source"], "user_jobs", "{after}");
    assert_eq!(after["decision"], "accepted", "{after}");
    let from = after["forecast_from"].as_str().unwrap();
    assert_eq!(from, "32 runs of your jobs");
    let other = ["quote", "--format", "json", "--name", "other", "true"];
    let other = site.tollgate(&other).json();
    assert_eq!(other["estimate_source"], "user_jobs", "{other}");
    let estimate_s = other["estimate_s"].as_f64().unwrap();
    assert!((100.0..1000.0).contains(&estimate_s), "{other}");
}

#[test]
fn forecast_state_is_no_record() {
    let site = ClientTestSite::start("");
    let file = site.folder().join("jobs.csv");
    fs::write(&file, records("ada")).unwrap();
    site.tollgate(&["forecast", "jobs.csv", "--state", "state.json"])
        .answer();
    let refused = site.tollgate(&["learn", "state.json"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let expected = "error: state.json: a state of `tollgate forecast`, whose classes are not those of \
                    a service\nhint: name the records that it was learned from\n";
    assert_eq!(refused.stderr, expected);
}

#[test]
fn unfinished_jobs_go_on_under_their_policy_if_the_settings_name_none() {
    let mut site = ClientTestSite::start_with("", &["--policy", "fcfs"]);
    site.tollgate(&["submit", "-q", "-o", "none", "sleep", "600"])
        .answer();
    site.stop();
    let data = site.folder().join("data");
    let policy = || site.tollgate(&["status", "--format", "json"]).json()["policy"].clone();
    let beside = site.serve_beside(data.to_str().unwrap());
    assert_eq!(policy(), "fcfs");
    assert!(site.other_log_has("the settings name no policy: unfinished jobs go on under theirs"));
    site.tollgate(&["cancel", "1"]).answer();
    let _ = site.tollgate(&["wait", "1"]);
    drop(beside);
    let _beside = site.serve_beside(data.to_str().unwrap());
    assert_eq!(policy(), "plan:share=auto");
}

//! The JSON output of each command, which is a contract with users.

use super::site::{ClientTestSite, redacted};

#[test]
fn every_answer_as_json() {
    let site = ClientTestSite::start("");
    let words = [
        "submit",
        "--estimate",
        "2s",
        "--deadline",
        "+1h",
        "--output",
        "none",
        "--format",
        "json",
        "true",
    ];
    insta::assert_snapshot!(
        "submit",
        format!("{:#}", redacted(site.tollgate(&words).json()))
    );
    site.tollgate(&["wait", "1", "--quiet"]).answer();
    // The node depends on the machine, and the run time on the moment.
    let mut status = redacted(site.tollgate(&["status", "--format", "json"]).json());
    status["nodes"] = "[nodes]".into();
    status["idle_nodes"] = "[nodes]".into();
    status["objectives"]["wait_s"] = "[span]".into();
    insta::assert_snapshot!("status", format!("{status:#}"));
    let mut calibration = site.tollgate(&["calibration", "--format", "json"]).json();
    calibration["bins"][0]["promised"] = "[probability]".into();
    calibration["bins"][0]["from"] = "[probability]".into();
    calibration["bins"][0]["to"] = "[probability]".into();
    calibration["by_batches"][0]["promised"] = "[probability]".into();
    insta::assert_snapshot!("calibration", format!("{calibration:#}"));
    let mut nodes = site.tollgate(&["nodes", "--format", "json"]).json();
    assert_eq!(nodes["enforced"].as_array().unwrap().len(), 6);
    nodes["enforced"] = "[words]".into();
    nodes["memory_per_node_bytes"] = "[bytes]".into();
    nodes["nodes"] = nodes["nodes"][0].clone();
    insta::assert_snapshot!("nodes", format!("{nodes:#}"));
    for words in [
        &["jobs", "--all"][..],
        &["explain", "1"],
        &["wait", "1"],
        &["ledger"],
    ] {
        let answer = site
            .tollgate(&[words, &["--format", "json"]].concat())
            .json();
        insta::assert_snapshot!(words[0], format!("{:#}", redacted(answer)));
    }
    assert_eq!(site.tollgate(&["status", "--format", "csv"]).code, Some(2));
}

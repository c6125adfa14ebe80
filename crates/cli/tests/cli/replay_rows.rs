//! The rows of `tollgate replay --jobs-out` say what its answer sums up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::program::{folder, tollgate};

#[test]
fn calibration_follows_from_the_rows_of_jobs() {
    let words = [
        "replay",
        "--last",
        "300",
        "--policy",
        "plan",
        "--calibration",
        "--format",
        "json",
        "--jobs-out",
        "stated.csv",
    ];
    let answer: Value = serde_json::from_str(&tollgate(&words).stdout).unwrap();
    let bins = answer["policies"][0]["calibration"].as_array().unwrap();
    let sum = |key: &str| {
        let jobs = bins.iter().filter(|bin| bin["of"] == "jobs");
        jobs.map(|bin| bin[key].as_f64().unwrap()).sum::<f64>()
    };
    let promised = bins.iter().filter(|bin| bin["of"] == "jobs").map(|bin| {
        bin["promises"].as_f64().unwrap() * bin["promised_pct"].as_f64().unwrap_or(0.0) / 100.0
    });
    let promised: f64 = promised.sum();
    let text = fs::read_to_string(folder().join("stated.csv")).unwrap();
    let mut lines = text
        .lines()
        .map(|line| line.split(',').collect::<Vec<&str>>());
    let header = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let stated: Vec<&Vec<&str>> = rows
        .iter()
        .filter(|row| !row[column("probability")].is_empty() && row[column("task")].is_empty())
        .collect();
    let probabilities = stated
        .iter()
        .map(|row| row[column("probability")].parse::<f64>().unwrap());
    let n_kept = stated
        .iter()
        .filter(|row| row[column("deadline_met")] == "true")
        .count();
    assert!(stated.len() > 100, "{}", stated.len());
    assert_eq!(stated.len() as f64, sum("promises"));
    assert_eq!(n_kept as f64, sum("kept"));
    let by_rows: f64 = probabilities.sum();
    assert!((by_rows - promised).abs() < 1e-6, "{by_rows} {promised}");
    // The rows have the same where nobody asks for the calibration.
    let mut alone = words;
    alone[words
        .iter()
        .position(|word| *word == "--calibration")
        .unwrap()] = "--quiet";
    alone[words.len() - 1] = "stated-alone.csv";
    tollgate(&alone);
    assert_eq!(
        fs::read_to_string(folder().join("stated-alone.csv")).unwrap(),
        text
    );
    // A job that ran has a class and a batch, and no batch is in two classes.
    let mut class_of = BTreeMap::new();
    for row in rows.iter().filter(|row| !row[column("start_s")].is_empty()) {
        let (class, batch) = (row[column("class")], row[column("batch")]);
        assert!(!class.is_empty() && !batch.is_empty(), "{row:?}");
        assert_eq!(*class_of.entry(batch).or_insert(class), class, "{row:?}");
        let is_promised = row[column("decision")] == "accepted";
        assert_eq!(!row[column("planned_run_s")].is_empty(), is_promised);
    }
    let n_classes: BTreeSet<&str> = class_of.values().copied().collect();
    assert!(1 < n_classes.len() && n_classes.len() < class_of.len());
}

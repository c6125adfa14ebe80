//! `tollgate forecast`: forecasts for classes and for one job, and their accuracy.

use std::fs;

use crate::program::{file, folder, tollgate, tollgate_reading};

/// Returns a job table: `ann` is steady, `bob` changes mode, `eve` runs two programs, and `joe`
/// submits one job.
fn table() -> String {
    let mut table = String::from(
        "job_id,submit_s,runtime_s,procs,estimate_s,user,executable,wait_s,cpu_time_s,peak_memory_bytes\n",
    );
    for job in 0..400_i64 {
        let noise = job * 7919 % 13;
        let (user, executable, runtime) = match job % 4 {
            0 => ("ann", "sim", 600 + noise),
            1 if job < 200 => ("bob", "fit", 100 + noise),
            1 => ("bob", "fit", 3_000 + 20 * noise),
            _ if job % 8 < 4 => ("eve", "short", 30 + noise),
            _ => ("eve", "long", 7_000 + 50 * noise),
        };
        let (submit, cpu) = (1_000_000_000 + 900 * job, 2 * runtime);
        let memory = 1_048_576 * (100 + noise);
        table +=
            &format!("{job},{submit},{runtime},2,7200,{user},{executable},60,{cpu},{memory}\n");
    }
    table + "400,1000360000,50,1,,joe,,0,,\n"
}

fn jobs(name: &'static str) -> &'static str {
    file(name, table().as_bytes())
}

#[test]
fn forecast_lists_every_class() {
    insta::assert_snapshot!(tollgate(&["forecast", jobs("classes.csv")]));
}

#[test]
fn classes_as_json_and_csv() {
    let name = jobs("formats.csv");
    let words = ["forecast", name, "-q", "--level", "0.9,0.975", "--format"];
    insta::assert_snapshot!("classes_json", tollgate(&[&words[..], &["json"]].concat()));
    insta::assert_snapshot!("classes_csv", tollgate(&[&words[..], &["csv"]].concat()));
}

#[test]
fn classes_use_the_given_keys() {
    let words = ["forecast", jobs("keys.csv"), "-q", "--by", "user,exe"];
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn one_job_is_explained() {
    let name = jobs("explained.csv");
    let job = [
        "--user",
        "eve",
        "--exe",
        "long",
        "--procs",
        "2",
        "--estimate",
        "2h",
    ];
    let words = [&["forecast", name, "-q", "--explain"][..], &job].concat();
    insta::assert_snapshot!("explained", tollgate(&words));
    insta::assert_snapshot!(
        "explained_json",
        tollgate(&[&words[..], &["--format", "json"]].concat())
    );
    let words = ["forecast", name, "-q", "--explain", "--user", "zoe"];
    insta::assert_snapshot!("explained_cold", tollgate(&words));
}

#[test]
fn answers_never_contradict_themselves() {
    let name = jobs("consistent.csv");
    let json = |words: &[&str]| -> serde_json::Value {
        let words = [&["forecast", name, "-q", "--format", "json"][..], words].concat();
        serde_json::from_str(&tollgate(&words).answer()).unwrap()
    };
    let secs = |value: &serde_json::Value| value.as_f64().unwrap();
    for class in json(&["--level", "0.5,0.9,0.95"])["classes"]
        .as_array()
        .unwrap()
    {
        let bounds = &class["quantiles_s"];
        assert_eq!(class["point_s"], bounds["0.5"], "{class}");
        assert!(secs(&bounds["0.5"]) < secs(&bounds["0.9"]), "{class}");
        assert!(secs(&bounds["0.9"]) < secs(&bounds["0.95"]), "{class}");
        let known_from = class["known_from"].as_str().unwrap();
        assert!(!known_from.contains("changing"), "{class}");
    }
    for (user, estimate) in [("ann", "2h"), ("bob", "1h"), ("eve", "30s"), ("zoe", "2h")] {
        let job = [
            "--explain",
            "--user",
            user,
            "--procs",
            "2",
            "--estimate",
            estimate,
        ];
        let answer = json(&job);
        let bounds = answer["quantiles_s"].as_object().unwrap();
        assert_eq!(answer["point_s"], bounds["0.5"], "{answer}");
        let ascending: Vec<f64> = bounds.values().map(secs).collect();
        assert_eq!(ascending.len(), 12);
        let estimate = secs(&answer["estimate_s"]);
        let is_capped = |low: &f64, high: &f64| low == high && *low == estimate;
        let ascends = ascending.is_sorted_by(|low, high| low < high || is_capped(low, high));
        assert!(ascends, "{answer}");
        let within = secs(&answer["within_estimate"]);
        for (level, bound) in bounds {
            let is_stated_longer = secs(bound) > estimate;
            assert!(
                !is_stated_longer || level.parse::<f64>().unwrap() > within,
                "{answer}"
            );
        }
    }
}

#[test]
fn saved_state_is_continued() {
    let name = jobs("learned.csv");
    let state = folder().join("learned.json");
    let _ = fs::remove_file(&state);
    let words = ["forecast", name, "--state", "learned.json"];
    let first = tollgate(&words);
    let kept = fs::read(&state).unwrap();
    let again = tollgate(&words);
    assert_eq!(first.stdout, again.stdout);
    assert!(again.stderr.contains("401 records left out"), "{again}");
    assert!(
        again
            .stderr
            .contains("learned.json: 401 jobs learned before"),
        "{again}"
    );
    assert_eq!(fs::read(&state).unwrap(), kept);
    let alone = tollgate(&["forecast", "--state", "learned.json"]);
    assert_eq!(alone.answer(), first.stdout);
    let more = "job_id,submit_s,runtime_s,procs,user\n500,1001000000,610,2,ann\n";
    let ran = tollgate_reading(
        &["forecast", "-", "--state", "learned.json"],
        more.as_bytes(),
    );
    let answer = ran.answer();
    let ann = answer.lines().find(|line| line.starts_with("user ann"));
    assert!(ann.is_some_and(|line| line.contains(" 101 ")), "{answer}");
    let keys = ["forecast", "--state", "learned.json", "--by", "user,queue"];
    insta::assert_snapshot!("state_of_other_keys", tollgate(&keys));
}

#[test]
fn unusable_state_is_rejected() {
    let state = folder().join("whole.json");
    let _ = fs::remove_file(&state);
    tollgate(&["forecast", jobs("state.csv"), "--state", "whole.json"]).answer();
    let whole = fs::read_to_string(&state).unwrap();
    let other = whole.replacen("{\"version\":", "{\"version\":9", 1);
    for (name, text) in [
        ("cut.json", &whole[..whole.len() / 2]),
        ("other.json", other.as_str()),
        ("foreign.json", "{\"a\": 1}"),
        ("empty.json", ""),
    ] {
        let ran = tollgate(&["forecast", "--state", file(name, text.as_bytes())]);
        insta::assert_snapshot!(format!("state_{}", name.replace('.', "_")), ran);
    }
}

#[test]
fn forecasts_are_evaluated() {
    let name = jobs("evaluated.csv");
    insta::assert_snapshot!("evaluated", tollgate(&["forecast", "evaluate", name]));
    let words = [
        "forecast", "evaluate", name, "-q", "--series", "50", "--format", "json",
    ];
    let answer = tollgate(&words).answer();
    let all: serde_json::Value = serde_json::from_str(&answer).unwrap();
    for method in ["aggregate", "last", "tsafrir", "user_estimate"] {
        for setting in ["one_step", "causal"] {
            let figures = &all[method][setting];
            assert_eq!(figures["jobs"], 400, "{method}");
            assert_eq!(figures["promises"], 401, "{method}");
            for figure in ["mdape_pct", "mean_abs_ln"] {
                assert!(
                    figures[figure].as_f64().unwrap() >= 0.0,
                    "{method} {figure}"
                );
            }
            let coverage = figures["coverage"]["0.95"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&coverage), "{method}: {coverage}");
            assert!(
                figures["bound_ratio"]["0.9"].as_f64().unwrap() > 0.0,
                "{method}"
            );
        }
    }
    let error = |method: &str| all[method]["causal"]["mean_abs_ln"].as_f64().unwrap();
    assert!(error("aggregate") < error("tsafrir"));
}

#[test]
fn an_evaluation_leaves_tables_a_report_and_pictures() {
    let name = jobs("reported.csv");
    let out = folder().join("evaluation");
    let _ = fs::remove_dir_all(&out);
    let words = [
        "forecast",
        "evaluate",
        name,
        "--series",
        "50",
        "--out",
        "evaluation",
    ];
    let stdout = tollgate(&words);
    assert!(
        stdout.stderr.contains("the report are in evaluation"),
        "{stdout}"
    );
    let methods = fs::read_to_string(out.join("methods.csv")).unwrap();
    assert!(
        methods.starts_with("method,setting,jobs,mdape_pct,"),
        "{methods}"
    );
    assert_eq!(methods.lines().count(), 1 + 2 * 24);
    let classes = fs::read_to_string(out.join("classes.csv")).unwrap();
    assert_eq!(classes.lines().count(), 1 + 2 * 3, "{classes}");
    let periods = fs::read_to_string(out.join("periods.csv")).unwrap();
    assert!(periods.contains("\n2001-09,causal,"), "{periods}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for words in ["Reliability", "Over time", "user bob", "user_estimate"] {
        assert!(page.contains(words), "{words}");
    }
    for picture in ["reliability", "over-time", "series-01"] {
        let svg = fs::read_to_string(out.join(format!("figures/{picture}.svg"))).unwrap();
        assert!(svg.starts_with("<svg"));
        assert!(out.join(format!("figures/{picture}.png")).exists());
    }
    let first: Vec<u8> = fs::read(out.join("report.html")).unwrap();
    tollgate(&words).answer();
    assert_eq!(fs::read(out.join("report.html")).unwrap(), first);
}

/// Forecasts a job table with these lines under a header.
fn forecast_of(name: &'static str, lines: &str) -> String {
    let text = format!("job_id,submit_s,runtime_s,procs,user\n{lines}");
    let words = ["forecast", file(name, text.as_bytes())];
    tollgate(&words).to_string()
}

#[test]
fn absurd_runtimes_are_reported_and_give_finite_bounds() {
    let lines = "1,0,NaN,1,ann\n2,1,0,1,ann\n3,2,-50,1,ann\n4,3,1e300,1,ann\n5,4,9e11,1,ann\n6,5,60,1,ann\n";
    insta::assert_snapshot!(forecast_of("absurd-runs.csv", lines));
}

#[test]
fn unordered_and_duplicate_records_are_accepted() {
    let lines = "1,900,60,1,ann\n2,300,61,1,ann\n3,600,62,1,ann\n2,300,61,1,ann\n";
    insta::assert_snapshot!(forecast_of("backwards.csv", lines));
}

#[test]
fn degenerate_classes_are_forecast() {
    let constant = (2..40).map(|job| format!("{job},{job}000,500,1,bob\n"));
    let lines = "1,0,60,1,ann\n".to_owned() + &constant.collect::<String>() + "50,60000,7,1,\n";
    insta::assert_snapshot!(forecast_of("few.csv", &lines));
}

#[test]
fn forecast_without_usable_jobs_is_rejected() {
    insta::assert_snapshot!(
        "never_ran",
        forecast_of("never-ran.csv", "1,0,0,1,ann\n2,1,-1,1,ann\n")
    );
    insta::assert_snapshot!("no_records", tollgate(&["forecast"]));
    insta::assert_snapshot!(
        "no_such_records",
        tollgate(&["forecast", "no-such-file.swf"])
    );
    insta::assert_snapshot!(
        "no_such_records_to_evaluate",
        tollgate(&["forecast", "evaluate", "no-such-file.swf"])
    );
}

#[test]
fn invalid_options_are_rejected() {
    let name = jobs("words.csv");
    for (case, words) in [
        ("level_above_one", ["--level", "95"]),
        ("level_no_number", ["--level", "most"]),
        ("unknown_key", ["--by", "colour"]),
        ("job_without_explain", ["--user", "ann"]),
    ] {
        let words = [&["forecast", name][..], &words].concat();
        insta::assert_snapshot!(case, tollgate(&words));
    }
    let words = ["forecast", name, "--explain", "--estimate", "soon"];
    insta::assert_snapshot!("estimate_no_time", tollgate(&words));
}

//! Tests of published or independently confirmed results, on real traces, through the command line.

use std::path::Path;

use serde_json::Value;

use crate::program::{tollgate, trace};

fn replay(trace: &Path, words: &[&str]) -> Vec<Value> {
    let file = trace.to_str().expect("a path of text");
    let all = [&["replay", file, "--quiet", "--format", "json"], words].concat();
    let answer: Value = serde_json::from_str(&tollgate(&all).answer()).unwrap();
    answer["policies"].as_array().unwrap().clone()
}

fn number(policy: &Value, key: &str) -> f64 {
    policy[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {policy}"))
}

/// Independent simulators agree on these results for textbook EASY: with one scheduling pass per
/// instant, with one pass per event, and without the processors that a reservation leaves over.
#[test]
fn easy_on_lublin() {
    let Some(trace) = trace("lublin_256.swf.gz") else {
        return;
    };
    let policies = "easy,easy:pass=event,easy:extra=false";
    let published = [
        ("97155.99", "590.054", "8730698"),
        ("97181.36", "590.753", "8730698"),
        ("117117.78", "442.143", "8820406"),
    ];
    let answers = replay(&trace, &["--policy", policies]);
    assert_eq!(answers.len(), published.len());
    for (answer, (wait, slowdown, makespan)) in answers.iter().zip(published) {
        assert_eq!(format!("{:.2}", number(answer, "mean_wait_s")), wait);
        assert_eq!(
            format!("{:.3}", number(answer, "mean_bounded_slowdown")),
            slowdown
        );
        assert_eq!(format!("{}", number(answer, "makespan_s")), makespan);
    }
}

/// Returns the means over seeds 1 to 5 of the fulfilled jobs, in % of the submitted jobs and in % of the
/// accepted jobs. Each task runs at a rate of its own, as in the paper.
fn sdsc_sp2(policy: &str, words: &[&str]) -> Option<(f64, f64)> {
    let trace = trace("SDSC-SP2-1998-4.2-cln.swf.gz")?;
    let of_seed = |seed: u32| {
        let seed = seed.to_string();
        let common = [
            "--last",
            "3000",
            "--deadlines",
            "paper",
            "--policy",
            policy,
            "--seed",
            &seed,
        ];
        // The flag changes nothing, and is refused, where no jobs share nodes.
        let tasks: &[&str] = match policy {
            "edf" => &[],
            _ => &["--tasks", "independent"],
        };
        let answer = replay(&trace, &[&common[..], tasks, words].concat()).remove(0);
        (
            number(&answer, "sla_pct"),
            number(&answer, "reliability_pct"),
        )
    };
    let all = (1..=5).map(of_seed);
    Some(all.fold((0.0, 0.0), |sum, one| {
        (sum.0 + one.0 / 5.0, sum.1 + one.1 / 5.0)
    }))
}

/// Asserts that two results agree. Two means of 5 seeds each lie within 1.9 deviations of a single
/// seed, which are 3 standard errors. The tolerance includes the rounding of the reference.
#[track_caller]
fn agree(found: f64, reference: f64, deviation: f64, rounding: f64) {
    let tolerance = 1.9 * deviation + rounding;
    let apart = (found - reference).abs();
    assert!(
        apart <= tolerance,
        "{found:.2} is not {reference} +- {tolerance:.2}"
    );
}

#[test]
fn accurate_estimates_on_sdsc_sp2() {
    for (policy, reference, deviation, rounding) in [
        ("edf", 77.0, 1.71, 0.5),
        ("libra", 97.7, 0.16, 0.05),
        ("libra-risk", 97.6, 0.20, 0.05),
    ] {
        let Some((sla, reliability)) = sdsc_sp2(policy, &["--inaccuracy", "0"]) else {
            return;
        };
        agree(sla, reference, deviation, rounding);
        assert_eq!(reliability, 100.0, "{policy} breaks no promise");
    }
}

#[test]
fn recorded_estimates_on_sdsc_sp2() {
    for (policy, reference, deviation) in [
        ("edf", 58.3, 1.09),
        ("libra", 59.1, 0.49),
        ("libra-risk", 83.5, 0.74),
    ] {
        let Some((sla, reliability)) = sdsc_sp2(policy, &[]) else {
            return;
        };
        agree(sla, reference, deviation, 0.05);
        if policy == "libra" {
            agree(reliability, 91.0, 0.25, 0.5);
        }
    }
}

#[test]
fn lead_of_libra_risk_grows_with_urgent_jobs() {
    for (urgent, reference, deviation) in [("0", 21.0, 0.67), ("1", 40.0, 1.23)] {
        let of = |policy| sdsc_sp2(policy, &["--high-urgency", urgent]);
        let (Some(risk), Some(libra)) = (of("libra-risk"), of("libra")) else {
            return;
        };
        agree(risk.0 - libra.0, reference, deviation, 0.5);
    }
}

/// The published subset, where jobs that never ran are left out after the cut.
#[test]
fn the_last_5000_of_sdsc_sp2() {
    let Some(trace) = trace("SDSC-SP2-1998-4.2-cln.swf.gz") else {
        return;
    };
    let published = ["--deadlines", "paper", "--tasks", "independent"];
    let answers = replay(&trace, &[&["--last", "5000"], &published[..]].concat());
    assert_eq!(answers.len(), 12);
    for answer in &answers {
        assert_eq!(answer["submitted"], 4531);
        let utilisation = number(answer, "utilisation");
        assert!((0.5..0.9).contains(&utilisation), "{answer}");
    }
    let sla = |name: &str| {
        let answer = answers.iter().find(|answer| answer["policy"] == name);
        number(answer.unwrap(), "sla_pct")
    };
    assert!(sla("libra-risk") > sla("libra") + 15.0);
    assert!(sla("easy") > sla("conservative") && sla("conservative") > sla("fcfs"));
}

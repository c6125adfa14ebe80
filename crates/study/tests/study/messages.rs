//! Tests of the messages for a file that is not a valid experiment.

use crate::common::SMALL;
use tollgate_policies::builtin_registry;
use tollgate_study::{Experiment, ExperimentOverrides, Study};

/// Returns the message for the small experiment with one text replaced.
fn message(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    let text = SMALL.replacen(from, to, 1);
    let error = Experiment::parse("small.toml", &text, &builtin_registry()).expect_err(to);
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

#[test]
fn unknown_key_error_has_line_and_suggestion() {
    let messages = [
        message("vary =", "varry ="),
        message("title =", "colour ="),
        message("[[scenario]]", "[[scenarios]]"),
        message("inaccuracy = 0", "inacuracy = 0"),
        message("\"high-urgency\"", "\"high-urgent\""),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn invalid_value_error_has_line_and_legal_values() {
    let messages = [
        message("[0, 0.2, 1]", "[0, 20, 1]"),
        message("[0, 0.2, 1]", "[0, 0.2, 0.2]"),
        message("[0, 0.2, 1]", "[]"),
        message("[0, 0.2, 1]", "\"all\""),
        message("inaccuracy = 0", "inaccuracy = -1"),
        message("seeds = 2", "seeds = 0"),
        message("[workload]", "[world]\nspeeds = \"64*1,0\"\n\n[workload]"),
        message("\"commodity\"", "\"comodity\""),
        message("\"fcfs-bf\"", "\"fifo\""),
        message("name = \"B\"", "name = \"A\""),
        message("name = \"B\"", "name = \"B/C\""),
        message("name = \"small\"", "name = small"),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn claim_that_does_not_fit_the_experiment_is_rejected() {
    let messages = [
        message("sets = [\"A\", \"B\"]", "sets = [\"A\", \"C\"]"),
        message("policies = [\"libra\"]", "policies = [\"libra-risk\"]"),
        message("[\"mix\", \"penalty\"]", "[\"mix\", \"penalties\"]"),
        message("\"wait_s\"", "\"wait\""),
        message("\"wait_s\"", "\"performance\""),
        message("relation = \"is\"", "relation = \"greater\""),
        message("relation = \"is\"", "relation = \"is\"\nby = 1"),
        message("relation = \"is\"", "relation = \"crosses\""),
        message("market = \"commodity\"\nscenarios", "scenarios"),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn speeds_belong_to_the_cluster() {
    let world = "[world]\nkind = \"federation\"\nspeeds = \"2\"\n\n[workload]";
    let found = message("[workload]", world);
    assert!(
        found.contains("the world `federation` has no speeds of nodes"),
        "{found}"
    );
}

#[test]
fn speeds_of_another_machine_are_rejected() {
    let text = SMALL.replacen("[workload]", "[world]\nspeeds = \"64*1\"\n\n[workload]", 1);
    let experiment = Experiment::parse("small.toml", &text, &builtin_registry()).unwrap();
    let changes = ExperimentOverrides::default();
    let error = Study::new(experiment, text, &changes, &builtin_registry()).unwrap_err();
    let hint = error.hint().unwrap();
    insta::assert_snapshot!(format!("{error} ({hint})"), @"world.speeds: speeds of 64 nodes, but the machine has 128 (a last speed without a count takes the rest of the nodes)");
}

#[test]
fn missing_study_is_reported() {
    let error = Study::open(
        "libra-risk",
        &ExperimentOverrides::default(),
        &builtin_registry(),
    )
    .unwrap_err();
    let hint = error.hint().unwrap();
    insta::assert_snapshot!(format!("{error} ({hint})"), @"there is no study `libra-risk`, neither built in nor as a file (built in are grid-2005, libra-risk-2006, integrated-risk-2008, admission-tests, mycluster-2009, miscreant-2013, honest-2026)");
}

#[test]
fn invalid_override_is_rejected() {
    let message = |changes| {
        let error = Study::open("libra-risk-2006", &changes, &builtin_registry()).unwrap_err();
        error.to_string()
    };
    let seeds = ExperimentOverrides {
        seeds: Some(0),
        ..ExperimentOverrides::default()
    };
    assert_eq!(
        message(seeds),
        "the number of seeds is 0: expected at least 1"
    );
    let scale = ExperimentOverrides {
        scale: Some(f64::NAN),
        ..ExperimentOverrides::default()
    };
    assert_eq!(
        message(scale),
        "the scale is NaN: expected a positive number"
    );
}

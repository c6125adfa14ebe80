//! The page about a finished study.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tollgate_policies::builtin_registry;
use tollgate_report::study::{FinishedStudy, FinishedStudyError, page};
use tollgate_study::{Experiment, ExperimentOverrides, OnExistingResults, OutputDir, Study};

use crate::xml::texts;

/// A study of two markets and two sets with one scenario, which lists everything that can be
/// listed.
const LISTED: &str = r#"
name = "small"
title = "A small <study>"
source = "Smith & Sons"
seeds = 3

[workload]
last = 60
deadlines = "paper"

[[market]]
name = "commodity"
policies = ["fcfs-bf", "libra"]

[[market]]
name = "bid"
policies = ["libra", "libra-risk"]

[[set]]
name = "A"
title = "accurate"
settings = { inaccuracy = 0 }

[[set]]
name = "B"

[[scenario]]
name = "workload"
title = "Arrival delay factor"
vary = "arrival-factor"
values = [0.1, 0.5, 1]

[[curves]]
id = "figure-1"
title = "Waiting"
set = "B"
market = "bid"
scenario = "workload"
measure = "wait_s"

[[risk-plot]]
id = "figure-2"
title = "Set A: wait, sla"
set = "A"
market = "commodity"
objectives = ["wait", "sla"]

[[claim]]
id = "rises"
source = "here"
claim = "Libra fulfils more <with> less work"
expected = "holds"
sets = ["A"]
market = "bid"
scenarios = ["workload"]
measure = "sla_pct"
policies = ["libra"]
relation = "rising"
"#;

/// A study without payments that lists nothing.
const BARE: &str = r#"
name = "bare"
title = "Nothing listed"
seeds = 1

[workload]
last = 40
deadlines = "paper"

[[market]]
name = "none"
policies = ["edf", "libra"]

[[set]]
name = "only"

[[scenario]]
name = "urgency"
vary = "high-urgency"
values = [0, 1]
"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(concat!(
        env!("CARGO_TARGET_TMPDIR"),
        "/",
        env!("CARGO_PKG_NAME")
    ))
    .join("studies")
    .join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    folder
}

fn finished(name: &str, text: &str) -> FinishedStudy {
    let folder = folder(name);
    let experiment = Experiment::parse(name, text, &builtin_registry()).unwrap();
    let study = Study::new(
        experiment,
        text.to_owned(),
        &ExperimentOverrides::default(),
        &builtin_registry(),
    )
    .unwrap();
    let place = OutputDir::create(&folder).unwrap();
    study
        .run(&place, NonZeroUsize::MIN, OnExistingResults::Refuse, |_| {})
        .unwrap();
    FinishedStudy::read(&folder).unwrap()
}

#[test]
fn only_listed_figures_are_shown() {
    let page = page(&finished("listed", LISTED), None);
    let headings: Vec<&str> = page.sections.iter().map(|s| s.heading.as_str()).collect();
    let risk = "Risk analysis: commodity market, set A, accurate";
    assert_eq!(headings, ["Input", "Curves", risk, "Claims"]);
    let pictures = page.pictures();
    let names: Vec<&str> = pictures.keys().copied().collect();
    assert_eq!(names, ["figure-1", "figure-2"]);
    let labels = pictures.values().flat_map(|svg| texts(svg));
    let labels: Vec<String> = labels.collect();
    for words in [
        "Figure 1: Waiting",
        "Arrival delay factor",
        "libra-risk",
        "Figure 2: Set A: wait, sla",
        "fcfs-bf",
    ] {
        assert!(
            labels.iter().any(|text| text == words),
            "{words}: {labels:?}"
        );
    }
    let html = page.to_html();
    assert!(html.contains("A small &lt;study&gt;") && html.contains("Smith &amp; Sons"));
    assert!(html.contains("Libra fulfils more &lt;with&gt; less work"));
    assert!(html.contains("Ranking by best volatility: wait, SLA"));
}

#[test]
fn custom_weights_are_plotted_next_to_listed_objectives() {
    let weights = "wait=0.25,sla=0.75".parse().unwrap();
    let page = page(&finished("weights", LISTED), Some(&weights));
    let pictures = page.pictures();
    assert!(pictures.contains_key("risk-commodity-A-weighted"));
    assert!(page.to_html().contains("Weighted: wait=0.25,sla=0.75"));
}

#[test]
fn policy_has_the_same_style_in_every_figure() {
    let page = page(&finished("looks", LISTED), None);
    for svg in page.pictures().values() {
        // The second policy of the experiment, at any position in a picture.
        let (before, _) = svg
            .split_once(">libra</text>")
            .expect("libra in the legend");
        let look = before.rsplit("class=\"s").next().expect("a look");
        assert!(look.starts_with("1\""), "{look}");
    }
}

#[test]
fn without_a_list_every_measured_metric_is_shown() {
    let page = page(&finished("bare", BARE), None);
    let pictures = page.pictures();
    let names: Vec<&str> = pictures.keys().copied().collect();
    assert_eq!(
        names,
        [
            "curves-none-only-urgency-reliability",
            "curves-none-only-urgency-sla",
            "curves-none-only-urgency-wait",
            "risk-none-only-reliability",
            "risk-none-only-sla",
            "risk-none-only-wait",
            "risk-none-only-wait-sla-reliability",
        ]
    );
    let html = page.to_html();
    assert!(html.contains("One seed was run"));
    assert!(
        !html.contains("cannot be told apart</td>"),
        "one seed tells nothing"
    );
    assert!(!html.contains(">Claims<"));
}

#[test]
fn same_study_gives_the_same_bytes() {
    let once = page(&finished("once", LISTED), None).to_html();
    assert_eq!(once, page(&finished("twice", LISTED), None).to_html());
}

#[test]
fn error_names_the_missing_file_of_a_study() {
    let nothing = folder("nothing");
    let error = FinishedStudy::read(&nothing).unwrap_err();
    assert!(
        error.to_string().contains("summary.json: cannot be read"),
        "{error}"
    );
    assert!(error.hint().is_some());

    finished("damaged", LISTED);
    let damaged = Path::new(concat!(
        env!("CARGO_TARGET_TMPDIR"),
        "/",
        env!("CARGO_PKG_NAME")
    ))
    .join("studies/damaged");
    fs::write(damaged.join("results.csv"), "set,market\nA,bid\n").unwrap();
    let error = FinishedStudy::read(&damaged).unwrap_err();
    assert!(
        matches!(error, FinishedStudyError::Results { .. }),
        "{error}"
    );
    fs::write(damaged.join("summary.json"), "{}").unwrap();
    let error = FinishedStudy::read(&damaged).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected the summary of a study"),
        "{error}"
    );
}

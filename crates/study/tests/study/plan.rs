//! Tests that identical runs are planned once.

use crate::common::{SMALL, small, study};
use tollgate_policies::builtin_registry;
use tollgate_study::StudyResults;
use tollgate_study::plan::BatchWork;

/// Two scenarios with three values: five settings in the bid market, whose users bid penalties,
/// three in the commodity market; two sets, two seeds, two policies.
#[test]
fn each_setting_is_run_once() {
    let study = small();
    assert_eq!(study.plan().rows.len(), 2 * 2 * 2 * 3 * 2 * 2);
    assert_eq!(study.plan().runs(), (5 + 3) * 2 * 2 * 2);
}

#[test]
fn set_without_changes_needs_no_runs() {
    let same = study(&SMALL.replace("settings = { inaccuracy = 0 }", ""));
    assert_eq!(same.plan().runs(), small().plan().runs() / 2);
}

#[test]
fn results_table_round_trips() {
    let scratch = crate::common::ScratchDir::new("read-back");
    let folder = scratch.folder();
    let run = small().run(
        &folder,
        crate::common::threads(1),
        tollgate_study::OnExistingResults::Refuse,
        |_| {},
    );
    let (results, ledger) = run.unwrap();
    let bytes = std::fs::read(folder.path("results.csv")).unwrap();
    let read = StudyResults::read(small().experiment().clone(), bytes.as_slice()).unwrap();
    assert_eq!(read.rows(), results.rows());
    assert_eq!(ledger.unexpected_failures().count(), 0);

    let text = String::from_utf8(bytes).unwrap();
    let cut = text.trim_end().rsplit_once('\n').unwrap().0;
    let error = StudyResults::read(small().experiment().clone(), cut.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "there are 95 rows: expected 96");
    let swapped = text.replacen("fcfs-bf", "sjf-bf", 1);
    let error = StudyResults::read(small().experiment().clone(), swapped.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2: expected the results of A,commodity,mix,high-urgency,0,fcfs-bf,1"
    );
}

#[test]
fn scenario_runs_only_the_policies_it_names() {
    let text = r#"
name = "some"
title = "Some"

[world]
kind = "campus"
scale = 0.01

[[market]]
name = "none"
policies = ["x0/c1", "n1:{n}/c1", "n2:{n}/c2"]

[[set]]
name = "short"
settings = { days = 20 }

[[scenario]]
name = "all"
vary = "n"
values = [3]

[[scenario]]
name = "some"
vary = "n"
values = [1, 3]
policies = ["n1:{n}/c1"]
"#;
    let study = crate::common::study(text);
    // The second scenario adds one run: with n = 3 its policy was run in the first.
    assert_eq!((study.plan().rows.len(), study.plan().runs()), (5, 4));
    let strange = text.replace("[\"n1:{n}/c1\"]", "[\"n3:{n}/c1\"]");
    let error =
        tollgate_study::Experiment::parse("some.toml", &strange, &builtin_registry()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no market has a policy `n3:{n}/c1`"),
        "{error}"
    );
}

/// A scenario may vary the cost of preemption; the value of `[base]` holds elsewhere.
#[test]
fn cost_of_preemption_is_varied() {
    let world = "\n[base]\npreemption-cost = 30\n\n[[market]]";
    let text = SMALL.replacen("\n[[market]]", world, 1);
    let varied = text
        .replacen("\"high-urgency\"", "\"preemption-cost\"", 1)
        .replacen("[0, 0.2, 1]", "[0, 30, 600]", 1);
    let study = study(&varied);
    let costs = study
        .plan()
        .batches
        .iter()
        .filter_map(|batch| match &batch.work {
            BatchWork::Cluster(jobs) => Some(jobs.preemption_cost.as_secs_f64()),
            BatchWork::World(_) => None,
        });
    let mut costs: Vec<f64> = costs.collect();
    costs.sort_by(f64::total_cmp);
    costs.dedup();
    assert_eq!(costs, [0.0, 30.0, 600.0]);
}

//! Tests of intervals over the weeks of a record: seeds draw other deadlines and leave the jobs as they are.

use crate::common::{SMALL, ScratchDir, run_afresh, study, threads};
use tollgate_risk::{Normalisation, Objective, Weights};
use tollgate_study::{
    ClaimResults, OnExistingResults, RiskAnalysis, Study, StudyChunk, StudyResults,
};

const DAY_S: u64 = 86_400;

/// Returns the study of a record of six weeks on a machine of two processors. In every other week twelve jobs come at
/// once, and not one, so that most of them are late whatever a seed draws.
fn six_weeks(scratch: &ScratchDir) -> Study {
    let mut record = String::from("; MaxProcs: 2\n");
    for day in 0..42 {
        for number in 0..1 + day / 7 % 2 * 11 {
            let (submit, run) = (day * DAY_S, 7200);
            record += &format!(
                "{} {submit} 0 {run} 2 {run} 0 2 {run} 0 1 1 1 1 1 1 -1 -1\n",
                12 * day + number + 1
            );
        }
    }
    let file = scratch.folder().path("record.swf");
    std::fs::write(&file, record).unwrap();
    let named = format!("file = {:?}\ndeadlines", file.display());
    study(
        &SMALL
            .replace("last = 40\n", "")
            .replacen("deadlines", &named, 1),
    )
}

fn results(study: &Study, scratch: &ScratchDir) -> StudyResults {
    let run = study.run(
        &scratch.folder(),
        threads(2),
        OnExistingResults::Resume,
        |_| {},
    );
    run.unwrap().0
}

#[test]
fn weeks_that_differ_widen_an_interval_that_seeds_leave_narrow() {
    let scratch = ScratchDir::new("six-weeks");
    let results = results(&six_weeks(&scratch), &scratch);
    assert_eq!(
        results.without_parts().len(),
        5,
        "whole weeks between the first job and the last"
    );
    let analysis = RiskAnalysis::of(&results, 0, 0, Normalisation::Percent);
    let sla = Weights::equal(&[Objective::Sla]).unwrap();
    let performance = analysis.points(0, &sla).unwrap()[0].performance;
    let (seeds, weeks) = (performance.interval.unwrap(), performance.by_weeks.unwrap());
    assert!(weeks.contains(performance.mean));
    assert!(
        weeks.high - weeks.low > 2.0 * (seeds.high - seeds.low),
        "{seeds:?} {weeks:?}"
    );
    assert_eq!(performance.widest(), Some(weeks));
}

#[test]
fn claims_have_a_verdict_over_weeks() {
    let scratch = ScratchDir::new("claims-over-weeks");
    let ledger = ClaimResults::of(&results(&six_weeks(&scratch), &scratch));
    for entry in &ledger.entries {
        assert!(entry.over_weeks.is_some(), "{entry:?}");
    }
    let small = ClaimResults::of(&results(&study(SMALL), &ScratchDir::new("no-weeks")));
    assert!(small.entries.iter().all(|entry| entry.over_weeks.is_none()));
}

#[test]
fn results_without_weeks_are_read_back_and_resumed() {
    let scratch = ScratchDir::new("weeks-read-back");
    let study = six_weeks(&scratch);
    study
        .run_chunk(&scratch.folder(), StudyChunk::WHOLE, threads(1), |_| {})
        .unwrap();
    let first = results(&study, &scratch);
    let read = results(&study, &scratch);
    assert_eq!(first.without_parts().len(), read.without_parts().len());
    for (first, read) in first.without_parts().iter().zip(read.without_parts()) {
        assert_eq!(first.rows(), read.rows());
    }
    let others = ScratchDir::new("weeks-afresh");
    let afresh = run_afresh("weeks-whole", &six_weeks(&others), 2);
    let of = |files: &[(String, Vec<u8>)], name: &str| {
        files.iter().find(|(file, _)| file == name).cloned()
    };
    for name in ["weeks.csv", "claims.csv", "risk.csv", "rankings.csv"] {
        let resumed = of(&scratch.files(), name);
        assert!(resumed.is_some() && resumed == of(&afresh, name), "{name}");
    }
}

#[test]
fn damaged_table_of_weeks_names_its_line() {
    let scratch = ScratchDir::new("weeks-damaged");
    let study = six_weeks(&scratch);
    results(&study, &scratch);
    let file = scratch.folder().path("weeks.csv");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let swapped = [&lines[..2], &[lines[3], lines[2]], &lines[4..]]
        .concat()
        .join("\n");
    std::fs::write(&file, swapped).unwrap();
    let error = study
        .run(
            &scratch.folder(),
            threads(1),
            OnExistingResults::Resume,
            |_| {},
        )
        .unwrap_err();
    assert!(error.to_string().contains("weeks.csv: line 3"), "{error}");
}

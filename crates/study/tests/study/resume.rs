//! Tests that a killed study resumes where it stopped and ends with the same bytes as an
//! uninterrupted one.

use crate::common::{SMALL, ScratchDir, run_afresh, small, study, threads};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tollgate_sim::StopSignal;
use tollgate_study::{OnExistingResults, StudyChunk, StudyError};

/// Returns the journal of a whole run, as it is before the end.
fn journal(name: &str) -> Vec<u8> {
    let scratch = ScratchDir::new(name);
    small()
        .run_chunk(&scratch.folder(), StudyChunk::WHOLE, threads(1), |_| {})
        .unwrap();
    std::fs::read(scratch.folder().path("piece-1-of-1.csv")).unwrap()
}

#[test]
fn journal_truncated_anywhere_gives_the_same_results() {
    let expected = run_afresh("never-killed", &small(), 1);
    let journal = journal("killed-journal");
    let scratch = ScratchDir::new("killed");
    let config = Config {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::with_cases(3)
    };
    TestRunner::new(config)
        .run(&(0..=journal.len()), |cut| {
            std::fs::remove_dir_all(scratch.folder().path("")).unwrap();
            let folder = scratch.folder();
            std::fs::write(folder.path("journal.csv"), &journal[..cut]).unwrap();
            let mut first = None;
            small()
                .run(&folder, threads(2), OnExistingResults::Resume, |progress| {
                    first.get_or_insert(progress);
                })
                .unwrap();
            let noted = journal[..cut].iter().filter(|byte| **byte == b'\n').count();
            if let Some(progress) = first {
                prop_assert_eq!(progress.before, noted.saturating_sub(1));
            }
            prop_assert_eq!(&scratch.files(), &expected);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_damaged_line_is_run_again() {
    let expected = run_afresh("undamaged", &small(), 1);
    let mut journal = journal("damaged-journal");
    let middle = journal.len() / 2;
    journal[middle..middle + 8].fill(0);
    let scratch = ScratchDir::new("damaged");
    let folder = scratch.folder();
    std::fs::write(folder.path("journal.csv"), &journal).unwrap();
    small()
        .run(&folder, threads(1), OnExistingResults::Resume, |_| {})
        .unwrap();
    assert_eq!(scratch.files(), expected);
}

#[test]
fn a_finished_study_is_not_run_again() {
    let scratch = ScratchDir::new("finished");
    let folder = scratch.folder();
    small()
        .run(&folder, threads(1), OnExistingResults::Refuse, |_| {})
        .unwrap();
    let before = scratch.files();
    small()
        .run(&folder, threads(1), OnExistingResults::Resume, |_| {
            panic!("everything was there")
        })
        .unwrap();
    assert_eq!(scratch.files(), before);
}

#[test]
fn results_are_not_overwritten_without_consent() {
    let scratch = ScratchDir::new("occupied");
    let folder = scratch.folder();
    let run = |earlier| small().run(&folder, threads(1), earlier, |_| {});
    run(OnExistingResults::Refuse).unwrap();
    let error = run(OnExistingResults::Refuse).unwrap_err();
    assert!(matches!(error, StudyError::Occupied(_)), "{error}");
    assert!(error.hint().unwrap().contains("--resume"));
}

#[test]
fn another_study_is_not_resumed() {
    let scratch = ScratchDir::new("foreign");
    let folder = scratch.folder();
    std::fs::write(folder.path("journal.csv"), journal("foreign-journal")).unwrap();
    let other = study(&SMALL.replace("last = 40", "last = 41"));
    let error = other
        .run(&folder, threads(1), OnExistingResults::Resume, |_| {})
        .unwrap_err();
    assert!(matches!(error, StudyError::Foreign(_)), "{error}");
}

#[test]
fn claims_may_change_without_new_runs() {
    let scratch = ScratchDir::new("new-claims");
    let folder = scratch.folder();
    small()
        .run(&folder, threads(1), OnExistingResults::Refuse, |_| {})
        .unwrap();
    let other = study(&SMALL.replace("id = \"no-wait\"", "id = \"never-waits\""));
    let (_, ledger) = other
        .run(&folder, threads(1), OnExistingResults::Resume, |_| {
            panic!("a claim needs no run")
        })
        .unwrap();
    assert_eq!(ledger.entries[0].claim.id, "never-waits");
}

#[test]
fn stopped_study_goes_on_after_its_finished_runs() {
    let expected = run_afresh("never-stopped", &small(), 1);
    let scratch = ScratchDir::new("stopped");
    let folder = scratch.folder();
    let stop = StopSignal::new();
    let stopped =
        small()
            .with_stop(stop.clone())
            .run(&folder, threads(1), OnExistingResults::Refuse, |_| {
                stop.stop()
            });
    assert!(matches!(stopped, Err(StudyError::Run(_))), "{stopped:?}");
    let mut before = None;
    small()
        .run(&folder, threads(1), OnExistingResults::Resume, |progress| {
            before.get_or_insert(progress.before);
        })
        .unwrap();
    assert_eq!(before, Some(1));
    assert_eq!(scratch.files(), expected);
}

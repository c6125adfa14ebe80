//! Tests that the same experiment gives the same bytes for any number of threads or chunks.

use crate::common::{SMALL, ScratchDir, run_afresh, small, study, threads};
use tollgate_study::{OnExistingResults, StudyChunk};

#[test]
fn results_do_not_depend_on_threads() {
    assert_eq!(
        run_afresh("one-thread", &small(), 1),
        run_afresh("four-threads", &small(), 4)
    );
}

#[test]
fn runs_have_the_speeds_of_the_experiment() {
    let results = |speeds: &str| {
        let world = format!("[world]\nspeeds = \"{speeds}\"\n\n[workload]");
        let text = SMALL.replacen("[workload]", &world, 1);
        let files = run_afresh("speeds", &study(&text), 1).into_iter();
        let mut results = files.filter(|(name, _)| name == "results.csv");
        results.next().expect("a table of results")
    };
    let plain = run_afresh("no-speeds", &small(), 1);
    assert!(plain.contains(&results("64*1,1")));
    assert!(!plain.contains(&results("64*1,1.5")));
}

#[test]
fn chunks_combine_to_the_whole() {
    let expected = run_afresh("unchunked", &small(), 1);
    let scratch = ScratchDir::new("chunked");
    let folder = scratch.folder();
    for number in [3, 1, 2] {
        let chunk = StudyChunk::new(number, 3).unwrap();
        small()
            .run_chunk(&folder, chunk, threads(1), |_| {})
            .unwrap();
    }
    small()
        .run(&folder, threads(1), OnExistingResults::Resume, |_| {
            panic!("the chunks ran everything")
        })
        .unwrap();
    let mut files = scratch.files();
    files.retain(|(name, _)| !name.starts_with("piece-"));
    assert_eq!(files, expected);
}

#[test]
fn a_missing_chunk_is_run_when_gathering() {
    let expected = run_afresh("all-chunks", &small(), 1);
    let scratch = ScratchDir::new("missing-chunk");
    let folder = scratch.folder();
    small()
        .run_chunk(&folder, StudyChunk::new(2, 2).unwrap(), threads(1), |_| {})
        .unwrap();
    small()
        .run(&folder, threads(1), OnExistingResults::Resume, |_| {})
        .unwrap();
    let mut files = scratch.files();
    files.retain(|(name, _)| !name.starts_with("piece-"));
    assert_eq!(files, expected);
}

#[test]
fn chunk_numbers_start_at_one() {
    for word in ["0/3", "4/3", "1", "a/b", "1/0", ""] {
        let error = word.parse::<StudyChunk>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("`{word}` is not a chunk: expected K/N with K from 1 to N")
        );
    }
    let chunk: StudyChunk = "2/3".parse().unwrap();
    assert_eq!((chunk.number(), chunk.of()), (2, 3));
}

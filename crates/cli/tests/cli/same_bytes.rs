//! Tests that the same input gives the same bytes on any number of threads.

use std::fs;

use crate::program::{folder, tollgate};

#[test]
fn output_is_identical_on_one_and_on_several_threads() {
    let run = |threads: &str, file: &str| {
        let words = [
            "replay", "--last", "800", "--market", "bid", "--format", "json",
        ];
        let ran = tollgate(&[&words[..], &["--threads", threads, "--jobs-out", file]].concat());
        let rows = fs::read(folder().join(file)).unwrap();
        (ran, rows)
    };
    let one = run("1", "rows-1.csv");
    assert_eq!(one.0.code, Some(0), "{}", one.0);
    assert!(one.1.len() > 10_000);
    assert!(
        one == run("2", "rows-2.csv"),
        "2 threads say something else than 1"
    );
    assert!(
        one == run("7", "rows-7.csv"),
        "7 threads say something else than 1"
    );
}

//! Outputs that are kept, make room, and are removed.

use std::os::unix::fs::{MetadataExt, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tollgate_engine::output::{AttemptOutput, OutputBytes};
use tollgate_model::AttemptId;

use super::index::BLOCK_BYTES;
use super::*;

/// The owner of the jobs of these tests.
const OWNER: u32 = 1_000;

fn attempt(job: u64, attempt: u32) -> AttemptId {
    let task = 0;
    AttemptId { job, task, attempt }
}

fn piece(attempt: AttemptId, start: u64, bytes: &[u8], size: u64) -> CollectedOutput {
    let file = OutputFile {
        size,
        ..OutputFile::default()
    };
    let bytes = OutputBytes(bytes.to_owned());
    CollectedOutput {
        output: output_of(attempt),
        piece: Ok(OutputPiece { start, bytes, file }),
    }
}

fn output_of(attempt: AttemptId) -> AttemptOutput {
    let stream = AttemptStream::Output;
    AttemptOutput { attempt, stream }
}

fn name(job: u64) -> KeptName {
    let stream = AttemptStream::Output;
    let task = TaskId { job, task: 0 };
    KeptName { task, stream }
}

fn open(dir: &Path, max_bytes: u64) -> KeptOutputs {
    KeptOutputs::open(dir.to_owned(), max_bytes, |_| Ok(Some(OWNER))).unwrap()
}

fn text(dir: &Path, job: u64) -> Option<(u64, String, bool)> {
    let kept = KeptPiece::read(dir, name(job), 0, 100).unwrap()?;
    let text = String::from_utf8(kept.bytes).unwrap();
    Some((kept.start, text, kept.is_cut))
}

#[test]
fn pieces_of_an_attempt_are_one_output_and_the_next_attempt_replaces_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut kept = open(dir, 1 << 20);
    let (first, second) = (attempt(7, 1), attempt(7, 2));
    kept.add(&piece(first, 90, b"abc", 100), OWNER, Instant::ZERO)
        .unwrap();
    assert_eq!(text(dir, 7), Some((90, "abc".into(), true)));
    kept.add(&piece(first, 93, b"defghij", 100), OWNER, Instant::ZERO)
        .unwrap();
    let whole = Some((90, "abcdefghij".into(), false));
    assert_eq!(text(dir, 7), whole);
    // The worker did not hear that it was taken.
    kept.add(&piece(first, 90, b"abc", 100), OWNER, Instant::ZERO)
        .unwrap();
    assert_eq!(text(dir, 7), whole);
    let mode = fs::metadata(dir.join("7.0")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    let part = KeptPiece::read(dir, name(7), 98, 1);
    let part = part.unwrap().unwrap();
    assert_eq!((part.start, &part.bytes[..]), (98, &b"i"[..]));
    let problem = CollectedOutput {
        output: output_of(second),
        piece: Err("it is a symbolic link".to_owned()),
    };
    kept.add(&problem, OWNER, Instant::ZERO).unwrap();
    let none = KeptPiece::read(dir, name(7), 0, 9);
    let header = none.unwrap().unwrap().header;
    assert_eq!(header.attempt, 2);
    assert_eq!(header.problem.as_deref(), Some("it is a symbolic link"));
}

#[test]
fn errors_are_kept_beside_the_output_and_removed_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut kept = open(dir, 1 << 20);
    let output = piece(attempt(7, 1), 0, b"out", 3);
    let mut errors = piece(attempt(7, 1), 0, b"oops", 4);
    errors.output.stream = AttemptStream::Error;
    for piece in [&output, &errors] {
        kept.add(piece, OWNER, Instant::ZERO).unwrap();
    }
    let mut kept = open(dir, 1 << 20);
    let of_errors = kept_name(&errors);
    let read = KeptPiece::read(dir, of_errors, 0, 9).unwrap().unwrap();
    assert_eq!(read.bytes, b"oops");
    assert_eq!(text(dir, 7), Some((0, "out".into(), false)));
    kept.remove_job(7).unwrap();
    assert_eq!(KeptPiece::read(dir, of_errors, 0, 9).unwrap(), None);
    assert_eq!(text(dir, 7), None);
}

#[test]
fn oldest_outputs_make_room_and_the_removal_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut kept = open(dir, 4 * BLOCK_BYTES);
    for job in 1..=5 {
        kept.add(&piece(attempt(job, 1), 0, b"x", 1), OWNER, Instant::ZERO)
            .unwrap();
    }
    let left: Vec<u64> = (1..=5).filter(|&job| text(dir, job).is_some()).collect();
    assert_eq!(left, [3, 4, 5]);
    assert!(removed_until(dir) > Instant::ZERO);
    // The order of age and the sizes are found again.
    let mut kept = open(dir, 4 * BLOCK_BYTES);
    assert_eq!(kept.index.total(), 3 * BLOCK_BYTES);
    kept.remove_job(4).unwrap();
    assert_eq!((text(dir, 4), kept.index.total()), (None, 2 * BLOCK_BYTES));
}

#[test]
fn output_of_a_job_that_does_not_exist_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut kept = open(dir, 1 << 20);
    for job in [1, 2] {
        kept.add(&piece(attempt(job, 1), 0, b"x", 1), OWNER, Instant::ZERO)
            .unwrap();
    }
    let owner_of = |job| Ok((job == 1).then_some(OWNER));
    KeptOutputs::open(dir.to_owned(), 1 << 20, owner_of).unwrap();
    assert!(text(dir, 1).is_some());
    assert_eq!(text(dir, 2), None);
}

#[test]
fn link_or_pipe_in_place_of_an_output_is_neither_read_nor_written() {
    let place = tempfile::tempdir().unwrap();
    let (dir, other) = (place.path().join("outputs"), place.path().join("other"));
    let mut kept = open(&dir, 1 << 20);
    fs::write(&other, "kept").unwrap();
    let file = path(&dir, name(7));
    let new = piece(attempt(7, 1), 0, b"new", 3);
    for is_pipe in [false, true] {
        let _ = fs::remove_file(&file);
        match is_pipe {
            true => mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).unwrap(),
            false => symlink(&other, &file).unwrap(),
        }
        assert!(KeptPiece::read(&dir, name(7), 0, 10).is_err());
        assert!(kept.add(&new, OWNER, Instant::ZERO).is_err());
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
}

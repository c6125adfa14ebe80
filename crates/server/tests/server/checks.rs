//! The check of a store recovers it as a service would: what passes is served, with every job and sum as
//! before.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tollgate_policies::builtin_registry;
use tollgate_store::{FIRST, Store, StoreError, VERSION, backup};

use crate::common::store_sample::copy_sample_of;
use crate::damage::{StoreSample, answers, store_sample};
use crate::simulation::random::SplitMix;

/// Size of a page in bytes: little of a small store is unused space then.
const PAGE_SIZE: u32 = 512;

/// Rebuilds a store with small pages.
fn rebuild(path: &Path) {
    let sql = format!(
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = {PAGE_SIZE}; VACUUM;
         PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE);"
    );
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(&sql).unwrap();
}

/// Replaces the files of a store by one.
fn replace(store: &StoreSample, bytes: &[u8]) {
    for file in ["tollgate.db-wal", "tollgate.db-shm"] {
        let _ = fs::remove_file(store.data_dir.path().join(file));
    }
    fs::write(&store.path, bytes).unwrap();
}

/// One of this number of damaged stores is backed up, too.
const BACKUP_EVERY: u64 = 128;

/// Returns what a service reads from a backup of the store; None if the backup is refused.
fn answers_of_backup(store: &StoreSample) -> Option<String> {
    let copy = tempfile::tempdir().unwrap();
    let data = store.data_dir.path();
    backup::back_up(data, copy.path(), String::new(), &builtin_registry()).ok()?;
    Some(answers(&copy.path().join("tollgate.db")).unwrap())
}

/// Returns the distance between two damaged bytes: `TOLLGATE_FLIP_STEP`, or a default for a short test.
fn flip_step() -> usize {
    let variable = std::env::var("TOLLGATE_FLIP_STEP").ok();
    variable.map_or(251, |number| number.parse().expect("a number"))
}

#[test]
fn store_with_a_flipped_bit_that_passes_its_check_is_served() {
    let store = store_sample();
    rebuild(&store.path);
    let registry = builtin_registry();
    let check = || backup::check(store.data_dir.path(), &registry);
    check().unwrap();
    let expected = answers(&store.path).unwrap();
    let sound = fs::read(&store.path).unwrap();
    let mut random = SplitMix::new(64);
    let (mut passed, mut refused) = (0, 0);
    // The first bytes are the header, in which each is of its own kind.
    let header = 0..100;
    let others = (header.end..sound.len()).step_by(flip_step());
    for place in header.chain(others) {
        let mut bytes = sound.clone();
        let bit = random.below(8);
        bytes[place] ^= 1 << bit;
        replace(&store, &bytes);
        if random.below(BACKUP_EVERY) == 0
            && let Some(copied) = answers_of_backup(&store)
        {
            assert_eq!(copied, expected, "backup with bit {bit} of byte {place}");
        }
        if check().is_err() {
            refused += 1;
            continue;
        }
        passed += 1;
        match answers(&store.path) {
            Ok(answers) => assert_eq!(answers, expected, "bit {bit} of byte {place}"),
            Err(error) => panic!("bit {bit} of byte {place}: checked, but not served: {error}"),
        }
    }
    println!("{passed} passed and were served, {refused} refused");
    assert!(
        passed > 0 && refused > passed,
        "{passed} passed, {refused} refused"
    );
}

/// The words of the check are those of the service.
#[test]
fn store_that_is_not_served_is_refused_by_its_check_in_the_same_words() {
    let store = store_sample();
    rebuild(&store.path);
    let sound = fs::read(&store.path).unwrap();
    let registry = builtin_registry();
    let body = bytes_of(&store.path, "SELECT body FROM snapshot");
    let commands = bytes_of(&store.path, "SELECT commands FROM batch");
    // A part that lies within one page.
    let place = |bytes: &[u8]| {
        let in_file = |part: &[u8]| sound.windows(part.len()).position(|at| at == part);
        let found = bytes.chunks_exact(32).find_map(in_file);
        found.expect("it is in the file")
    };
    for (place, expected) in [
        (18, "its header names a format that cannot be written"),
        (place(&body), "the snapshot is not what was written"),
        (place(&commands), "a batch is not what was written"),
    ] {
        let mut bytes = sound.clone();
        bytes[place] ^= 1 << 6;
        replace(&store, &bytes);
        let checked = backup::check(store.data_dir.path(), &registry).unwrap_err();
        let served = answers(&store.path).unwrap_err();
        assert_eq!(checked.to_string(), served.to_string());
        assert!(served.to_string().ends_with(expected), "{served}");
        let copy = store.data_dir.path().join("copy");
        let copied = backup::back_up(store.data_dir.path(), &copy, String::new(), &registry);
        let copied = copied.unwrap_err().to_string();
        assert!(copied.ends_with(expected), "{copied}");
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[test]
fn store_with_unfinished_jobs_of_another_format_is_refused_as_it_is() {
    let data_dir = tempfile::tempdir().unwrap();
    let path = data_dir.path().join("tollgate.db");
    copy_sample_of(FIRST, &path);
    let before = fs::read(&path).unwrap();
    let checked = backup::check(data_dir.path(), &builtin_registry()).unwrap_err();
    let expected = "another version left unfinished jobs";
    assert!(checked.to_string().contains(expected), "{checked}");
    // The version that wrote it still reads it, as the hint says.
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn store_with_older_tables_is_refused_as_it_is_with_the_revision_that_reads_it() {
    let data_dir = tempfile::tempdir().unwrap();
    let path = data_dir.path().join("tollgate.db");
    copy_sample_of(VERSION, &path);
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "user_version", FIRST - 1)
        .unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let checked = backup::check(data_dir.path(), &builtin_registry()).unwrap_err();
    let served = Store::open(&path).unwrap_err();
    assert_eq!(checked.to_string(), served.to_string());
    assert!(matches!(served, StoreError::Older { found, .. } if found == FIRST - 1));
    assert!(served.hint().unwrap().contains("revision bee789cb"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

fn bytes_of(path: &Path, sql: &str) -> Vec<u8> {
    let connection = Connection::open(path).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

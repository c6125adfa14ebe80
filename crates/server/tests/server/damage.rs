//! Damage to the store: changed or missing rows, single bits, a wrong version number. Damage is
//! rejected with a message or has no effect; the service never returns a wrong result. Stores of
//! earlier versions are read.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tollgate_model::{Market, Span};
use tollgate_service::{ArraySpec, Submission, SubmissionOptions};
use tollgate_store::{FIRST, JobFilter, RecordFilter, Store, StoreError, UsageKeys, VERSION};

use crate::common::store_sample::copy_sample_with_state_of_today;
use crate::common::{TestCluster, rules, submission};
use crate::simulation::random::SplitMix;

/// A store with finished, running, queued and rejected jobs.
pub(crate) struct StoreSample {
    pub(crate) data_dir: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn store_sample() -> StoreSample {
    let mut site = TestCluster::new("libra");
    for n in 0..6 {
        site.submit(&["sleep", "3"], 5 + n).unwrap();
        site.advance(2);
    }
    let plan = SubmissionOptions {
        array: Some(ArraySpec {
            tasks: "1-4".parse().unwrap(),
            max_at_once: Some(2),
        }),
        ..SubmissionOptions::default()
    };
    let array = Submission {
        options: plan,
        ..submission("array", 4)
    };
    site.submit_job(array, &["sleep", "2"]).unwrap();
    site.advance(10);
    let late = Submission {
        budget: None,
        ..submission("late", 4_000)
    };
    site.submit_job(late, &["sleep", "1"]).unwrap();
    site.submit(&["sleep", "60"], 70).unwrap();
    site.controller().write_snapshot();
    site.submit(&["sleep", "50"], 60).unwrap();
    site.controller = None;
    let path = site.store();
    // Moves everything to a single file.
    let connection = Connection::open(&path).unwrap();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    connection.query_row(checkpoint, [], |_| Ok(())).unwrap();
    drop(connection);
    StoreSample {
        data_dir: site.data_dir,
        path,
    }
}

/// Returns everything that the service reads from the store, and the recovered state; or the error
/// that keeps the service from starting.
pub(crate) fn answers(path: &Path) -> Result<String, StoreError> {
    let mut store = Store::open(path)?;
    let mut core = store.recover(&rules("libra", Market::Commodity))?;
    let reader = store.reader()?;
    let all = JobFilter {
        limit: u32::MAX,
        ..JobFilter::default()
    };
    let own = JobFilter {
        user: Some(rustix::process::geteuid().as_raw()),
        unfinished: true,
        ..all.clone()
    };
    let jobs = reader.jobs(&all)?;
    let mut text = format!("{:?}\n{:?}\n", jobs, reader.jobs(&own)?);
    for job in jobs {
        let attempts = reader.attempts(job.id)?;
        let tasks = reader.tasks(job.id, None, 100)?;
        text += &format!("{attempts:?} {tasks:?} {:?}\n", store.program(job.id)?);
    }
    let sums = (reader.objective_sums(None)?, reader.calibration(None)?);
    text += &format!(
        "{:?} {sums:?} {:?}\n",
        reader.ledger(None)?,
        reader.states()?
    );
    let by = UsageKeys {
        user: true,
        account: true,
        day: true,
    };
    let filter = RecordFilter::default();
    text += &format!(
        "{:?} {:?} {:?}\n",
        reader.usage(&filter, by)?,
        reader.coverage()?,
        reader.ledger_entries(&filter, &(0, 0, 0, String::new()), 100)?,
    );
    text += &format!("{:?}", postcard::to_stdvec(&core.save()).unwrap());
    Ok(text)
}

fn damaged(path: &Path) -> String {
    match Store::open(path) {
        Err(error @ StoreError::Damaged { .. }) => {
            assert!(error.hint().unwrap().contains("tollgate restore"));
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// Changes the store as its owner could with any SQLite program.
fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn changed_or_deleted_rows_are_detected() {
    let store = store_sample();
    let sound = fs::read(&store.path).unwrap();
    assert!(Store::open(&store.path).is_ok());
    let change_ledger = ["ledger_sum_of_updated", "ledger_is_never_changed"];
    let cut_ledger = ["ledger_sum_of_deleted", "ledger_is_never_cut"];
    for (table, triggers, sql) in [
        (
            "ledger",
            &change_ledger[..],
            "UPDATE ledger SET amount = amount + 1000000",
        ),
        ("ledger", &cut_ledger, "DELETE FROM ledger WHERE job = 2"),
        (
            "job",
            &["job_sum_of_updated"],
            "UPDATE job SET budget = 1 WHERE id = 3",
        ),
        (
            "attempt",
            &["attempt_sum_of_deleted"],
            "DELETE FROM attempt WHERE job = 1",
        ),
        (
            "total",
            &["total_sum_of_updated"],
            "UPDATE total SET wait = 99",
        ),
        (
            "book",
            &["book_sum_of_updated"],
            "UPDATE book SET jobs = 99",
        ),
        (
            "promise",
            &["promise_sum_of_updated"],
            "UPDATE promise SET kept = 99",
        ),
        (
            "usage",
            &["usage_sum_of_updated"],
            "UPDATE usage SET core_ms = core_ms + 1",
        ),
    ] {
        let texts: Vec<String> = triggers
            .iter()
            .map(|name| text_of(&store.path, name))
            .collect();
        for name in triggers {
            change(&store.path, &format!("DROP TRIGGER {name}"));
        }
        let rows = Connection::open(&store.path)
            .unwrap()
            .execute(sql, [])
            .unwrap();
        assert!(rows > 0, "{sql}");
        let message = damaged(&store.path);
        assert!(message.contains("is not that of version"), "{message}");
        // Once the triggers are restored, only the sums reveal the damage.
        change(&store.path, &texts.join(";"));
        let message = damaged(&store.path);
        let expected = format!("the rows of `{table}` are not what was written");
        assert!(message.contains(&expected), "{message}");
        fs::write(&store.path, &sound).unwrap();
    }
}

fn text_of(path: &Path, trigger: &str) -> String {
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let connection = Connection::open(path).unwrap();
    connection
        .query_row(sql, [trigger], |row| row.get(0))
        .unwrap()
}

#[test]
fn store_with_a_wrong_version_number_is_rejected() {
    let store = store_sample();
    let set = |version: u32| change(&store.path, &format!("PRAGMA user_version = {version}"));
    for early in [0, FIRST - 1] {
        set(early);
        let error = Store::open(&store.path).unwrap_err();
        assert!(matches!(error, StoreError::Older { .. }), "{error}");
        assert!(
            error.to_string().contains("before the first release"),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
    set(VERSION);
    assert!(answers(&store.path).is_ok());
}

/// Returns the number of single-bit flips to test: `TOLLGATE_FLIPS`, or a small default.
fn n_flips() -> usize {
    let variable = std::env::var("TOLLGATE_FLIPS").ok();
    variable.map_or(60, |number| number.parse().expect("a number"))
}

#[test]
fn flipped_bit_is_detected_or_changes_no_result() {
    let store = store_sample();
    let expected = answers(&store.path).unwrap();
    let sound = fs::read(&store.path).unwrap();
    let data_dir = store.data_dir.path();
    let mut random = SplitMix::new(8);
    let (mut refused, mut harmless) = (0, 0);
    for _ in 0..n_flips() {
        let bit = random.below(sound.len() as u64 * 8) as usize;
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        for file in ["tollgate.db-wal", "tollgate.db-shm"] {
            let _ = fs::remove_file(data_dir.join(file));
        }
        fs::write(&store.path, bytes).unwrap();
        match answers(&store.path) {
            Err(error) => {
                assert!(error.to_string().contains("tollgate.db"), "{error}");
                refused += 1;
            }
            Ok(answers) => {
                assert_eq!(answers, expected, "bit {bit}");
                harmless += 1;
            }
        }
    }
    println!("{refused} refused, {harmless} without effect");
    // Most of a small store is unused space.
    assert!(
        refused > n_flips() / 10,
        "{refused} refused, {harmless} not"
    );
}

#[test]
fn stores_of_all_versions_that_are_read_keep_all_their_rows() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut versions = Vec::new();
    for entry in fs::read_dir(fixtures).unwrap() {
        let fixture = entry.unwrap().path();
        let name = fixture.file_stem().unwrap().to_str().unwrap();
        let Some(version) = name.strip_prefix("store-") else {
            continue;
        };
        versions.push(version.parse::<u32>().unwrap());
        let data_dir = tempfile::tempdir().unwrap();
        let version = *versions.last().unwrap();
        let path = data_dir.path().join("tollgate.db");
        copy_sample_with_state_of_today(version, &path);
        let reader = Store::open(&path).unwrap().reader().unwrap();
        let all = JobFilter {
            limit: 100,
            ..JobFilter::default()
        };
        let jobs = reader.jobs(&all).unwrap();
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(
            names,
            ["after", "held", "array", "rejected", "failed", "kept"],
            "{version}"
        );
        let states: Vec<&str> = jobs.iter().skip(1).map(|job| job.state.as_str()).collect();
        assert_eq!(
            states,
            ["held", "finished", "rejected", "finished", "finished"]
        );
        assert_eq!(jobs[4].status.as_deref(), Some("exit 3"));
        assert_eq!(jobs[2].array.as_ref().unwrap().counts.finished, 3);
        let figures = reader.objective_sums(None).unwrap();
        let books = &figures.books;
        let found = [books.kept(), books.no_deadline(), books.rejected()];
        assert_eq!((found, books.submitted()), ([1, 4, 1], 6), "{version}");
        let accounts = reader.ledger(None).unwrap();
        let charges: Vec<f64> = accounts.iter().map(|day| day.charges.as_f64()).collect();
        assert_eq!(charges.len(), 1);
        assert!(charges[0] > 0.0, "{charges:?}");
        assert_eq!(figures.utility, accounts[0].charges);
        let usage = reader.usage(&RecordFilter::default(), UsageKeys::default());
        let usage = usage.unwrap().remove(0);
        assert_eq!((usage.jobs, usage.charges), (5, accounts[0].charges));

        assert!(
            usage.cpu > Span::ZERO && usage.wall > Span::ZERO,
            "{usage:?}"
        );
        // The store opens again.
        drop(reader);
        Store::open(&path).unwrap();
    }
    versions.sort_unstable();
    let ends = (versions.first(), versions.last());
    let expected = (Some(&FIRST), Some(&VERSION));
    assert_eq!(
        ends, expected,
        "tests/fixtures/README.md says how one is made"
    );
}

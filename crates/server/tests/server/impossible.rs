//! A store with values that no attempt can have, as versions without bounds stored them. The service goes on,
//! a check lists the values, and a repair mends them and the sums that they entered.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use rusqlite::{Connection, params};
use tollgate_model::Span;
use tollgate_policies::builtin_registry;
use tollgate_service::{ArraySpec, Submission, SubmissionOptions};
use tollgate_store::backup::{self, CheckedStore};
use tollgate_store::{RecordFilter, Store, UsageKeys, UsageRow, integrity};

use crate::common::{TestCluster, submission};
use crate::damage::answers;

/// The measured values of an attempt: wall-clock time and processor time in microseconds, peak memory in
/// bytes.
type Measures = (i64, i64, i64);

/// Returns a stopped service on which two jobs and an array of two tasks ended.
fn stopped() -> TestCluster {
    let mut cluster = TestCluster::new("libra");
    for _ in 0..2 {
        cluster.submit(&["sleep", "3"], 5).unwrap();
    }
    let options = SubmissionOptions {
        array: Some(ArraySpec {
            tasks: "1-2".parse().unwrap(),
            max_at_once: None,
        }),
        ..SubmissionOptions::default()
    };
    let array = Submission {
        options,
        ..submission("array", 4)
    };
    cluster.submit_job(array, &["sleep", "2"]).unwrap();
    cluster.advance(20);
    cluster.controller().write_snapshot();
    cluster.controller = None;
    cluster
}

/// Stores the measures of an attempt and adds them to the sums, like a version without bounds.
fn poison(store: &Path, (job, task): (u64, u32), (wall, cpu, peak): Measures) {
    let connection = Connection::open(store).unwrap();
    integrity::register(&connection).unwrap();
    let sql = "UPDATE usage SET
             wall = max(CAST(usage.wall - old.wall + max(?3, 0) AS INTEGER), 0),
             core_ms = CAST(core_ms + max(?3, 0) / 1000 AS INTEGER),
             cpu = CAST(usage.cpu - old.cpu + ?4 AS INTEGER)
         FROM (SELECT wall, cpu FROM attempt WHERE job = ?1 AND task = ?2) AS old";
    let values = params![job, task, wall, cpu];
    assert_eq!(connection.execute(sql, values).unwrap(), 1);
    let sql = "UPDATE attempt SET wall = ?3, cpu = ?4, peak_memory = ?5
         WHERE job = ?1 AND task = ?2";
    let values = params![job, task, wall, cpu, peak];
    assert_eq!(connection.execute(sql, values).unwrap(), 1);
    let sql = "UPDATE array SET cpu = CAST(cpu + ?2 AS INTEGER), peak_memory = ?3 WHERE job = ?1";
    connection.execute(sql, params![job, cpu, peak]).unwrap();
}

fn check(cluster: &TestCluster) -> CheckedStore {
    backup::check(cluster.data_dir.path(), &builtin_registry()).unwrap()
}

fn usage(store: &Path) -> UsageRow {
    let reader = Store::open(store).unwrap().reader().unwrap();
    let rows = reader.usage(&RecordFilter::default(), UsageKeys::default());
    rows.unwrap().remove(0)
}

/// Returns the sums over the stored attempts: wall-clock time, processor time.
fn sums_of_attempts(store: &Path) -> (Span, Span) {
    let reader = Store::open(store).unwrap().reader().unwrap();
    let jobs = [1, 2, 3].map(|job| reader.attempts(job).unwrap());
    let cpu = jobs.iter().flatten().filter_map(|attempt| attempt.cpu);
    let cpu = cpu.fold(Span::ZERO, |sum, cpu| sum + cpu);
    let connection = Connection::open(store).unwrap();
    let sql = "SELECT sum(wall) FROM attempt";
    let wall = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    (Span::from_micros(wall), cpu)
}

#[test]
fn repair_names_and_replaces_each_impossible_value_and_corrects_the_sums() {
    let cluster = stopped();
    let store = cluster.store();
    let before = usage(&store);
    let huge = i64::MAX - 100_000_000_000;
    poison(&store, (1, 0), (huge, huge, -1));
    poison(&store, (3, 2), (2_000_000, -5_000_000, 1 << 20));
    let found = check(&cluster).impossible;
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    // The same with a store that is being copied.
    let copy = cluster.data_dir.path().join("copy");
    let registry = builtin_registry();
    let copied = backup::back_up(cluster.data_dir.path(), &copy, String::new(), &registry);
    assert_eq!(copied.unwrap().impossible, found);
    let (replaced, checked) = backup::repair(cluster.data_dir.path(), &registry).unwrap();
    assert_eq!(replaced, found);
    assert_eq!(checked.impossible, []);
    assert_eq!(check(&cluster), checked);
    let after = usage(&store);
    let sums = sums_of_attempts(&store);
    assert_eq!((after.wall, after.cpu), sums);
    // An attempt of three seconds ran for at most one minute more.
    assert!(after.wall <= before.wall + Span::from_secs(61), "{after:?}");
    assert_eq!((after.jobs, after.charges), (before.jobs, before.charges));
}

#[test]
fn service_ends_and_shows_jobs_beside_impossible_values() {
    let mut cluster = stopped();
    poison(&cluster.store(), (1, 0), (i64::MAX, i64::MAX, -1));
    cluster.restart();
    let job = cluster.submit(&["sleep", "3"], 5).unwrap().job;
    cluster.advance(10);
    assert_eq!(cluster.state(job).0, "finished");
    assert_eq!(cluster.state(job).1.as_deref(), Some("exit 0"));
    assert_eq!(cluster.row(1).peak_memory, None);
    assert_eq!(usage(&cluster.store()).wall, Span::MAX);
    // The sum had reached its maximum, so that the end of the last job did not enter it.
    cluster.controller().write_snapshot();
    cluster.controller = None;
    backup::repair(cluster.data_dir.path(), &builtin_registry()).unwrap();
    let (wall, cpu) = {
        let connection = Connection::open(cluster.store()).unwrap();
        let sql = "SELECT sum(wall), sum(cpu) FROM attempt";
        let sums = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
        sums.unwrap()
    };
    let after = usage(&cluster.store());
    assert_eq!((after.wall.as_micros(), after.cpu.as_micros()), (wall, cpu));
    cluster.restart();
    assert_eq!(cluster.row(1).state, "finished");
}

#[test]
fn repair_of_a_store_in_use_is_refused_and_changes_nothing() {
    let mut cluster = stopped();
    poison(&cluster.store(), (1, 0), (-1, -1, -1));
    let found = check(&cluster);
    assert!(!found.impossible.is_empty());
    let locked = tollgate_store::DataDir::lock(cluster.data_dir.path()).unwrap();
    let refused = backup::repair(cluster.data_dir.path(), &builtin_registry()).unwrap_err();
    assert!(
        refused.to_string().contains("another service uses"),
        "{refused}"
    );
    drop(locked);
    assert_eq!(check(&cluster), found);
    cluster.restart();
}

/// Any number, often one of the extremes.
fn number() -> impl Strategy<Value = i64> {
    let extremes = vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    prop_oneof![3 => prop::sample::select(extremes), 1 => any::<i64>()]
}

#[test]
fn store_with_any_measures_is_read_served_and_repaired() {
    let sample = stopped();
    let sound = fs::read(sample.store()).unwrap();
    let attempts = prop::collection::vec(
        (
            prop::sample::select(vec![(1u64, 0u32), (2, 0), (3, 1), (3, 2)]),
            (number(), number(), number()),
        ),
        1..5,
    );
    let config = Config {
        cases: 24,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    };
    proptest!(config, |(poisons in attempts)| {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("tollgate.db");
        fs::write(&store, &sound).unwrap();
        for (key, measures) in &poisons {
            poison(&store, *key, *measures);
        }
        // Everything that the service reads is answered, and it recovers.
        answers(&store).unwrap();
        let registry = builtin_registry();
        let found = backup::check(dir.path(), &registry).unwrap().impossible;
        let (replaced, checked) = backup::repair(dir.path(), &registry).unwrap();
        prop_assert_eq!(replaced, found);
        prop_assert_eq!(checked.impossible, []);
        answers(&store).unwrap();
        let after = usage(&store);
        let (wall, cpu) = sums_of_attempts(&store);
        prop_assert!(after.wall >= wall && after.cpu >= cpu, "{:?}", after);
    });
}

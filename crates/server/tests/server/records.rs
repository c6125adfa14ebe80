//! Records of jobs: where they ran and what they used, sums of usage, and removal of old jobs.

use tollgate_model::{Credits, FIRST_TASK_NUMBER, Instant, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::ObjectiveSums;
use tollgate_service::{
    ArraySpec, DependencyCondition, JobDependency, Submission, SubmissionOptions,
};
use tollgate_store::{
    EstimateCoverage, JobFilter, RecordFilter, RemovalProgress, StoreReader, UsageKeys, UsageRow,
};

use crate::common::{TestCluster, submission};

const EVERY_KEY: UsageKeys = UsageKeys {
    user: true,
    account: true,
    day: true,
};

/// Returns a submission of tasks.
fn array(tasks: &str, estimate_s: i64) -> Submission {
    Submission {
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: tasks.parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..submission("array", estimate_s)
    }
}

fn usage(reader: &StoreReader) -> Vec<UsageRow> {
    reader.usage(&RecordFilter::default(), EVERY_KEY).unwrap()
}

/// The sums that a removal must not change.
fn sums(reader: &StoreReader) -> (Vec<UsageRow>, ObjectiveSums, EstimateCoverage, String) {
    let calibration = reader.calibration(None).unwrap();
    let ledger = reader.ledger(None).unwrap();
    let first = (0, 0, 0, String::new());
    let entries = reader.ledger_entries(&RecordFilter::default(), &first, 100);
    (
        usage(reader),
        reader.objective_sums(None).unwrap(),
        reader.coverage().unwrap(),
        format!("{calibration:?} {ledger:?} {:?}", entries.unwrap()),
    )
}

fn numbers(reader: &StoreReader) -> Vec<u64> {
    let all = JobFilter {
        limit: 100,
        ..JobFilter::default()
    };
    let jobs = reader.jobs(&all).unwrap();
    jobs.iter().map(|job| job.id).collect()
}

/// Removes jobs until none is left to remove.
fn prune(site: &mut TestCluster, before: i64) -> u64 {
    let before = Instant::from_secs(before);
    let expected = site.reader().n_removable(before).unwrap();
    let mut jobs = 0;
    loop {
        let removed: RemovalProgress = site
            .request(|reply| ControllerRequest::Prune { before, reply })
            .unwrap();
        jobs += removed.jobs.len() as u64;
        if removed.is_done {
            assert_eq!(jobs, expected);
            return jobs;
        }
    }
}

#[test]
fn attempt_has_its_host_its_usage_and_the_forecast_of_its_admission() {
    let mut site = TestCluster::new("libra");
    site.submit(&["work", "5"], 10).unwrap();
    site.advance(6);
    let row = site.row(1);
    let host = rustix::system::uname();
    assert_eq!(row.host.as_deref(), host.nodename().to_str().ok());
    assert_eq!(row.run, Some(Span::from_secs(5)));
    assert_eq!(row.cpu, Some(Span::from_secs(5)));
    assert!(row.forecast.is_some(), "{row:?}");
    let attempts = site.reader().attempts(1).unwrap();
    assert_eq!(attempts[0].host, row.host);
}

#[test]
fn usage_counts_jobs_tasks_promises_and_charges() {
    let mut site = TestCluster::new("libra");
    let wide = Submission {
        procs: 2,
        account: Some("bio".to_owned()),
        ..submission("wide", 10)
    };
    site.submit_job(wide, &["sleep", "5"]).unwrap();
    site.advance(6);
    site.submit_job(array("1-2", 4), &["work", "3"]).unwrap();
    site.advance(10);
    let reader = site.reader();
    let rows = usage(&reader);
    let [other, bio] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!((other.account.as_deref(), other.jobs), (Some(""), 2));
    // Both tasks share a processor, so each takes twice its work.
    assert_eq!((other.books.kept(), other.wall), (2, Span::from_secs(12)));
    assert_eq!(other.core_hours, 12.0 / 3600.0);
    assert_eq!((bio.account.as_deref(), bio.jobs), (Some("bio"), 1));
    assert_eq!((bio.books.kept(), bio.wall), (1, Span::from_secs(5)));
    assert_eq!(bio.core_hours, 10.0 / 3600.0);
    assert_eq!(bio.wait, Span::ZERO);
    let charges = rows.iter().map(|row| row.charges);
    let charges: Credits = charges.fold(Credits::ZERO, |sum, charge| sum + charge);
    assert_eq!(charges, reader.ledger(None).unwrap()[0].charges);
    // An array has the sum of what its tasks used.
    assert_eq!(site.row(2).cpu, Some(Span::from_secs(6)));
    assert_eq!(other.cpu, Span::from_secs(6));
}

#[test]
fn usage_is_one_sum_without_keys_and_none_on_other_days() {
    let mut site = TestCluster::new("libra");
    site.submit(&["sleep", "2"], 5).unwrap();
    site.submit(&["sleep", "2"], 5).unwrap();
    site.advance(6);
    let reader = site.reader();
    let all = RecordFilter::default();
    let sum = reader.usage(&all, UsageKeys::default()).unwrap();
    assert_eq!((sum.len(), sum[0].jobs, sum[0].user), (1, 2, None));
    let later = RecordFilter {
        since: Some(Instant::from_secs(86_400)),
        ..all
    };
    assert_eq!(reader.usage(&later, EVERY_KEY).unwrap(), []);
    let other = RecordFilter {
        user: Some(u32::MAX - 7),
        ..all
    };
    assert_eq!(reader.usage(&other, EVERY_KEY).unwrap(), []);
}

#[test]
fn promise_that_is_broken_while_its_job_runs_counts_once() {
    let mut site = TestCluster::new("libra");
    site.submit(&["sleep", "150"], 50).unwrap();
    site.advance(120);
    let rows = usage(&site.reader());
    assert_eq!((rows[0].books.broken(), rows[0].jobs), (1, 0));
    site.advance(60);
    let rows = usage(&site.reader());
    assert_eq!((rows[0].books.broken(), rows[0].jobs), (1, 1));
}

#[test]
fn removal_of_old_jobs_changes_no_sum() {
    let mut site = TestCluster::new("libra");
    for n in 0..4 {
        site.submit(&["sleep", "2"], 5 + n).unwrap();
    }
    // A class of its own gives estimates that are quantiles of forecasts.
    let unknown = Submission {
        estimate: None,
        ..submission("sleep", 1)
    };
    site.advance(10);
    site.submit_job(unknown, &["sleep", "2"]).unwrap();
    site.submit_job(array("1-4", 3), &["sleep", "2"]).unwrap();
    site.advance(20);
    site.submit(&["sleep", "60"], 70).unwrap();
    let before = sums(&site.reader());
    assert_eq!(before.2.jobs, 1, "{before:?}");
    assert_eq!(numbers(&site.reader()), [7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(prune(&mut site, 5), 4);
    assert_eq!(numbers(&site.reader()), [7, 6, 5]);
    assert_eq!(prune(&mut site, 1_000), 2);
    assert_eq!(numbers(&site.reader()), [7]);
    assert_eq!(sums(&site.reader()), before);
    // The store is whole, and the service goes on, with the next number.
    site.restart();
    assert_eq!(tollgate_store::check(&site.store()).unwrap().jobs, 1);
    assert_eq!(sums(&site.reader()), before);
    assert_eq!(site.submit(&["sleep", "1"], 5).unwrap().job, 8);
    site.advance(70);
    assert_eq!(site.state(7).0, "finished");
}

#[test]
fn numbers_of_tasks_stay_after_a_crash_and_are_given_once() {
    let mut site = TestCluster::new("fcfs");
    let all = |site: &TestCluster, job| -> Vec<Option<u64>> {
        let rows = site.reader().tasks(job, None, 100).unwrap();
        rows.unwrap().iter().map(|row| row.number).collect()
    };
    site.submit_job(array("1-7:3", 1), &["sleep", "1"]).unwrap();
    site.submit(&["sleep", "1"], 5).unwrap();
    site.submit_job(array("1-2", 1), &["sleep", "1"]).unwrap();
    let first = Some(FIRST_TASK_NUMBER);
    assert_eq!(all(&site, 1), [0, 1, 2].map(|n| first.map(|it| it + n)));
    assert_eq!(all(&site, 3), [3, 4].map(|n| first.map(|it| it + n)));
    site.restart();
    assert_eq!(all(&site, 3), [3, 4].map(|n| first.map(|it| it + n)));
    site.advance(20);
    assert_eq!(prune(&mut site, 1_000), 3);
    site.restart();
    let job = site.submit_job(array("5-6", 1), &["sleep", "1"]);
    let job = job.unwrap().job;
    assert_eq!(all(&site, job), [5, 6].map(|n| first.map(|it| it + n)));
    let of_number = |n| {
        let reader = site.reader();
        reader.task_of_number(FIRST_TASK_NUMBER + n).unwrap()
    };
    // The arrays of the numbers before were removed, and no array has the numbers behind.
    assert_eq!([0, 4, 7].map(of_number), [None; 3]);
    let second = of_number(6).map(|task| (task.job, task.task));
    assert_eq!(second, Some((job, 6)));
    assert_eq!(of_number(u64::MAX - FIRST_TASK_NUMBER), None);
}

#[test]
fn removal_keeps_a_job_that_an_unfinished_one_depends_on() {
    let mut site = TestCluster::new("fcfs");
    site.submit(&["sleep", "2"], 5).unwrap();
    let held = Submission {
        deadline: None,
        options: SubmissionOptions {
            held: true,
            dependencies: vec![JobDependency {
                job: 1,
                condition: DependencyCondition::Success,
            }],
            ..SubmissionOptions::default()
        },
        ..submission("held", 5)
    };
    site.submit_job(held, &["sleep", "1"]).unwrap();
    site.submit(&["sleep", "2"], 5).unwrap();
    site.advance(10);
    assert_eq!(prune(&mut site, 1_000), 1);
    assert_eq!(numbers(&site.reader()), [2, 1]);
    assert_eq!(site.row(2).after, [1]);
}

#[test]
fn large_array_is_removed_in_several_transactions() {
    let mut site = TestCluster::new("fcfs");
    let mut store = {
        let tasks = Submission {
            deadline: None,
            ..array("1-9", 1)
        };
        site.submit_job(tasks, &["sleep", "1"]).unwrap();
        site.advance(15);
        site.controller = None;
        tollgate_store::Store::open(&site.store()).unwrap()
    };
    let before = Instant::from_secs(1_000);
    let mut calls = 0;
    let removed = loop {
        calls += 1;
        let progress = store.remove_jobs(before, 4).unwrap();
        if !progress.jobs.is_empty() {
            break progress;
        }
        assert_eq!(numbers(&store.reader().unwrap()), [1]);
    };
    // Each task has an attempt and its place.
    assert_eq!((removed.jobs, calls), (vec![1], 5));
    assert!(store.remove_jobs(before, 4).unwrap().is_done);
    drop(store);
    let rows = tollgate_store::check(&site.store()).unwrap();
    assert_eq!(rows.jobs, 0);
}

//! Texts of jobs (scripts, environments, long commands): stored once each, and kept of jobs that are over up to
//! a limit for each user, the latest ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use rusqlite::Connection;
use tollgate_engine::LaunchScript;
use tollgate_engine::script::sha256;
use tollgate_model::Instant;
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedTimes, SubmittedJob};
use tollgate_server::failpoint::ServiceFailpoint;
use tollgate_service::{ServiceCommand, Submission, SubmissionOptions};
use tollgate_store::{JobProgram, Store, StoredProgram};

use crate::common::{TestCluster, program, submission};

/// Two users. Their jobs are held, so that none needs an account.
const USERS: [u32; 2] = [7, 8];

/// The text of a script: 100 bytes that begin with its number.
fn script(number: usize) -> String {
    format!("{number:-<100}")
}

fn held(user: u32) -> Submission {
    Submission {
        user,
        options: SubmissionOptions {
            held: true,
            ..SubmissionOptions::default()
        },
        ..submission("work", 10)
    }
}

fn with_script(text: &str) -> JobProgram {
    JobProgram {
        script: Some(LaunchScript::new(text)),
        ..program(&["work", "10"])
    }
}

fn submit(cluster: &mut TestCluster, submission: Submission, program: JobProgram) -> SubmittedJob {
    try_submit(cluster, submission, program).unwrap()
}

fn try_submit(
    cluster: &mut TestCluster,
    submission: Submission,
    program: JobProgram,
) -> Option<SubmittedJob> {
    let program = Box::new(program);
    let submitted = cluster.request(|reply| {
        ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes::default(),
            program,
            reply,
        })
    });
    submitted.ok()
}

/// Submits a job of a user with a script, and cancels the job a second later.
fn end_job(cluster: &mut TestCluster, user: u32, text: &str) -> u64 {
    let job = submit(cluster, held(user), with_script(text)).job;
    cluster.advance(1);
    cancel(cluster, job);
    job
}

fn cancel(cluster: &mut TestCluster, job: u64) {
    let command = ServiceCommand::Cancel { job, tasks: None };
    let done = cluster.request(|reply| ControllerRequest::Command {
        user: None,
        command,
        reply,
    });
    done.unwrap();
}

/// Returns the names of all stored texts.
fn contents(store: &Path) -> BTreeSet<String> {
    let connection = Connection::open(store).unwrap();
    let mut statement = connection.prepare("SELECT sha256 FROM content").unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

fn has(cluster: &TestCluster, text: &str) -> bool {
    contents(&cluster.store()).contains(&sha256(text))
}

fn whole(cluster: &TestCluster, job: u64) -> JobProgram {
    let store = Store::open(&cluster.store()).unwrap();
    match store.program(job).unwrap() {
        Some(StoredProgram::Whole(program)) => *program,
        other => panic!("job {job}: {other:?}"),
    }
}

#[test]
fn texts_of_a_users_ended_jobs_go_oldest_first_and_stay_for_others() {
    let mut cluster = TestCluster::new("fcfs");
    cluster.controller().limit_kept_bytes(250).unwrap();
    let texts: Vec<String> = (0..4).map(script).collect();
    let other = end_job(&mut cluster, USERS[1], &texts[0]);
    let jobs: Vec<u64> = texts
        .iter()
        .map(|text| end_job(&mut cluster, USERS[0], text))
        .collect();
    let dropped = |job| cluster.row(job).dropped;
    let of_jobs: Vec<bool> = jobs.iter().map(|&job| dropped(job).is_empty()).collect();
    assert_eq!(of_jobs, [false, false, true, true]);
    assert_eq!(dropped(jobs[0]), ["script"]);
    assert_eq!(dropped(other), Vec::<&str>::new());
    let stored: Vec<bool> = texts.iter().map(|text| has(&cluster, text)).collect();
    // The first is still the other user's.
    assert_eq!(stored, [true, false, true, true]);
    // The record of a job without its text stays.
    assert_eq!(cluster.row(jobs[1]).program.unwrap().argv, ["work", "10"]);
    // A text that is used again is the latest.
    end_job(&mut cluster, USERS[0], &texts[2]);
    end_job(&mut cluster, USERS[0], &texts[1]);
    assert!(has(&cluster, &texts[2]) && !has(&cluster, &texts[3]));
}

#[test]
fn texts_of_unfinished_jobs_stay_and_run_however_little_is_kept() {
    let mut cluster = TestCluster::new("fcfs");
    cluster.controller().limit_kept_bytes(0).unwrap();
    let text = script(0);
    let mut work = with_script(&text);
    work.env = vec![("A".to_owned(), "1".to_owned())];
    let waiting = submit(&mut cluster, held(USERS[0]), work.clone()).job;
    let running = submit(&mut cluster, submission("work", 10), work.clone()).job;
    end_job(&mut cluster, USERS[0], &text);
    end_job(&mut cluster, USERS[1], &text);
    cluster.restart();
    cluster.controller().limit_kept_bytes(0).unwrap();
    assert_eq!(whole(&cluster, waiting), work);
    cluster.advance(20);
    assert_eq!(cluster.state(running).1.as_deref(), Some("exit 0"));
    assert_eq!(cluster.row(running).dropped, ["environment", "script"]);
    assert_eq!(whole(&cluster, waiting), work);
    cancel(&mut cluster, waiting);
    assert!(contents(&cluster.store()).is_empty());
}

#[test]
fn long_command_is_whole_until_it_is_dropped() {
    let mut cluster = TestCluster::new("fcfs");
    let words = ["work".to_owned(), "x".repeat(5_000)];
    let mut long = program(&["work"]);
    long.argv = words.to_vec();
    let job = submit(&mut cluster, held(USERS[0]), long).job;
    assert_eq!(cluster.row(job).program.unwrap().argv, words);
    cancel(&mut cluster, job);
    assert_eq!(cluster.row(job).program.unwrap().argv, words);
    cluster.controller().limit_kept_bytes(4_999).unwrap();
    let row = cluster.row(job);
    assert_eq!(row.program.unwrap().argv, ["work"]);
    assert_eq!(row.dropped, ["command"]);
}

#[test]
fn texts_of_removed_jobs_are_removed() {
    let mut cluster = TestCluster::new("fcfs");
    let texts = [script(0), script(1)];
    end_job(&mut cluster, USERS[0], &texts[0]);
    end_job(&mut cluster, USERS[0], &texts[1]);
    end_job(&mut cluster, USERS[0], &texts[1]);
    cluster.controller = None;
    let mut store = Store::open(&cluster.store()).unwrap();
    let removed = store.remove_jobs(Instant::from_secs(3), 100).unwrap();
    assert_eq!(removed.jobs.len(), 2);
    drop(store);
    // The last job still has the second text.
    assert!(!has(&cluster, &texts[0]) && has(&cluster, &texts[1]));
    tollgate_store::check(&cluster.store()).unwrap();
}

/// A step of the property. Numbers select among the users, texts or unfinished jobs.
#[derive(Clone, Debug)]
enum Step {
    Submit(usize, usize),
    /// A submission during whose transaction the disk fails.
    Fail(usize, usize),
    End(usize),
    Limit(u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..2usize, 0..6usize).prop_map(|(user, text)| Step::Submit(user, text)),
        1 => (0..2usize, 0..6usize).prop_map(|(user, text)| Step::Fail(user, text)),
        5 => any::<usize>().prop_map(Step::End),
        1 => (0..500u64).prop_map(Step::Limit),
        1 => Just(Step::Crash),
    ]
}

/// The texts as they should be, slow and simple.
#[derive(Default)]
struct Expected {
    limit: u64,
    unfinished: BTreeMap<u64, (u32, String)>,
    /// The instant of the last end of a job with a text, by user and name.
    kept: BTreeMap<u32, BTreeMap<String, i64>>,
}

impl Expected {
    fn trim(&mut self) {
        for kept in self.kept.values_mut() {
            while kept.len() as u64 * 100 > self.limit {
                let oldest = kept
                    .iter()
                    .min_by_key(|(name, last)| (**last, (*name).clone()));
                let oldest = oldest.unwrap().0.clone();
                kept.remove(&oldest);
            }
        }
    }

    fn contents(&self) -> BTreeSet<String> {
        let unfinished = self.unfinished.values().map(|(_, name)| name.clone());
        let kept = self.kept.values().flat_map(|kept| kept.keys().cloned());
        unfinished.chain(kept).collect()
    }
}

fn take(cluster: &mut TestCluster, expected: &mut Expected, now: i64, step: Step) {
    match step {
        Step::Submit(user, text) => {
            let (user, text) = (USERS[user], script(text));
            let job = submit(cluster, held(user), with_script(&text)).job;
            expected.unfinished.insert(job, (user, sha256(&text)));
        }
        Step::Fail(user, text) => {
            let fault = |moment| match moment == ServiceFailpoint::Decided {
                true => Err(io::Error::other("the disk")),
                false => Ok(()),
            };
            cluster.controller().inject_faults(Box::new(fault));
            let failed = try_submit(cluster, held(USERS[user]), with_script(&script(text)));
            assert!(failed.is_none());
            cluster.controller().inject_faults(Box::new(|_| Ok(())));
        }
        Step::End(which) => {
            let count = expected.unfinished.len().max(1);
            let job = expected.unfinished.keys().nth(which % count).copied();
            let Some(job) = job else { return };
            cancel(cluster, job);
            let (user, name) = expected.unfinished.remove(&job).unwrap();
            expected.kept.entry(user).or_default().insert(name, now);
            expected.trim();
        }
        Step::Limit(limit) => {
            cluster.controller().limit_kept_bytes(limit).unwrap();
            expected.limit = limit;
            expected.trim();
        }
        Step::Crash => {
            cluster.restart();
            let limit = expected.limit;
            cluster.controller().limit_kept_bytes(limit).unwrap();
        }
    }
}

#[test]
fn stored_texts_are_those_of_unfinished_jobs_and_the_latest_of_each_user() {
    let config = Config {
        cases: 24,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..30))| {
        let mut cluster = TestCluster::new("fcfs");
        let mut expected = Expected { limit: 250, ..Expected::default() };
        cluster.controller().limit_kept_bytes(expected.limit).unwrap();
        for (now, step) in (1..).zip(steps) {
            cluster.wait_until(now);
            take(&mut cluster, &mut expected, now, step);
            prop_assert_eq!(contents(&cluster.store()), expected.contents());
        }
        for &job in expected.unfinished.keys() {
            whole(&cluster, job);
        }
        tollgate_store::check(&cluster.store()).unwrap();
    });
}

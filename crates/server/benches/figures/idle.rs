//! An idle service with a large history.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant as MonotonicInstant};

use rusqlite::Connection;
use tollgate_client::types::{JobList, ServiceStatus};
use tollgate_gate::{OnEviction, WorkerId};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, CreditsPerSecond,
    Instant, Span,
};
use tollgate_server::DEFAULT_POLICY;
use tollgate_service::{ServiceCommand, Submission, SubmissionOptions};
use tollgate_store::{CommandBatch, JobProgram, Store};

use crate::server::{BenchServer, NODES, config};

/// Number of jobs that are submitted, and end, in one transaction each: as many as run at once.
const BATCH: u64 = NODES as u64;
/// Number of jobs that run through a real core; their rows are then copied.
const REAL: u64 = 20_000;
/// Number of users, and of job names per user.
const USERS: u64 = 50;
const NAMES: u64 = 20;
/// Time to observe the service.
const WATCHED: Duration = Duration::from_secs(60);

pub(crate) fn measure(jobs: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let began = MonotonicInstant::now();
    fill(folder.path(), jobs.min(REAL));
    copy(folder.path(), jobs.min(REAL), jobs);
    let file = fs::metadata(folder.path().join("tollgate.db")).map_or(0, |file| file.len());
    println!(
        "{jobs} finished jobs: {} MB on disk, filled in {:.0} s",
        file >> 20,
        began.elapsed().as_secs_f64()
    );
    let began = MonotonicInstant::now();
    let server = BenchServer::start(folder, DEFAULT_POLICY);
    println!(
        "answers after {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    let mut client = server.client();
    for _ in 0..20 {
        let _: ServiceStatus = client.get("/v1/status").expect("an answer");
        let _: JobList = client.get("/v1/jobs?limit=100").expect("an answer");
    }
    let before = cpu_ticks(server.pid());
    std::thread::sleep(WATCHED);
    println!(
        "{:.1} MB resident, {} ms of processor time in {} s",
        resident_kb(server.pid()) as f64 / 1024.0,
        (cpu_ticks(server.pid()) - before) * 10,
        WATCHED.as_secs()
    );
}

/// Runs jobs through a real core, each with some run time.
fn fill(folder: &Path, jobs: u64) {
    let mut store = Store::open(&folder.join("tollgate.db")).expect("a store");
    let rules = config(DEFAULT_POLICY)
        .rules(&tollgate_policies::builtin_registry())
        .expect("settings");
    let mut core = store.recover(&rules).expect("a state");
    let up = ServiceCommand::WorkerUp {
        worker: WorkerId(0),
        incarnation: 1,
        nodes: NODES,
        memory: None,
        offer: Default::default(),
    };
    let mut at = Instant::from_secs(1_700_000_000);
    let mut step = |at, commands: &[ServiceCommand], first: u64| {
        let step = core.step(at, commands);
        let program = program();
        let programs: BTreeMap<u64, &JobProgram> =
            (first..first + BATCH).map(|job| (job, &program)).collect();
        store
            .commit(&CommandBatch {
                host_uses: &[],
                at,
                commands,
                changes: &step.changes,
                programs: &programs,
                hosts: &BTreeMap::new(),
                answers: &[],
            })
            .expect("it is written");
        if store.since_snapshot() >= 2_000 {
            store.save(&mut core).expect("it is written");
        }
    };
    step(at, &[up], 0);
    for first in (1..=jobs).step_by(BATCH as usize) {
        let submissions: Vec<_> = (first..first + BATCH).map(submit).collect();
        step(at, &submissions, first);
        at += Span::from_secs(60);
        let ends: Vec<_> = (first..first + BATCH).map(|job| end(job, at)).collect();
        step(at, &ends, first);
    }
    assert_eq!(core.jobs().len(), 0, "all jobs are over");
    store.save(&mut core).expect("it is written");
}

/// Copies the rows of the first `real` jobs under other numbers, up to `jobs`. The copies are
/// unknown to the core, so the store accepts no further submissions.
fn copy(folder: &Path, real: u64, jobs: u64) {
    let mut connection = Connection::open(folder.join("tollgate.db")).expect("a store");
    tollgate_store::integrity::register(&connection).expect("the sums of rows");
    let transaction = connection.transaction().expect("a transaction");
    for offset in (real..jobs).step_by(real as usize) {
        for (table, key) in [("job", "id"), ("attempt", "job"), ("ledger", "job")] {
            let columns = format!("SELECT group_concat(name) FROM pragma_table_info('{table}')");
            let columns: String = transaction
                .query_row(&columns, [], |row| row.get(0))
                .expect("columns");
            let copied = columns.replacen(key, &format!("{key} + {offset}"), 1);
            let sql = format!(
                "INSERT INTO {table} ({columns}) SELECT {copied} FROM {table} WHERE {key} <= {real}"
            );
            transaction.execute(&sql, []).expect("copied");
        }
    }
    transaction.commit().expect("committed");
}

pub(crate) fn submit(job: u64) -> ServiceCommand {
    ServiceCommand::Submit(Box::new(Submission {
        user: 1_000 + (job % USERS) as u32,
        name: format!("class-{}", job % NAMES),
        executable: None,
        account: None,
        queue: None,
        procs: 1,
        memory: None,
        estimate: Some(Span::from_secs(600)),
        deadline: None,
        budget: None,
        penalty: CreditsPerSecond::ZERO,
        confidence: None,
        at_least: None,
        retry: OnEviction::Fail,
        reserve_for: None,
        options: SubmissionOptions::default(),
    }))
}

fn end(job: u64, at: Instant) -> ServiceCommand {
    ServiceCommand::Report(AttemptReport {
        attempt: AttemptId {
            job,
            task: 0,
            attempt: 1,
        },
        event: AttemptEvent::Ended(AttemptOutcome {
            status: AttemptStatus::Exited(0),
            killed: None,
            at,
            wall: Span::from_secs(30 + (job * 7_919 % 60) as i64),
            cpu: Span::from_secs(30),
            suspended: Span::ZERO,
            peak_memory: Some(1 << 20),
        }),
    })
}

pub(crate) fn program() -> JobProgram {
    JobProgram {
        auto_memory: None,
        unpredictable: None,
        give_up: None,
        argv: ["./simulate", "--steps", "10000", "input.dat"]
            .map(str::to_owned)
            .to_vec(),
        script: None,
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        dir: "/home/ann/project".to_owned(),
        output: Some("tollgate-%j.out".to_owned()),
        umask: 0o022,
        memory: None,
        time_limit: None,
        signal: None,
        error: None,
        input: None,
        comment: None,
        submit_line: None,
        submit_host: None,
        notify: Vec::new(),
        append: false,
        retries: None,
        repeat: None,
        begin: None,
        claim_key: None,
    }
}

/// Returns the processor time of a process, in ticks of 10 ms.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}

//! Kills the service, its runner, two workers and their runners, alone or together, while users submit and
//! cancel jobs. The jobs are arrays, dependent jobs and jobs that end at their limits of time, memory or
//! output. The processes that watch the runners of workers are left alone: without its runner and its watcher
//! nothing would end a task of a worker.
//!
//! Afterwards every acknowledged job exists, and no attempt was started twice. No two attempts of a task
//! overlapped, no task was charged twice, and the ledger is the sum of its entries.
//!
//! `TOLLGATE_ROUNDS=1000 cargo test -p tollgate-cli --test cli crashes::storm -- --nocapture` is the
//! long form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use rustix::process::Pid;
use serde_json::Value;
use tollgate_client::ApiClient;
use tollgate_client::types::{
    JobDetails, JobList, JobRef, JobRequest, LedgerReport, ServiceStatus, SubmitResponse,
};

use super::random;
use super::site::{CrashTestSite, connect, signal_all};

/// The number of rounds of kills in the default test.
const ROUNDS: u64 = 12;
/// The number of users that submit jobs meanwhile.
const USERS: u64 = 2;
/// A node runs one task, so that the worker's node has its share. A killed worker is soon lost, or
/// reconnects before.
const CONFIG: &str = "policy = \"easy\"\nmarket = \"commodity\"\n[workers]\ngrace_s = 2.0\n\
    [limits]\noutput_bytes = 20000\n";
/// The maximum number of queued tasks. Above it, users wait.
const MAX_QUEUED: u32 = 20;
/// The workers.
const WORKERS: [&str; 2] = ["left", "right"];
/// A script that writes a line at its start and another line at its end.
const TASK: &str = "\
say() { echo \"$1 $TOLLGATE_JOB $TOLLGATE_TASK $TOLLGATE_TRY $(date +%s%N)\" >> WITNESS; }
say begin; WORK; say end
";

/// The limit at which a job is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StormLimit {
    Time,
    Memory,
    Output,
}

impl StormLimit {
    /// Returns the limit of the job with this number. None for most jobs.
    const fn of(n: u64) -> Option<Self> {
        match n % 21 {
            7 => Some(Self::Time),
            14 => Some(Self::Memory),
            0 => Some(Self::Output),
            _ => None,
        }
    }

    /// Returns a command of a shell that does not end before the limit.
    const fn work(self) -> &'static str {
        match self {
            Self::Time => "sleep 600",
            // `tail` keeps all of a line. Where nothing limits memory, it ends.
            Self::Memory => "head -c 200000000 /dev/zero | tail -n 1 > /dev/null || exit 1",
            Self::Output => "head -c 100000 /dev/zero; sleep 600",
        }
    }
}

/// A process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KillTarget {
    Service,
    Runner,
    /// A worker, by its place in [`WORKERS`].
    Worker(usize),
    WorkersRunner(usize),
}

/// The sets of processes that are killed together: each process alone, processes that depend on
/// each other, and all processes.
const KILL_SETS: [&[KillTarget]; 12] = {
    use KillTarget::{Runner, Service, Worker, WorkersRunner};
    [
        &[Service],
        &[Runner],
        &[Service, Runner],
        &[Worker(0)],
        &[WorkersRunner(0)],
        &[Worker(0), WorkersRunner(0)],
        &[Worker(1)],
        &[WorkersRunner(1)],
        &[Worker(0), Worker(1)],
        &[Service, Worker(1)],
        &[Worker(1), WorkersRunner(1)],
        &[
            Service,
            Runner,
            Worker(0),
            WorkersRunner(0),
            Worker(1),
            WorkersRunner(1),
        ],
    ]
};

#[test]
fn random_kills_lose_no_job_and_run_none_twice() {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let rounds = number("TOLLGATE_ROUNDS").unwrap_or(ROUNDS);
    let mut seed = number("TOLLGATE_SEED").unwrap_or(1);
    let mut site = CrashTestSite::with(CONFIG);
    site.start(&[]);
    let mut workers = WORKERS.map(|name| StormWorker::start(&site, name));
    let stop = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (0..USERS)
        .map(|user| {
            let (user, stop) = (StormUser::new(&site, user), Arc::clone(&stop));
            thread::spawn(move || user.work_until(&stop))
        })
        .collect();
    let began = Instant::now();
    let mut killed: BTreeMap<KillTarget, u32> = BTreeMap::new();
    for round in 0..rounds {
        thread::sleep(Duration::from_millis(50 + random(&mut seed) % 400));
        // Each set has its turn, whatever the seed.
        let cast = KILL_SETS[round as usize % KILL_SETS.len()];
        let pids = |victim: &KillTarget| match victim {
            KillTarget::Service => site.service().into_iter().collect(),
            KillTarget::Runner => site.runners_below(&site.data()),
            KillTarget::Worker(n) => vec![workers[*n].pid()],
            KillTarget::WorkersRunner(n) => site.runners_below(&site.worker_data(WORKERS[*n])),
        };
        let of_cast: Vec<(KillTarget, Vec<Pid>)> =
            cast.iter().map(|victim| (*victim, pids(victim))).collect();
        for (victim, pids) in of_cast {
            *killed.entry(victim).or_default() += signal_all(&pids).len() as u32;
        }
        if cast.contains(&KillTarget::Service) {
            site.kill();
            site.start(&[]);
        }
        for (n, name) in WORKERS.into_iter().enumerate() {
            if !cast.contains(&KillTarget::Worker(n)) {
                continue;
            }
            workers[n].end();
            // The worker's jobs continue, or the service gives them up and starts them again during
            // the absence.
            if random(&mut seed).is_multiple_of(3) {
                until("the worker is given up", || {
                    state_of_worker(&site, name) == "lost"
                });
            }
            workers[n] = StormWorker::start(&site, name);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged: Vec<u64> = users
        .into_iter()
        .flat_map(|user| user.join().expect("a user"))
        .collect();
    site.wait_until_idle();
    // The second recovery must give the same state.
    site.kill();
    site.start(&[]);
    site.wait_until_idle();
    let seen = audit(&site, &acknowledged);
    println!(
        "{killed:?} killed in {:.0} s: {seen}",
        began.elapsed().as_secs_f64()
    );
    assert!(seen.finished > 0, "{seen}");
    // Where no control group limits memory, its jobs finish.
    for limit in ["timed_out", "output_limit"] {
        assert!(seen.limited.contains_key(limit), "{seen}");
    }
    for name in WORKERS {
        let journal = fs::read_to_string(site.worker_data(name).join("runner/journal")).unwrap();
        assert!(
            journal.contains("taken"),
            "the worker {name} was given nothing"
        );
    }
}

/// A worker of the site, with one node.
struct StormWorker(Child);

impl StormWorker {
    fn start(site: &CrashTestSite, name: &str) -> Self {
        let socket = tollgate_store::data_dir::socket(&site.data());
        let child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .arg("worker")
            .arg(format!("--connect=unix:{}", socket.display()))
            .arg("--data")
            .arg(site.worker_data(name))
            .args([
                "--name",
                name,
                "--nodes",
                "1",
                "--root-jobs",
                "--account",
                "root",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the worker starts");
        Self(child)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for StormWorker {
    /// Kills the worker. Its jobs end with its lease.
    fn drop(&mut self) {
        self.end();
    }
}

fn state_of_worker(site: &CrashTestSite, name: &str) -> String {
    let nodes: Value = site.client().get("/v1/nodes").expect("nodes");
    let workers = nodes["workers"].as_array().into_iter().flatten();
    let mut named = workers.filter(|worker| worker["name"] == name);
    let state = named.next().and_then(|worker| worker["state"].as_str());
    // The test does not wait for a worker that never connected.
    state.unwrap_or("lost").to_owned()
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A user who submits jobs of every kind, and cancels some of them.
struct StormUser {
    number: u64,
    data: PathBuf,
    witness: PathBuf,
}

impl StormUser {
    fn new(site: &CrashTestSite, number: u64) -> Self {
        Self {
            number,
            data: site.data(),
            witness: site.witness(),
        }
    }

    /// Submits and cancels jobs until `stop`. Returns the jobs that the service acknowledged.
    fn work_until(&self, stop: &AtomicBool) -> Vec<u64> {
        let mut acknowledged: Vec<u64> = Vec::new();
        let mut client = None;
        let mut n = self.number;
        while !stop.load(Ordering::Relaxed) {
            let Some(connected) = client.as_mut() else {
                client = connect(&self.data);
                thread::sleep(Duration::from_millis(2));
                continue;
            };
            let status: Option<ServiceStatus> = connected.get("/v1/status").ok();
            if status.is_some_and(|status| status.queued > MAX_QUEUED) {
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            n += 1;
            match self.act(connected, n, acknowledged.last().copied()) {
                Some(job) => acknowledged.push(job),
                None => client = None,
            }
            thread::sleep(Duration::from_millis(40));
        }
        acknowledged
    }

    /// Submits a job, alternating between all kinds. Returns its number if the answer arrived.
    fn act(&self, client: &mut ApiClient, n: u64, last: Option<u64>) -> Option<u64> {
        let last = last.filter(|_| n % 6 == 1);
        let request = JobRequest {
            array: (n % 6 == 2).then(|| "1-4".to_owned()),
            after: last.map(|job| format!("any:{job}")).into_iter().collect(),
            requeue: !n.is_multiple_of(4),
            ..self.request(n)
        };
        let answer: SubmitResponse = client.post("/v1/jobs", &request).ok()?;
        let job = answer.id?;
        if n.is_multiple_of(5) {
            // The job may have finished by then, and the answer may be missing.
            let done: Result<JobRef, _> = client.post(&format!("/v1/jobs/{job}/cancel"), &());
            drop(done);
        }
        Some(job)
    }

    fn request(&self, n: u64) -> JobRequest {
        let limit = StormLimit::of(n);
        let work = match limit {
            Some(limit) => limit.work(),
            None if n.is_multiple_of(3) => "sleep 0.4",
            None => "sleep 0.02",
        };
        let is_limited = |to| limit == Some(to);
        let witness = self.witness.display().to_string();
        let script = TASK.replace("WITNESS", &witness).replace("WORK", work);
        JobRequest {
            command: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
            procs: 1,
            estimate_s: Some(if is_limited(StormLimit::Time) {
                0.3
            } else {
                1.0
            }),
            time_limit_s: is_limited(StormLimit::Time).then_some(0.3),
            memory_bytes: is_limited(StormLimit::Memory).then_some(50_000_000),
            output: is_limited(StormLimit::Output).then(|| format!("{witness}-%j")),
            deadline_s: Some(100_000.0),
            budget: Some(1_000.0),
            dir: "/".to_owned(),
            umask: 0o022,
            ..JobRequest::default()
        }
    }
}

/// The outcome of the tasks.
#[derive(Default)]
struct TaskAudit {
    jobs: usize,
    finished: usize,
    lost: usize,
    cancelled: usize,
    /// Tasks that ended at a limit, by their state.
    limited: BTreeMap<String, usize>,
    attempts: usize,
}

impl fmt::Display for TaskAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            jobs,
            finished,
            lost,
            cancelled,
            limited,
            attempts,
        } = self;
        write!(
            f,
            "{jobs} jobs, {attempts} attempts, {finished} tasks finished, {lost} lost, {cancelled} cancelled, ended at limits: {limited:?}"
        )
    }
}

/// An attempt, as job, task and number of the attempt.
type StormAttempt = (u64, u32, u32);

/// Compares the state of the service with the lines that the tasks wrote, and with the ledger.
fn audit(site: &CrashTestSite, acknowledged: &[u64]) -> TaskAudit {
    let jobs = jobs(site);
    for job in acknowledged {
        assert!(jobs.contains_key(job), "job {job} is missing");
    }
    let (begun, ended) = (stamps(site, "begin"), stamps(site, "end"));
    let mut seen = TaskAudit {
        jobs: jobs.len(),
        attempts: begun.len(),
        ..TaskAudit::default()
    };
    for (job, row) in &jobs {
        for task in tasks(site, row) {
            let number = task.task.unwrap_or(0);
            let last = (*job, number, task.attempts);
            match task.state.key() {
                limit @ ("timed_out" | "out_of_memory" | "output_limit") => {
                    *seen.limited.entry(limit.to_owned()).or_default() += 1;
                    assert!(!ended.contains_key(&last), "{last:?} ended at its limit");
                }
                "finished" => {
                    seen.finished += 1;
                    assert!(
                        ended.contains_key(&last),
                        "{last:?} finished without its end"
                    );
                }
                "lost" => seen.lost += 1,
                "cancelled" => seen.cancelled += 1,
                other => panic!("job {job}, task {number} is {other}"),
            }
        }
    }
    let known = |attempt: &&StormAttempt| jobs.contains_key(&attempt.0);
    let unknown = begun.keys().find(|attempt| !known(attempt));
    assert_eq!(unknown, None, "an attempt of no job");
    for (attempt, end) in &ended {
        let next = (attempt.0, attempt.1, attempt.2 + 1);
        let beside = begun.get(&next).is_some_and(|begin| begin < end);
        assert!(!beside, "{attempt:?} ran beside the next attempt");
    }
    ledger(site);
    seen
}

/// Returns the time at which each attempt wrote its line of this kind. Each attempt writes the line
/// once.
fn stamps(site: &CrashTestSite, kind: &str) -> BTreeMap<StormAttempt, u64> {
    let text = fs::read_to_string(site.witness()).unwrap_or_default();
    let mut stamps = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [this, job, task, attempt, at] = words[..] else {
            panic!("{line}");
        };
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let attempt = (number(job), number(task) as u32, number(attempt) as u32);
        if this == kind {
            let before = stamps.insert(attempt, number(at));
            assert_eq!(before, None, "{attempt:?} was started twice");
        }
    }
    stamps
}

fn jobs(site: &CrashTestSite) -> BTreeMap<u64, JobDetails> {
    let mut client = site.client();
    let mut jobs: BTreeMap<u64, JobDetails> = BTreeMap::new();
    loop {
        let before = jobs.keys().next().copied();
        let before = before.map_or_else(String::new, |id| format!("&before={id}"));
        let path = format!("/v1/jobs?limit=1000{before}");
        let page: JobList = client.get(&path).expect("jobs");
        if page.jobs.is_empty() {
            return jobs;
        }
        for job in page.jobs {
            assert!(!jobs.contains_key(&job.id), "job {} is there twice", job.id);
            jobs.insert(job.id, job);
        }
    }
}

/// Returns the tasks of an array. A job that is not an array is its own task.
fn tasks(site: &CrashTestSite, job: &JobDetails) -> Vec<JobDetails> {
    if job.array.is_none() {
        return vec![job.clone()];
    }
    let path = format!("/v1/jobs/{}/tasks?limit=1000", job.id);
    let tasks: JobList = site.client().get(&path).expect("tasks");
    tasks.jobs
}

/// Asserts that no task is charged twice, and that the accounts are the sums of the entries.
fn ledger(site: &CrashTestSite) {
    let path = site.data().join("tollgate.db");
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT job, task, kind, amount FROM ledger";
    let mut statement = store.prepare(sql).unwrap();
    let entries = statement.query_map([], |row| {
        let task: (u64, u32) = (row.get(0)?, row.get(1)?);
        Ok((task, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
    });
    let (mut charged, mut sum) = (BTreeSet::new(), 0_i64);
    for (task, kind, amount) in entries.unwrap().map(Result::unwrap) {
        sum += amount;
        let is_new = kind != "charge" || charged.insert(task);
        assert!(is_new, "{task:?} was charged twice");
    }
    let ledger: LedgerReport = site.client().get("/v1/ledger").expect("the ledger");
    let booked: f64 = ledger.accounts.iter().map(|account| account.utility).sum();
    // The store keeps credits in millionths.
    assert_eq!((booked * 1e6).round() as i64, sum, "what is booked");
}

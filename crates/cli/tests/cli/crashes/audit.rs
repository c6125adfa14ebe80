//! Compares the jobs that the service reports with the jobs that ran.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use tollgate_client::types::{JobDetails, JobList, JobState, LedgerReport};

use super::site::CrashTestSite;

/// The outcome of the jobs.
#[derive(Debug)]
pub(crate) struct JobAudit {
    pub(crate) jobs: usize,
    pub(crate) finished: usize,
    pub(crate) lost: usize,
    attempts: u32,
    ran: usize,
}

impl fmt::Display for JobAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            jobs,
            finished,
            lost,
            attempts,
            ran,
        } = self;
        write!(
            f,
            "{jobs} jobs, {attempts} attempts, {ran} ran, {finished} finished, {lost} lost"
        )
    }
}

/// Waits until all jobs have finished, and compares. `acknowledged` are the jobs whose admission was
/// acknowledged to a client.
pub(crate) fn audit(site: &mut CrashTestSite, acknowledged: &[u64]) -> JobAudit {
    site.wait_until_idle();
    // The second recovery must give the same state.
    site.kill();
    site.start(&[]);
    site.wait_until_idle();
    let jobs = jobs(site);
    for job in acknowledged {
        assert!(jobs.contains_key(job), "job {job} is lost");
    }
    let ran = ran(site);
    for ((job, attempt), times) in &ran {
        assert_eq!(
            *times, 1,
            "attempt {attempt} at job {job} ran {times} times"
        );
        let known = jobs
            .get(job)
            .unwrap_or_else(|| panic!("no answer names job {job}"));
        assert!(
            *attempt <= known.attempts,
            "job {job} has no attempt {attempt}"
        );
    }
    for job in jobs.values() {
        let last = ran.contains_key(&(job.id, job.attempts));
        match job.state.key() {
            "finished" => {
                assert_eq!(job.status.as_deref(), Some("exit 0"), "job {}", job.id);
                assert!(last, "job {} never ran", job.id);
            }
            "lost" => assert!(job.exit_code.is_none(), "job {}", job.id),
            other => panic!("job {} is {other}", job.id),
        }
    }
    let finished = jobs.values().filter(|job| job.state == JobState::Finished);
    let owed: Vec<f64> = finished.filter_map(|job| job.price).collect();
    let ledger: LedgerReport = site.client().get("/v1/ledger").expect("the ledger");
    let charged: f64 = ledger.accounts.iter().map(|account| account.charges).sum();
    let sum: f64 = owed.iter().sum();
    assert!(
        (charged - sum).abs() < 1e-6 * sum.max(1.0),
        "{charged} charged for {sum}"
    );
    JobAudit {
        jobs: jobs.len(),
        finished: owed.len(),
        lost: jobs
            .values()
            .filter(|job| job.state == JobState::Lost)
            .count(),
        attempts: jobs.values().map(|job| job.attempts).sum(),
        ran: ran.len(),
    }
}

fn jobs(site: &CrashTestSite) -> BTreeMap<u64, JobDetails> {
    let mut client = site.client();
    let mut jobs = BTreeMap::new();
    loop {
        let before = jobs.keys().next().copied();
        let before = before.map_or_else(String::new, |id: u64| format!("&before={id}"));
        let page: JobList = client
            .get(&format!("/v1/jobs?limit=1000{before}"))
            .expect("jobs");
        if page.jobs.is_empty() {
            return jobs;
        }
        for job in page.jobs {
            let id = job.id;
            assert!(jobs.insert(id, job).is_none(), "job {id} is there twice");
        }
    }
}

/// Returns the number of lines that each attempt wrote.
fn ran(site: &CrashTestSite) -> BTreeMap<(u64, u32), usize> {
    let text = fs::read_to_string(site.witness()).unwrap_or_default();
    let mut ran = BTreeMap::new();
    for line in text.lines() {
        let (job, attempt) = line.split_once(' ').expect("two numbers");
        let attempt = (job.parse().expect("a job"), attempt.parse().expect("a try"));
        *ran.entry(attempt).or_insert(0) += 1;
    }
    ran
}

//! A service in a directory that is killed and restarted, and its users.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tollgate_client::ApiClient;
use tollgate_client::types::{JobDecision, JobList, JobRequest, ServiceStatus, SubmitResponse};

/// The timeout of every wait. Waits are far shorter if nothing is wrong.
const TIMEOUT: Duration = Duration::from_secs(120);
/// A configuration with prices, so that jobs are charged, in which no job is rejected.
const CONFIG: &str =
    "policy = \"libra\"\nmarket = \"commodity\"\nconfidence = 0.0\nmax_resident = 100000\n";

pub(crate) struct CrashTestSite {
    folder: tempfile::TempDir,
    service: Option<Child>,
    ended: Option<ExitStatus>,
}

impl CrashTestSite {
    pub(crate) fn new() -> Self {
        Self::with(CONFIG)
    }

    /// Creates a site with this configuration.
    pub(crate) fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let site = Self {
            folder,
            service: None,
            ended: None,
        };
        fs::create_dir(site.data()).expect("a folder");
        fs::write(site.data().join("config.toml"), config).expect("settings");
        site
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the data directory of a worker.
    pub(crate) fn worker_data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the file in which each job writes a line.
    pub(crate) fn witness(&self) -> PathBuf {
        self.folder.path().join("witness")
    }

    /// Starts the service, and waits until it answers or has ended.
    pub(crate) fn start(&mut self, environment: &[(&str, &str)]) {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .expect("a log");
        let child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--data"])
            .arg(self.data())
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the service starts");
        self.service = Some(child);
        self.ended = None;
        let began = Instant::now();
        while !self.died() && status(&self.data()).is_none() {
            let log = || fs::read_to_string(self.folder.path().join("log"));
            assert!(began.elapsed() < TIMEOUT, "it does not answer: {:?}", log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the service with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut service) = self.service.take() {
            let _ = service.kill();
            let _ = service.wait();
        }
    }

    /// Asks the service to stop, and waits for its end.
    pub(crate) fn terminate(&mut self) {
        if let Some(mut service) = self.service.take() {
            if let Some(pid) = Pid::from_raw(service.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
            self.ended = service.wait().ok();
        }
    }

    /// Returns whether the service was killed.
    pub(crate) fn died(&mut self) -> bool {
        if let Some(service) = &mut self.service {
            self.ended = service.try_wait().expect("it is our child");
        }
        self.ended.is_some_and(|status| status.code().is_none())
    }

    /// Kills the runner. Returns false if there is no runner.
    pub(crate) fn kill_runner(&self) -> bool {
        !signal_all(&self.runners_below(&self.data())).is_empty()
    }

    /// Returns the runners of the service or the worker in this directory. The processes that watch
    /// the runners are left out.
    pub(crate) fn runners_below(&self, data: &Path) -> Vec<Pid> {
        let runner = data.join("runner");
        let runner = runner.to_string_lossy().into_owned();
        let processes = fs::read_dir("/proc").expect("there is /proc");
        let pids = processes
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            let is_its = words.contains("__runner") && words.contains(&runner);
            is_its && !words.contains("--watch")
        };
        pids.filter(is_ours).filter_map(Pid::from_raw).collect()
    }

    /// Returns the process of the service. None if it does not run.
    pub(crate) fn service(&self) -> Option<Pid> {
        let service = self.service.as_ref()?;
        Pid::from_raw(service.id() as i32)
    }

    pub(crate) fn client(&self) -> ApiClient {
        connect(&self.data()).expect("the service answers")
    }

    /// Waits until no job waits or runs.
    pub(crate) fn wait_until_idle(&self) {
        let began = Instant::now();
        loop {
            let status = status(&self.data()).expect("the service answers");
            if status.queued + status.held + status.running == 0 {
                return;
            }
            assert!(
                began.elapsed() < TIMEOUT,
                "jobs never end: {status:?}\n{}",
                self.unfinished()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns what the service knows of the jobs that are not over, and the processes of the site.
    fn unfinished(&self) -> String {
        let mut client = self.client();
        let list: JobList = client.get("/v1/jobs").expect("the jobs");
        let mut known = String::new();
        for job in list.jobs {
            let path = format!("/v1/jobs/{}", job.id);
            let details: Value = client.get(&path).expect("a job");
            known += &format!("{details}\n");
        }
        let processes = Command::new("ps")
            .args(["-eo", "pid,ppid,etimes,stat,args"])
            .output();
        let processes =
            processes.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        known + &processes.unwrap_or_default()
    }
}

/// Kills processes with SIGKILL, one right after the other. Returns the processes that existed.
pub(crate) fn signal_all(pids: &[Pid]) -> Vec<Pid> {
    let is_there = |pid: &&Pid| kill_process(**pid, Signal::KILL).is_ok();
    pids.iter().filter(is_there).copied().collect()
}

impl Drop for CrashTestSite {
    fn drop(&mut self) {
        self.kill();
        self.kill_runner();
    }
}

pub(crate) fn connect(data: &Path) -> Option<ApiClient> {
    ApiClient::connect(&tollgate_store::data_dir::socket(data)).ok()
}

fn status(data: &Path) -> Option<ServiceStatus> {
    connect(data)?.get("/v1/status").ok()
}

/// A user who submits jobs.
pub(crate) struct CrashTestUser {
    data: PathBuf,
    witness: PathBuf,
}

impl CrashTestUser {
    pub(crate) fn new(site: &CrashTestSite) -> Self {
        Self {
            data: site.data(),
            witness: site.witness(),
        }
    }

    /// Submits `n` jobs. Returns the numbers of the admitted jobs. Gives up once the service does
    /// not answer.
    pub(crate) fn submit_jobs(&self, n: usize) -> Vec<u64> {
        let Some(mut client) = connect(&self.data) else {
            return Vec::new();
        };
        let jobs = (0..n).map_while(|n| self.submit(&mut client, n));
        jobs.collect()
    }

    /// Submits jobs one after the other, whether the service runs or not.
    pub(crate) fn submit_until(&self, stop: &AtomicBool) -> Vec<u64> {
        let mut acknowledged = Vec::new();
        let mut client = None;
        while !stop.load(Ordering::Relaxed) {
            let Some(connected) = client.as_mut() else {
                client = connect(&self.data);
                thread::sleep(Duration::from_millis(2));
                continue;
            };
            match self.submit(connected, acknowledged.len()) {
                Some(job) => acknowledged.push(job),
                None => client = None,
            }
            thread::sleep(Duration::from_millis(10));
        }
        acknowledged
    }

    /// Submits a job. Returns its number if the answer arrived.
    fn submit(&self, client: &mut ApiClient, n: usize) -> Option<u64> {
        // Some jobs run long enough to be killed while they run.
        let nap = if n.is_multiple_of(4) {
            "sleep 0.2; "
        } else {
            ""
        };
        let witness = self.witness.display();
        let script = format!("{nap}echo \"$TOLLGATE_JOB $TOLLGATE_TRY\" >> {witness}");
        let request = JobRequest {
            command: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
            procs: 1,
            estimate_s: Some(1.0),
            deadline_s: Some(100_000.0),
            budget: Some(1_000.0),
            dir: "/".to_owned(),
            umask: 0o022,
            requeue: n.is_multiple_of(2),
            ..JobRequest::default()
        };
        let answer: SubmitResponse = client.post("/v1/jobs", &request).ok()?;
        assert_eq!(answer.decision, JobDecision::Accepted, "{answer:?}");
        answer.id
    }
}

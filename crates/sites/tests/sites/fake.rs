//! The stand-in for Slurm.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tollgate_batch::EngineKind;
use tollgate_model::Instant;
use tollgate_sites::{
    EngineShell, PilotToken, ScaleOutcome, ServiceAddress, SiteControl, SiteError, SiteSettings,
    TokenIssuer,
};

/// The maximum time of a command: far more than the stand-in takes, unless it hangs.
const LIMIT: Duration = Duration::from_secs(5);

thread_local! {
    /// The instant of a test's clock, in seconds since the epoch. Each test has a thread of its own.
    static NOW: Cell<i64> = const { Cell::new(1_795_000_000) };
}

/// A directory with the stand-in and the files of a site.
pub(crate) struct FakeEngine {
    dir: TempDir,
    limit: Duration,
}

/// A job that the stand-in accepted.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FakeJob {
    pub(crate) name: String,
    pub(crate) state: String,
}

/// A source of tokens that counts them, and knows those that were revoked.
#[derive(Default)]
pub(crate) struct FakeTokens {
    pub(crate) issued: u32,
    pub(crate) revoked: Vec<String>,
}

impl TokenIssuer for FakeTokens {
    fn issue(&mut self) -> Result<PilotToken, String> {
        self.issued += 1;
        Ok(PilotToken {
            text: format!("token-{}", self.issued),
            id: Some(self.issued.to_string()),
        })
    }

    fn revoke(&mut self, id: &str) -> Result<(), String> {
        self.revoked.push(id.to_owned());
        Ok(())
    }
}

impl FakeEngine {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine");
        fs::create_dir_all(dir.path().join("engine/jobs")).expect("a directory");
        for entry in fs::read_dir(source).expect("the stand-in") {
            let from = entry.expect("a script").path();
            let name = from.file_name().expect("a name");
            // A link, because a copy may still be open for writing in a process that another test
            // forks.
            std::os::unix::fs::symlink(&from, dir.path().join("engine").join(name))
                .expect("a link");
        }
        Self { dir, limit: LIMIT }
    }

    /// Returns the stand-in with a shorter time limit of commands.
    pub(crate) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    fn engine(&self) -> PathBuf {
        self.dir.path().join("engine")
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Lets the next submissions go wrong, one after the other.
    pub(crate) fn faults(&self, faults: &[&str]) {
        let lines: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
        fs::write(self.engine().join("faults"), lines).expect("a writable directory");
    }

    /// Makes every query fail, or not.
    pub(crate) fn set_down(&self, down: bool) {
        let file = self.engine().join("down");
        match down {
            true => fs::write(file, "").expect("a writable directory"),
            false => fs::remove_file(file).expect("it was down"),
        }
    }

    /// Moves the clock on by some minutes.
    pub(crate) fn pass_minutes(&self, minutes: i64) {
        NOW.set(NOW.get() + minutes * 60);
    }

    /// Returns the jobs that wait or run, in the order of their names.
    pub(crate) fn live_jobs(&self) -> Vec<FakeJob> {
        let mut jobs = Vec::new();
        for entry in fs::read_dir(self.engine().join("jobs")).expect("a directory") {
            let dir = entry.expect("a job").path();
            let read = |file: &str| fs::read_to_string(dir.join(file)).expect("a whole job");
            let job = FakeJob {
                name: read("name").trim().to_owned(),
                state: read("state").trim().to_owned(),
            };
            jobs.extend((job.state != "CANCELLED" && job.state != "COMPLETED").then_some(job));
        }
        jobs.sort();
        jobs
    }

    /// Returns the home directory on the host that `ssh` reaches.
    pub(crate) fn remote_home(&self) -> PathBuf {
        self.engine().join("home")
    }

    /// Returns the script of the job with a name.
    pub(crate) fn script(&self, name: &str) -> String {
        self.read(name, "script")
    }

    /// Returns the arguments with which the job with a name was submitted.
    pub(crate) fn words(&self, name: &str) -> String {
        self.read(name, "words")
    }

    fn read(&self, name: &str, file: &str) -> String {
        for entry in fs::read_dir(self.engine().join("jobs")).expect("a directory") {
            let dir = entry.expect("a job").path();
            if fs::read_to_string(dir.join("name")).expect("a name").trim() == name {
                return fs::read_to_string(dir.join(file)).expect("a whole job");
            }
        }
        panic!("no job is called {name}");
    }

    /// Puts the jobs with these names into a state.
    pub(crate) fn set_state(&self, name: &str, state: &str) {
        for entry in fs::read_dir(self.engine().join("jobs")).expect("a directory") {
            let dir = entry.expect("a job").path();
            if fs::read_to_string(dir.join("name")).expect("a name").trim() == name {
                fs::write(dir.join("state"), state).expect("a writable directory");
            }
        }
    }

    /// Takes a job out of what queries show, as one of another cluster.
    pub(crate) fn hide(&self, id: u64) {
        let file = self.engine().join(format!("jobs/{id}/hidden"));
        fs::write(file, "").expect("a job");
    }

    /// Lets the stand-in keep records of jobs: these lines.
    pub(crate) fn set_records(&self, lines: &str) {
        self.set_file("records", lines);
    }

    /// Writes a file from which a command of the stand-in answers.
    pub(crate) fn set_file(&self, name: &str, text: &str) {
        fs::write(self.engine().join(name), text).expect("a writable directory");
    }

    /// Returns a way to run the stand-in's commands, through its `ssh` if there is another host.
    pub(crate) fn shell(&self, via: Option<String>) -> EngineShell {
        let path = format!("{}:/usr/bin:/bin", self.engine().display());
        EngineShell::new(via).with_path(path).with_limit(self.limit)
    }

    /// Opens the site, as a command does that starts now.
    pub(crate) fn site(&self) -> SiteControl {
        self.site_with(|_| {})
    }

    pub(crate) fn site_with(&self, change: impl FnOnce(&mut SiteSettings)) -> SiteControl {
        let mut settings = SiteSettings::new("fake", EngineKind::Slurm, "0a1b", "tollgate");
        change(&mut settings);
        let shell = self.shell(settings.via.clone());
        let site = SiteControl::open(settings, &self.state_dir(), "tollgate");
        site.expect("a lock")
            .with_world(shell, || Instant::from_secs(NOW.get()))
    }

    /// Opens the site and scales it.
    pub(crate) fn scale(&self, target: u32) -> Result<ScaleOutcome, SiteError> {
        self.site()
            .reconcile(target, &service(), &mut FakeTokens::default())
    }
}

/// Returns a service that wants tokens.
pub(crate) fn service() -> ServiceAddress {
    ServiceAddress {
        connect: "https://here:8443".to_owned(),
        fingerprint: None,
        needs_token: true,
        body: tollgate_sites::PilotBody::Worker,
    }
}

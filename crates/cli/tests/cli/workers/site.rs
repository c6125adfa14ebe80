//! A service that listens on TCP, and its workers.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The timeout of every wait. Waits are far shorter if nothing is wrong.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A service that ends with the test.
pub(crate) struct WorkerTestSite {
    folder: tempfile::TempDir,
    _service: TestProcess,
    url: String,
    fingerprint: String,
}

/// A process that ends when the value is dropped.
pub(crate) struct TestProcess(Child);

impl TestProcess {
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32).unwrap()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        let _ = kill_process(self.pid(), Signal::TERM);
        // A stopped process cannot end.
        let _ = kill_process(self.pid(), Signal::CONT);
        let _ = self.0.wait();
    }
}

/// Prints the state of a computer at each change.
const PRESENCE: &str = "\
while [ -e $1 ]; do now=$(cat $1); [ \"$now\" = \"$last\" ] || echo \"$now\"; last=$now; sleep 0.05; done
";

/// The user of a desktop: a file has the use of it, which a command prints.
pub(crate) struct DesktopUser(PathBuf);

impl DesktopUser {
    pub(crate) fn comes(&self) {
        self.write("in-use user");
    }

    pub(crate) fn leaves(&self) {
        self.write("free");
    }

    fn write(&self, state: &str) {
        let new = self.0.with_extension("new");
        fs::write(&new, state).unwrap();
        fs::rename(&new, &self.0).unwrap();
    }
}

impl WorkerTestSite {
    pub(crate) fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(data.join("config.toml"), config).unwrap();
        let log = folder.path().join("log");
        let service = tollgate(folder.path())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let _service = TestProcess(service);
        let (mut url, mut fingerprint) = (String::new(), String::new());
        until("it listens", || {
            let text = fs::read_to_string(&log).unwrap();
            let words: Vec<&str> = text.split([' ', '=', '\n']).collect();
            let find = |start| words.iter().find(|word| word.starts_with(start));
            url = find("https://").copied().unwrap_or_default().to_owned();
            fingerprint = find("sha256:").copied().unwrap_or_default().to_owned();
            !fingerprint.is_empty() && text.ends_with('\n')
        });
        Self {
            folder,
            _service,
            url,
            fingerprint,
        }
    }

    /// Returns the directory in which users work.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn worker_data(&self) -> PathBuf {
        self.folder().join("worker-data")
    }

    /// Creates a directory for a job.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        let place = self.folder().join(name);
        fs::create_dir(&place).unwrap();
        place
    }

    pub(crate) fn run(&self, words: &[impl AsRef<str>]) -> Output {
        let words = words.iter().map(AsRef::as_ref);
        tollgate(self.folder()).args(words).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn output_of(&self, words: &[impl AsRef<str>]) -> String {
        let ran = self.run(words);
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.output_of(words)).unwrap()
    }

    /// Submits a script to be run in a directory.
    #[track_caller]
    pub(crate) fn submit_at(&self, place: &Path, flags: &[&str], script: &str) {
        let place = place.to_str().unwrap();
        let head = ["submit", "--output", "none", "--dir", place];
        self.output_of(&[&head, flags, &["--", "sh", "-c", script]].concat());
    }

    pub(crate) fn state(&self, job: u64) -> String {
        let jobs = self.json(&["jobs", "--all", "--format", "json"]);
        let jobs = jobs["jobs"].as_array().unwrap();
        let this = jobs.iter().find(|other| other["id"] == job).unwrap();
        this["state"].as_str().unwrap().to_owned()
    }

    /// Returns the number of the last submitted job.
    pub(crate) fn last_job(&self) -> String {
        let jobs = self.json(&["jobs", "--all", "--format", "json"]);
        let jobs = jobs["jobs"].as_array().unwrap().iter();
        let ids = jobs.map(|job| job["id"].as_u64().unwrap());
        ids.max().unwrap().to_string()
    }

    pub(crate) fn state_of_worker(&self) -> String {
        let nodes = self.json(&["nodes", "--format", "json"]);
        let state = nodes["workers"][0]["state"].as_str();
        state.unwrap_or("never there").to_owned()
    }

    /// Creates a token, and returns the path of its file.
    pub(crate) fn token(&self, name: &str, flags: &[&str]) -> String {
        let token = self.output_of(&[&["token", "new"], flags].concat());
        let file = self.folder().join(name);
        fs::write(&file, token).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// Returns these arguments with the options for TCP.
    pub(crate) fn over_tcp(&self, words: &[&str], token: &str) -> Vec<String> {
        let (first, rest) = words.split_at(if words[0] == "token" { 2 } else { 1 });
        let way = ["--url", &self.url, "--token-file", token];
        let key = ["--fingerprint", &self.fingerprint];
        let all = [first, &way, &key, rest].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Returns the arguments that start a worker with one node.
    pub(crate) fn worker_words(&self, token: &str) -> Vec<String> {
        self.named_worker_words(token, "blade", &self.worker_data())
    }

    fn named_worker_words(&self, token: &str, name: &str, data: &Path) -> Vec<String> {
        let words = [
            "worker",
            "--name",
            name,
            "--connect",
            &self.url,
            "--token-file",
            token,
            "--fingerprint",
            &self.fingerprint,
            "--data",
            data.to_str().unwrap(),
            "--nodes",
            "1",
            "--root-jobs",
            "--account",
            "root",
        ];
        words.into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn worker(&self) -> TestProcess {
        let token = self.token("token", &["--worker"]);
        self.spawn(&self.worker_words(&token))
    }

    /// Starts a worker on a computer whose user comes and goes as the test says.
    pub(crate) fn desktop(&self, flags: &[&str]) -> (TestProcess, DesktopUser) {
        let user = DesktopUser(self.folder().join("user"));
        user.leaves();
        let command = self.folder().join("presence");
        fs::write(&command, PRESENCE).unwrap();
        let command = format!("exec:sh {} {}", command.display(), user.0.display());
        let token = self.token("token", &["--worker"]);
        let mut words = self.worker_words(&token);
        let own = ["--desktop", "--watch", "command", "--presence", &command];
        words.extend(own.iter().chain(flags).map(|&word| word.to_owned()));
        (self.spawn(&words), user)
    }

    /// Starts a worker of this name with one node and a directory of its own.
    pub(crate) fn named_worker(&self, name: &str) -> TestProcess {
        let token = self.token(&format!("token-{name}"), &["--worker"]);
        self.spawn(&self.named_worker_words(&token, name, &self.folder().join(name)))
    }

    pub(crate) fn spawn(&self, words: &[String]) -> TestProcess {
        let log = File::create(self.folder().join("worker-log")).unwrap();
        let mut command = tollgate(self.folder());
        TestProcess(command.args(words).stderr(log).spawn().unwrap())
    }

    /// Returns the runner of the worker, and the process that watches the runner.
    pub(crate) fn runner_of_worker(&self) -> (Pid, Pid) {
        let folder = self.worker_data().into_os_string().into_string().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let (mut runner, mut watcher) = (None, None);
        for pid in pids {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            let is_its = words.contains("__runner") && words.contains(&folder);
            match words.contains("--watch") {
                true if is_its => watcher = Pid::from_raw(pid),
                false if is_its => runner = Pid::from_raw(pid),
                true | false => {}
            }
        }
        (runner.unwrap(), watcher.unwrap())
    }

    /// Returns whether the log of the service contains these words.
    pub(crate) fn log_has(&self, words: &str) -> bool {
        let log = fs::read_to_string(self.folder().join("log"));
        log.unwrap().contains(words)
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl FnMut() -> bool) {
        until(what, is_so);
    }
}

fn tollgate(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .current_dir(folder)
        .env("TOLLGATE_DATA", folder.join("data"))
        .stdin(Stdio::null());
    command
}

#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the number of lines of a file. 0 if the file does not exist.
pub(crate) fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

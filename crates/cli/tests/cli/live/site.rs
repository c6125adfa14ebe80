//! A service in a directory of its own, and its users.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// The timeout of every wait. Waits are far shorter if nothing is wrong.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct ClientOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl ClientOutput {
    /// Returns the output of a command that must have succeeded.
    #[track_caller]
    pub(crate) fn answer(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Returns the output as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.answer()).expect("JSON")
    }
}

/// A service that ends with the test.
pub(crate) struct ClientTestSite {
    folder: tempfile::TempDir,
    service: Child,
}

impl ClientTestSite {
    /// Starts a service with this configuration, and waits until it answers.
    pub(crate) fn start(config: &str) -> Self {
        Self::start_with(config, &[])
    }

    /// Starts a service with this configuration and these flags, and waits until it answers.
    pub(crate) fn start_with(config: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a folder");
        fs::write(data.join("config.toml"), config).expect("settings");
        let log = File::create(folder.path().join("log")).expect("a log");
        let service = start_service(&data, flags, &[], log);
        let site = Self { folder, service };
        site.until("it answers", || site.tollgate(&["status"]).code == Some(0));
        site
    }

    /// Kills the service.
    pub(crate) fn kill(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }

    /// Starts the next service, with these variables in its environment. Returns false if it ends before it
    /// answers.
    pub(crate) fn serve_again(&mut self, environment: &[(&str, &str)]) -> bool {
        self.serve_again_with(&[], environment)
    }

    /// As [`Self::serve_again`], with these flags.
    pub(crate) fn serve_again_with(
        &mut self,
        flags: &[&str],
        environment: &[(&str, &str)],
    ) -> bool {
        let log = OpenOptions::new()
            .append(true)
            .open(self.folder().join("log"));
        let data = self.folder().join("data");
        self.service = start_service(&data, flags, environment, log.expect("a log"));
        // The service may end while it answers, and is not started again.
        let status = ["status", "--reconnect", "0.001s"];
        self.until("it answers or has ended", || {
            self.has_ended() || self.tollgate(&status).code == Some(0)
        });
        !self.has_ended()
    }

    /// Returns whether the service has ended.
    pub(crate) fn has_ended(&self) -> bool {
        has_ended(&self.service)
    }

    /// Starts a shell line like [`Self::shell`], and returns at once.
    pub(crate) fn begin(&self, line: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        self.environment(command.args(["-c", line]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the shell runs")
    }

    /// Stops the service.
    pub(crate) fn stop(&mut self) {
        end(&mut self.service);
    }

    /// Returns whether the log of the latest second service contains these words.
    pub(crate) fn other_log_has(&self, words: &str) -> bool {
        let log = fs::read_to_string(self.folder().join("other-log"));
        log.expect("a log").contains(words)
    }

    /// Waits until the service has ended by itself.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.service.try_wait().expect("it is ours") {
                return status;
            }
            assert!(began.elapsed() < TIMEOUT, "it does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Serves from another data directory until the returned value is dropped.
    pub(crate) fn serve_beside(&self, data: &str) -> SecondService {
        let log = File::create(self.folder().join("other-log")).expect("a log");
        let service = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--data", data])
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the service starts");
        let beside = SecondService(service);
        self.until("it answers", || {
            self.tollgate(&["status", "--data", data]).code == Some(0)
        });
        beside
    }

    /// Returns the directory in which users work.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program with these arguments, as a user of the service.
    pub(crate) fn tollgate(&self, words: &[&str]) -> ClientOutput {
        self.run(Command::new(env!("CARGO_BIN_EXE_tollgate")).args(words))
    }

    /// Runs a shell line with the program on the path and the service in the environment.
    pub(crate) fn shell(&self, line: &str) -> ClientOutput {
        self.run(Command::new("/bin/sh").args(["-c", line]))
    }

    fn run(&self, command: &mut Command) -> ClientOutput {
        let output = self.environment(command).output();
        output_of(output.expect("the program runs"))
    }

    /// Lets a command run as a user of the service.
    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_tollgate"));
        let place = program.parent().expect("a folder").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(self.folder())
            .env("TOLLGATE_DATA", self.folder().join("data"))
            .env("PATH", format!("{place}:{path}"))
            .env("TZ", "UTC")
            .stdin(Stdio::null())
    }

    /// Returns whether the log of the service contains these words.
    pub(crate) fn log_has(&self, words: &str) -> bool {
        let log = fs::read_to_string(self.folder().join("log"));
        log.expect("a log").contains(words)
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            let log = fs::read_to_string(self.folder().join("log"));
            assert!(began.elapsed() < TIMEOUT, "{what}: {log:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for ClientTestSite {
    fn drop(&mut self) {
        end(&mut self.service);
    }
}

/// Returns whether a process of this test has ended.
pub(crate) fn has_ended(child: &Child) -> bool {
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).map_or(true, |status| status.is_some())
}

/// Waits for the end of a command.
pub(crate) fn finish(client: Child) -> ClientOutput {
    output_of(client.wait_with_output().expect("the command ends"))
}

fn output_of(output: Output) -> ClientOutput {
    ClientOutput {
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
        code: output.status.code(),
    }
}

fn start_service(data: &Path, flags: &[&str], environment: &[(&str, &str)], log: File) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("serve")
        .args(flags)
        .env("TOLLGATE_DATA", data)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the service starts")
}

/// A second service that ends when the value is dropped.
pub(crate) struct SecondService(Child);

impl Drop for SecondService {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn end(service: &mut Child) {
    if let Ok(None) = service.try_wait()
        && let Some(pid) = Pid::from_raw(service.id() as i32)
    {
        let _ = kill_process(pid, Signal::TERM);
    }
    let _ = service.wait();
}

/// Replaces every value that differs from run to run with its kind.
pub(crate) fn redacted(mut json: serde_json::Value) -> serde_json::Value {
    redact("", &mut json);
    json
}

fn redact(key: &str, value: &mut serde_json::Value) {
    use serde_json::Value;
    let varies = [
        "pid",
        "version",
        "user_id",
        "group_id",
        "submit_host",
        "user",
        "host",
        "run_s",
        "cpu_s",
        "peak_memory_bytes",
        "dir",
        "output",
        "day",
    ];
    match value {
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(key, value)| redact(key, value)),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(key, item)),
        _ if key.ends_with("_at") => *value = Value::from("[instant]"),
        _ if key.ends_with("probability") => *value = Value::from("[probability]"),
        _ if varies.contains(&key) => *value = Value::from(format!("[{key}]")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

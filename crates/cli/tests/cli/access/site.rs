//! A service for every user of the system, and its users. Only root can start the service.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{Gid, Uid};
use serde_json::Value;

/// The timeout of every wait. Waits are far shorter if nothing is wrong.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Users that exist on every system.
pub(crate) const ONE: u32 = 1;
pub(crate) const OTHER: u32 = 2;
pub(crate) const ROOT: u32 = 0;

pub(crate) struct AccessTestSite {
    folder: tempfile::TempDir,
    service: Option<Child>,
    worker: Option<Child>,
}

impl AccessTestSite {
    /// Returns the name of the account that a service of root becomes. No test user has the
    /// account.
    pub(crate) fn account() -> String {
        let named = Command::new("id").args(["-un", "3"]).output().expect("id");
        String::from_utf8(named.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    /// Starts a service with this configuration under the account.
    pub(crate) fn new(config: &str) -> Self {
        Self::with(&format!("account = \"{}\"\n{config}", Self::account()))
    }

    /// Starts a service with this configuration alone.
    pub(crate) fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        set_mode(folder.path(), 0o755);
        let mut site = Self {
            folder,
            service: None,
            worker: None,
        };
        // Other users can enter neither the target directory nor its parents. Another process
        // copies the program: children of other threads would briefly inherit a file that this
        // process has open for writing, and the copy could not be run.
        let copied = Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_tollgate"))
            .arg(site.program())
            .status();
        assert!(copied.expect("cp").success());
        set_mode(&site.program(), 0o755);
        fs::create_dir(site.data()).expect("a folder");
        set_mode(&site.data(), 0o700);
        fs::write(site.data().join("config.toml"), with_users(config)).expect("settings");
        for user in [ONE, OTHER] {
            fs::create_dir(site.home(user)).expect("a folder");
            set_mode(&site.home(user), 0o700);
            chown(site.home(user), Some(user), Some(user)).expect("root may do that");
        }
        site.start();
        site
    }

    /// Returns the process number of the service.
    pub(crate) fn service(&self) -> u32 {
        self.service.as_ref().expect("it was started").id()
    }

    /// Returns the process number of the worker.
    pub(crate) fn worker(&self) -> u32 {
        self.worker.as_ref().expect("it was started").id()
    }

    /// Waits until the service has ended.
    pub(crate) fn wait_for_end(&mut self) {
        let service = self.service.as_mut().expect("it was started");
        service.wait().expect("it ends");
        self.service = None;
    }

    /// Stops the service if it runs.
    pub(crate) fn stop(&mut self) {
        if let Some(service) = &self.service {
            let pid = Pid::from_raw(service.id() as i32).expect("a process");
            kill_process(pid, Signal::TERM).expect("it is there");
            self.wait_for_end();
        }
    }

    /// Stops the service, and starts it with another configuration.
    pub(crate) fn restart_with(&mut self, config: &str) {
        self.stop();
        fs::write(self.data().join("config.toml"), with_users(config)).expect("settings");
        self.start();
    }

    /// Returns the log of the service.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("a log")
    }

    pub(crate) fn start(&mut self) {
        let log = fs::File::create(self.folder.path().join("log")).expect("a log");
        let child = Command::new(self.program())
            .args(["serve", "--data"])
            .arg(self.data())
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the service starts");
        self.service = Some(child);
        let began = Instant::now();
        while !self.run(ROOT, &["status"]).status.success() {
            let log = || fs::read_to_string(self.folder.path().join("log"));
            assert!(began.elapsed() < TIMEOUT, "it does not answer: {:?}", log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a worker of root with one node. Returns once the worker is connected.
    pub(crate) fn start_worker(&mut self) {
        let route = format!("unix:{}", self.data().join("socket").display());
        self.start_worker_with(&["--connect", &route]);
    }

    /// Starts a worker like [`Self::start_worker`] that gives way to the users of its computer.
    pub(crate) fn start_desktop_worker(&mut self) {
        let route = format!("unix:{}", self.data().join("socket").display());
        let presence = ["--desktop", "--presence", "exec:echo free; sleep 1000"];
        let way: Vec<&str> = ["--connect", &route].into_iter().chain(presence).collect();
        self.start_worker_with(&way);
    }

    /// Starts a worker like [`Self::start_worker`], which connects over TCP with this token.
    pub(crate) fn start_worker_over_tcp(&mut self, token: &str) {
        let file = self.worker_token();
        fs::write(&file, token).expect("it is ours");
        set_mode(&file, 0o600);
        let [_, url, _, key] = self.remote_args().try_into().expect("four words");
        let file = file.to_string_lossy();
        let way = [
            "--connect",
            &url,
            "--fingerprint",
            &key,
            "--token-file",
            &file,
        ];
        self.start_worker_with(&way);
    }

    /// Returns the file with the token of the worker.
    pub(crate) fn worker_token(&self) -> PathBuf {
        self.folder.path().join("worker-token")
    }

    fn start_worker_with(&mut self, way: &[&str]) {
        let log = fs::File::create(self.folder.path().join("worker-log")).expect("a log");
        let child = Command::new(self.program())
            .args(["worker", "--nodes", "1", "--account", &Self::account()])
            .args(["--min-uid", "0"])
            .args(way)
            .arg("--data")
            .arg(self.worker_data())
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the worker starts");
        self.worker = Some(child);
        self.until("the worker is there", || {
            let (_, nodes) = self.http(ROOT, "GET", "/v1/nodes", None);
            nodes["workers"][0]["state"] == "connected"
        });
    }

    pub(crate) fn worker_data(&self) -> PathBuf {
        self.folder.path().join("worker")
    }

    /// Returns the number of nodes.
    pub(crate) fn nodes(&self) -> u64 {
        let (_, status) = self.http(ROOT, "GET", "/v1/status", None);
        status["nodes"].as_u64().expect("a number")
    }

    /// Writes an executable file of a user in their directory.
    pub(crate) fn write(&self, user: u32, name: &str, text: &str) {
        let path = self.home(user).join(name);
        fs::write(&path, text).expect("it is ours");
        set_mode(&path, 0o755);
        chown(&path, Some(user), Some(user)).expect("root may do that");
    }

    /// Runs a function as another user, on a separate thread with the rights of this user.
    pub(crate) fn as_user<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> T {
        let become_user = move || {
            let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
            rustix::thread::set_thread_groups(&[]).expect("root may do that");
            rustix::thread::set_thread_res_gid(gid, gid, gid).expect("root may do that");
            rustix::thread::set_thread_res_uid(uid, uid, uid).expect("root may do that");
            act()
        };
        thread::scope(|scope| scope.spawn(become_user).join().expect("it does not panic"))
    }

    /// Returns the status and the body of a response to a user at the socket. The body is null if
    /// it is not JSON.
    pub(crate) fn http(
        &self,
        user: u32,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let body = body.map_or_else(String::new, Value::to_string);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let socket = self.data().join("socket");
        let answer = Self::as_user(user, move || {
            let mut stream = UnixStream::connect(socket)?;
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        });
        let answer = answer.expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        // The body is one JSON object, even in chunked encoding.
        let body = body.find('{').map_or("", |at| &body[at..]);
        let body = body.rfind('}').map_or("", |at| &body[..=at]);
        let body = serde_json::from_str(body).unwrap_or_default();
        (status.expect("a status"), body)
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < TIMEOUT, "{what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the arguments that select the service over the network.
    pub(crate) fn remote_args(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).expect("a log");
        let address = log.split("url=").nth(1).expect("it listens");
        let (url, rest) = address.split_once(" key=").expect("its key");
        let key = rest.lines().next().expect("a line");
        let words = ["--url", url, "--fingerprint", key];
        words.map(str::to_owned).to_vec()
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join("tollgate")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns a directory that only this user can enter.
    pub(crate) fn home(&self, user: u32) -> PathBuf {
        self.folder.path().join(user.to_string())
    }

    /// Runs `tollgate WORDS` as this user.
    pub(crate) fn run(&self, user: u32, words: &[&str]) -> Output {
        let id = user.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
        command.arg(self.program()).args(words);
        command.env("TOLLGATE_DATA", self.data());
        let home = self.home(user);
        command.env("HOME", &home);
        command.current_dir(if home.is_dir() {
            &home
        } else {
            self.folder.path()
        });
        command.output().expect("util-linux is there")
    }

    /// Returns the output of `tollgate WORDS` for this user. The command must succeed.
    pub(crate) fn run_ok(&self, user: u32, words: &[&str]) -> String {
        let output = self.run(user, words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns the exit code of `tollgate WORDS` for this user, and its error message.
    pub(crate) fn run_err(&self, user: u32, words: &[&str]) -> (Option<i32>, String) {
        let output = self.run(user, words);
        assert!(!output.status.success(), "{words:?} was done");
        assert!(output.stdout.is_empty(), "{words:?} printed something");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors)
    }
}

impl Drop for AccessTestSite {
    fn drop(&mut self) {
        for mut process in self.worker.take().into_iter().chain(self.service.take()) {
            if let Some(pid) = Pid::from_raw(process.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
            let _ = process.wait();
        }
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Returns a configuration that allows the accounts of the tests, which every system has.
fn with_users(config: &str) -> String {
    let name = |user: u32| {
        let found = Command::new("id").args(["-nu", &user.to_string()]).output();
        let name = String::from_utf8(found.expect("id").stdout).expect("text");
        name.trim().to_owned()
    };
    format!("system_users = {:?}\n{config}", [ONE, OTHER].map(name))
}

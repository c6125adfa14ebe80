//! A service for every user of the system, and its users. Only root can start one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long is waited for what must happen; it takes far less if all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Users that every system has.
pub(crate) const ONE: u32 = 1;
pub(crate) const OTHER: u32 = 2;
pub(crate) const ROOT: u32 = 0;

pub(crate) struct Site {
    folder: tempfile::TempDir,
    service: Option<Child>,
}

impl Site {
    /// Whether the tests can be other users; says so if they cannot.
    pub(crate) fn is_root() -> bool {
        let root = rustix::process::geteuid().is_root();
        if !root {
            eprintln!("not tried: only root can be other users");
        }
        root
    }

    /// A service with these settings.
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        set_mode(folder.path(), 0o755);
        let mut site = Self {
            folder,
            service: None,
        };
        // Others can enter neither the target folder nor what leads there.
        // By another process: a file that this one has open for writing, its other threads' children
        // have open too for a moment, and it cannot be run.
        let copied = Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_tollgate"))
            .arg(site.program())
            .status();
        assert!(copied.expect("cp").success());
        set_mode(&site.program(), 0o755);
        fs::create_dir(site.data()).expect("a folder");
        set_mode(&site.data(), 0o700);
        fs::write(site.data().join("config.toml"), config).expect("settings");
        for user in [ONE, OTHER] {
            fs::create_dir(site.home(user)).expect("a folder");
            set_mode(&site.home(user), 0o700);
            chown(site.home(user), Some(user), Some(user)).expect("root may do that");
        }
        site.start();
        site
    }

    fn start(&mut self) {
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
            assert!(
                began.elapsed() < PATIENCE,
                "it does not answer: {:?}",
                log()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The words that lead to it over the network.
    pub(crate) fn way(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).expect("a log");
        let heard = log.split("and on ").nth(1).expect("it listens");
        let (url, rest) = heard.split_once(", key ").expect("its key");
        let key = rest.lines().next().expect("a line");
        let words = ["--url", url, "--fingerprint", key];
        words.map(str::to_owned).to_vec()
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("tollgate")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder that only this user enters.
    pub(crate) fn home(&self, user: u32) -> PathBuf {
        self.folder.path().join(user.to_string())
    }

    /// `tollgate WORDS` as this user.
    pub(crate) fn run(&self, user: u32, words: &[&str]) -> Output {
        let id = user.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
        command.arg(self.program()).args(words);
        command.env("TOLLGATE_DATA", self.data());
        let home = self.home(user);
        command.current_dir(if home.is_dir() {
            &home
        } else {
            self.folder.path()
        });
        command.output().expect("util-linux is there")
    }

    /// What `tollgate WORDS` prints for this user, which must work.
    pub(crate) fn says(&self, user: u32, words: &[&str]) -> String {
        let output = self.run(user, words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The exit code of `tollgate WORDS` for this user and what it complains of.
    pub(crate) fn fails(&self, user: u32, words: &[&str]) -> (Option<i32>, String) {
        let output = self.run(user, words);
        assert!(!output.status.success(), "{words:?} was done");
        assert!(output.stdout.is_empty(), "{words:?} printed something");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut service) = self.service.take() {
            if let Some(pid) = Pid::from_raw(service.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
            let _ = service.wait();
        }
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

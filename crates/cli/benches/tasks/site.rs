//! A service with a data directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cpu_time::cpu_s;

#[derive(Clone, Copy)]
pub(crate) struct BenchRound {
    /// Tasks a second.
    pub(crate) rate: f64,
    /// The time until the answer to the submission, in seconds.
    pub(crate) answer_s: f64,
    pub(crate) cpu_s: f64,
}

/// A service that ends when the value is dropped.
pub(crate) struct BenchSite {
    program: PathBuf,
    folder: tempfile::TempDir,
    service: Child,
}

impl BenchSite {
    pub(crate) fn start(program: &Path, settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("config.toml"), settings).expect("settings");
        let service = serve(program, folder.path());
        let site = Self {
            program: program.to_owned(),
            folder,
            service,
        };
        site.wait_until_ready();
        site.array(200, &[]);
        site
    }

    fn wait_until_ready(&self) {
        while !self.tollgate(&["status"]).1 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the service and starts another one in its place, and waits until that answers.
    pub(crate) fn restart(&mut self) {
        self.service.kill().expect("it runs");
        self.service.wait().expect("it is over");
        self.service = serve(&self.program, self.folder.path());
        self.wait_until_ready();
    }

    /// Runs the program. Returns its output, and whether it succeeded.
    pub(crate) fn tollgate(&self, words: &[&str]) -> (String, bool) {
        let ran = Command::new(&self.program)
            .args(words)
            .env("TOLLGATE_DATA", self.folder.path())
            .stderr(Stdio::null())
            .output()
            .expect("it runs");
        (
            String::from_utf8_lossy(&ran.stdout).trim().to_owned(),
            ran.status.success(),
        )
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        tollgate_store::data_dir::socket(self.folder.path())
    }

    /// Waits until every job has ended.
    pub(crate) fn wait_until_idle(&self) {
        let mut client = tollgate_client::ApiClient::connect(&self.socket()).expect("it answers");
        loop {
            let path = "/v1/status";
            let status: tollgate_client::types::ServiceStatus =
                client.get(path).expect("an answer");
            if status.running + status.queued == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a job is over, which must succeed.
    fn wait(&self, id: &str) {
        let (job, succeeded) = self.tollgate(&["wait", "--format", "json", id]);
        assert!(succeeded, "a task failed: {job}");
    }

    /// Measures an array with these options, from the start of the client to the end of the last task.
    pub(crate) fn array(&self, tasks: u32, options: &[&str]) -> BenchRound {
        let processes = self.processes();
        let (began, cpu) = (Instant::now(), cpu_s(&processes));
        let range = format!("1-{tasks}");
        let submit = ["submit", "-q", "-o", "none", "-a", &range];
        let words = [&submit[..], options, &["--", "/bin/true"]].concat();
        let (id, accepted) = self.tollgate(&words);
        assert!(accepted, "it is refused");
        let answer_s = began.elapsed().as_secs_f64();
        self.wait(&id);
        BenchRound {
            rate: f64::from(tasks) / began.elapsed().as_secs_f64(),
            answer_s,
            cpu_s: cpu_s(&self.processes()) - cpu,
        }
    }

    /// Measures the seconds from the exec of the client to the first output of its task.
    pub(crate) fn submit_to_start(&self) -> f64 {
        let (line, there) = self.clock_line();
        let began = now_s();
        let words = [
            "submit", "-q", "-o", "none", "-e", "1s", "--", "/bin/sh", "-c", &line,
        ];
        let (id, accepted) = self.tollgate(&words);
        assert!(accepted, "it is refused");
        self.wait(&id);
        read_s(&there) - began
    }

    /// Measures the same seconds for a shell that is started without the service.
    pub(crate) fn alone(&self) -> f64 {
        let (line, there) = self.clock_line();
        let began = now_s();
        let status = Command::new("/bin/sh").args(["-c", &line]).status();
        assert!(status.expect("it runs").success());
        read_s(&there) - began
    }

    /// Returns a shell line that writes the time to a file, and the path of the file.
    fn clock_line(&self) -> (String, PathBuf) {
        let there = self.folder.path().join("there");
        let _ = fs::remove_file(&there);
        (format!("date +%s.%N > {}", there.display()), there)
    }

    /// Returns the service and the processes that run its tasks.
    fn processes(&self) -> Vec<PathBuf> {
        let service = PathBuf::from(self.service.id().to_string());
        let all = fs::read_dir("/proc").expect("processes");
        let names = all.filter_map(|entry| Some(entry.ok()?.path()));
        let folder = self.folder.path().to_string_lossy().into_owned();
        let runners = names.filter(|process| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(&folder) && !line.contains("serve")
        });
        let runners = runners.filter_map(|process| Some(PathBuf::from(process.file_name()?)));
        [service].into_iter().chain(runners).collect()
    }

    pub(crate) fn resident_mb(&self) -> f64 {
        let path = format!("/proc/{}/status", self.service.id());
        let status = fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kb.unwrap_or(0.0) / 1024.0
    }
}

fn serve(program: &Path, data: &Path) -> Child {
    Command::new(program)
        .args(["serve", "--data"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}

impl Drop for BenchSite {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn now_s() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs_f64()
}

fn read_s(path: &Path) -> f64 {
    let at = fs::read_to_string(path).expect("it ran");
    at.trim().parse().expect("an instant")
}

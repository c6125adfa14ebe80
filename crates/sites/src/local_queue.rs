//! The engine `local`: processes of this host in sessions of their own, which outlive the command
//! that started them.
//!
//! A file with the name of a job has the process that runs it and the start of that process. So a later
//! process of the same number is not taken for the job. The process itself creates the file, before its
//! script begins: a name is used once, whichever process is killed in between.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant as MonotonicInstant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, setsid};
use tollgate_batch::{BatchJobName, LOCAL_QUEUE_ARG, LocalQueueVerb};
use tollgate_host::ProcessStat;

use crate::journal::now;

/// The directory of the queue, below the directory of all sites.
const QUEUE_DIR: &str = "local-queue";
/// The hidden verb of the process that becomes a job.
const RUN_VERB: &str = "run";
/// How long the process of a job may take to create its file, and the pause between two looks.
const START_LIMIT: Duration = Duration::from_secs(10);
const START_PAUSE: Duration = Duration::from_millis(5);

/// A job: its process, the start of the process in clock ticks since boot, the instant of its
/// submission in seconds since the epoch.
struct LocalJob {
    name: String,
    pid: i32,
    ticks: u64,
    at: i64,
}

/// Runs the queue: `words` are the arguments after [`LOCAL_QUEUE_ARG`]. Returns the answer for
/// standard output.
///
/// # Errors
/// An error if the job cannot be started or the directory cannot be used.
pub fn run(state_dir: &Path, program: &Path, words: &[String]) -> io::Result<String> {
    let dir = state_dir.join(QUEUE_DIR);
    DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    let (verb, rest) = words.split_first().ok_or_else(usage)?;
    if verb == RUN_VERB {
        return become_job(&dir, rest);
    }
    let verb = LocalQueueVerb::ALL
        .into_iter()
        .find(|known| known.word() == verb);
    match verb.ok_or_else(usage)? {
        LocalQueueVerb::Submit => submit(&dir, program, rest),
        LocalQueueVerb::States => states(&dir),
        LocalQueueVerb::Cancel => cancel(&dir, rest),
    }
}

fn usage() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "expected submit, states or cancel",
    )
}

fn job_name(words: &[String]) -> io::Result<BatchJobName> {
    let name = words.first().ok_or_else(usage)?;
    let name = name.parse::<BatchJobName>();
    name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn submit(dir: &Path, program: &Path, words: &[String]) -> io::Result<String> {
    let name = job_name(words)?;
    let file = dir.join(name.as_str());
    if file.exists() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a job of this name",
        ));
    }
    let mut script = String::new();
    io::stdin().read_to_string(&mut script)?;
    let mut child = Command::new(program)
        .args([LOCAL_QUEUE_ARG, RUN_VERB, name.as_str(), &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let began = MonotonicInstant::now();
    loop {
        if let Some(job) = read_job(dir, name.as_str()) {
            return Ok(format!("{}\n", job.pid));
        }
        if child.try_wait()?.is_some() || began.elapsed() > START_LIMIT {
            return Err(io::Error::other("the process of the job did not start"));
        }
        thread::sleep(START_PAUSE);
    }
}

/// Leaves the session, creates the job's file and becomes the shell that runs its script. Returns
/// only if that fails.
fn become_job(dir: &Path, words: &[String]) -> io::Result<String> {
    let name = job_name(words)?;
    let script = words.get(1).ok_or_else(usage)?;
    // Fails only for the leader of a group, which has left its session already.
    let _ = setsid();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let ticks = start_ticks(own).ok_or_else(|| io::Error::other("/proc cannot be read"))?;
    let new = dir.join(format!(".{own}"));
    let at = now().as_micros() / 1_000_000;
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    write!(file, "{own} {ticks} {at}")?;
    file.sync_all()?;
    // A link fails if the name is taken, unlike a rename.
    let linked = fs::hard_link(&new, dir.join(name.as_str()));
    fs::remove_file(&new)?;
    linked?;
    Err(Command::new("/bin/sh")
        .args(["-c", script])
        .current_dir("/")
        .exec())
}

fn states(dir: &Path) -> io::Result<String> {
    let mut lines = String::new();
    for job in jobs(dir)? {
        let word = match job.is_running() {
            true => "runs",
            false => "over",
        };
        lines.push_str(&format!("{} {word} {} {}\n", job.pid, job.at, job.name));
    }
    Ok(lines)
}

fn cancel(dir: &Path, words: &[String]) -> io::Result<String> {
    let is_chosen = |job: &LocalJob| words.iter().any(|word| *word == job.pid.to_string());
    for job in jobs(dir)?
        .iter()
        .filter(|job| is_chosen(job) && job.is_running())
    {
        if let Some(pid) = Pid::from_raw(job.pid) {
            // The job leads a group; only a job that left it is signalled alone.
            let _ =
                kill_process_group(pid, Signal::TERM).or_else(|_| kill_process(pid, Signal::TERM));
        }
    }
    Ok(String::new())
}

fn jobs(dir: &Path) -> io::Result<Vec<LocalJob>> {
    let mut jobs = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        jobs.extend(name.to_str().and_then(|name| read_job(dir, name)));
    }
    jobs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(jobs)
}

fn read_job(dir: &Path, name: &str) -> Option<LocalJob> {
    if name.starts_with('.') {
        return None;
    }
    let text = fs::read_to_string(dir.join(name)).ok()?;
    let mut words = text.split(' ');
    Some(LocalJob {
        name: name.to_owned(),
        pid: words.next()?.parse().ok()?,
        ticks: words.next()?.parse().ok()?,
        at: words.next()?.parse().ok()?,
    })
}

impl LocalJob {
    fn is_running(&self) -> bool {
        start_ticks(self.pid) == Some(self.ticks)
    }
}

/// Returns the start of a process in clock ticks since boot. None if there is no such process, or
/// it has ended and only its exit code is left.
fn start_ticks(pid: i32) -> Option<u64> {
    let stat = ProcessStat::read(Pid::from_raw(pid)?)?;
    let identity = stat.identity().filter(|_| !stat.has_ended())?;
    Some(identity.start_ticks)
}

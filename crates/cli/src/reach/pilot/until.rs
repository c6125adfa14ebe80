//! The end of a pilot: as the user gives it, or as the scheduler of its job knows it.

use std::env;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use rustix::process::{Pid, Signal, kill_process};
use tollgate_model::Instant;

use super::schedulers::{self, JobEndError};
use crate::exit::CliFailure;
use crate::parse;

/// The word for the end that the scheduler of the job knows.
const AUTO: &str = "auto";
/// Time that a command of a scheduler may take. One whose controller is down gives up within 20 s.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the end that `words` give.
pub(crate) fn resolve(words: &str) -> Result<Instant, CliFailure> {
    let now = Zoned::now();
    let until = match words.trim() {
        AUTO => end_of_job(&now).map_err(|error| error.to_string()),
        words => parse::parse_moment(words, &now),
    };
    let until = until.and_then(|until| match until > now.timestamp() {
        true => Ok(until),
        false => Err(format!("expected a time to come, got {until}")),
    });
    let until = until.map_err(|message| CliFailure::invalid_flag("until", message))?;
    Ok(Instant::from_micros(until.as_microsecond()))
}

/// Returns the end of the batch job that this process is part of. It is never guessed.
fn end_of_job(now: &Zoned) -> Result<Timestamp, JobEndError> {
    let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(job) = set("SLURM_JOB_ID") {
        if let Some(end) = set("SLURM_JOB_END_TIME") {
            return schedulers::slurm_end(&job, &end, now);
        }
        // Seconds since 1970 need no time zone. Releases that do not know the format give local time.
        let epoch = [("SLURM_TIME_FORMAT", "%s")];
        let printed = output(&["squeue", "-h", "-j", &job, "-o", "%e"], &epoch)?;
        return schedulers::slurm_end(&job, &printed, now);
    }
    if let (Some(job), Some(task)) = (set("JOB_ID"), set("SGE_TASK_ID")) {
        let printed = output(&["qstat", "-j", &job], &[])?;
        let user = set("LOGNAME").unwrap_or_else(|| "*".to_owned());
        let running = output(&["qstat", "-xml", "-s", "r", "-u", &user], &[])?;
        return schedulers::grid_engine_end((&job, &task), &printed, &running, now);
    }
    match set("TOLLGATE_UNTIL") {
        Some(end) => schedulers::given_end(&end, now),
        None => Err(JobEndError::NoScheduler),
    }
}

/// Returns what a command of the scheduler prints.
fn output(words: &[&str], environment: &[(&str, &str)]) -> Result<String, JobEndError> {
    let failed = |reason: String| JobEndError::Command {
        command: words.join(" "),
        reason,
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).envs(environment.iter().copied());
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (to, answer) = mpsc::channel();
    thread::spawn(move || to.send(child.wait_with_output()));
    let Ok(ended) = answer.recv_timeout(COMMAND_TIMEOUT) else {
        // Its thread has not reaped it, so the process id is still its own.
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        return Err(failed("no answer within 30 s".to_owned()));
    };
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    let error = String::from_utf8_lossy(&ended.stderr);
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(failed(format!("{}: {}", ended.status, error.trim()))),
    }
}

//! The command that gets the notices.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};
use tollgate_client::timestamp::format_iso;

use super::JobNotice;
use super::limiter::{NoticeLimiter, WINDOW};
use crate::user_names::UserNames;

/// Maximum number of notices that wait for the command.
pub(super) const MAX_QUEUED: usize = 1_000;

/// Maximum number of bytes of the command's messages that the log gets.
const MAX_ERROR: u64 = 1_000;

/// Notices to users, by a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeSettings {
    /// The program and its arguments. It gets the notice as JSON on standard input, and as
    /// `TOLLGATE_NOTICE`, `TOLLGATE_JOB`, `TOLLGATE_USER` and `TOLLGATE_TEXT` in its environment.
    #[schemars(length(min = 1), example = ["/usr/local/bin/notify", "--chat"])]
    pub command: Vec<String>,
    /// Maximum number of notices that one user gets in a minute. At least 1.
    #[serde(default = "per_minute")]
    pub per_minute: u32,
    /// Maximum run time of the command, in seconds. At least 1.
    #[serde(default = "timeout_s")]
    pub timeout_s: u32,
}

fn per_minute() -> u32 {
    10
}

fn timeout_s() -> u32 {
    30
}

/// Sends the queued notices, one at a time, until the queue is closed and empty.
pub(super) async fn send_all(
    settings: NoticeSettings,
    names: UserNames,
    mut queued: mpsc::Receiver<JobNotice>,
) {
    let mut limiter = NoticeLimiter::new(settings.per_minute);
    let mut window = interval(WINDOW);
    loop {
        tokio::select! {
            notice = queued.recv() => {
                let Some(mut notice) = notice else { return };
                if let Some(left_out) = limiter.admit(notice.user_id, Instant::now()) {
                    notice.left_out = left_out;
                    run_command(&settings, &notice).await;
                }
            }
            _ = window.tick() => {
                for (user, left_out) in limiter.ended(Instant::now()) {
                    run_command(&settings, &more(&names, user, left_out).await).await;
                }
            }
        }
    }
}

/// Returns the notice about notices that were left out.
async fn more(names: &UserNames, user_id: u32, left_out: u32) -> JobNotice {
    let now = crate::wall_clock::now();
    let names = names.clone();
    let user = tokio::task::spawn_blocking(move || names.name(user_id));
    JobNotice {
        notice: "more",
        job: None,
        user_id,
        user: user.await.unwrap_or_else(|_| user_id.to_string()),
        name: String::new(),
        at: format_iso(now),
        text: format!("{left_out} more notices were left out: `tollgate jobs` lists the jobs"),
        left_out,
    }
}

/// Runs the command. A failure is logged, and the notice is gone.
async fn run_command(settings: &NoticeSettings, notice: &JobNotice) {
    let problem = match timeout(limit(settings), deliver(settings, notice)).await {
        Ok(Ok(None)) => return,
        Ok(Ok(Some(status))) => status,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it took more than {} s", settings.timeout_s),
    };
    let job = notice.job.unwrap_or_default();
    let kind = notice.notice;
    tracing::warn!(kind, job, problem, "the command for notices failed");
}

fn limit(settings: &NoticeSettings) -> Duration {
    Duration::from_secs(u64::from(settings.timeout_s))
}

/// Returns how the command ended, unless it ended with success. A command that is given up is killed.
async fn deliver(
    settings: &NoticeSettings,
    notice: &JobNotice,
) -> Result<Option<String>, std::io::Error> {
    let (program, arguments) = match settings.command.split_first() {
        Some(words) => words,
        None => return Ok(Some("no command".to_owned())),
    };
    let errors = File::from(memfd_create("notice-errors", MemfdFlags::CLOEXEC)?);
    let mut child = Command::new(program)
        .args(arguments)
        .env("TOLLGATE_NOTICE", notice.notice)
        .env(
            "TOLLGATE_JOB",
            notice.job.map_or_else(String::new, |job| job.to_string()),
        )
        .env("TOLLGATE_USER", &notice.user)
        .env("TOLLGATE_TEXT", &notice.text)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(errors.try_clone()?)
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let json = serde_json::to_vec(notice)?;
        // A command that reads nothing closes its input.
        let _ = input.write_all(&json).await;
    }
    let status = child.wait().await?;
    if status.success() {
        return Ok(None);
    }
    Ok(Some(match last_line(errors)? {
        Some(line) => format!("{status}: {line}"),
        None => status.to_string(),
    }))
}

/// Returns the last line that the command wrote on standard error, where the reason usually is.
fn last_line(mut errors: File) -> Result<Option<String>, std::io::Error> {
    let length = errors.seek(SeekFrom::End(0))?;
    errors.seek(SeekFrom::Start(length.saturating_sub(MAX_ERROR)))?;
    let mut text = Vec::new();
    errors.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Ok(line.map(str::to_owned))
}

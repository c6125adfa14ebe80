//! The queue of notices, and the programs that deliver them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};
use tollgate_client::timestamp::format_iso;

use super::JobNotice;
use super::delivery::{self, NoticeProgram};
use super::limiter::{NoticeLimiter, WINDOW};
use super::settings::{NoticeSettings, NoticeTarget};
use crate::user_names::UserNames;

/// Maximum number of notices that wait to be sent.
pub(super) const MAX_QUEUED: usize = 1_000;

/// Maximum number of bytes of a program's messages that the log gets.
const MAX_ERROR: u64 = 1_000;

/// Sends the queued notices, one at a time, until the queue is closed and empty.
pub(super) async fn send_all(
    settings: NoticeSettings,
    names: UserNames,
    mut queued: mpsc::Receiver<JobNotice>,
) {
    let targets = settings.by_name();
    let mut limiter = NoticeLimiter::new(settings.per_minute);
    let mut window = interval(WINDOW);
    loop {
        tokio::select! {
            notice = queued.recv() => {
                let Some(mut notice) = notice else { return };
                if let Some(left_out) = limiter.admit(notice.user_id, &notice.target, Instant::now()) {
                    notice.left_out = left_out;
                    send(&targets, settings.timeout_s, &notice).await;
                }
            }
            _ = window.tick() => {
                for ((user, target), left_out) in limiter.ended(Instant::now()) {
                    let more = more(&names, user, target, left_out).await;
                    send(&targets, settings.timeout_s, &more).await;
                }
            }
        }
    }
}

/// Returns the notice about notices that were left out.
async fn more(names: &UserNames, user_id: u32, target: String, left_out: u32) -> JobNotice {
    let now = crate::wall_clock::now();
    let names = names.clone();
    let user = tokio::task::spawn_blocking(move || names.name(user_id));
    JobNotice {
        target,
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

/// Sends a notice. A failure is logged, and the notice is gone.
async fn send(targets: &BTreeMap<String, NoticeTarget>, timeout_s: u32, notice: &JobNotice) {
    let Some(target) = targets.get(&notice.target) else {
        return warn(notice, "the settings have no such target");
    };
    let program = delivery::program(target, notice, crate::wall_clock::now(), timeout_s);
    let program = match program {
        Ok(program) => program,
        Err(error) => return warn(notice, &error.to_string()),
    };
    let limit = Duration::from_secs(u64::from(timeout_s));
    match timeout(limit, run(&program, notice)).await {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(status))) => warn(notice, &status),
        Ok(Err(error)) => warn(notice, &format!("{}: {error}", program.name())),
        Err(_) => warn(notice, &format!("it took more than {timeout_s} s")),
    }
}

fn warn(notice: &JobNotice, problem: &str) {
    let job = notice.job.unwrap_or_default();
    let (kind, target) = (notice.notice, &notice.target);
    tracing::warn!(kind, job, target, problem, "a notice could not be sent");
}

/// Returns how the program ended, unless it ended with success. A program that is given up is killed.
async fn run(
    program: &NoticeProgram,
    notice: &JobNotice,
) -> Result<Option<String>, std::io::Error> {
    let errors = File::from(memfd_create("notice-errors", MemfdFlags::CLOEXEC)?);
    let mut child = Command::new(program.name())
        .args(program.words.iter().skip(1))
        .env("TOLLGATE_NOTICE", notice.notice)
        .env("TOLLGATE_JOB", notice.job_text())
        .env("TOLLGATE_USER", &notice.user)
        .env("TOLLGATE_TEXT", &notice.text)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(errors.try_clone()?)
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A program that reads nothing closes its input.
        let _ = input.write_all(&program.input).await;
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

/// Returns the last line that the program wrote on standard error, where the reason usually is.
fn last_line(mut errors: File) -> Result<Option<String>, std::io::Error> {
    let length = errors.seek(SeekFrom::End(0))?;
    errors.seek(SeekFrom::Start(length.saturating_sub(MAX_ERROR)))?;
    let mut text = Vec::new();
    errors.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Ok(line.map(str::to_owned))
}

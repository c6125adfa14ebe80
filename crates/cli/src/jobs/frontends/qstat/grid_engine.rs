//! The job lists of Grid Engine.

use std::io::{self, Write};

use jiff::Timestamp;
use tollgate_client::types::{JobDetails, JobState};

use super::{QstatOptions, escape_xml, truncate, user_name};
use crate::parse::time_zone;
use tollgate_frontends::job_id::SERVER_NAME;

/// Returns the state: running, suspended by its queue, waiting or held. Grid Engine lists no other jobs; those that it does not know have
/// their own word.
fn state(job: &JobDetails) -> &str {
    match job.state.known() {
        Some(JobState::Running) if job.suspended.is_some() => "S",
        Some(JobState::Running) => "r",
        Some(JobState::Held | JobState::Dependent) => "hqw",
        Some(JobState::Queued) => "qw",
        Some(
            JobState::Finished
            | JobState::TimedOut
            | JobState::OutOfMemory
            | JobState::OutputLimit
            | JobState::Cancelled
            | JobState::Lost
            | JobState::Abandoned
            | JobState::Rejected
            | JobState::Reserved
            | JobState::Expired,
        )
        | None => job.state.key(),
    }
}

pub(super) fn write(
    out: &mut impl Write,
    jobs: &[JobDetails],
    options: &QstatOptions,
) -> io::Result<()> {
    match (options.xml, options.detail) {
        (true, _) => write_xml(out, jobs),
        (false, true) => jobs.iter().try_for_each(|job| write_detail(out, job)),
        (false, false) => write_table(out, jobs),
    }
}

fn write_table(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let header = format!(
        "{:<10} {:<7} {:<10} {:<12} {:<5} {:<19} {:<30} {:<5} {}",
        "job-ID",
        "prior",
        "name",
        "user",
        "state",
        "submit/start at",
        "queue",
        "slots",
        "ja-task-ID"
    );
    writeln!(out, "{header}\n{}", "-".repeat(header.len()))?;
    for job in jobs {
        let queue = if state(job) == "r" { SERVER_NAME } else { "" };
        let line = format!(
            "{:<10} {:<7} {:<10} {:<12} {:<5} {:<19} {:<30} {:>5} {}",
            job.id,
            "0.50000",
            truncate(&job.name, 10),
            truncate(&user_name(job), 12),
            state(job),
            date(job, "%m/%d/%Y %H:%M:%S"),
            queue,
            job.procs,
            tasks(job),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn write_detail(out: &mut impl Write, job: &JobDetails) -> io::Result<()> {
    writeln!(out, "{}", "=".repeat(62))?;
    for (name, value) in [
        ("job_number:", job.id.to_string()),
        ("submission_time:", date(job, "%a %b %e %H:%M:%S %Y")),
        ("owner:", user_name(job)),
        ("uid:", job.user_id.to_string()),
        ("job_name:", job.name.clone()),
        ("cwd:", job.dir.clone()),
        ("job_state:", state(job).to_owned()),
        ("slots:", job.procs.to_string()),
    ] {
        writeln!(out, "{name:<27} {value}")?;
    }
    Ok(())
}

fn write_xml(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    writeln!(out, "<?xml version='1.0'?>\n<job_info>")?;
    let (running, pending): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| state(job) == "r");
    for (list, (name, time), jobs) in [
        ("queue_info", ("running", "JAT_start_time"), running),
        ("job_info", ("pending", "JB_submission_time"), pending),
    ] {
        writeln!(out, "  <{list}>")?;
        for job in jobs {
            writeln!(out, "    <job_list state=\"{name}\">")?;
            for (key, value) in [
                ("JB_job_number", job.id.to_string()),
                ("JAT_prio", "0.50000".to_owned()),
                ("JB_name", escape_xml(&job.name)),
                ("JB_owner", escape_xml(&user_name(job))),
                ("state", state(job).to_owned()),
                (time, date(job, "%Y-%m-%dT%H:%M:%S")),
                ("slots", job.procs.to_string()),
                ("tasks", escape_xml(&tasks(job))),
            ] {
                if !value.is_empty() {
                    writeln!(out, "      <{key}>{value}</{key}>")?;
                }
            }
            writeln!(out, "    </job_list>")?;
        }
        writeln!(out, "  </{list}>")?;
    }
    writeln!(out, "</job_info>")
}

/// Returns the tasks of an array. Empty for a single job.
fn tasks(job: &JobDetails) -> String {
    match (&job.array, job.task) {
        (_, Some(task)) => task.to_string(),
        (Some(array), None) => array.tasks.clone(),
        (None, None) => String::new(),
    }
}

/// Formats the time of the start, or else of the submission.
fn date(job: &JobDetails, format: &str) -> String {
    let at = job.started_at.as_ref().unwrap_or(&job.submitted_at);
    let Ok(read) = at.parse::<Timestamp>() else {
        return at.clone();
    };
    read.to_zoned(time_zone::local())
        .strftime(format)
        .to_string()
}

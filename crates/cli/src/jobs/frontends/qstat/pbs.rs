//! The job lists of PBS and Torque.

use std::io::{self, Write};

use jiff::Timestamp;
use tollgate_client::types::{JobDetails, JobState};
use tollgate_model::ExceededLimit;

use super::{QstatOptions, escape_xml, truncate, user_name, write_all};
use crate::parse::time_zone;
use tollgate_frontends::job_id::SERVER_NAME;
use tollgate_frontends::{FrontendDialect, job_id};

/// Returns the letter of a state: queued, running, suspended, held or completed. A state of a later version has its own word.
fn letter(job: &JobDetails) -> &str {
    match job.state.known() {
        Some(JobState::Running) if job.suspended.is_some() => "S",
        Some(JobState::Running) => "R",
        Some(JobState::Queued) => "Q",
        // PBS shows H both for a user hold and for a dependent job.
        Some(JobState::Held | JobState::Dependent) => "H",
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
        ) => "C",
        None => job.state.key(),
    }
}

pub(super) fn write(
    out: &mut impl Write,
    jobs: &[JobDetails],
    options: &QstatOptions,
) -> io::Result<()> {
    match (options.xml, options.json, options.full) {
        (true, _, _) => write_xml(out, jobs),
        (false, true, _) => write_json(out, jobs),
        (false, false, true) => jobs.iter().try_for_each(|job| write_full(out, job)),
        (false, false, false) => write_table(out, jobs),
    }
}

/// Writes `qstat -B`, which lists the single server.
pub(super) fn write_server(out: &mut impl Write) -> io::Result<()> {
    write_all(
        out,
        "Server                 Status\n---------------------- ------\n",
    )?;
    writeln!(out, "{SERVER_NAME:<22} Active")
}

fn write_table(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{:<23} {:<16} {:<15} {:<8} S Queue",
        "Job ID", "Name", "User", "Time Use"
    )?;
    let dashes = |count| "-".repeat(count);
    let rows = [23, 16, 15, 8].map(dashes).join(" ");
    writeln!(out, "{rows} - -----")?;
    for job in jobs {
        writeln!(
            out,
            "{:<23} {:<16} {:<15} {:<8} {} {SERVER_NAME}",
            job_id::format(job, FrontendDialect::Pbs),
            truncate(&job.name, 16),
            truncate(&user_name(job), 15),
            clock(used_s(job)),
            letter(job),
        )?;
    }
    Ok(())
}

/// Returns the attributes of a job in the names and the order of PBS.
fn attributes(job: &JobDetails) -> Vec<(&'static str, String)> {
    let mut attributes = vec![
        ("Job_Name", job.name.clone()),
        ("Job_Owner", format!("{}@{SERVER_NAME}", user_name(job))),
        ("job_state", letter(job).to_owned()),
        ("queue", SERVER_NAME.to_owned()),
        ("server", SERVER_NAME.to_owned()),
        ("ctime", date(&job.submitted_at)),
    ];
    if let Some(output) = &job.output {
        attributes.push(("Output_Path", format!("{SERVER_NAME}:{output}")));
    }
    attributes.push(("qtime", date(&job.submitted_at)));
    if let Some(started) = &job.started_at {
        attributes.push(("start_time", date(started)));
    }
    if let Some(finished) = &job.finished_at {
        attributes.push(("comp_time", date(finished)));
    }
    if let Some(code) = exit_status(job) {
        attributes.push(("exit_status", code.to_string()));
    }
    attributes
}

/// Returns the exit code of a finished job. A job that did not run to its end has PBS's code for
/// that case.
fn exit_status(job: &JobDetails) -> Option<i32> {
    match job.state.known()? {
        JobState::Finished => job.exit_code.map(i32::from),
        // The codes JOB_EXEC_KILL_WALLTIME and JOB_EXEC_KILL_MEM of PBS.
        JobState::TimedOut => Some(-29),
        JobState::OutOfMemory => Some(-27),
        JobState::OutputLimit => Some(i32::from(ExceededLimit::Output.wait_code())),
        JobState::Cancelled => Some(271),
        JobState::Lost | JobState::Abandoned | JobState::Rejected => Some(-1),
        JobState::Dependent
        | JobState::Queued
        | JobState::Held
        | JobState::Running
        | JobState::Reserved
        | JobState::Expired => None,
    }
}

fn write_full(out: &mut impl Write, job: &JobDetails) -> io::Result<()> {
    writeln!(out, "Job Id: {}", job_id::format(job, FrontendDialect::Pbs))?;
    for (name, value) in attributes(job) {
        writeln!(out, "    {name} = {value}")?;
    }
    writeln!(out, "    Resource_List.ncpus = {}", job.procs)?;
    writeln!(
        out,
        "    Resource_List.walltime = {}",
        clock(job.estimate_s)
    )?;
    writeln!(out, "    resources_used.walltime = {}", clock(used_s(job)))?;
    writeln!(out)
}

/// Writes the jobs as XML on one line, like Torque.
fn write_xml(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    let mut text = String::from("<Data>");
    for job in jobs {
        text.push_str(&format!(
            "<Job><Job_Id>{}</Job_Id>",
            job_id::format(job, FrontendDialect::Pbs)
        ));
        for (name, value) in attributes(job) {
            text.push_str(&format!("<{name}>{}</{name}>", escape_xml(&value)));
        }
        let (ncpus, walltime) = (job.procs, clock(job.estimate_s));
        text.push_str(&format!(
            "<Resource_List><ncpus>{ncpus}</ncpus><walltime>{walltime}</walltime></Resource_List>"
        ));
        text.push_str("</Job>");
    }
    writeln!(out, "{text}</Data>")
}

/// Writes the jobs as JSON, like PBS with `-F json`.
fn write_json(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    let mut all = serde_json::Map::new();
    for job in jobs {
        let mut fields = serde_json::Map::new();
        for (name, value) in attributes(job) {
            match name {
                "exit_status" => fields.insert("Exit_status".to_owned(), exit_status(job).into()),
                _ => fields.insert(name.to_owned(), value.into()),
            };
        }
        all.insert(job_id::format(job, FrontendDialect::Pbs), fields.into());
    }
    serde_json::to_writer_pretty(&mut *out, &serde_json::json!({ "Jobs": all }))?;
    writeln!(out)
}

/// Returns the seconds since the start of the job, or its run time if it has ended.
fn used_s(job: &JobDetails) -> f64 {
    let read = |at: &Option<String>| at.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    let Some(start) = read(&job.started_at) else {
        return 0.0;
    };
    let end = read(&job.finished_at).unwrap_or_else(Timestamp::now);
    end.duration_since(start).as_secs_f64().max(0.0)
}

fn clock(secs: f64) -> String {
    let secs = secs as u64;
    let (hours, minutes) = (secs / 3600, secs / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", secs % 60)
}

/// Formats an instant as in `Sat Nov 21 15:30:00 2026`.
fn date(at: &str) -> String {
    let Ok(read) = at.parse::<Timestamp>() else {
        return at.to_owned();
    };
    let zoned = read.to_zoned(time_zone::local());
    zoned.strftime("%a %b %e %H:%M:%S %Y").to_string()
}

//! `qstat`.
//!
//! | module | contents |
//! |---|---|
//! | [`pbs`] | the output of PBS and Torque |
//! | [`grid_engine`] | the output of Grid Engine |

mod grid_engine;
mod pbs;

use std::io::{self, Write};

use jiff::Timestamp;
use tollgate_client::ApiClient;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::types::{JobDetails, JobList, JobState};
use tollgate_frontends::{FrontendDialect, FrontendError, job_id};

use super::qdel;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

/// The time for which finished jobs are still listed, in seconds, as in Torque (`keep_completed`).
const SHOW_FINISHED_S: i64 = 300;

/// The options of a call.
#[derive(Debug, Default)]
struct QstatOptions {
    full: bool,
    xml: bool,
    json: bool,
    server: bool,
    detail: bool,
    user: Option<String>,
    states: Option<String>,
    jobs: Vec<String>,
}

/// Lists jobs.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), CliFailure> {
    let of_grid_engine = words
        .iter()
        .any(|word| matches!(word.as_str(), "-xml" | "-j" | "-s"));
    let guess = if of_grid_engine {
        FrontendDialect::GridEngine
    } else {
        FrontendDialect::Pbs
    };
    let style = FrontendDialect::from_env().unwrap_or(guess);
    let refreshed = parse_options(words, style)?;
    let mut client = address.connect()?;
    let mut out = io::stdout().lock();
    if refreshed.server {
        return Ok(pbs::write_server(&mut out)?);
    }
    let (jobs, unknown) = fetch_jobs(&mut client, &refreshed, style)?;
    match style {
        FrontendDialect::Pbs => pbs::write(&mut out, &jobs, &refreshed)?,
        FrontendDialect::GridEngine => grid_engine::write(&mut out, &jobs, &refreshed)?,
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
    Err(qdel::unknown_jobs("qstat", &unknown, style).into())
}

/// Parses the options. Options with the same meaning in both styles share a case.
fn parse_options(words: &[String], style: FrontendDialect) -> Result<QstatOptions, FrontendError> {
    let mut options = QstatOptions::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            words.next().cloned().ok_or_else(|| FrontendError::NoValue {
                place: "qstat".to_owned(),
                option: word.clone(),
            })
        };
        match word.as_str() {
            "-f" => options.full = true,
            // The option means XML in Torque, and does not exist in Grid Engine.
            "-x" | "-xml" => options.xml = true,
            "-fx" | "-xf" => (options.full, options.xml) = (true, true),
            "-B" => options.server = true,
            "-F" if style == FrontendDialect::Pbs => options.json = value()? == "json",
            "-u" => options.user = Some(value()?),
            "-s" if style == FrontendDialect::GridEngine => options.states = Some(value()?),
            "-j" => {
                options.detail = true;
                options.jobs.extend(value()?.split(',').map(str::to_owned));
            }
            // There is one queue, which has every node.
            "-q" if style == FrontendDialect::GridEngine => drop(value()?),
            // These options only change the layout.
            "-1" | "-a" | "-t" | "-n" | "-i" | "-r" | "-ext" | "-g" | "-ne" | "-w" => {}
            option if option.starts_with('-') => {
                return Err(FrontendError::Unknown {
                    place: "qstat".to_owned(),
                    option: option.to_owned(),
                });
            }
            // A server or queue names all jobs, because there is only one.
            place if place.starts_with('@') || place == job_id::SERVER_NAME => {}
            job => options.jobs.push(job.to_owned()),
        }
    }
    Ok(options)
}

/// Returns the requested jobs, and the requested names that do not exist.
fn fetch_jobs(
    client: &mut ApiClient,
    options: &QstatOptions,
    style: FrontendDialect,
) -> Result<(Vec<JobDetails>, Vec<String>), CliFailure> {
    let (mut jobs, mut unknown) = (Vec::new(), Vec::new());
    for word in &options.jobs {
        match job_id::parse(word, style) {
            None => unknown.push(word.clone()),
            Some(id) => match client.get::<JobDetails>(&format!("/v1/jobs/{id}")) {
                // Grid Engine does not list finished jobs.
                Ok(job) if style == FrontendDialect::GridEngine && job.state.is_over() => {
                    unknown.push(word.clone())
                }
                Ok(job) => jobs.push(job),
                Err(error) if qdel::is_unknown(&error) => unknown.push(word.clone()),
                Err(error) => return Err(error.into()),
            },
        }
    }
    if !options.jobs.is_empty() {
        return Ok((jobs, unknown));
    }
    let live: JobList = client.get(&format!("/v1/jobs?live=true&limit={MAX_JOBS}"))?;
    jobs = live.jobs;
    if style == FrontendDialect::Pbs {
        let all: JobList = client.get(&format!("/v1/jobs?limit={MAX_JOBS}"))?;
        let now = Timestamp::now();
        jobs.extend(
            all.jobs
                .into_iter()
                .filter(|job| finished_recently(job, now)),
        );
    }
    let is_quote = |job: &JobDetails| {
        let state = job.state.known();
        matches!(state, Some(JobState::Reserved | JobState::Expired))
    };
    jobs.retain(|job| !is_quote(job));
    jobs.sort_by_key(|job| job.id);
    if let Some(user) = options.user.as_deref().filter(|&user| user != "*") {
        let own = rustix::process::geteuid().as_raw();
        jobs.retain(|job| user_name(job) == user || (job.user_id == own && is_current_user(user)));
    }
    if let Some(states) = &options.states {
        let is_listed = |job: &JobDetails| match job.state == JobState::Running {
            true => states.contains('r') || states == "a",
            false => states.contains('p') || states.contains('h') || states == "a",
        };
        jobs.retain(is_listed);
    }
    Ok((jobs, unknown))
}

fn finished_recently(job: &JobDetails, now: Timestamp) -> bool {
    let over = job.finished_at.as_ref().filter(|_| job.state.is_over());
    let over = over.and_then(|at| at.parse::<Timestamp>().ok());
    over.is_some_and(|at| now.as_second() - at.as_second() < SHOW_FINISHED_S)
}

fn is_current_user(user: &str) -> bool {
    ["USER", "LOGNAME"]
        .iter()
        .any(|name| std::env::var(name).is_ok_and(|value| value == user))
}

/// Returns the user name of a job, as the service knows it. An earlier service names no user.
fn user_name(job: &JobDetails) -> String {
    match job.user.as_str() {
        "" => job.user_id.to_string(),
        name => name.to_owned(),
    }
}

/// Escapes a text for XML.
fn escape_xml(text: &str) -> String {
    let plain = |letter: char| !letter.is_control();
    let text: String = text.chars().filter(|&letter| plain(letter)).collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Cuts a text to the width of a column.
fn truncate(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

fn write_all(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_a_later_version_is_listed_as_it_is() {
        let job: JobDetails = serde_json::from_value(serde_json::json!({
            "id": 1, "user_id": 0, "name": "job", "state": "suspended", "command": [], "dir": "/",
            "procs": 2, "submitted_at": "2026-12-01T09:00:00Z", "estimate_s": 100.0,
            "estimate_source": "user", "attempts": 0,
        }))
        .unwrap();
        let options = QstatOptions::default();
        let jobs = [job];
        let mut lists = [Vec::new(), Vec::new()];
        grid_engine::write(&mut lists[0], &jobs, &options).unwrap();
        pbs::write(&mut lists[1], &jobs, &options).unwrap();
        for list in lists.map(String::from_utf8) {
            let list = list.unwrap();
            assert!(
                list.lines().last().unwrap().contains(" suspended "),
                "{list}"
            );
        }
    }
}

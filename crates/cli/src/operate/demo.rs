//! `tollgate demo`.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io, process, thread};

use rustix::process::{Signal, getpid, kill_process};
use tollgate_client::ApiClient;
use tollgate_client::types::{JobDecision, JobDetails, JobOtherwise, JobRequest, SubmitResponse};
use tollgate_engine::Engine;
use tollgate_model::{AttemptEvent, KillReason};

use tollgate_runner::LocalEngine;
use tollgate_runner::log::{self, LogLevel, LogSettings};
use tollgate_server::ServiceConfig;
use tollgate_store::{DataDir, data_dir};

use super::serve::{local_engine_config, run_in};
use crate::exit::CliFailure;
use crate::output::messages;
use crate::output::messages::Verbosity;

/// The options of `tollgate demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Data directory of the service [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Exit when the sample jobs have ended
    #[arg(long)]
    once: bool,
}

/// The maximum number of polls for the end of killed jobs.
const MAX_POLLS: u32 = 100;
/// The maximum time of one poll.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The sample jobs: name, command, processors, estimate and deadline in seconds.
const SAMPLES: &[(&str, &str, u32, f64, Option<f64>)] = &[
    (
        "report",
        "echo the figures of the day; sleep 2",
        1,
        3.0,
        Some(60.0),
    ),
    ("render", "sleep 3; echo rendered", 1, 4.0, Some(30.0)),
    ("backup", "sleep 1; echo saved", 1, 2.0, None),
    // The estimate exceeds the deadline.
    ("forecast", "sleep 20", 1, 20.0, Some(5.0)),
    // More processors than any machine has.
    ("simulate", "sleep 5", 1_000_000, 5.0, Some(600.0)),
    ("broken", "echo this one fails; exit 3", 1, 1.0, Some(60.0)),
];

/// `tollgate demo`.
pub(crate) fn run(args: &DemoArgs) -> Result<(), CliFailure> {
    let (path, is_ours) = match &args.data {
        Some(path) => (path.clone(), false),
        None => (
            env::temp_dir().join(format!("tollgate-demo-{}", process::id())),
            true,
        ),
    };
    let folder = DataDir::lock(&path)?;
    let data = folder.path().to_owned();
    let once = args.once;
    // The demonstration prints its own messages. The log holds only errors.
    let log = LogSettings {
        level: LogLevel::Warn,
        ..LogSettings::default()
    };
    log::start(log);
    let done = run_in(&folder, &ServiceConfig::default(), log, || {
        thread::spawn(move || {
            if let Err(failure) = submit_samples(&data, once) {
                messages::print_error(&failure, None);
            }
            if once {
                // The service is this process, and SIGTERM stops it.
                let _ = kill_process(getpid(), Signal::TERM);
            }
        });
    });
    if is_ours {
        end_jobs(&folder)?;
    }
    drop(folder);
    if is_ours {
        remove(&path)?;
    }
    done
}

/// Kills the jobs that still run. Once their directory is gone, no service would ever record their
/// end.
fn end_jobs(folder: &DataDir) -> Result<(), CliFailure> {
    let mut engine = LocalEngine::open(local_engine_config(folder)?)?;
    for _ in 0..MAX_POLLS {
        let running: Vec<_> = engine.running()?.iter().map(|one| one.attempt).collect();
        if running.is_empty() {
            break;
        }
        engine.kill(&running, KillReason::Cancelled)?;
        let reports = engine.poll(POLL_INTERVAL)?;
        let ends = reports.iter().filter(|report| is_end(&report.event));
        let ended: Vec<_> = ends.map(|report| report.attempt).collect();
        engine.acknowledge(&ended)?;
    }
    Ok(())
}

fn is_end(event: &AttemptEvent) -> bool {
    match event {
        AttemptEvent::Started(_) => false,
        AttemptEvent::Ended(_) | AttemptEvent::Lost { .. } => true,
    }
}

fn remove(path: &Path) -> Result<(), CliFailure> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CliFailure::write_failed(path.display().to_string(), error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Submits the sample jobs and prints the decisions. With `to_end`, waits for the jobs.
fn submit_samples(data: &Path, to_end: bool) -> Result<(), CliFailure> {
    let mut client = ApiClient::connect(&data_dir::socket(data))?;
    let mut let_in = Vec::new();
    for &(name, script, procs, estimate_s, deadline_s) in SAMPLES {
        let request = JobRequest {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            name: Some(name.to_owned()),
            procs,
            estimate_s: Some(estimate_s),
            deadline_s,
            dir: data.display().to_string(),
            output: Some("demo-%j.out".to_owned()),
            otherwise: Some(JobOtherwise::Wait),
            partial: false,
            umask: 0o022,
            ..JobRequest::default()
        };
        let answer: SubmitResponse = client.post("/v1/jobs", &request)?;
        Verbosity::Notes.note(format_args!("{name}: {}", describe_answer(&answer)));
        if answer.decision != JobDecision::Rejected {
            let_in.extend(answer.id);
        }
    }
    if to_end {
        for id in let_in {
            let job: JobDetails = client.get(&format!("/v1/jobs/{id}/wait"))?;
            let status = job.status.as_deref().unwrap_or("");
            Verbosity::Notes.note(format_args!("{}: {} {status}", job.name, job.state));
        }
        return Ok(());
    }
    let data = data.display();
    Verbosity::Notes.note(format_args!(
        "in another terminal: `tollgate jobs --all --data {data}`; Ctrl-C ends this"
    ));
    Ok(())
}

fn describe_answer(answer: &SubmitResponse) -> String {
    let id = answer
        .id
        .map_or_else(String::new, |id| format!("job {id} "));
    let sure = answer
        .expected
        .as_ref()
        .and_then(|expected| expected.probability);
    match (answer.decision.known(), sure, answer.reasons.first()) {
        (Some(JobDecision::Accepted), Some(sure), _) => {
            let sure = crate::output::format::format_probability(sure);
            format!("{id}accepted, its deadline is kept with probability {sure}")
        }
        (Some(JobDecision::Accepted), None, _) => format!("{id}accepted, without a promise"),
        (Some(JobDecision::Rejected), _, Some(reason)) => format!("{id}rejected: {}", reason.text),
        (
            Some(
                JobDecision::Queued
                | JobDecision::Waitlisted
                | JobDecision::Unpromised
                | JobDecision::Deferred
                | JobDecision::Rejected,
            )
            | None,
            _,
            _,
        ) => format!("{id}{}", answer.decision),
    }
}

//! The flags that describe a job.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use jiff::Zoned;
use tollgate_service::api::types::JobRequest;

use super::words;
use crate::args::count;
use crate::exit::Failure;

/// What of the environment a job gets unless more is asked for.
const USUAL_ENV: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ",
];

/// A job as it is typed.
#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Processors it needs at once
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = count::<u32>)]
    procs: u32,

    /// Memory that it may use at most: 2G, 500M
    #[arg(long, value_name = "SIZE", value_parser = words::memory)]
    mem: Option<u64>,

    /// How long it takes: 90s, 20m, 1h30m, 1-12:00:00 [default: what such jobs took]
    #[arg(long, short = 'e', value_name = "SPAN", value_parser = words::span)]
    estimate: Option<f64>,

    /// By when it must have finished: +2h, 17:00, `tomorrow 9am`, 2026-12-01T09:00
    #[arg(long, short, value_name = "WHEN")]
    deadline: Option<String>,

    /// The most it may cost, in credits
    #[arg(long, short, value_name = "CREDITS")]
    budget: Option<f64>,

    /// What lateness costs the provider: 0.1/s, 360/h
    #[arg(long, value_name = "RATE", value_parser = words::rate)]
    penalty: Option<f64>,

    /// Reject it unless it keeps its deadline with at least this probability
    #[arg(long, value_name = "P")]
    confidence: Option<f64>,

    /// What it is called; jobs of the same name are forecast alike [default: the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Give it a variable of the environment, or `all`; PATH, HOME and a few more it gets anyway
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,

    /// The folder that it starts in [default: this one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// The file that its output goes to, with %j for its number; `none` throws it away
    #[arg(long, short, value_name = "FILE", default_value = "tollgate-%j.out")]
    output: String,

    /// Run it again from its start if it was lost
    #[arg(long)]
    requeue: bool,

    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl JobArgs {
    /// The job as it is sent.
    pub(super) fn request(&self, now: &Zoned) -> Result<JobRequest, Failure> {
        let deadline = self.deadline.as_deref();
        let deadline = deadline.map(|words| words::instant(words, now)).transpose();
        Ok(JobRequest {
            command: self.command.clone(),
            name: self.name.clone(),
            procs: self.procs,
            memory_bytes: self.mem,
            estimate_s: self.estimate,
            deadline_s: None,
            deadline_at: deadline
                .map_err(|message| Failure::flag("deadline", message))?
                .map(|at| at.to_string()),
            budget: self.budget,
            penalty_per_s: self.penalty.unwrap_or(0.0),
            confidence: self.confidence,
            requeue: self.requeue,
            env: self.environment()?,
            dir: self.folder()?,
            output: (self.output != "none").then(|| self.output.clone()),
            umask: umask(),
        })
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut given: BTreeMap<String, String> = USUAL_ENV
            .iter()
            .filter_map(|&name| Some((name.to_owned(), env::var(name).ok()?)))
            .collect();
        for word in &self.env {
            match word.split_once('=') {
                Some((name, value)) => {
                    given.insert(name.to_owned(), value.to_owned());
                }
                None if word == "all" => {
                    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
                        Some((name.into_string().ok()?, value.into_string().ok()?))
                    };
                    given.extend(env::vars_os().filter_map(text));
                }
                None => {
                    let value = env::var(word).map_err(|_| {
                        Failure::flag("env", format!("there is no variable `{word}` to give on"))
                    })?;
                    given.insert(word.clone(), value);
                }
            }
        }
        Ok(given)
    }

    fn folder(&self) -> Result<String, Failure> {
        let here = || env::current_dir().map_err(|error| Failure::flag("dir", error.to_string()));
        let dir = match &self.dir {
            Some(dir) if dir.is_absolute() => dir.clone(),
            Some(dir) => here()?.join(dir),
            None => here()?,
        };
        dir.into_os_string().into_string().map_err(|dir| {
            let dir = dir.to_string_lossy();
            Failure::flag("dir", format!("expected a name in UTF-8, got `{dir}`"))
        })
    }
}

/// The user's own. The system tells it only by setting it.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.bits()
}

//! `scancel`.

use std::io::{self, Write};

use tollgate_client::ApiClient;
use tollgate_client::types::{JobRef, SignalRequest, SignalResult};
use tollgate_frontends::slurm::getopt::{OptionRule, OptionValue, TypedOption, rule};
use tollgate_frontends::slurm::{
    SlurmError, SlurmJobName, SlurmRow, SlurmState, check_clusters, signal_name,
};

use super::failure::{SlurmFailure, is_about_the_job};
use super::fetch::{self, RowFilter, RowSelection};
use crate::connection::endpoint::ServiceAddressArgs;
use OptionValue::{Bare, Required};

/// The name of the command in its messages.
const TOOL: &str = "scancel";

const RULES: &[OptionRule] = &[
    rule("account", Some('A'), Required),
    rule("batch", Some('b'), Bare),
    rule("clusters", Some('M'), Required),
    rule("ctld", None, Bare),
    rule("cron", Some('c'), Bare),
    rule("full", Some('f'), Bare),
    rule("help", None, Bare),
    rule("hurry", Some('H'), Bare),
    rule("interactive", Some('i'), Bare),
    rule("jobname", None, Required),
    rule("me", None, Bare),
    rule("name", Some('n'), Required),
    rule("nodelist", Some('w'), Required),
    rule("partition", Some('p'), Required),
    rule("qos", Some('q'), Required),
    rule("quiet", Some('Q'), Bare),
    rule("reservation", Some('R'), Required),
    rule("sibling", None, Required),
    rule("signal", Some('s'), Required),
    rule("state", Some('t'), Required),
    rule("usage", None, Bare),
    rule("user", Some('u'), Required),
    rule("verbose", Some('v'), Bare),
    rule("version", Some('V'), Bare),
    rule("wckey", None, Required),
];

/// What to cancel, or to signal.
#[derive(Debug, Default)]
struct ScancelCall {
    filter: RowFilter,
    has_filter: bool,
    signal: Option<&'static str>,
    verbose: bool,
    quiet: bool,
    version: bool,
    help: bool,
}

/// Cancels jobs, or sends them a signal.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let parsed = super::parse(TOOL, RULES, words)?;
    let mut call = ScancelCall::default();
    for typed in &parsed.options {
        call.add(typed)?;
    }
    if call.version {
        return super::print_version();
    }
    if call.help {
        let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Scancel);
        return Ok(writeln!(
            io::stdout().lock(),
            "Usage: scancel [OPTIONS] [ID]...\n\n{help}"
        )?);
    }
    let mut jobs = Vec::new();
    for word in &parsed.operands {
        let list = SlurmJobName::parse_list(word)
            .map_err(|word| SlurmError::of(TOOL, format!("Invalid job id {word}")))?;
        jobs.extend(list);
    }
    if jobs.is_empty() && !call.has_filter {
        return Err(SlurmError::of(TOOL, "No job identification provided").into());
    }
    let mut client = address.connect()?;
    match jobs.is_empty() {
        true => call.cancel_matching(&mut client),
        false => {
            for job in &jobs {
                call.cancel_named(&mut client, job)?;
            }
            Ok(())
        }
    }
}

impl ScancelCall {
    fn add(&mut self, typed: &TypedOption) -> Result<(), SlurmError> {
        let text = typed.text();
        let list = || fetch::words(text);
        match typed.name {
            "account" => self.filter.accounts = list(),
            "name" | "jobname" => self.filter.names = list(),
            "partition" => self.filter.partitions = list(),
            "user" => self.filter.users = list(),
            "me" => self.filter.users = vec![fetch::own_user()],
            "nodelist" => self.filter.hosts = list(),
            "state" => {
                let states = SlurmState::parse_list(text).map_err(|word| {
                    SlurmError::of(TOOL, format!("Invalid job state specified: {word}"))
                })?;
                self.filter.states = Some(states);
            }
            "signal" => {
                let name = signal_name(text);
                let wrong = || SlurmError::of(TOOL, format!("Unknown job signal: {text}"));
                self.signal = Some(name.ok_or_else(wrong)?);
            }
            "clusters" => check_clusters(TOOL, text)?,
            "verbose" => self.verbose = true,
            "quiet" => self.quiet = true,
            "version" => self.version = true,
            "help" | "usage" => self.help = true,
            "interactive" => {
                let message =
                    "--interactive: not supported; name the jobs, and leave the option out";
                return Err(SlurmError::of(TOOL, message));
            }
            // The script and its steps are one group of processes here.
            _ => {}
        }
        self.has_filter |= matches!(
            typed.name,
            "account" | "name" | "jobname" | "partition" | "user" | "me" | "nodelist" | "state"
        );
        Ok(())
    }

    /// Returns the signal to send to running jobs. None if jobs are cancelled.
    fn sent_signal(&self) -> Option<&'static str> {
        self.signal.filter(|name| !matches!(*name, "TERM" | "KILL"))
    }

    /// Cancels the jobs that the filter accepts.
    fn cancel_matching(&self, client: &mut ApiClient) -> Result<(), SlurmFailure> {
        let selection = RowSelection {
            joins_waiting: false,
            over_since: None,
        };
        let rows = fetch::all(client, selection, &self.filter)?;
        for row in rows.iter().filter(|row| self.filter.accepts(row)) {
            self.act(client, &selector(row), row.raw_id())?;
        }
        Ok(())
    }

    /// Cancels a job or tasks, if the filter accepts them.
    fn cancel_named(&self, client: &mut ApiClient, job: &SlurmJobName) -> Result<(), SlurmFailure> {
        if !self.has_filter {
            return self.act(client, &job.selector(), job.number);
        }
        let rows = fetch::named(client, job, false)?.unwrap_or_default();
        for row in rows.iter().filter(|row| self.filter.accepts(row)) {
            self.act(client, &selector(row), row.raw_id())?;
        }
        Ok(())
    }

    /// Cancels or signals one job. A job that is over, or does not exist, is no failure.
    fn act(&self, client: &mut ApiClient, job: &str, number: u64) -> Result<(), SlurmFailure> {
        if self.verbose {
            self.print(&format!("{TOOL}: Terminating job {number}"));
        }
        let done = match self.sent_signal() {
            None => client.post_with_key::<JobRef>(&format!("/v1/jobs/{job}/cancel"), &()),
            Some(signal) => {
                let request = SignalRequest {
                    signal: signal.to_owned(),
                };
                let path = format!("/v1/jobs/{job}/signal");
                client
                    .post::<SignalResult>(&path, &request)
                    .map(|_| JobRef { id: number })
            }
        };
        match done {
            Ok(_) => Ok(()),
            Err(error) if is_about_the_job(&error) => {
                if self.verbose {
                    let words = "Job/step already completing or completed";
                    self.print(&format!(
                        "{TOOL}: error: Kill job error on job id {number}: {words}"
                    ));
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn print(&self, line: &str) {
        if !self.quiet {
            // A closed standard error is ignored.
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}

/// Returns the name by which the service knows the job or task of a row.
fn selector(row: &SlurmRow) -> String {
    match row.job.task.filter(|_| row.is_of_array) {
        Some(task) => format!("{}_{task}", row.job.id),
        None => row.job.id.to_string(),
    }
}

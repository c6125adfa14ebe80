//! `tollgate session shell`: a job on this terminal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use std::{env, io};

use tollgate_client::types::{JobExplanation, JobRef, JobRequest};
use tollgate_terminal::remote::{ListenError, UNREACHABLE};
use tollgate_terminal::{
    AttachEnd, AttachError, AttachOptions, DetachReason, EndOfInput, JOB_COMMAND_ARG,
    TERMINAL_TICKET, TerminalAccess, TerminalArrival, TerminalListener, UserTerminal, attach,
};

use super::folder::SessionFolder;
use crate::args::parse_count;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::jobs::job_args::JobArgs;
use crate::jobs::{answer, submit};
use crate::operate::serve::current_program;
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::parse;
use crate::parse::TypedSpan;

/// Time between two looks whether the job has connected, or a signal has arrived.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two questions to the service why the job waits.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// The variables of a terminal that a job on it needs.
const TERMINAL_VARIABLES: [&str; 2] = ["TERM", "COLORTERM"];
/// The command of the job. The program may be elsewhere on the job's host.
const LAUNCH: &str = "p=$0; test -x \"$p\" || p=tollgate; exec \"$p\" \"$@\"";

/// Run a shell or a command as a job, on this terminal.
///
/// The exit code is that of the command. Ctrl-C ends the wait for a free node. The job ends with the
/// connection of this terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionShellArgs {
    /// Number of processors [default: 1]
    #[arg(long, short = 'n', value_name = "N", value_parser = parse_count::<u32>)]
    procs: Option<u32>,
    /// Maximum memory, as in 2G or 500M
    #[arg(long, value_name = "SIZE", value_parser = parse::parse_job_memory)]
    mem: Option<u64>,
    /// End the job after this time, as in 1h [default: no limit]
    #[arg(long, short, value_name = "SPAN", value_parser = parse::parse_span)]
    time: Option<f64>,
    /// Keep all processors on one host
    #[arg(long)]
    one_host: bool,
    /// Run on this host alone, as `tollgate nodes` names it
    #[arg(long, value_name = "HOST")]
    on: Option<String>,
    /// Devices and licences to take, as in gpu:1,matlab
    #[arg(long, value_name = "LIST", value_parser = parse::parse_resource_list)]
    gres: Option<BTreeMap<String, u8>>,
    /// Pass an environment variable to the job, or `all`
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Command and its arguments [default: your shell]
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// An error of a job on a terminal.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShellError {
    /// The job cannot reach this host.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The job ended before it was connected.
    #[error("job {id} ended before its terminal was connected: {status}")]
    Ended { id: u64, status: String },
    /// The job's host cannot reach this one.
    #[error("job {id}: its host cannot connect to this one")]
    Unreachable { id: u64 },
    /// The connection is gone.
    #[error("job {0}: the connection is gone, and the job is ended")]
    Lost(u64),
    /// This terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] AttachError),
}

/// `tollgate session shell`.
pub(super) fn run(args: &SessionShellArgs) -> Result<(), CliFailure> {
    let listener = TerminalListener::bind().map_err(ShellError::from)?;
    let request = request(args, listener.ticket())?;
    let address = &address(args)?;
    let mut client = address.connect()?;
    let answer = submit::post_request(&mut client, "/v1/jobs", &request)?;
    drop(client);
    if answer::is_rejected(&answer) {
        let mut messages = io::stderr().lock();
        let number = answer::number_of(&answer);
        answer::render_answer(&mut messages, &answer, &number, &format::now())?;
        return Err(ClientCommandError::Rejected.into());
    }
    let id = answer.id.unwrap_or_default();
    let ended = match wait_for_job(address, &listener, id)? {
        TerminalArrival::Connected(stream) => {
            let options = AttachOptions {
                access: TerminalAccess::Write,
                end_of_input: EndOfInput::PassOn,
            };
            let terminal = UserTerminal::standard().map_err(AttachError::Terminal);
            terminal.and_then(|terminal| attach(stream, &terminal, &options))
        }
        TerminalArrival::Signal(signal) => Ok(AttachEnd::Signal(signal)),
        TerminalArrival::NotYet => Ok(AttachEnd::Lost),
    };
    match ended {
        Ok(AttachEnd::Ended(0)) => Ok(()),
        Ok(AttachEnd::Ended(code)) => Err(ClientCommandError::JobStatus(code).into()),
        Ok(AttachEnd::Detached(reason)) => {
            cancel(address, id)?;
            let why = match reason {
                DetachReason::Own => "this terminal has left",
                DetachReason::TakenOver | DetachReason::AllDetached | DetachReason::Stalled => {
                    "this terminal was detached"
                }
            };
            Verbosity::Notes.note(format_args!("job {id} is ended: {why}"));
            Ok(())
        }
        Ok(AttachEnd::Signal(signal)) => {
            cancel(address, id)?;
            Err(ClientCommandError::JobStatus(signal.saturating_add(128)).into())
        }
        Ok(AttachEnd::Lost) => {
            cancel(address, id)?;
            Err(ShellError::Lost(id).into())
        }
        Err(error) => {
            cancel(address, id)?;
            Err(ShellError::from(error).into())
        }
    }
}

/// Returns the service: that of the only session, unless this process is in one or another is named.
fn address(args: &SessionShellArgs) -> Result<ServiceAddressArgs, CliFailure> {
    let only = match args.address.is_default()? {
        true => SessionFolder::find(None).ok(),
        false => None,
    };
    Ok(only.map_or_else(|| args.address.clone(), |folder| folder.service()))
}

/// Returns the job that runs the command on this terminal.
fn request(args: &SessionShellArgs, ticket: &str) -> Result<JobRequest, CliFailure> {
    let program = current_program()?.to_string_lossy().into_owned();
    let launch = ["/bin/sh", "-c", LAUNCH, &program, JOB_COMMAND_ARG].map(str::to_owned);
    let name = args.command.first().map_or("shell", String::as_str);
    let name = name.rsplit('/').next().unwrap_or(name);
    let job = JobArgs {
        procs: args.procs,
        mem: args.mem,
        time_limit: args.time.map(TypedSpan::from_secs),
        signal: None,
        one_host: args.one_host,
        on: args.on.clone(),
        gres: args.gres.clone(),
        env: args.env.clone(),
        name: Some(name.to_owned()),
        output: Some("none".to_owned()),
        command: launch.into_iter().chain(args.command.clone()).collect(),
        ..JobArgs::default()
    };
    let mut request = job.build(None, &format::now())?;
    for name in TERMINAL_VARIABLES {
        if let Ok(value) = env::var(name) {
            request.env.insert(name.to_owned(), value);
        }
    }
    let ticket = ticket.to_owned();
    request.env.insert(TERMINAL_TICKET.to_owned(), ticket);
    Ok(request)
}

/// Waits until the job has connected, or a signal asks this process to end. Shows why the job waits.
fn wait_for_job(
    address: &ServiceAddressArgs,
    listener: &TerminalListener,
    id: u64,
) -> Result<TerminalArrival, CliFailure> {
    let mut look_at = Instant::now() + LOOK_INTERVAL;
    let mut shown = String::new();
    loop {
        match listener.wait(POLL_INTERVAL) {
            TerminalArrival::NotYet => {}
            arrived @ (TerminalArrival::Connected(_) | TerminalArrival::Signal(_)) => {
                return Ok(arrived);
            }
        }
        if Instant::now() < look_at {
            continue;
        }
        look_at = Instant::now() + LOOK_INTERVAL;
        // The job may start although the service does not answer now.
        let Ok(explained) = explain(address, id) else {
            continue;
        };
        check_alive(&explained)?;
        let words = explained.words.join("; ");
        if !words.is_empty() && words != shown {
            Verbosity::Notes.note(format_args!("job {id}: {words}"));
            shown = words;
        }
    }
}

fn explain(address: &ServiceAddressArgs, id: u64) -> Result<JobExplanation, CliFailure> {
    let path = format!("/v1/jobs/{id}/explain");
    Ok(address.connect()?.get(&path)?)
}

/// Checks that the job has not ended.
fn check_alive(explained: &JobExplanation) -> Result<(), ShellError> {
    let (job, id) = (&explained.job, explained.job.id);
    match job.state.is_over() {
        true if job.exit_code == Some(UNREACHABLE) => Err(ShellError::Unreachable { id }),
        true => {
            let status = job.status.clone();
            let status = status.unwrap_or_else(|| job.state.to_string());
            Err(ShellError::Ended { id, status })
        }
        false => Ok(()),
    }
}

/// Ends the job, which may have ended already.
fn cancel(address: &ServiceAddressArgs, id: u64) -> Result<(), CliFailure> {
    let mut client = address.connect()?;
    let _ = client.post::<JobRef>(&format!("/v1/jobs/{id}/cancel"), &());
    Ok(())
}

impl CliError for ShellError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Unreachable { .. } => Some(
                "set TOLLGATE_SPREAD_ADDRESS to an address of this host that the node reaches"
                    .into(),
            ),
            Self::Ended { id, .. } => Some(format!("`tollgate explain {id}` says more").into()),
            Self::Listen(_) | Self::Lost(_) | Self::Terminal(_) => None,
        }
    }
}

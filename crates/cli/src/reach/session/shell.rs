//! `tollgate session shell`: a job on this terminal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use tollgate_client::ApiClient;
use tollgate_client::typed_amount::TypedMemory;
use tollgate_client::types::JobRequest;
use tollgate_frontends::SubmitPlace;
use tollgate_session::{JobShell, JobShellError, JobShellUser, SessionFolder, TerminalEnd};
use tollgate_terminal::DetachReason;

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

/// The user of this terminal, waiting for a job.
struct WaitingUser<'a> {
    address: &'a ServiceAddressArgs,
    id: u64,
}

/// `tollgate session shell`.
pub(super) fn run(args: &SessionShellArgs) -> Result<(), CliFailure> {
    let shell = JobShell::open()?;
    let request = request(args, &shell)?;
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
    match shell.run(id, &WaitingUser { address, id })? {
        TerminalEnd::Ended(0) => Ok(()),
        TerminalEnd::Ended(code) => Err(ClientCommandError::JobStatus(code).into()),
        TerminalEnd::Signal(signal) => {
            Err(ClientCommandError::JobStatus(signal.saturating_add(128)).into())
        }
        TerminalEnd::Detached(reason) => {
            let why = match reason {
                DetachReason::Own => "this terminal has left",
                DetachReason::TakenOver | DetachReason::AllDetached | DetachReason::Stalled => {
                    "this terminal was detached"
                }
            };
            Verbosity::Notes.note(format_args!("job {id} is ended: {why}"));
            Ok(())
        }
    }
}

impl JobShellUser for WaitingUser<'_> {
    type Error = CliFailure;

    fn connect(&self) -> Result<ApiClient, CliFailure> {
        self.address.connect()
    }

    fn show_wait(&self, reason: &str) {
        Verbosity::Notes.note(format_args!("job {}: {reason}", self.id));
    }
}

/// Returns the service: that of the only session, unless this process is in one or another is named.
fn address(args: &SessionShellArgs) -> Result<ServiceAddressArgs, CliFailure> {
    let only = match args.address.is_default()? {
        true => SessionFolder::find(None).ok(),
        false => None,
    };
    Ok(only.map_or_else(
        || args.address.clone(),
        |folder| ServiceAddressArgs::in_data_dir(folder.data()),
    ))
}

/// Returns the job that runs the command on this terminal.
fn request(args: &SessionShellArgs, shell: &JobShell) -> Result<JobRequest, CliFailure> {
    let program = PathBuf::from(current_program()?);
    let name = args.command.first().map_or("shell", String::as_str);
    let name = name.rsplit('/').next().unwrap_or(name);
    let job = JobArgs {
        procs: args.procs,
        mem: args.mem.map(TypedMemory::Amount),
        time_limit: args.time.map(TypedSpan::from_secs),
        signal: None,
        one_host: args.one_host,
        on: args.on.clone(),
        gres: args.gres.clone(),
        env: args.env.clone(),
        name: Some(name.to_owned()),
        output: Some("none".to_owned()),
        command: JobShell::job_command(&program, &args.command),
        ..JobArgs::default()
    };
    let mut request = job.build(None, SubmitPlace::here(format::now()))?;
    shell.add_variables(&mut request);
    Ok(request)
}

/// The job cannot be used on this terminal.
impl CliError for JobShellError {
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

//! The commands: the only module that knows them all.
//!
//! | module | contents |
//! |---|---|
//! | `groups` | the groups in which help lists them |
//! | `internal` | processes that the program starts of itself |
//! | `page` | their help as a page of the reference |
//! | `rewrites` | command lines that mean another one |

mod groups;
mod internal;
mod page;
mod rewrites;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command as ClapCommand, CommandFactory, FromArgMatches, Parser, Subcommand};
use tollgate_frontends::{FrontendTool, help};
use tollgate_host::{DETACHED_ARG, leave_session};
use tollgate_policy::PolicyRegistry;

use self::groups::grouped;
use self::page::commands_page;
use self::rewrites::{with_campus_command, without_help_of_help};
use crate::args::{Deferred, with_similar_names};
use crate::exit::{self, CliFailure};
use crate::jobs::act::ActionOnJobs;
use crate::jobs::frontends;
use crate::simulate::{campus, forecast, policies, replay, study, trace};
use crate::{beside, jobs, operate, reach};

/// Decide which jobs a shared cluster promises to finish in time.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

/// The commands, as `tollgate help` describes them.
#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Simulate policies on recorded jobs: promises, delays, rejections, earnings.
    Replay(Deferred<replay::ReplayArgs>),
    /// Simulate tasks on desktops with users: energy, evictions, tasks that never end.
    Campus(Deferred<campus::CampusArgs>),
    /// List the policies with their papers, markets and parameters.
    Policies(Deferred<policies::PoliciesArgs>),
    /// Forecast run times from records of finished jobs, with probabilities.
    ///
    /// Without options the answer lists every class of jobs, how it behaves, and the forecast for its next
    /// job.
    Forecast(Deferred<forecast::ForecastArgs>),
    /// Run a published experiment, or one of your own, from one file.
    Study(Deferred<study::StudyArgs>),
    /// Run the service: admit jobs, promise deadlines, and run them.
    Serve(Deferred<operate::serve::ServeArgs>),
    /// Show a quote, a promise, a refusal and calibration in a minute.
    ///
    /// The demonstration runs a service of its own in a temporary directory and shows each command that it
    /// types. Ctrl-C ends the service and its jobs, and removes the directory.
    Demo(Deferred<operate::demo::DemoArgs>),
    /// Submit a job.
    ///
    /// The answer is `accepted` with a promise, `waitlisted`, `unpromised`, `queued`, `deferred`, or
    /// `rejected` with the reasons (exit code 3, also if only some tasks of an array are).
    Submit(Deferred<jobs::submit::SubmitArgs>),
    /// Show the answer that `submit` would give; change nothing.
    Quote(Deferred<jobs::submit::QuoteArgs>),
    /// Show the service's policy, nodes, jobs and results so far.
    Status(Deferred<operate::status::StatusArgs>),
    /// List unfinished jobs, latest first, or the tasks of an array.
    Jobs(Deferred<jobs::list::JobsArgs>),
    /// Explain why a job waits, and when it should start and end.
    ///
    /// `tollgate explain site NAME` explains why pilots are submitted at a site, or are not.
    Explain(Deferred<jobs::explain::ExplainArgs>),
    /// Open the service in a browser: jobs, promises, nodes over time.
    ///
    /// The window is served on this host to this user alone, until Ctrl-C. The link works once, within a minute;
    /// Enter prints another one.
    Open(Deferred<jobs::open::OpenArgs>),
    /// Show the service in the terminal: jobs, promises, nodes, as they change.
    ///
    /// Keys explain the selected job, show its output, cancel, hold and release it. `?` lists the keys, `q` quits.
    Top(Deferred<jobs::top::TopArgs>),
    /// Wait until a job is over, and exit with its status.
    ///
    /// The status is the exit code of the job, 128 + n after signal n, and 1 if the job or a task of it was
    /// rejected, cancelled or lost. Of several jobs, the greatest.
    Wait(Deferred<jobs::wait::WaitArgs>),
    /// Change a job that waits.
    ///
    /// The changed job is asked for as a new one. If the answer is worse, the job stays as it was, and the
    /// exit code is 3. Jobs that run and arrays cannot be changed.
    Alter(Deferred<jobs::alter::AlterArgs>),
    /// Cancel jobs: remove them from the queue, or kill them.
    Cancel(Deferred<jobs::act::JobActionArgs>),
    /// Hold queued jobs.
    Hold(Deferred<jobs::act::JobActionArgs>),
    /// Release held jobs.
    Release(Deferred<jobs::act::JobActionArgs>),
    /// End running jobs, and queue them again under their numbers.
    ///
    /// The program starts from its beginning. Its output goes on in the same file, and promises stay open.
    Requeue(Deferred<jobs::act::JobActionArgs>),
    /// Send a signal to the processes of running jobs.
    ///
    /// It goes to the process group of each task, so that a program can save its state. A task that handles
    /// the signal goes on. Jobs on the nodes of a batch system get none.
    Signal(Deferred<jobs::act::SignalArgs>),
    /// Print the output of a job.
    Logs(Deferred<jobs::logs::LogsArgs>),
    /// List the nodes, what is enforced there, and what can escape.
    Nodes(Deferred<operate::figures::NodesArgs>),
    /// Start no other job on the nodes of a host.
    Drain(Deferred<operate::drain::DrainArgs>),
    /// Let jobs start again on nodes that were drained.
    Resume(Deferred<operate::drain::DrainArgs>),
    /// Let a waiting job go beyond its user's share, as an operator.
    ///
    /// Under `plan` with a share, a job waits once the promises to its user take all of it. The exception and
    /// its reason are kept with the job, and `explain` shows them.
    Grant(Deferred<operate::grant::GrantArgs>),
    /// Compare promised probabilities with how many promises were kept.
    Calibration(Deferred<operate::figures::ServiceQueryArgs>),
    /// Show charges, penalties and earnings, by user and day.
    Ledger(Deferred<operate::ledger::LedgerArgs>),
    /// Show jobs, core hours, waits, promises and charges as sums.
    ///
    /// A user sees the sums of the own jobs, root and the service's own user those of all. Days are in UTC.
    /// Sums stay when old jobs are removed.
    Usage(Deferred<operate::usage::UsageArgs>),
    /// Write jobs, promises or the ledger to a file.
    Export(Deferred<operate::export::ExportArgs>),
    /// Remove records of jobs that ended long ago.
    ///
    /// The ledger, usage, calibration and objectives stay, and so do jobs that unfinished jobs depend on.
    /// Only root and the service's own user may do this. The setting `retention.jobs` does the same
    /// regularly.
    Prune(Deferred<operate::prune::PruneArgs>),
    /// Teach a running service from records of earlier jobs.
    ///
    /// The service then knows what jobs of these users and names need before the first of them is
    /// submitted. Only jobs that ended with success teach it. The same records again change nothing. Only
    /// root and the service's own user may do this.
    Learn(Deferred<operate::learn::LearnArgs>),
    /// Back up the data of a service, running or not.
    Backup(Deferred<operate::backup::BackupArgs>),
    /// Restore a backup to a data directory without a store.
    Restore(Deferred<operate::backup::RestoreArgs>),
    /// Verify all data of a stopped service; change nothing.
    Check(Deferred<operate::backup::StoreCheckArgs>),
    /// Create, list and revoke tokens for access over the network.
    Token(Deferred<operate::token::TokenArgs>),
    /// Offer this host's cores to a service on another host.
    Worker(Deferred<operate::worker::WorkerArgs>),
    /// Run pilots in the queues of batch systems.
    ///
    /// A site is an account at a batch system. A pilot is a job there that joins this service as a worker.
    Site(Deferred<reach::site::SiteArgs>),
    /// The old name of `tollgate site agent`.
    #[command(hide = true)]
    Agent(Deferred<reach::site::agent::AgentArgs>),
    /// Know services with gates of their own by name.
    ///
    /// `tollgate submit --to NAME,NAME` asks several of them and takes the best; every command takes
    /// `--cluster NAME`.
    Cluster(Deferred<reach::cluster::ClusterArgs>),
    /// Work in a log-in session on a cluster of pilots.
    ///
    /// The cluster is a service of your own with pilots at your sites. The session outlives the terminal.
    Session(Deferred<reach::session::SessionArgs>),
    /// Follow the queue of a scheduler that others run, read only.
    ///
    /// The follower learns how long jobs wait, states when each starts and ends, and counts how many statements
    /// were kept. Nothing is written to the cluster.
    Beside(Deferred<beside::BesideArgs>),
    /// Say when jobs of a scheduler start and end.
    ///
    /// Reads the queue and the records of the scheduler of this host. The job may be one that is not submitted
    /// yet: `tollgate eta -- sbatch -n 64 -t 4:00:00 job.sh` submits nothing.
    Eta(Deferred<beside::eta::EtaArgs>),
    /// Run a command on the hosts of the calling job.
    Spread(Deferred<jobs::spread::SpreadArgs>),
    /// Submit a job as with qsub of PBS or Grid Engine.
    #[command(hide = true, override_usage = "qsub [OPTIONS] [SCRIPT [ARGUMENTS]]", after_help = help::options(FrontendTool::Qsub))]
    Qsub(Deferred<frontends::FrontendArgs>),
    /// Show jobs as with qstat of PBS or Grid Engine.
    #[command(hide = true, override_usage = "qstat [OPTIONS] [ID]...", after_help = help::options(FrontendTool::Qstat))]
    Qstat(Deferred<frontends::FrontendArgs>),
    /// Cancel jobs as with qdel of PBS or Grid Engine.
    #[command(hide = true, override_usage = "qdel [OPTIONS] ID...", after_help = help::options(FrontendTool::Qdel))]
    Qdel(Deferred<frontends::FrontendArgs>),
    /// Submit a job as with sbatch of Slurm.
    #[command(hide = true, override_usage = "sbatch [OPTIONS] [SCRIPT [ARGUMENTS]]", after_help = help::options(FrontendTool::Sbatch))]
    Sbatch(Deferred<frontends::FrontendArgs>),
    /// List jobs as with squeue of Slurm.
    #[command(hide = true, override_usage = "squeue [OPTIONS]", after_help = help::options(FrontendTool::Squeue))]
    Squeue(Deferred<frontends::FrontendArgs>),
    /// Cancel jobs as with scancel of Slurm.
    #[command(hide = true, override_usage = "scancel [OPTIONS] [ID]...", after_help = help::options(FrontendTool::Scancel))]
    Scancel(Deferred<frontends::FrontendArgs>),
    /// List records of jobs as with sacct of Slurm.
    #[command(hide = true, override_usage = "sacct [OPTIONS]", after_help = help::options(FrontendTool::Sacct))]
    Sacct(Deferred<frontends::FrontendArgs>),
    /// Show and change jobs as with scontrol of Slurm.
    #[command(hide = true, override_usage = "scontrol [OPTIONS] COMMAND [WORDS]...", after_help = help::options(FrontendTool::Scontrol))]
    Scontrol(Deferred<frontends::FrontendArgs>),
    /// List partitions and hosts as with sinfo of Slurm.
    #[command(hide = true, override_usage = "sinfo [OPTIONS]", after_help = help::options(FrontendTool::Sinfo))]
    Sinfo(Deferred<frontends::FrontendArgs>),
    /// Run processes in a job as with srun of Slurm.
    #[command(hide = true, override_usage = "srun [OPTIONS] COMMAND...", after_help = help::options(FrontendTool::Srun))]
    Srun(Deferred<frontends::FrontendArgs>),
    /// Refuse what salloc of Slurm does.
    #[command(hide = true, override_usage = "salloc", after_help = help::options(FrontendTool::Salloc))]
    Salloc(Deferred<frontends::FrontendArgs>),
    /// List accounts as with sacctmgr of Slurm: none.
    #[command(hide = true, override_usage = "sacctmgr COMMAND [WORDS]...", after_help = help::options(FrontendTool::Sacctmgr))]
    Sacctmgr(Deferred<frontends::FrontendArgs>),
    /// List shares as with sshare of Slurm: none.
    #[command(hide = true, override_usage = "sshare [OPTIONS]", after_help = help::options(FrontendTool::Sshare))]
    Sshare(Deferred<frontends::FrontendArgs>),
    /// Show what a job used of its request.
    #[command(hide = true, override_usage = "seff ID", after_help = help::options(FrontendTool::Seff))]
    Seff(Deferred<frontends::FrontendArgs>),
    /// Inspect, check, convert and anonymise records of jobs, or generate some.
    Trace(Deferred<trace::TraceArgs>),
    /// Write settings, reference, man pages, completions, schemas, a unit, front ends.
    Generate(Deferred<operate::generate::GenerateArgs>),
}

/// Runs the program with the arguments of the process, its name among them.
pub(crate) fn main(words: Vec<OsString>, registry: &PolicyRegistry) -> ExitCode {
    let tool = words.first().map(OsString::as_os_str);
    if let Some(tool) = tool.and_then(FrontendTool::from_program_name) {
        let words = words.iter().skip(1);
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        return exit::finish(run_frontend(tool, &words));
    }
    if let Some(code) = internal::run(&words) {
        return code;
    }
    let mut words = words;
    if words.get(1).is_some_and(|word| word == DETACHED_ARG) {
        leave_session();
        words.remove(1);
    }
    exit::finish(run(parse(words).command, registry))
}

/// Parses a command line that starts with the program's name. Prints help or an error and exits if
/// there is no command to run.
fn parse(words: Vec<OsString>) -> Cli {
    let words = with_campus_command(without_help_of_help(words, whole_command));
    let matches = described().try_get_matches_from(&words);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| with_similar_names(error, &words, whole_command()).exit())
}

/// Returns the command line as users see it, with the options of all commands: for help, completions
/// and manual pages.
pub(crate) fn whole_command() -> ClapCommand {
    let mut command = described();
    command.build();
    command
}

/// Returns the command line, with the options of the command that is called.
fn described() -> ClapCommand {
    grouped(Cli::command())
}

fn run(command: CliCommand, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    match command {
        CliCommand::Replay(args) => replay::run(&args, registry),
        CliCommand::Campus(args) => campus::run(&args),
        CliCommand::Policies(args) => policies::run(&args, registry),
        CliCommand::Forecast(args) => forecast::run(&args),
        CliCommand::Study(args) => study::run(&args, registry),
        CliCommand::Serve(args) => operate::serve::run(&args, registry),
        CliCommand::Submit(args) => jobs::submit::submit(&args),
        CliCommand::Quote(args) => jobs::submit::quote(&args),
        CliCommand::Status(args) => operate::status::run(&args),
        CliCommand::Jobs(args) => jobs::list::jobs(&args),
        CliCommand::Explain(args) => jobs::explain::run(&args),
        CliCommand::Open(args) => jobs::open::run(&args),
        CliCommand::Top(args) => jobs::top::run(&args),
        CliCommand::Wait(args) => jobs::wait::wait(&args),
        CliCommand::Grant(args) => operate::grant::run(&args),
        CliCommand::Drain(args) => operate::drain::drain(&args),
        CliCommand::Resume(args) => operate::drain::resume(&args),
        CliCommand::Alter(args) => jobs::alter::alter(&args),
        CliCommand::Cancel(args) => jobs::act::post_action(&args, ActionOnJobs::Cancel),
        CliCommand::Hold(args) => jobs::act::post_action(&args, ActionOnJobs::Hold),
        CliCommand::Release(args) => jobs::act::post_action(&args, ActionOnJobs::Release),
        CliCommand::Requeue(args) => jobs::act::post_action(&args, ActionOnJobs::Requeue),
        CliCommand::Signal(args) => jobs::act::signal(&args),
        CliCommand::Logs(args) => jobs::logs::logs(&args),
        CliCommand::Ledger(args) => operate::ledger::run(&args),
        CliCommand::Usage(args) => operate::usage::run(&args),
        CliCommand::Export(args) => operate::export::run(&args),
        CliCommand::Prune(args) => operate::prune::run(&args),
        CliCommand::Nodes(args) => operate::figures::nodes(&args),
        CliCommand::Calibration(args) => operate::figures::calibration(&args),
        CliCommand::Worker(args) => operate::worker::run(&args),
        CliCommand::Site(args) => reach::site::run(&args),
        CliCommand::Agent(args) => reach::site::agent::run(&args),
        CliCommand::Cluster(args) => reach::cluster::run(&args),
        CliCommand::Session(args) => reach::session::run(&args),
        CliCommand::Beside(args) => beside::run(&args, registry),
        CliCommand::Eta(args) => beside::eta::run(&args),
        CliCommand::Spread(args) => jobs::spread::run(&args),
        CliCommand::Learn(args) => operate::learn::run(&args),
        CliCommand::Backup(args) => operate::backup::back_up(&args, registry),
        CliCommand::Restore(args) => operate::backup::restore(&args, registry),
        CliCommand::Check(args) => operate::backup::check(&args, registry),
        CliCommand::Token(args) => operate::token::run(&args),
        CliCommand::Demo(args) => operate::demo::run(&args),
        CliCommand::Generate(args) => operate::generate::run(&args, described, commands_page),
        CliCommand::Qsub(args) => run_frontend(FrontendTool::Qsub, &args.words),
        CliCommand::Qstat(args) => run_frontend(FrontendTool::Qstat, &args.words),
        CliCommand::Qdel(args) => run_frontend(FrontendTool::Qdel, &args.words),
        CliCommand::Sbatch(args) => run_frontend(FrontendTool::Sbatch, &args.words),
        CliCommand::Squeue(args) => run_frontend(FrontendTool::Squeue, &args.words),
        CliCommand::Scancel(args) => run_frontend(FrontendTool::Scancel, &args.words),
        CliCommand::Sacct(args) => run_frontend(FrontendTool::Sacct, &args.words),
        CliCommand::Scontrol(args) => run_frontend(FrontendTool::Scontrol, &args.words),
        CliCommand::Sinfo(args) => run_frontend(FrontendTool::Sinfo, &args.words),
        CliCommand::Srun(args) => run_frontend(FrontendTool::Srun, &args.words),
        CliCommand::Salloc(args) => run_frontend(FrontendTool::Salloc, &args.words),
        CliCommand::Sacctmgr(args) => run_frontend(FrontendTool::Sacctmgr, &args.words),
        CliCommand::Sshare(args) => run_frontend(FrontendTool::Sshare, &args.words),
        CliCommand::Seff(args) => run_frontend(FrontendTool::Seff, &args.words),
        CliCommand::Trace(args) => trace::run(&args),
    }
}

/// Runs a front end, or prints its help.
fn run_frontend(tool: FrontendTool, words: &[String]) -> Result<(), CliFailure> {
    if !help::is_help_requested(words) {
        return frontends::run(tool, words);
    }
    let mut program = whole_command();
    let command = program
        .find_subcommand_mut(tool.name())
        .expect("the tools are commands");
    let help = command.render_long_help();
    Ok(write!(io::stdout().lock(), "{help}")?)
}

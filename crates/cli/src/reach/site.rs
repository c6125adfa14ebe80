//! `tollgate site`: pilots in the queues of batch systems.
//!
//! | module | contents |
//! |---|---|
//! | [`add`] | `tollgate site add`, `list` and `remove` |
//! | [`scale`] | `tollgate site scale` |
//! | [`keep`] | `tollgate site keep` |
//! | [`agent`] | `tollgate site agent` |
//! | [`opened`] | a site that a command acts on |
//! | [`pilot_service`] | the service that pilots join, and its tokens |
//! | [`service_work`] | the work of the service, by which `keep` decides |
//! | [`explain`] | `tollgate explain site` |
//! | [`check`] | `tollgate site check`, and the part of it that runs on a node |
//! | [`pilot_end`] | how a pilot ended, for its jobs |
//! | [`reach`] | whether pilots reach the service |
//! | [`report`] | `tollgate site report` |
//! | [`status`] | `tollgate site status` |

mod add;
pub(crate) mod agent;
mod check;
mod explain;
mod keep;
mod opened;
mod pilot_end;
mod pilot_service;
mod reach;
mod report;
mod scale;
mod service_work;
mod status;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;
use tollgate_sites::state_dir;

pub(crate) use self::check::{NODE_PROBE_ARG, probe_node};
pub(crate) use self::explain::{SiteExplanation, explain};
pub(crate) use self::opened::program;
pub(crate) use self::pilot_end::pilot_end;
pub(crate) use self::reach::reach;
pub(crate) use self::report::SiteUsageReport;
pub(crate) use self::status::{SiteListing, SiteReport, note_joined};

use crate::exit::CliFailure;
use crate::output::messages;
use crate::simulate::pilots;

/// The options of `tollgate site`.
#[derive(Debug, clap::Args)]
pub(crate) struct SiteArgs {
    #[command(subcommand)]
    command: SiteCommand,
}

#[derive(Debug, Subcommand)]
enum SiteCommand {
    Add(Box<add::SiteAddArgs>),
    List(add::SiteListArgs),
    Remove(add::SiteRemoveArgs),
    Check(check::SiteCheckArgs),
    Scale(scale::SiteScaleArgs),
    Keep(keep::SiteKeepArgs),
    Status(status::SiteStatusArgs),
    Report(report::SiteReportArgs),
    Simulate(Box<pilots::PilotsArgs>),
    Agent(agent::AgentArgs),
}

/// `tollgate site`.
pub(crate) fn run(args: &SiteArgs) -> Result<(), CliFailure> {
    match &args.command {
        SiteCommand::Add(args) => add::add(args),
        SiteCommand::List(args) => add::list(args),
        SiteCommand::Remove(args) => add::remove(args),
        SiteCommand::Check(args) => check::run(args),
        SiteCommand::Scale(args) => scale::run(args),
        SiteCommand::Keep(args) => keep::run(args),
        SiteCommand::Status(args) => status::run(args),
        SiteCommand::Report(args) => report::run(args),
        SiteCommand::Simulate(args) => pilots::run(args),
        SiteCommand::Agent(args) => agent::run(args),
    }
}

/// Runs the queue of the engine `local`: the hidden command that its dialect calls.
pub(crate) fn local_queue(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let answer = || {
        let state = state_dir().map_err(io::Error::other)?;
        let answer = tollgate_sites::local_queue::run(&state, &env::current_exe()?, &words)?;
        io::stdout().write_all(answer.as_bytes())
    };
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            messages::print_error(error, None);
            ExitCode::FAILURE
        }
    }
}

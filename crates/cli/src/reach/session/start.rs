//! `tollgate session start`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use tollgate_grid_policies::migrate::{MigrationError, MigrationSpec};
use tollgate_host::leave_session;
use tollgate_inside::SchedulerKind;
use tollgate_session::{
    InsideSettings, MigrationSettings, SessionFolder, SessionSettings, hold_terminal,
};
use tollgate_terminal::TerminalAccess;

use super::attach::attach_to;
use super::events::SessionPrinter;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::operate::serve::current_program;
use crate::output::messages::Verbosity;
use crate::parse;
use crate::reach::site::reach;

/// The migration policy of `--move` without a value.
const DEFAULT_MIGRATION: &str = "marginal:stop=1.05";

/// Parses the name and the parameters of a migration policy.
fn parse_migration(words: &str) -> Result<String, MigrationError> {
    MigrationSpec::parse(words).map(|_| words.to_owned())
}

/// Start a session: a service, pilots, and a shell.
///
/// Each site gets its `--pilots`, and more while jobs can use them. Without FILE, the sites are those of
/// `tollgate site list`.
#[derive(Debug, clap::Args)]
pub(super) struct SessionStartArgs {
    /// File with the sites, as `tollgate site add` writes it
    file: Option<PathBuf>,
    /// Name of the session [default: default]
    #[arg(long)]
    name: Option<String>,
    /// Admission policy; see `tollgate policies`
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "plan")]
    policy: String,
    /// Address for pilots to connect to [default: a free port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Move waiting pilots between sites; see `policies --world federation`
    #[arg(long = "move", value_name = "POLICY", num_args = 0..=1, require_equals = true,
          default_missing_value = DEFAULT_MIGRATION, value_parser = parse_migration)]
    migration: Option<String>,
    /// Time between two moves of a site
    #[arg(long, value_name = "SPAN", default_value = "1m", value_parser = parse::parse_span,
          requires = "migration")]
    move_every: f64,
    /// Run this scheduler inside the pilots: slurm or htcondor
    #[arg(long, value_name = "SCHEDULER")]
    inside: Option<SchedulerKind>,
    /// Address of the inside scheduler [default: this host's]
    #[arg(long, value_name = "ADDRESS", requires = "inside")]
    address: Option<IpAddr>,
    /// Start the session without attaching this terminal
    #[arg(long)]
    detached: bool,
}

/// `tollgate session start`.
pub(super) fn run(args: &SessionStartArgs) -> Result<(), CliFailure> {
    let settings = args.settings();
    let printer = SessionPrinter::new()?;
    let folder = printer.watch(|context| {
        tollgate_session::start::start(args.name.as_deref(), &settings, context)
    })?;
    if args.inside.is_none() {
        warn_of_unreachable(&folder)?;
    }
    let name = folder.name();
    if args.detached || !io::stdin().is_terminal() {
        let note = format!("`tollgate session attach {name}` opens its shell");
        Verbosity::Notes.note(note);
        return Ok(());
    }
    attach_to(&folder, TerminalAccess::Write)
}

impl SessionStartArgs {
    fn settings(&self) -> SessionSettings {
        let migration = self.migration.clone();
        SessionSettings {
            sites: self.file.clone(),
            policy: self.policy.clone(),
            listen: self.listen.clone(),
            migration: migration.map(|policy| MigrationSettings {
                policy,
                period_s: self.move_every.round().max(1.0) as u64,
            }),
            inside: self.inside.map(|kind| InsideSettings {
                kind,
                address: self.address,
            }),
        }
    }
}

/// Warns of addresses by which the pilots of some sites would not reach the service, as far as this host can
/// tell.
fn warn_of_unreachable(folder: &SessionFolder) -> Result<(), CliFailure> {
    let address = ServiceAddressArgs::in_data_dir(folder.data());
    let sites = folder.sites()?.sites;
    let addresses: BTreeSet<Option<&str>> =
        sites.iter().map(|site| site.connect.as_deref()).collect();
    for connect in addresses {
        let service = address.for_workers(connect)?;
        if let Err(reason) = reach(&service) {
            let place = &service.connect;
            Verbosity::Notes.note(format_args!(
                "this host does not reach the service at {place}, as pilots are to: {reason}; `site add --connect` names another address"
            ));
        }
    }
    Ok(())
}

/// Holds the terminal of a session: the hidden command that `tollgate session start` starts.
pub(crate) fn hold(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    leave_session();
    let name = words.next().unwrap_or_default();
    let run = || {
        let folder = SessionFolder::find(Some(&name.to_string_lossy()))?;
        let program = PathBuf::from(current_program()?);
        Ok(hold_terminal(folder, &program)?)
    };
    crate::exit::finish(run())
}

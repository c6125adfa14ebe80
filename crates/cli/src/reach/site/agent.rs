//! `tollgate site agent`: the process that agrees with those of other sites on which pilot moves.

use std::io::{self, Write};
use std::path::PathBuf;

use tollgate_agents::{AgentDirectory, AgentError, PilotKind, PilotQueue, QueueView};
use tollgate_inside::PersonalScheduler;
use tollgate_model::Instant;
use tollgate_sites::{
    SITES_FILE, ScaleOutcome, ServiceAddress, SiteControl, SiteError, SiteSettings, SitesFile,
    state_dir,
};

use super::ServiceTokens;
use super::keep::SchedulerTickets;
use super::service_work::ServiceWork;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::format;
use crate::reach::session::{PilotsLeft, end_pilots};

/// Run the agent of a site, which moves pilots, until interrupted.
///
/// `tollgate session start --move` runs one for each site. A site with an agent on its own host is
/// added with `site add --agent`.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    /// Directory of the agent, as `session start` writes it
    dir: PathBuf,
    /// Address to listen at [default: that of the list]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Directory of the scheduler that a session has inside its pilots
    #[arg(long, value_name = "DIR", hide = true)]
    inside: Option<PathBuf>,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// The queue of a site, with the service that its pilots join.
struct SiteQueue {
    settings: SiteSettings,
    state: PathBuf,
    program: String,
    address: ServiceAddressArgs,
    inside: Option<PathBuf>,
}

/// `tollgate site agent`.
pub(crate) fn run(args: &AgentArgs) -> Result<(), CliFailure> {
    let agent = AgentDirectory::open(&args.dir)?;
    let own = args.dir.join(SITES_FILE);
    let file = match own.exists() {
        true => own,
        false => SitesFile::path()?,
    };
    let settings = SitesFile::read(&file)?.site(agent.site())?.clone();
    let kind = PilotKind::new(&settings);
    let queue = SiteQueue {
        settings,
        state: state_dir()?,
        program: super::program()?,
        address: args.address.clone(),
        inside: args.inside.clone(),
    };
    Ok(agent.run(args.listen.as_deref(), kind, Box::new(queue), &say)?)
}

/// Writes a sentence with its time.
fn say(text: &str) {
    let now = format::now().strftime("%F %T").to_string();
    // A log that is gone does not end the agent.
    let _ = writeln!(io::stderr(), "{now}  {text}");
}

impl SiteQueue {
    fn open(&self) -> Result<SiteControl, SiteError> {
        SiteControl::open(self.settings.clone(), &self.state, &self.program)
    }

    /// Asks the service for its workers. None if it does not answer: nothing is known of pilots that
    /// have joined it.
    fn work(&self) -> Option<ServiceWork> {
        match &self.inside {
            Some(dir) => {
                let scheduler = PersonalScheduler::open(dir).ok()?;
                ServiceWork::inside(&scheduler, std::slice::from_ref(&self.settings)).ok()
            }
            None => ServiceWork::ask_nodes(&mut self.address.connect().ok()?).ok(),
        }
    }

    fn follow(&self, site: &mut SiteControl, wanted: u32) -> Result<ScaleOutcome, CliFailure> {
        let work = self.work();
        let seat = |name: &str| work.as_ref().and_then(|work| work.seat(name));
        let seat = work.is_some().then_some(&seat as &dyn Fn(&str) -> _);
        let outcome = match &self.inside {
            Some(dir) => {
                let service = ServiceAddress::execution_daemons();
                let mut tickets = SchedulerTickets(PersonalScheduler::open(dir)?);
                site.hold(wanted, seat, &service, &mut tickets)?
            }
            None => {
                let connect = site.settings().connect.clone();
                let service = self.address.for_workers(connect.as_deref())?;
                let mut tokens = ServiceTokens::new(&self.address);
                site.hold(wanted, seat, &service, &mut tokens)?
            }
        };
        if let Some(work) = &work {
            work.tell_moved_ends(site, &self.address);
        }
        Ok(outcome)
    }
}

impl PilotQueue for SiteQueue {
    fn hold(&mut self, wanted: u32) -> Result<QueueView, String> {
        let mut site = self.open().map_err(|error| error.to_string())?;
        let outcome = self.follow(&mut site, wanted);
        let outcome = outcome.map_err(|failure| failure.to_string())?;
        let stopped = outcome.stopped.map(|error| error.to_string());
        let now = Instant::from_micros(format::now().timestamp().as_microsecond());
        Ok(QueueView::new(&site, stopped, now))
    }

    fn end(&mut self) -> Result<(), String> {
        let site = self.open().map_err(|error| error.to_string())?;
        match end_pilots(site).map_err(|error| error.to_string())? {
            PilotsLeft::None => Ok(()),
            PilotsLeft::Some(what) => Err(format!("pilots that may be left: {what}")),
        }
    }
}

/// The agent cannot go on, or does not answer.
impl CliError for AgentError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Members { .. } | Self::Stranger { .. } => ExitKind::Usage,
            Self::Site(error) => error.exit(),
            Self::File { .. }
            | Self::Journal { .. }
            | Self::Busy(_)
            | Self::Certificate(_)
            | Self::Tls(_)
            | Self::Listen { .. }
            | Self::Silent { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        self.hint().map(std::borrow::Cow::Borrowed)
    }
}

//! `tollgate site agent`: the process that agrees with those of other sites on which pilot moves.

use std::io::{self, Write};
use std::path::PathBuf;

use tollgate_agents::{AgentDirectory, AgentError, PilotKind, PilotQueue, QueueView};
use tollgate_model::{Instant, Span};
use tollgate_sites::{
    PilotService, PilotWork, QueueWatch, RemainingPilots, SITES_FILE, ScaleOutcome, SiteControl,
    SiteError, SiteSettings, SitesFile, end_pilots, state_dir,
};

use super::opened;
use super::pilot_service::JoinedService;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::format;

/// The usual time between two looks of an agent at its queue.
const ROUND: Span = Span::from_secs(15);

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
    service: JoinedService,
    watch: Option<QueueWatch>,
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
    let (state, program) = (state_dir()?, opened::program()?);
    let kind = PilotKind::new(&settings);
    let watched = settings.engine.queue_dialect().is_some();
    let queue = SiteQueue {
        watch: watched.then(|| QueueWatch::of_site(&settings, &state)),
        settings,
        state,
        program,
        service: JoinedService {
            address: args.address.clone(),
            inside: args.inside.clone(),
            every: ROUND,
            follows_work: false,
        },
    };
    Ok(agent.run(args.listen.as_deref(), kind, Box::new(queue), &write_line)?)
}

/// Writes a sentence with its time.
fn write_line(text: &str) {
    let now = format::now().strftime("%F %T").to_string();
    // A log that is gone does not end the agent.
    let _ = writeln!(io::stderr(), "{now}  {text}");
}

impl SiteQueue {
    fn open(&self) -> Result<SiteControl, SiteError> {
        SiteControl::open(self.settings.clone(), &self.state, &self.program)
    }

    fn follow(&self, site: &mut SiteControl, target: u32) -> Result<ScaleOutcome, CliFailure> {
        let work = self.service.workers(&self.settings);
        let worker_of = |name: &str| work.as_ref().and_then(|work| work.worker(name));
        let worker_of = work.is_some().then_some(&worker_of as &dyn Fn(&str) -> _);
        let outcome = self.service.with_tokens(site, |site, service, tokens| {
            site.hold(target, worker_of, service, tokens)
        })?;
        if let Some(watch) = &self.watch {
            site.consult(watch, false)?;
        }
        if let Some(work) = &work {
            self.service.report_moved_ends(work, site);
            self.service.expect_pilots(work, site);
        }
        Ok(outcome)
    }
}

impl PilotQueue for SiteQueue {
    fn hold(&mut self, target: u32) -> Result<QueueView, String> {
        let mut site = self.open().map_err(|error| error.to_string())?;
        let outcome = self.follow(&mut site, target);
        let outcome = outcome.map_err(|failure| failure.to_string())?;
        let stopped = outcome.stopped.map(|error| error.to_string());
        let now = Instant::from_micros(format::now().timestamp().as_microsecond());
        Ok(QueueView::new(&site, stopped, now))
    }

    fn end(&mut self) -> Result<(), String> {
        let site = self.open().map_err(|error| error.to_string())?;
        match end_pilots(site).map_err(|error| error.to_string())? {
            RemainingPilots::None => Ok(()),
            RemainingPilots::Some(what) => Err(format!("pilots that may be left: {what}")),
        }
    }
}

/// The agent cannot go on, or does not answer.
impl CliError for AgentError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Members { .. } | Self::UnknownMember { .. } => ExitKind::Usage,
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

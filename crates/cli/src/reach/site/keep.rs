//! `tollgate site keep`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Pid;
use tollgate_host::DetachedCommand;
use tollgate_model::Span;
use tollgate_provisioning::{AcquisitionPolicy, IdleLimit};
use tollgate_sites::{
    KeepLock, KeeperDecision, SiteError, SiteKeeper, SiteSettings, SitesFile, describe_changes,
    state_dir,
};

use super::opened;
use super::pilot_service::JoinedService;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::operate::detach::start_detached;
use crate::output::messages::{Verbosity, print_error};
use crate::parse::{self, pilots};

/// The log file of a detached command, in the directory of all sites.
const LOG_FILE: &str = "keep.log";
/// The shortest pause between two rounds, in seconds.
const MIN_EVERY_S: f64 = 1.0;

/// Submit and cancel pilots as jobs wait, until interrupted.
///
/// Never cancels a pilot that runs: pilots leave by themselves when idle. `tollgate site status` says
/// what was decided and why.
#[derive(Debug, clap::Args)]
pub(super) struct SiteKeepArgs {
    /// Names of the sites [default: all]
    names: Vec<String>,
    /// Time between two rounds
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = parse::parse_span)]
    every: f64,
    /// Keep at least `--pilots` of `site add` at each site
    #[arg(long)]
    base: bool,
    /// Policy by which pilots are acquired
    #[arg(long, value_name = "NAME", default_value = AcquisitionPolicy::DEFAULT.name, value_parser = pilots::acquisition_parser())]
    acquire: &'static AcquisitionPolicy,
    /// Time without work after which a new pilot leaves, or never [default: by the work]
    #[arg(long, value_name = "SPAN", value_parser = pilots::parse_idle_limit)]
    release: Option<IdleLimit>,
    /// Decide once, then end
    #[arg(long)]
    once: bool,
    /// Return at once; the command goes on in the background
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    detach: bool,
    /// Say what would be done, once, without asking the engines
    #[arg(long)]
    dry_run: bool,
    /// Directory of the scheduler that a session has inside its pilots
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "dry_run")]
    inside: Option<PathBuf>,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate site keep`.
pub(super) fn run(args: &SiteKeepArgs) -> Result<(), CliFailure> {
    let state = state_dir()?;
    args.sites()?;
    if args.detach {
        return detach(&state);
    }
    let service = JoinedService {
        address: args.address.clone(),
        inside: args.inside.clone(),
        every: Span::from_secs_f64(args.pause().as_secs_f64()),
        follows_work: true,
    };
    let keeper = SiteKeeper {
        service: &service,
        state_dir: &state,
        program: &opened::program()?,
        keeps_base: args.base,
        acquisition: args.acquire,
        releases_idle: args.release.is_none(),
    };
    if args.dry_run {
        return args.preview(&keeper);
    }
    let _lock = KeepLock::take(&state)?;
    if args.once {
        let mut decisions = Vec::new();
        let done = keeper.once(&args.sites()?, &mut decisions);
        print(&decisions)?;
        return done;
    }
    let kept = keeper.keep(args.pause(), &|| args.sites(), &mut |news| {
        if let Some(error) = &news.error {
            print_error(error, None);
        }
        print(&news.decisions)
    });
    match kept? {}
}

/// Starts the command in the background.
fn detach(state: &Path) -> Result<(), CliFailure> {
    let log = state.join(LOG_FILE);
    let is_ready = |own: Pid| {
        let own = u32::try_from(own.as_raw_nonzero().get());
        own.is_ok_and(|own| KeepLock::holder(state) == Some(own))
    };
    let keeper = DetachedCommand::again("the command", log.clone());
    let pid = start_detached(&keeper, &is_ready)?;
    Verbosity::Notes.note(format_args!(
        "process {pid}, log {}; `kill {pid}` stops it, pilots that run stay",
        log.display()
    ));
    Ok(())
}

impl SiteKeepArgs {
    /// Returns the pause between two rounds.
    fn pause(&self) -> Duration {
        Duration::from_secs_f64(self.every.max(MIN_EVERY_S))
    }

    /// Reads the settings of the named sites, with the idle time that the command names.
    fn sites(&self) -> Result<Vec<SiteSettings>, SiteError> {
        let mut sites = self.named_sites()?;
        if let Some(release) = self.release {
            for site in &mut sites {
                let idle = release.idle_time(site.time());
                // Whole seconds, at least one: a pilot knows no others.
                site.idle_s = idle.as_secs_f64().ceil().max(1.0) as u64;
            }
        }
        Ok(sites)
    }

    fn named_sites(&self) -> Result<Vec<SiteSettings>, SiteError> {
        let file = SitesFile::read(&SitesFile::path()?)?;
        if self.names.is_empty() {
            return match file.sites.is_empty() {
                true => Err(SiteError::NoSites),
                false => Ok(file.sites),
            };
        }
        let names: BTreeSet<&String> = self.names.iter().collect();
        let named = names.into_iter().map(|name| file.site(name).cloned());
        named.collect()
    }

    /// Prints what would be done, from the pilots as they were last seen.
    fn preview(&self, keeper: &SiteKeeper<'_, JoinedService>) -> Result<(), CliFailure> {
        let sites = self.sites()?;
        for (settings, (plan, demand)) in sites.iter().zip(keeper.preview(&sites)?) {
            let done = describe_changes(plan.submit as usize, plan.cancel.len());
            let done = match done {
                Some(done) => format!("would have {done}"),
                None => "would change nothing".to_owned(),
            };
            let name = &settings.name;
            writeln!(io::stdout(), "site {name}: {done}: {}", demand.reason)?;
        }
        Ok(())
    }
}

fn print(decisions: &[KeeperDecision]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for decision in decisions {
        writeln!(out, "{decision}")?;
    }
    out.flush()
}

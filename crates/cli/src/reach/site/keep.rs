//! `tollgate site keep`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use tollgate_inside::PersonalScheduler;
use tollgate_model::Instant;
use tollgate_sites::{
    KeepLock, PilotToken, ScaleOutcome, ServiceAddress, SiteControl, SiteDemand, SiteError,
    SiteSettings, SiteSupply, SitesFile, TokenIssuer, state_dir, wanted_pilots,
};

use super::service_work::ServiceWork;
use super::{ServiceTokens, for_sites};
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::operate::detach::DetachedCommand;
use crate::output::format;
use crate::output::messages::{Verbosity, pluralise, print_error};
use crate::parse;

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

/// A decision about a site, as the user sees it.
struct SiteLine {
    site: String,
    /// The key of the reason; a line with another key is printed.
    key: &'static str,
    /// Whether something was done.
    is_deed: bool,
    text: String,
}

/// `tollgate site keep`.
pub(super) fn run(args: &SiteKeepArgs) -> Result<(), CliFailure> {
    let state = state_dir()?;
    args.sites()?;
    if args.detach {
        return detach(&state);
    }
    if args.dry_run {
        return args.preview(&state);
    }
    let _lock = KeepLock::take(&state)?;
    if args.once {
        let mut lines = Vec::new();
        let done = args.round(&state, &mut lines);
        print(&lines)?;
        return done;
    }
    let mut keys = BTreeMap::new();
    let mut failure = String::new();
    loop {
        let mut lines = Vec::new();
        let said = match args.round(&state, &mut lines) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        if !said.is_empty() && said != failure {
            print_error(&said, None);
        }
        failure = said;
        lines.retain(|line| {
            let before = keys.insert(line.site.clone(), line.key);
            line.is_deed || before != Some(line.key)
        });
        print(&lines)?;
        thread::sleep(Duration::from_secs_f64(args.every.max(MIN_EVERY_S)));
    }
}

/// Starts the command in the background.
fn detach(state: &Path) -> Result<(), CliFailure> {
    let log = state.join(LOG_FILE);
    let is_ready = |own: Pid| {
        let own = u32::try_from(own.as_raw_nonzero().get());
        own.is_ok_and(|own| KeepLock::holder(state) == Some(own))
    };
    let pid = DetachedCommand::again("the command", log.clone()).start(&is_ready)?;
    Verbosity::Notes.note(format_args!(
        "process {pid}, log {}; `kill {pid}` stops it, pilots that run stay",
        log.display()
    ));
    Ok(())
}

impl SiteKeepArgs {
    /// Reads the settings of the named sites.
    fn sites(&self) -> Result<Vec<SiteSettings>, SiteError> {
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

    /// Decides once about all sites. Continues at the other sites after an error, and returns the
    /// first one.
    fn round(&self, state: &Path, lines: &mut Vec<SiteLine>) -> Result<(), CliFailure> {
        let (sites, program) = (self.sites()?, super::program()?);
        let open = |site: &SiteSettings| SiteControl::open(site.clone(), state, &program);
        let work = match self.work(&sites) {
            Ok(work) => work,
            Err(failure) => {
                for site in &sites {
                    let why = format!("nothing decided: {failure}");
                    open(site)?.note_undecided(&why)?;
                }
                return Err(failure);
            }
        };
        let looked = for_sites(&sites, |settings| {
            let supply = self.look(open(settings), &work);
            supply.map(|supply| (settings, self.with_base(settings, supply)))
        });
        let mut first_error = None;
        let mut supplies: Vec<(&SiteSettings, SiteSupply)> = Vec::new();
        for supply in looked {
            match supply {
                Ok(supply) => supplies.push(supply),
                Err(error) => {
                    first_error.get_or_insert(CliFailure::from(error));
                }
            }
        }
        let demands = decide(&work, &supplies);
        let decided: Vec<_> = supplies.iter().zip(demands).collect();
        let carried_out = for_sites(&decided, |((settings, _), demand)| {
            let site = open(settings)?;
            self.carry_out(site, demand)
        });
        for done in carried_out {
            let error = match done {
                Ok((line, stopped)) => {
                    lines.push(line);
                    stopped.map(CliFailure::from)
                }
                Err(failure) => Some(failure),
            };
            first_error = first_error.or(error);
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Asks the engine of a site, unless the site is paused, and returns what the site has.
    fn look(
        &self,
        site: Result<SiteControl, SiteError>,
        work: &ServiceWork,
    ) -> Result<SiteSupply, SiteError> {
        let mut site = site?;
        let seat = |name: &str| work.seat(name);
        if !site.is_paused() {
            site.look(&seat)?;
            work.tell_moved_ends(&site, &self.address);
        }
        Ok(site.supply(&seat))
    }

    /// Asks the service, or the scheduler inside the pilots, for its work.
    fn work(&self, sites: &[SiteSettings]) -> Result<ServiceWork, CliFailure> {
        match &self.inside {
            Some(dir) => Ok(ServiceWork::inside(&PersonalScheduler::open(dir)?, sites)?),
            None => Ok(ServiceWork::ask(&mut self.address.connect()?)?),
        }
    }

    /// Returns a supply with the number of pilots that its site keeps without work, too.
    fn with_base(&self, settings: &SiteSettings, supply: SiteSupply) -> SiteSupply {
        let base = if self.base { settings.pilots } else { 0 };
        SiteSupply { base, ..supply }
    }

    /// Carries out the decision about a site. Returns its line, and the error that stopped it.
    fn carry_out(
        &self,
        mut site: SiteControl,
        demand: &SiteDemand,
    ) -> Result<(SiteLine, Option<SiteError>), CliFailure> {
        let outcome = match &self.inside {
            Some(dir) => {
                let service = ServiceAddress::execution_daemons();
                let mut tickets = SchedulerTickets(PersonalScheduler::open(dir)?);
                site.follow(demand, &service, &mut tickets)?
            }
            None => {
                let connect = site.settings().connect.clone();
                let service = self.address.for_workers(connect.as_deref())?;
                let mut tokens = ServiceTokens::new(&self.address);
                site.follow(demand, &service, &mut tokens)?
            }
        };
        Ok((line(&site, demand, &outcome), outcome.stopped))
    }

    /// Prints what would be done, from the pilots as they were last seen.
    fn preview(&self, state: &Path) -> Result<(), CliFailure> {
        let (sites, program) = (self.sites()?, super::program()?);
        let work = ServiceWork::ask(&mut self.address.connect()?)?;
        let mut supplies = Vec::new();
        let mut opened = Vec::new();
        for settings in &sites {
            let site = SiteControl::open(settings.clone(), state, &program)?;
            let supply = site.supply(&|name| work.seat(name));
            supplies.push((settings, self.with_base(settings, supply)));
            opened.push(site);
        }
        let demands = decide(&work, &supplies);
        for (site, demand) in opened.iter().zip(demands) {
            let plan = site.follow_plan(&demand);
            let done = describe(plan.submit as usize, plan.cancel.len());
            let done = match done {
                Some(done) => format!("would have {done}"),
                None => "would change nothing".to_owned(),
            };
            let name = &site.settings().name;
            writeln!(io::stdout(), "site {name}: {done}: {}", demand.reason)?;
        }
        Ok(())
    }
}

/// A scheduler inside the pilots as a source of their tickets.
pub(super) struct SchedulerTickets(pub(super) PersonalScheduler);

impl TokenIssuer for SchedulerTickets {
    fn issue(&mut self) -> Result<PilotToken, String> {
        let ticket = self.0.ticket().map_err(|error| error.to_string())?;
        Ok(PilotToken {
            text: ticket.text(),
            id: None,
        })
    }

    fn revoke(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Returns what is wanted at each site.
pub(super) fn decide(
    work: &ServiceWork,
    supplies: &[(&SiteSettings, SiteSupply)],
) -> Vec<SiteDemand> {
    let now = Instant::from_micros(format::now().timestamp().as_microsecond());
    let names = supplies.iter().map(|(site, _)| site.name.as_str());
    let pending = work.pending_work(&names.collect(), now);
    let supplies: Vec<SiteSupply> = supplies.iter().map(|(_, supply)| supply.clone()).collect();
    wanted_pilots(&pending, &supplies, now)
}

fn line(site: &SiteControl, demand: &SiteDemand, outcome: &ScaleOutcome) -> SiteLine {
    let name = site.settings().name.clone();
    let done = describe(outcome.submitted.len(), outcome.cancelled.len());
    let is_deed = done.is_some();
    let text = format!(
        "site {name}: {}; {}: {}",
        done.unwrap_or_else(|| "nothing changed".to_owned()),
        super::status::describe(site.counts()),
        demand.reason
    );
    SiteLine {
        site: name,
        key: demand.reason.key(),
        is_deed,
        text,
    }
}

/// Describes submissions and cancellations. None without any.
pub(super) fn describe(submitted: usize, cancelled: usize) -> Option<String> {
    let deeds = [("submitted", submitted), ("cancelled", cancelled)];
    let deeds = deeds.into_iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = deeds
        .map(|(verb, count)| format!("{verb} {}", pluralise(count, "pilot")))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn print(lines: &[SiteLine]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{}", line.text)?;
    }
    out.flush()
}

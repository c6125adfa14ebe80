//! The keeper of sites: makes the number of pilots follow the work, round after round.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;
use std::{fmt, io, thread};

use crate::control::{ScaleOutcome, SiteControl};
use crate::error::SiteError;
use crate::journal::now;
use crate::pilot_counts::PilotCounts;
use crate::plan::ScalePlan;
use crate::queue::QueueWatch;
use crate::settings::SiteSettings;
use crate::work::{PilotService, PilotWork, for_sites};
use tollgate_provisioning::{AcquisitionPolicy, SiteDemand, SiteSupply};

/// A keeper of pilots at sites whose pilots join a service `S`.
#[derive(Debug)]
pub struct SiteKeeper<'a, S> {
    /// The service.
    pub service: &'a S,
    /// The directory with the state of all sites.
    pub state_dir: &'a Path,
    /// The path of this program on this host.
    pub program: &'a str,
    /// Whether each site keeps its number of pilots without work, too.
    pub keeps_base: bool,
    /// The policy by which pilots are acquired.
    pub acquisition: &'static AcquisitionPolicy,
    /// Whether idle pilots that no work needs are released. Else they leave by their own idle time.
    pub releases_idle: bool,
}

/// A decision about a site, and what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperDecision {
    /// The site.
    pub site: String,
    /// The key of the reason.
    pub key: &'static str,
    /// The number of pilots that were submitted.
    pub submitted: usize,
    /// The number of pilots that were cancelled.
    pub cancelled: usize,
    /// The pilots of the site afterwards.
    pub counts: PilotCounts,
    /// The reason as text.
    pub reason: String,
}

/// The news of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeeperReport {
    /// The decisions by which something was done, or whose reason is another one than in the round before.
    pub decisions: Vec<KeeperDecision>,
    /// The error of the round. None without one, or if the round before had the same.
    pub error: Option<String>,
}

/// The watches of the queues of sites, by the names of the sites.
#[derive(Debug, Default)]
struct SiteWatches(BTreeMap<String, (SiteSettings, QueueWatch)>);

/// The reasons and the error of the last round.
#[derive(Debug, Default)]
struct KeeperMemory {
    /// The key of the reason, by site.
    keys: BTreeMap<String, &'static str>,
    /// The error as text; empty without one.
    error: String,
}

impl<S: PilotService> SiteKeeper<'_, S> {
    /// Decides about the sites that `sites` returns, round after round with a pause between, until `report` fails.
    ///
    /// # Errors
    /// That of `report`. An error of a round is news, and the next round tries again.
    pub fn keep(
        &self,
        pause: Duration,
        sites: &dyn Fn() -> Result<Vec<SiteSettings>, SiteError>,
        report: &mut dyn FnMut(&KeeperReport) -> io::Result<()>,
    ) -> io::Result<Infallible> {
        let mut memory = KeeperMemory::default();
        let mut watches = SiteWatches::default();
        loop {
            let mut decisions = Vec::new();
            let sites = sites().map_err(S::Error::from);
            let done = sites.and_then(|sites| {
                watches.follow(&sites, self.state_dir);
                self.round(&sites, &watches, &mut decisions)
            });
            let error = done.map_or_else(|error| error.to_string(), |()| String::new());
            report(&memory.report(decisions, error))?;
            thread::sleep(pause);
        }
    }

    /// Decides once about all sites, two at a time. Adds the decisions in the order of the sites, and continues at
    /// the other sites after an error. Queues are not followed: pilots are expected as a keeper that runs expects them, if there
    /// is one, else by how long pilots waited.
    ///
    /// # Errors
    /// The first error: the service does not answer, or a site cannot be used.
    pub fn once(
        &self,
        sites: &[SiteSettings],
        decisions: &mut Vec<KeeperDecision>,
    ) -> Result<(), S::Error> {
        self.round(sites, &SiteWatches::default(), decisions)
    }

    fn round(
        &self,
        sites: &[SiteSettings],
        watches: &SiteWatches,
        decisions: &mut Vec<KeeperDecision>,
    ) -> Result<(), S::Error> {
        let work = match self.service.work(sites) {
            Ok(work) => work,
            Err(failure) => {
                for site in sites {
                    let why = format!("nothing decided: {failure}");
                    self.open(site)?.note_undecided(&why)?;
                }
                return Err(failure);
            }
        };
        let looked = for_sites(sites, |settings| self.look(settings, watches, &work));
        let mut first_error = None;
        let mut supplies: Vec<(&SiteSettings, SiteSupply)> = Vec::new();
        for (settings, supply) in sites.iter().zip(looked) {
            match supply {
                Ok(supply) => supplies.push((settings, supply)),
                Err(error) => {
                    first_error.get_or_insert(S::Error::from(error));
                }
            }
        }
        let demands = decide(self.acquisition, &work, &supplies);
        let decided: Vec<_> = supplies.iter().zip(demands).collect();
        let carried_out = for_sites(&decided, |((settings, _), demand)| {
            let mut site = self.open(settings)?;
            let outcome = self.service.follow(&mut site, demand)?;
            if self.releases_idle {
                let released = site.release(&demand.released)?;
                if !released.is_empty() {
                    self.service.release(&released)?;
                }
            }
            self.service.expect_pilots(&work, &site);
            let decision = KeeperDecision::new(&site, demand, &outcome);
            Ok::<_, S::Error>((decision, outcome.stopped))
        });
        for done in carried_out {
            let error = match done {
                Ok((decision, stopped)) => {
                    decisions.push(decision);
                    stopped.map(S::Error::from)
                }
                Err(failure) => Some(failure),
            };
            first_error = first_error.or(error);
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Returns what a round would do at each site, from the pilots as they were last seen.
    ///
    /// # Errors
    /// If the service does not answer, or a site cannot be used.
    pub fn preview(
        &self,
        sites: &[SiteSettings],
    ) -> Result<Vec<(ScalePlan, SiteDemand)>, S::Error> {
        let work = self.service.work(sites)?;
        let mut supplies = Vec::new();
        let mut opened = Vec::new();
        for settings in sites {
            let site = self.open(settings)?;
            let supply = site.supply(&|name| work.worker(name));
            supplies.push((settings, self.with_base(settings, supply)));
            opened.push(site);
        }
        let demands = decide(self.acquisition, &work, &supplies).into_iter();
        let plans = opened.iter().zip(demands);
        let plans = plans.map(|(site, demand)| (site.follow_plan(&demand), demand));
        Ok(plans.collect())
    }

    fn open(&self, site: &SiteSettings) -> Result<SiteControl, SiteError> {
        SiteControl::open(site.clone(), self.state_dir, self.program)
    }

    /// Asks the engine of a site, unless the site is paused, and returns what the site has.
    fn look(
        &self,
        settings: &SiteSettings,
        watches: &SiteWatches,
        work: &S::Work,
    ) -> Result<SiteSupply, SiteError> {
        let mut site = self.open(settings)?;
        let worker_of = |name: &str| work.worker(name);
        if !site.is_paused() {
            site.look(&worker_of)?;
            self.service.report_moved_ends(work, &site);
            if let Some((_, watch)) = watches.0.get(&settings.name) {
                let names = BTreeSet::from([settings.name.as_str()]);
                let has_work = !work.pending_work(&names, now()).waiting.is_empty();
                site.consult(watch, has_work)?;
            }
        }
        Ok(self.with_base(settings, site.supply(&worker_of)))
    }

    fn with_base(&self, settings: &SiteSettings, mut supply: SiteSupply) -> SiteSupply {
        if !self.service.takes_shapes() {
            supply.shapes.truncate(1);
        }
        let base = if self.keeps_base { settings.pilots } else { 0 };
        SiteSupply { base, ..supply }
    }
}

/// Returns what is wanted at each site now, by a policy.
pub fn decide(
    acquisition: &AcquisitionPolicy,
    work: &impl PilotWork,
    supplies: &[(&SiteSettings, SiteSupply)],
) -> Vec<SiteDemand> {
    let now = now();
    let names: BTreeSet<&str> = supplies
        .iter()
        .map(|(site, _)| site.name.as_str())
        .collect();
    let pending = work.pending_work(&names, now);
    let supplies: Vec<SiteSupply> = supplies.iter().map(|(_, supply)| supply.clone()).collect();
    acquisition.demand(&pending, &supplies, now)
}

impl KeeperDecision {
    fn new(site: &SiteControl, demand: &SiteDemand, outcome: &ScaleOutcome) -> Self {
        Self {
            site: site.settings().name.clone(),
            key: demand.reason.key(),
            submitted: outcome.submitted.len(),
            cancelled: outcome.cancelled.len(),
            counts: site.counts(),
            reason: demand.reason.to_string(),
        }
    }

    const fn changes_pilots(&self) -> bool {
        self.submitted + self.cancelled > 0
    }
}

impl SiteWatches {
    /// Watches the queues of these sites, and no others. The engine `local` has no queue.
    fn follow(&mut self, sites: &[SiteSettings], state_dir: &Path) {
        self.0.retain(|_, (settings, _)| sites.contains(settings));
        for site in sites {
            if site.engine.queue_dialect().is_some() && !self.0.contains_key(&site.name) {
                let watch = QueueWatch::of_site(site, state_dir);
                self.0.insert(site.name.clone(), (site.clone(), watch));
            }
        }
    }
}

impl KeeperMemory {
    /// Returns what is new in a round.
    fn report(&mut self, mut decisions: Vec<KeeperDecision>, error: String) -> KeeperReport {
        decisions.retain(|decision| {
            let before = self.keys.insert(decision.site.clone(), decision.key);
            decision.changes_pilots() || before != Some(decision.key)
        });
        let is_new = !error.is_empty() && error != self.error;
        self.error.clone_from(&error);
        let error = is_new.then_some(error);
        KeeperReport { decisions, error }
    }
}

/// `site lab: submitted 2 pilots; 2 pending, 0 running: 4 tasks wait`.
impl fmt::Display for KeeperDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = describe_changes(self.submitted, self.cancelled);
        let done = done.unwrap_or_else(|| "nothing changed".to_owned());
        let Self {
            site,
            counts,
            reason,
            ..
        } = self;
        write!(f, "site {site}: {done}; {counts}: {reason}")
    }
}

/// Describes submissions and cancellations: `submitted 2 pilots, cancelled 1 pilot`. None without any.
pub fn describe_changes(submitted: usize, cancelled: usize) -> Option<String> {
    let changes = [("submitted", submitted), ("cancelled", cancelled)];
    let changes = changes.into_iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = changes
        .map(|(verb, count)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{verb} {count} pilot{plural}")
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use tollgate_model::Instant;

    use super::*;
    use crate::control::PilotWorker;
    use tollgate_provisioning::PendingWork;

    fn decision(key: &'static str, submitted: usize) -> KeeperDecision {
        KeeperDecision {
            site: "lab".to_owned(),
            key,
            submitted,
            cancelled: 0,
            counts: PilotCounts::default(),
            reason: key.to_owned(),
        }
    }

    #[test]
    fn decision_is_reported_after_a_change_of_pilots_or_of_its_reason() {
        let mut memory = KeeperMemory::default();
        for (key, submitted, is_news) in [
            ("enough", 0, true),
            ("enough", 0, false),
            ("enough", 1, true),
            ("tasks_wait", 0, true),
            ("tasks_wait", 0, false),
        ] {
            let news = memory.report(vec![decision(key, submitted)], String::new());
            assert_eq!(
                news.decisions.len(),
                usize::from(is_news),
                "{key} {submitted}"
            );
        }
    }

    #[test]
    fn error_is_reported_once_until_a_round_succeeds() {
        let mut memory = KeeperMemory::default();
        let mut error_of = |error: &str| memory.report(Vec::new(), error.to_owned()).error;
        assert_eq!(error_of("no service").as_deref(), Some("no service"));
        assert_eq!(error_of("no service"), None);
        assert_eq!(error_of("no token").as_deref(), Some("no token"));
        assert_eq!(error_of(""), None);
        assert_eq!(error_of("no token").as_deref(), Some("no token"));
    }

    /// A service that never answers.
    struct SilentService;

    struct NoWork;

    impl PilotWork for NoWork {
        fn worker(&self, _: &str) -> Option<PilotWorker> {
            None
        }

        fn pending_work(&self, _: &BTreeSet<&str>, _: Instant) -> PendingWork {
            PendingWork::default()
        }
    }

    impl PilotService for SilentService {
        type Work = NoWork;
        type Error = SiteError;

        fn work(&self, _: &[SiteSettings]) -> Result<NoWork, SiteError> {
            Err(SiteError::NoSites)
        }

        fn report_moved_ends(&self, _: &NoWork, _: &SiteControl) {}

        fn takes_shapes(&self) -> bool {
            true
        }

        fn release(&self, _: &[String]) -> Result<(), SiteError> {
            Err(SiteError::NoSites)
        }
        fn expect_pilots(&self, _: &NoWork, _: &SiteControl) {}

        fn follow(&self, _: &mut SiteControl, _: &SiteDemand) -> Result<ScaleOutcome, SiteError> {
            Err(SiteError::NoSites)
        }
    }

    #[test]
    fn keeper_goes_on_after_errors_until_its_reports_have_no_reader() {
        let keeper = SiteKeeper {
            service: &SilentService,
            state_dir: Path::new("/nowhere"),
            program: "tollgate",
            keeps_base: false,
            acquisition: AcquisitionPolicy::DEFAULT,
            releases_idle: true,
        };
        let mut errors = Vec::new();
        let end = keeper.keep(Duration::ZERO, &|| Ok(Vec::new()), &mut |news| {
            errors.push(news.error.is_some());
            match errors.len() {
                3 => Err(io::Error::other("closed")),
                _ => Ok(()),
            }
        });
        assert_eq!(end.unwrap_err().to_string(), "closed");
        assert_eq!(errors, [true, false, false]);
    }
}

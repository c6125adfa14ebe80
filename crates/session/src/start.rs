//! A new session.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde::Serialize;
use tollgate_batch::EngineKind;
use tollgate_host::{random_key, replace_private};
use tollgate_inside::{PersonalScheduler, SchedulerKind};
use tollgate_server::ServiceConfig;
use tollgate_sites::{SiteControl, SiteError, SitesFile, now};
use tollgate_store::data_dir;

use crate::context::SessionContext;
use crate::error::SessionError;
use crate::folder::{SessionFolder, own_session};
use crate::moving::{MigrationSettings, SessionAgency};
use crate::processes::{ensure_running, service_process};
use crate::record::{InsideRecord, SessionRecord};

/// The arguments of a worker of root, so that it runs jobs of root, as the session of root does.
const ROOT_WORKER: [&str; 3] = ["--account", "root", "--root-jobs"];
/// The address on which the service of a session with pilots elsewhere listens: a free port of all
/// addresses.
const ANY_ADDRESS: &str = "0.0.0.0:0";

/// The settings of a new session.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// The file of its sites; None for the user's own.
    pub sites: Option<PathBuf>,
    /// The admission policy of its service, with parameters.
    pub policy: String,
    /// The address at which its service listens on the network; None for a free port if a pilot is on another host.
    pub listen: Option<String>,
    /// How pilots move; None if they do not.
    pub migration: Option<MigrationSettings>,
    /// The scheduler inside the pilots; None if they are workers of the service.
    pub inside: Option<InsideSettings>,
}

/// The scheduler that a session is to have inside its pilots.
#[derive(Clone, Copy, Debug)]
pub struct InsideSettings {
    /// The scheduler.
    pub kind: SchedulerKind,
    /// The address at which it listens; None for that of this host.
    pub address: Option<IpAddr>,
}

/// The settings of the service of a session, as they are written.
#[derive(Serialize)]
struct SessionService<'a> {
    policy: &'a str,
    default_estimate_s: f64,
    root_jobs: bool,
    local: LocalCores,
}

/// The cores of this host that the service offers.
#[derive(Serialize)]
struct LocalCores {
    nodes: u32,
}

/// Starts a session.
///
/// # Errors
/// If the session goes on, its settings cannot be used, or one of its processes does not start.
pub fn start(
    name: Option<&str>,
    settings: &SessionSettings,
    context: &SessionContext<'_>,
) -> Result<SessionFolder, SessionError> {
    if let Some(name) = own_session() {
        return Err(SessionError::Inside(name));
    }
    if let Some(inside) = settings.inside {
        PersonalScheduler::check(inside.kind)?;
    }
    let folder = SessionFolder::for_start(name)?;
    let _lock = folder.lock()?;
    if folder.goes_on()? {
        return Err(SessionError::Runs(folder.name().to_owned()));
    }
    let file = match &settings.sites {
        Some(file) => file.clone(),
        None => SitesFile::path()?,
    };
    let sites = own_sites(&file)?;
    let is_elsewhere = sites
        .sites
        .iter()
        .any(|site| site.engine != EngineKind::Local || site.agent.is_some());
    folder.create(context.program, settings.inside.is_some())?;
    folder.write_settings(&SessionService {
        policy: &settings.policy,
        default_estimate_s: default_estimate(&sites),
        root_jobs: geteuid().is_root(),
        local: LocalCores { nodes: 0 },
    })?;
    sites.write(&folder.sites_file())?;
    SessionAgency::remove(&folder)?;
    if let Some(migration) = &settings.migration {
        SessionAgency::create(&folder, &sites, migration)?;
    }
    for site in &sites.sites {
        // Sites that failed in an earlier session are tried again.
        SiteControl::open(site.clone(), &folder.sites_dir(), &context.program_text())?.resume()?;
    }
    let listen = settings.listen.clone();
    let record = SessionRecord {
        started_at: now(),
        listen: listen.or_else(|| is_elsewhere.then(|| ANY_ADDRESS.to_owned())),
        inside: settings.inside.map(|inside| InsideRecord {
            kind: inside.kind,
            address: inside.address.unwrap_or_else(|| own_address(is_elsewhere)),
        }),
        ended_at: None,
    };
    folder.write_record(&record)?;
    if let Err(failure) = ensure_running(&folder, context) {
        // Without a service there is nothing to attach to: the next start may have other settings.
        if service_process(&folder).is_none() {
            folder.write_record(&SessionRecord {
                ended_at: Some(record.started_at),
                ..record
            })?;
        }
        return Err(failure);
    }
    Ok(folder)
}

/// Returns the address at which pilots reach this host.
fn own_address(is_elsewhere: bool) -> IpAddr {
    match is_elsewhere {
        true => tollgate_inside::host::own_address(),
        false => Ipv4Addr::LOCALHOST.into(),
    }
}

/// Returns the sites of a file as a session has them. They have names for their jobs that no other cluster of
/// this user has, and workers that run the session's jobs.
fn own_sites(file: &Path) -> Result<SitesFile, SessionError> {
    let key = random_key().map_err(|error| SessionError::Unreadable {
        file: "the system's random source".to_owned(),
        error,
    })?;
    let mut sites = SitesFile::read_with_keys(file, || key.clone())?;
    if sites.sites.is_empty() {
        return Err(SiteError::NoSites.into());
    }
    for site in &mut sites.sites {
        let has_account = site.worker_args.iter().any(|word| word == ROOT_WORKER[0]);
        if geteuid().is_root() && !has_account {
            site.worker_args.extend(ROOT_WORKER.map(str::to_owned));
        }
    }
    Ok(sites)
}

/// Returns the run time in seconds that is assumed of a job of which nothing is known: that of every
/// service, unless no pilot lives for twice as long. The plan adds to it, and the job would be refused.
fn default_estimate(sites: &SitesFile) -> f64 {
    let usual = ServiceConfig::default().default_estimate_s;
    let times = sites.sites.iter().map(|site| site.time_s as f64);
    times.fold(0.0, f64::max).div_euclid(2.0).min(usual)
}

impl SessionFolder {
    fn write_settings(&self, settings: &SessionService<'_>) -> Result<(), SessionError> {
        let file = self.data().join(data_dir::SETTINGS);
        let text = toml::to_string(settings);
        let text = text.map_err(io::Error::other);
        let written = text.and_then(|text| replace_private(&file, text.as_bytes()));
        written.map_err(|error| SessionError::unwritable(&file, error))
    }
}

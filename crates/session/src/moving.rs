//! The agents of a session whose pilots move between its sites.
//!
//! | file below `agents` | contents |
//! |---|---|
//! | `members.toml` | the list of sites, as all agents have it |
//! | `agent.key`, `agent.crt` | the key by which commands of the session ask the agents |
//! | `NAME` | the directory of a site's agent: its list, its key, its journal, its log |

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use tollgate_agents::{
    AgentDirectory, AgentError, AgentMembership, AgentOperator, MEMBERS_FILE, MemberSite, key_files,
};
use tollgate_client::certificate::TlsCertificate;
use tollgate_host::{DETACHED_ARG, DetachedCommand};
use tollgate_server::BoundAddress;
use tollgate_server::net::own_certificate::read_or_create;
use tollgate_sites::{SITES_FILE, SitesFile};
use tollgate_store::data_dir;

use crate::context::{SessionContext, SessionEvent};
use crate::ending::end_process;
use crate::error::SessionError;
use crate::folder::{SessionFolder, create_private};

/// How pilots move between the sites of a session.
#[derive(Clone, Debug)]
pub struct MigrationSettings {
    /// The migration policy, with parameters.
    pub policy: String,
    /// The time between two moves of a site in seconds, at least 1.
    pub period_s: u64,
}

/// The agents of a session.
#[derive(Debug)]
pub struct SessionAgency {
    dir: PathBuf,
}

impl SessionAgency {
    /// Returns the agents of a session that has them. None for another session.
    pub fn find(folder: &SessionFolder) -> Option<Self> {
        let dir = folder.agents_dir();
        dir.join(MEMBERS_FILE).exists().then_some(Self { dir })
    }

    /// Creates the keys and the directories of the agents, in place of those of an earlier session.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn create(
        folder: &SessionFolder,
        sites: &SitesFile,
        migration: &MigrationSettings,
    ) -> Result<Self, SessionError> {
        let dir = folder.agents_dir();
        let agency = Self { dir };
        let operator = new_key(&agency.dir)?;
        let host = match sites.sites.iter().any(|site| site.agent.is_some()) {
            true => tollgate_inside::host::own_address(),
            false => Ipv4Addr::LOCALHOST.into(),
        };
        // All ports are held until each site has one.
        let mut ports = Vec::new();
        let mut members = Vec::new();
        for site in &sites.sites {
            let failed = |error| SessionError::file(&agency.dir, error);
            let address = match &site.agent {
                Some(address) => address.clone(),
                None => {
                    let port = TcpListener::bind((host, 0)).map_err(failed)?;
                    let address = port.local_addr().map_err(failed)?;
                    ports.push(port);
                    address.to_string()
                }
            };
            members.push(MemberSite {
                name: site.name.clone(),
                address,
                fingerprint: fingerprint(&new_key(&agency.agent_dir(&site.name))?)?,
                pilots: site.pilots,
            });
        }
        let members = AgentMembership {
            session: folder.name().to_owned(),
            policy: migration.policy.clone(),
            period_s: migration.period_s,
            operator: fingerprint(&operator)?,
            sites: members,
            dropped: Vec::new(),
        };
        agency.write_members(&members)?;
        for site in &sites.sites {
            if site.agent.is_some() {
                let own = SitesFile {
                    sites: vec![site.clone()],
                };
                own.write(&agency.agent_dir(&site.name).join(SITES_FILE))?;
            }
        }
        Ok(agency)
    }

    /// Reads the list of sites.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn members(&self) -> Result<AgentMembership, SessionError> {
        Ok(AgentMembership::read(&self.dir.join(MEMBERS_FILE))?)
    }

    /// Reads the operator's key.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn operator(&self) -> Result<AgentOperator, SessionError> {
        Ok(AgentOperator::open(&key_files(&self.dir))?)
    }

    /// Writes the list of sites, for the session and for the agents of this host.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn write_members(&self, members: &AgentMembership) -> Result<(), SessionError> {
        // The session's own list is last: until then, the change can be repeated.
        for site in &members.sites {
            members.write(&self.agent_dir(&site.name).join(MEMBERS_FILE))?;
        }
        Ok(members.write(&self.dir.join(MEMBERS_FILE))?)
    }

    /// Returns the directory of a site's agent.
    pub(crate) fn agent_dir(&self, site: &str) -> PathBuf {
        self.dir.join(site)
    }

    /// Starts the agents of this host that do not run.
    ///
    /// # Errors
    /// If an agent does not start.
    pub(crate) fn ensure_running(
        &self,
        folder: &SessionFolder,
        inside: Option<&Path>,
        context: &SessionContext<'_>,
    ) -> Result<(), SessionError> {
        let (members, operator) = (self.members()?, self.operator()?);
        let sites = folder.sites()?.sites;
        for (_, member) in members.live() {
            let settings = sites.iter().find(|site| site.name == member.name);
            if let Some(address) = settings.and_then(|site| site.agent.as_ref()) {
                if operator.send_members(member, &members).is_err() {
                    self.report_missing(folder, member, address, context)?;
                }
                continue;
            }
            let dir = self.agent_dir(&member.name);
            if AgentDirectory::holder(&dir).is_some() {
                continue;
            }
            let mut arguments: Vec<OsString> =
                vec![DETACHED_ARG.into(), "site".into(), "agent".into()];
            arguments.push(dir.clone().into());
            if let Some(inside) = inside {
                arguments.extend(["--inside".into(), inside.into()]);
            }
            let agent = DetachedCommand {
                what: "the agent of a site",
                arguments,
                environment: folder.environment(),
                log: dir.join("log"),
            };
            context.start(&agent, &|_| operator.status(member).is_ok())?;
            (context.report)(SessionEvent::AgentStarted {
                site: member.name.clone(),
                pilots: member.pilots,
            });
        }
        Ok(())
    }

    /// Reports that the agent on a site's own host has to be started there. Its directory gets the address of the
    /// service.
    fn report_missing(
        &self,
        folder: &SessionFolder,
        member: &MemberSite,
        address: &str,
        context: &SessionContext<'_>,
    ) -> Result<(), SessionError> {
        let (data, dir) = (folder.data(), self.agent_dir(&member.name));
        let own = BoundAddress::read(&data).map_err(|error| {
            let file = data_dir::network_address(&data);
            SessionError::unreadable(&file, error)
        });
        if let Some(own) = own? {
            let seen = own.seen_at(tollgate_inside::host::own_address());
            BoundAddress::publish(Some(seen), &dir).map_err(|error| {
                let file = data_dir::network_address(&dir);
                SessionError::unwritable(&file, error)
            })?;
        }
        (context.report)(SessionEvent::AgentMissing {
            site: member.name.clone(),
            address: address.to_owned(),
            dir,
            socket: data_dir::socket(&data),
        });
        Ok(())
    }

    /// Stops the agents. Those on other hosts end their pilots first. Returns the problems, by site.
    ///
    /// # Errors
    /// If the list or the operator's key cannot be read.
    pub(crate) fn stop(&self, folder: &SessionFolder) -> Result<Vec<String>, SessionError> {
        let sites = folder.sites()?.sites;
        let (members, operator) = (self.members()?, self.operator()?);
        let mut problems = Vec::new();
        for (_, member) in members.live() {
            let settings = sites.iter().find(|site| site.name == member.name);
            if settings.is_some_and(|site| site.agent.is_some()) {
                problems.extend(operator.end(member).err().map(|error| error.to_string()));
                continue;
            }
            if let Some(pid) = self.process(&member.name) {
                // It may be at a command of its engine, which ends with it.
                end_process(folder, pid, "the agent of a site")?;
            }
        }
        Ok(problems)
    }

    /// Returns the process of an agent of this host. None if it does not run.
    pub(crate) fn process(&self, site: &str) -> Option<Pid> {
        let pid = AgentDirectory::holder(&self.agent_dir(site))?;
        Pid::from_raw(i32::try_from(pid).ok()?)
    }

    /// Removes all that is known of the agents.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub(crate) fn remove(folder: &SessionFolder) -> Result<(), SessionError> {
        let dir = folder.agents_dir();
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(SessionError::file(&dir, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Creates the directory of an agent, or of the operator, with a key.
fn new_key(dir: &Path) -> Result<TlsCertificate, SessionError> {
    create_private(dir)?;
    let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
    let created = read_or_create(&key_files(dir), &[], ip);
    created.map_err(|error| SessionError::file(dir, io::Error::other(error)))
}

fn fingerprint(key: &TlsCertificate) -> Result<String, SessionError> {
    let print = key.fingerprint().map_err(AgentError::from)?;
    Ok(print.to_string())
}

//! A site of a session that is gone for good.

use std::collections::BTreeMap;

use tollgate_agents::{AgentDirectory, AgentMembership, AgentOperator, MemberSite};
use tollgate_federation::SiteId;
use tollgate_federation::durable::{DurableState, WriteOff};

use crate::context::{SessionContext, SessionEvent};
use crate::ending::end_process;
use crate::error::SessionError;
use crate::folder::{SessionFolder, SessionLock};
use crate::moving::SessionAgency;

/// A site that can be written off: its pilots are given up, and the other sites go on without it.
#[derive(Debug)]
pub struct SiteWriteOff<'a> {
    folder: &'a SessionFolder,
    site: &'a str,
    agency: SessionAgency,
    operator: AgentOperator,
    members: AgentMembership,
    account: WriteOff,
    _lock: SessionLock,
}

impl<'a> SiteWriteOff<'a> {
    /// Asks the agents of the other sites what would be given up. The session is locked meanwhile.
    ///
    /// # Errors
    /// If the pilots of the session do not move, or the site cannot be written off.
    pub fn prepare(folder: &'a SessionFolder, site: &'a str) -> Result<Self, SessionError> {
        let Some(agency) = SessionAgency::find(folder) else {
            return Err(SessionError::Still(folder.name().to_owned()));
        };
        let lock = folder.lock()?;
        let (members, operator) = (agency.members()?, agency.operator()?);
        let refused = |problem: String| undroppable(site, problem);
        let Some((lost, _)) = members.find(site) else {
            let problem = "not a site of the session, or written off before";
            return Err(refused(problem.to_owned()));
        };
        let terms = members.terms().map_err(refused)?;
        let states = states(&members, &agency, &operator, lost)?;
        let account = WriteOff::new(&terms.membership, lost, members.pilots(), &states);
        let account = account.map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            folder,
            site,
            agency,
            operator,
            members,
            account,
            _lock: lock,
        })
    }

    /// Returns the number of pilots that are given up.
    pub const fn given_up(&self) -> u32 {
        self.account.written_off
    }

    /// Returns the number of pilots that stay at the other sites.
    pub const fn kept(&self) -> u32 {
        self.account.kept
    }

    /// Returns the error of a site that its user keeps, with the reason.
    pub fn refuse(&self, reason: &str) -> SessionError {
        undroppable(self.site, reason.to_owned())
    }

    /// Writes the site off. Returns the number of other sites.
    ///
    /// # Errors
    /// If it is the last site, or a file cannot be written.
    pub fn carry_out(&self, context: &SessionContext<'_>) -> Result<usize, SessionError> {
        let next = self.members.without(self.site, self.account.written_off);
        let next = next.ok_or_else(|| self.refuse("it is the last site"))?;
        // From here on, agents that start have the next epoch.
        self.agency.write_members(&next)?;
        if let Some(pid) = self.agency.process(self.site) {
            end_process(self.folder, pid, "the agent of the site")?;
        }
        for (_, site) in next.live() {
            if let Err(error) = self.operator.send_members(site, &next) {
                let site = site.name.clone();
                (context.report)(SessionEvent::MembersNotSent { site, error });
            }
        }
        Ok(next.live().count())
    }
}

fn undroppable(site: &str, problem: String) -> SessionError {
    let site = site.to_owned();
    SessionError::Undroppable { site, problem }
}

/// Returns the state of every other site: that of its agent, or of its journal if the agent of this
/// host does not run.
fn states(
    members: &AgentMembership,
    agency: &SessionAgency,
    operator: &AgentOperator,
    lost: SiteId,
) -> Result<BTreeMap<SiteId, DurableState>, SessionError> {
    let state = |site: &MemberSite| {
        let status = operator.status(site).map(|status| status.state);
        status.or_else(|error| {
            let dir = agency.agent_dir(&site.name);
            match AgentDirectory::holder(&dir) {
                None => AgentDirectory::read_state(&dir).map_err(|_| error),
                Some(_) => Err(error),
            }
        })
    };
    let others = members.live().filter(|(id, _)| *id != lost);
    let states = others.map(|(id, site)| Ok((id, state(site)?)));
    states.collect()
}

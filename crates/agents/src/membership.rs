//! The list of the sites whose agents agree, and the rules that they share.

use std::collections::BTreeMap;
use std::fs;
use std::net::ToSocketAddrs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tollgate_client::Fingerprint;
use tollgate_federation::{Membership, SessionTerms, SessionTiming, SiteId};
use tollgate_grid_policies::migrate::MigrationSpec;
use tollgate_model::Span;
use tollgate_sites::replace_file;

use crate::AgentError;

/// The file of the list, in the directory of each agent.
pub const MEMBERS_FILE: &str = "members.toml";
/// The longest legal period, in seconds: a day.
const MAX_PERIOD_S: u64 = 86_400;
/// The part of a period that the longest delay of a message takes.
const DELAY_PART: i64 = 20;

/// The sites of a session whose agents agree, and the rules that they share. The list is the same at
/// all sites, and never changes within an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentMembership {
    /// The name of the session.
    pub session: String,
    /// The migration policy, as [`MigrationSpec::parse`] reads it.
    pub policy: String,
    /// The interval at which a site looks whether a pilot should move, in seconds; 1 to 86,400.
    pub period_s: u64,
    /// The fingerprint of the key whose holder may ask for the state of an agent, send it a new list,
    /// and end it.
    pub operator: String,
    /// The sites, in the order of their ids.
    #[serde(default, rename = "site")]
    pub sites: Vec<MemberSite>,
    /// The sites that were written off, in this order. They keep their places in the list, so that the
    /// ids of the others stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedSite>,
}

/// A site of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberSite {
    /// The name of the site.
    pub name: String,
    /// The address of its agent, `HOST:PORT`.
    pub address: String,
    /// The fingerprint of its agent's key.
    pub fingerprint: String,
    /// The number of pilots that the site begins with.
    pub pilots: u32,
}

/// A site that was written off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DroppedSite {
    /// The name of the site.
    pub name: String,
    /// The number of pilots that were given up with it.
    pub pilots: u32,
}

impl AgentMembership {
    /// Reads and checks a list.
    ///
    /// # Errors
    /// An error if the file cannot be read or a setting is illegal.
    pub fn read(path: &Path) -> Result<Self, AgentError> {
        let text = fs::read_to_string(path).map_err(|error| AgentError::file(path, error))?;
        Self::parse(&text).map_err(|message| AgentError::Members {
            path: path.to_owned(),
            message,
        })
    }

    /// Parses and checks a list.
    ///
    /// # Errors
    /// A description of the first problem.
    pub fn parse(text: &str) -> Result<Self, String> {
        let members: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        members.check()?;
        Ok(members)
    }

    /// Writes the list in place of the old one. It is on disk when this returns.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), AgentError> {
        let text = self.text();
        Ok(replace_file(path, text.as_bytes())?)
    }

    /// Returns the list as the text of its file.
    pub fn text(&self) -> String {
        toml::to_string(self).expect("an own type is representable in TOML")
    }

    /// Returns the site with a name, and its id. None if it is not there or was written off.
    pub fn find(&self, name: &str) -> Option<(SiteId, &MemberSite)> {
        self.live().find(|(_, site)| site.name == name)
    }

    /// Returns the sites that take part, with their ids.
    pub fn live(&self) -> impl Iterator<Item = (SiteId, &MemberSite)> {
        let sites = (0..).map(SiteId).zip(&self.sites);
        sites.filter(|(_, site)| {
            let mut dropped = self.dropped.iter();
            dropped.all(|dropped| dropped.name != site.name)
        })
    }

    /// Returns the name of a site. The id of no site gives an empty name.
    pub fn name_of(&self, id: SiteId) -> &str {
        let site = self.sites.get(id.0 as usize);
        site.map_or("", |site| site.name.as_str())
    }

    /// Returns the key whose holder may control the agents.
    pub fn operator(&self) -> Option<Fingerprint> {
        self.operator.parse().ok()
    }

    /// Returns the terms of the protocol. The first epoch is a hash of the list, so that agents with
    /// different lists do not understand each other; each site that is written off adds 1.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn terms(&self) -> Result<SessionTerms, String> {
        let first = Self {
            dropped: Vec::new(),
            ..self.clone()
        };
        let ids = (0..).map(SiteId).zip(&self.sites);
        let ids: BTreeMap<&str, SiteId> = ids.map(|(id, site)| (site.name.as_str(), id)).collect();
        let mut membership = Membership::new(hash(&first.text()), ids.values().copied());
        for DroppedSite { name, .. } in &self.dropped {
            let Some(id) = ids.get(name.as_str()) else {
                return Err(format!("dropped: no site is called `{name}`"));
            };
            membership = membership
                .without(*id)
                .map_err(|error| format!("dropped: {error}"))?;
        }
        let policy = self.policy()?;
        let moves = policy.settings().move_rule();
        Ok(SessionTerms {
            membership,
            timing: self.timing(),
            moves: moves.map_err(|error| error.to_string())?,
        })
    }

    /// Returns the timing of the protocol. Messages take at most a twentieth of a period, or count as
    /// lost.
    pub fn timing(&self) -> SessionTiming {
        let period = Span::from_secs(i64::try_from(self.period_s).unwrap_or(i64::MAX));
        SessionTiming {
            period,
            max_delay: Span::from_micros(period.as_micros() / DELAY_PART),
        }
    }

    /// Returns the migration policy.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn policy(&self) -> Result<MigrationSpec, String> {
        MigrationSpec::parse(&self.policy).map_err(|error| error.to_string())
    }

    /// Returns the number of pilots of the session: those that the sites began with, without those that
    /// were given up.
    pub fn pilots(&self) -> u32 {
        let all = self.sites.iter().map(|site| site.pilots);
        let gone = self.dropped.iter().map(|site| site.pilots);
        let all = all.fold(0, u32::saturating_add);
        all.saturating_sub(gone.fold(0, u32::saturating_add))
    }

    /// Returns the list of the next epoch, without a site with which `pilots` pilots are given up.
    /// None if no site that takes part has this name, or it is the last one.
    #[must_use]
    pub fn without(&self, name: &str, pilots: u32) -> Option<Self> {
        self.find(name)?;
        let mut next = self.clone();
        next.dropped.push(DroppedSite {
            name: name.to_owned(),
            pilots,
        });
        (next.live().count() > 0).then_some(next)
    }

    /// Returns whether this list is that of a later epoch of the same session as `other`.
    pub fn follows(&self, other: &Self) -> bool {
        let same = Self {
            dropped: other.dropped.clone(),
            ..self.clone()
        };
        same == *other
            && self.dropped.len() > other.dropped.len()
            && self.dropped.starts_with(&other.dropped)
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=MAX_PERIOD_S).contains(&self.period_s) {
            return Err(format!("period_s: expected 1 to {MAX_PERIOD_S}"));
        }
        self.policy()?;
        let print = |text: &str| {
            text.parse::<Fingerprint>()
                .map_err(|error| error.to_string())
        };
        print(&self.operator).map_err(|error| format!("operator: {error}"))?;
        for (at, site) in self.sites.iter().enumerate() {
            let name = &site.name;
            let others = &self.sites[..at];
            if others.iter().any(|other| other.name == *name) {
                return Err(format!("two sites are called `{name}`"));
            }
            if others
                .iter()
                .any(|other| other.fingerprint == site.fingerprint)
            {
                return Err(format!("site `{name}`: the key of another site"));
            }
            print(&site.fingerprint).map_err(|error| format!("site `{name}`: {error}"))?;
            if site.address.rsplit_once(':').is_none() {
                return Err(format!("site `{name}`: address: expected HOST:PORT"));
            }
        }
        self.terms().map(drop)
    }
}

/// Returns a number of 48 bits that another text hardly has, too.
fn hash(text: &str) -> u64 {
    let print = Fingerprint::of(text.as_bytes()).short();
    u64::from_str_radix(&print, 16).expect("12 hexadecimal digits")
}

impl MemberSite {
    /// Returns the key of the site's agent.
    pub(crate) fn key(&self) -> Option<Fingerprint> {
        self.fingerprint.parse().ok()
    }

    /// Returns the addresses that the name of the agent's host has now.
    pub(crate) fn resolve(&self) -> std::io::Result<Vec<std::net::SocketAddr>> {
        Ok(self.address.to_socket_addrs()?.collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a list of sites with one pilot more each, starting at three.
    pub(crate) fn members(names: &[&str]) -> AgentMembership {
        let site = |(at, name): (usize, &&str)| MemberSite {
            name: (*name).to_owned(),
            address: format!("127.0.0.1:{}", 4000 + at),
            fingerprint: Fingerprint::of(name.as_bytes()).to_string(),
            pilots: 3 + at as u32,
        };
        AgentMembership {
            session: "fit".to_owned(),
            policy: "marginal".to_owned(),
            period_s: 60,
            operator: Fingerprint::of(b"operator").to_string(),
            dropped: Vec::new(),
            sites: names.iter().enumerate().map(site).collect(),
        }
    }

    #[test]
    fn list_survives_a_round_trip_and_a_dropped_site_ends_the_epoch() {
        let list = members(&["north", "south"]);
        assert_eq!(AgentMembership::parse(&list.text()), Ok(list.clone()));
        let next = list.without("north", 2).expect("a site");
        assert_eq!(next.find("south").map(|found| found.0), Some(SiteId(1)));
        assert_eq!((next.find("north"), next.live().count()), (None, 1));
        assert_eq!(
            (next.without("north", 1), next.without("south", 1)),
            (None, None)
        );
        assert_eq!((list.pilots(), next.pilots()), (7, 5));
        let epoch = |list: &AgentMembership| list.terms().expect("terms").membership.epoch();
        assert_eq!(epoch(&next), epoch(&list) + 1);
        let slower = AgentMembership {
            period_s: 61,
            ..list.clone()
        };
        assert_ne!(epoch(&slower), epoch(&list));
        assert!(next.follows(&list) && !list.follows(&next) && !slower.follows(&list));
    }

    #[test]
    fn illegal_lists_are_rejected_with_the_reason() {
        let wrong = |change: fn(&mut AgentMembership)| {
            let mut list = members(&["north", "south"]);
            change(&mut list);
            AgentMembership::parse(&list.text()).expect_err("an illegal list")
        };
        let messages = [
            wrong(|list| list.period_s = 0),
            wrong(|list| list.policy = "papre".to_owned()),
            wrong(|list| list.operator = "me".to_owned()),
            wrong(|list| list.sites[1].name = "north".to_owned()),
            wrong(|list| list.sites[1].fingerprint = list.sites[0].fingerprint.clone()),
            wrong(|list| list.sites[1].address = "here".to_owned()),
            wrong(|list| {
                *list = list
                    .without("south", 3)
                    .map(|mut list| {
                        list.dropped[0].name = "west".to_owned();
                        list
                    })
                    .expect("a site")
            }),
        ];
        insta::assert_snapshot!(messages.join("\n"));
    }
}

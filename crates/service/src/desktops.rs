//! Computers that people work at: what was learned of log-ins, and the order in which tasks take idle ones.
//!
//! The order is that of a select policy of McGough, Forshaw, Gerrard and Wheater (2013) or of one of ours, as
//! [`tollgate_grid_policies::select`] has them; the simulation of a campus asks the same functions. The cluster of a
//! computer is its group: its name without its number.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tollgate_gate::WorkerId;
use tollgate_grid_policies::select::{
    BuiltinSelectPolicy, CampusComputer, ComputerPool, LearnedLogins,
};
use tollgate_model::{EvictionCause, HostNameIndex, Instant, NodeId, Power, Span};

use crate::core::Core;
use crate::draws::SeededDraws;

/// The choice among idle desktops.
#[derive(Clone, Debug, PartialEq)]
pub struct DesktopChoice {
    /// The select policy. It does not look ahead and leaves no computer idle for a better one.
    pub policy: &'static BuiltinSelectPolicy,
    /// By group: the power of a computer; [`Power::OF_DESKTOP`] of the others.
    pub power: BTreeMap<String, Power>,
}

/// The serialisable form of a [`DesktopChoice`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredChoice {
    policy: String,
    power: BTreeMap<String, Power>,
}

/// How long an unused computer is assumed to stay awake: as on the campus of McGough et al.
const STAYS_AWAKE: Span = Span::from_secs(15 * 60);

impl DesktopChoice {
    pub(crate) fn to_stored(&self) -> StoredChoice {
        StoredChoice {
            policy: self.policy.name.to_owned(),
            power: self.power.clone(),
        }
    }

    /// Returns None for a policy that is not known any more.
    pub(crate) fn from_stored(stored: &StoredChoice) -> Option<Self> {
        let policy = <&BuiltinSelectPolicy>::from_str(&stored.policy).ok()?;
        Some(Self {
            policy,
            power: stored.power.clone(),
        })
    }
}

/// What is known of a desktop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct DesktopUse {
    /// Index of its group.
    group: usize,
    /// Whether users can come: it is connected, and in use by none.
    is_open: bool,
    /// Whether tasks are there.
    has_tasks: bool,
    /// The instant at which a user or a task left it or came to it; None before.
    since: Option<Instant>,
}

/// What was learned of the log-ins at desktops, and when each was last used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DesktopLogins {
    /// The names of groups, by index.
    groups: Vec<String>,
    logins: LearnedLogins,
    uses: BTreeMap<HostNameIndex, DesktopUse>,
}

impl DesktopLogins {
    /// Returns, by group, its name and the number of log-ins so far.
    pub fn seen(&self) -> impl Iterator<Item = (&str, u64)> {
        let names = self.groups.iter().enumerate();
        names.map(|(group, name)| (name.as_str(), self.logins.seen(group)))
    }

    /// Records the present use of a desktop; `is_connected` is false if it was lost.
    fn note(
        &mut self,
        (host, name): (HostNameIndex, &str),
        (is_connected, cause): (bool, Option<EvictionCause>),
        now: Instant,
    ) {
        let group = self.group_of(name);
        let known = self.uses.entry(host).or_insert(DesktopUse {
            group,
            is_open: false,
            has_tasks: false,
            since: None,
        });
        let is_open = is_connected && cause.is_none();
        let was_open = std::mem::replace(&mut known.is_open, is_open);
        match (was_open, is_open) {
            (false, true) => self.logins.record_open(group, now),
            (true, false) if cause.is_some_and(EvictionCause::is_of_user) => {
                self.logins.record_login(group, now);
            }
            (true, false) => self.logins.record_closed(group, now),
            (true, true) | (false, false) => return,
        }
        known.since = Some(now);
    }

    fn group_of(&mut self, host: &str) -> usize {
        let name = group_name(host);
        let known = self.groups.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.groups.push(name.to_owned());
            self.groups.len() - 1
        })
    }
}

/// Returns the group of a computer: its name up to the first dot, without its number.
fn group_name(host: &str) -> &str {
    let short = host.split('.').next().unwrap_or(host);
    let letters = short.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let name = letters.trim_end_matches(['-', '_']);
    if name.is_empty() { short } else { name }
}

impl Core {
    /// Returns what was learned of the log-ins at desktops.
    pub const fn desktop_logins(&self) -> &DesktopLogins {
        &self.desktops
    }

    /// Records the use of a worker's host, if it is a desktop; `is_connected` is false if it was lost.
    pub(crate) fn note_desktop(
        &mut self,
        worker: WorkerId,
        (is_connected, cause): (bool, Option<EvictionCause>),
    ) {
        let view = self.gate.view(self.now);
        let nodes = self.gate.worker(worker).map(|live| live.nodes);
        let host = nodes.and_then(|nodes| view.host_of(nodes));
        let terms = host.map(|host| view.hosts()[host].terms);
        let name = terms
            .filter(|terms| terms.is_desktop)
            .and_then(|terms| terms.name);
        if let Some(index) = name
            && let Some(name) = self.host_names.name_of(index)
        {
            self.desktops
                .note((index, name), (is_connected, cause), self.now);
        }
    }

    /// Brings the order in which tasks take idle desktops up to date.
    pub(crate) fn order_desktops(&mut self) {
        let Some(choice) = &self.rules.choose else {
            return;
        };
        let view = self.gate.view(self.now);
        let hosts = view.hosts().iter().enumerate();
        let desktops = hosts
            .filter(|(_, host)| host.terms.is_desktop && view.n_up_in(host.nodes) > 0)
            .filter_map(|(index, host)| Some((index, host.nodes, host.terms.name?)));
        let mut idle = Vec::new();
        for (index, nodes, name) in desktops {
            let Some(known) = self.desktops.uses.get_mut(&name) else {
                continue;
            };
            let n_idle = view.n_idle_in(nodes);
            let has_tasks = n_idle < nodes.len;
            if std::mem::replace(&mut known.has_tasks, has_tasks) != has_tasks {
                known.since = Some(self.now);
            }
            if n_idle > 0 {
                idle.push((index, *known));
            }
        }
        if idle.len() < 2 {
            return;
        }
        let computer = |(_, known): &(usize, DesktopUse)| {
            let power = choice.power.get(&self.desktops.groups[known.group]);
            CampusComputer {
                cluster: u32::try_from(known.group).unwrap_or(u32::MAX),
                power: power.copied().unwrap_or(Power::OF_DESKTOP),
            }
        };
        let mut pool = ComputerPool::new(idle.iter().map(computer).collect(), STAYS_AWAKE);
        for (node, (_, known)) in (0..).map(NodeId).zip(&idle) {
            if let Some(since) = known.since {
                pool.take(node, since);
                pool.release(node, since);
            }
        }
        let mut draws = SeededDraws::new(self.now.as_micros().cast_unsigned());
        let logins = &self.desktops.logins;
        let order = choice.policy.order(pool, logins, self.now, &mut draws);
        let order: Vec<usize> = order.iter().map(|node| idle[node.index()].0).collect();
        self.gate.set_host_order(&order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_the_name_without_the_number() {
        let names = [
            "lab1-07",
            "lab1-07.example.org",
            "pc12",
            "room_3",
            "42",
            "anna",
        ];
        let groups = names.map(group_name);
        assert_eq!(groups, ["lab1", "lab1", "pc", "room", "42", "anna"]);
    }

    #[test]
    fn log_ins_are_counted_by_group_and_closings_are_none() {
        let mut logins = DesktopLogins::default();
        let at = |minutes: i64| Instant::from_secs(60 * minutes);
        let host = (HostNameIndex(0), "lab1-01");
        let user = Some(EvictionCause::User);
        logins.note(host, (true, None), at(0));
        logins.note(host, (true, user), at(30));
        logins.note(host, (true, Some(EvictionCause::Load)), at(40));
        logins.note(host, (true, None), at(50));
        logins.note(host, (true, Some(EvictionCause::Hours)), at(60));
        logins.note((HostNameIndex(1), "lab2-01"), (true, user), at(60));
        logins.note(host, (false, None), at(70));
        assert_eq!(
            logins.seen().collect::<Vec<_>>(),
            [("lab1", 1), ("lab2", 0)]
        );
    }
}

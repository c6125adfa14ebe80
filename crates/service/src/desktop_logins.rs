//! Computers that people work at: the log-ins that were seen there, and the order in which tasks take idle ones.
//!
//! The order is that of a select policy, as [`tollgate_grid_policies::select`] has them; the simulation of a campus asks
//! the same functions. The cluster of a computer is its group: its name without its number.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tollgate_grid_policies::select::{
    BuiltinSelectPolicy, CampusComputer, ComputerPool, LearnedLogins, hour_of_week,
};
use tollgate_model::{EvictionCause, HostNameIndex, Instant, NodeId, Power, Span};
use tollgate_policy::LoginForecast;

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

/// An hour.
const HOUR: Span = Span::from_secs(3600);

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

    fn power_of(&self, group: &str) -> Power {
        self.power.get(group).copied().unwrap_or(Power::OF_DESKTOP)
    }
}

/// The present use of a desktop.
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

/// The tasks on a desktop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DesktopTasks {
    /// The desktop, as an index into [`tollgate_policy::ClusterState::hosts`].
    pub(crate) index: usize,
    pub(crate) name: HostNameIndex,
    pub(crate) n_idle: u32,
    pub(crate) n_nodes: u32,
}

/// The log-ins to be expected at desktops.
#[derive(Clone, Debug)]
pub(crate) struct LoginForecasts {
    pub(crate) forecasts: Vec<LoginForecast>,
    /// By desktop: the index of its forecast.
    pub(crate) of_host: BTreeMap<HostNameIndex, u32>,
}

/// The log-ins at desktops as they were learned, and when each was last used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DesktopLogins {
    /// The names of groups, by index.
    groups: Vec<String>,
    logins: LearnedLogins,
    uses: BTreeMap<HostNameIndex, DesktopUse>,
    /// The hour, counted from the origin, for which the service last made forecasts; None if another log-in has been seen
    /// since.
    forecast_hour: Option<i64>,
}

/// The log-ins of a group from which on a promise may rest on its computers.
const LEAST_SEEN: u64 = 100;

impl DesktopLogins {
    /// Returns, by group, its name and the number of log-ins so far.
    pub fn seen(&self) -> impl Iterator<Item = (&str, u64)> {
        let names = self.groups.iter().enumerate();
        names.map(|(group, name)| (name.as_str(), self.logins.seen(group)))
    }

    /// Records the present use of a desktop; `is_connected` is false if it was lost.
    pub(crate) fn note(
        &mut self,
        (host, name): (HostNameIndex, &str),
        (is_connected, cause): (bool, Option<EvictionCause>),
        now: Instant,
    ) {
        self.forecast_hour = None;
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

    /// Returns the log-ins to be expected from `now` on: a forecast for each group of which enough was seen, and of each
    /// desktop the index of that for its group. None if they are as they were at the last call.
    pub(crate) fn forecasts(&mut self, now: Instant) -> Option<LoginForecasts> {
        let hour = now.as_micros().div_euclid(HOUR.as_micros());
        if self.uses.is_empty() || self.forecast_hour.replace(hour) == Some(hour) {
            return None;
        }
        let from = Instant::from_micros(hour * HOUR.as_micros());
        let (first, _) = hour_of_week(from);
        let (mut forecasts, mut of_group) = (Vec::new(), BTreeMap::new());
        for group in 0..self.groups.len() {
            let is_known = self.logins.seen(group) >= LEAST_SEEN;
            if let Some(mut rates) = self.logins.cautious_rates(group).filter(|_| is_known) {
                rates.rotate_left(first);
                of_group.insert(group, u32::try_from(forecasts.len()).unwrap_or(u32::MAX));
                forecasts.push(LoginForecast::new(from, rates));
            }
        }
        let of_host = self.uses.iter().filter_map(|(&name, known)| {
            let forecast = of_group.get(&known.group)?;
            Some((name, *forecast))
        });
        Some(LoginForecasts {
            of_host: of_host.collect(),
            forecasts,
        })
    }

    /// Returns the idle ones of these desktops in the order in which tasks take them, if there are several.
    pub(crate) fn order(
        &mut self,
        choice: &DesktopChoice,
        desktops: impl Iterator<Item = DesktopTasks>,
        now: Instant,
    ) -> Option<Vec<usize>> {
        let mut idle = Vec::new();
        for desktop in desktops {
            let Some(known) = self.uses.get_mut(&desktop.name) else {
                continue;
            };
            let has_tasks = desktop.n_idle < desktop.n_nodes;
            if std::mem::replace(&mut known.has_tasks, has_tasks) != has_tasks {
                known.since = Some(now);
            }
            if desktop.n_idle > 0 {
                idle.push((desktop.index, *known));
            }
        }
        if idle.len() < 2 {
            return None;
        }
        let computer = |(_, known): &(usize, DesktopUse)| CampusComputer {
            cluster: u32::try_from(known.group).unwrap_or(u32::MAX),
            power: choice.power_of(&self.groups[known.group]),
        };
        let mut pool = ComputerPool::new(idle.iter().map(computer).collect(), STAYS_AWAKE);
        for (node, (_, known)) in (0..).map(NodeId).zip(&idle) {
            if let Some(since) = known.since {
                pool.take(node, since);
                pool.release(node, since);
            }
        }
        let mut draws = SeededDraws::new(now.as_micros().cast_unsigned());
        let order = choice.policy.order(pool, &self.logins, now, &mut draws);
        Some(order.iter().map(|node| idle[node.index()].0).collect())
    }
}

/// Returns the group of a computer: its name up to the first dot, without its number.
fn group_name(host: &str) -> &str {
    let short = host.split('.').next().unwrap_or(host);
    let letters = short.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let name = letters.trim_end_matches(['-', '_']);
    if name.is_empty() { short } else { name }
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

//! Until when jobs may run on a host: it closes, or a user comes to it.

use tollgate_model::{Instant, JobId};
use tollgate_policy::{Host, View};

use super::draws::FutureDraws;
use super::settings::PlanParams;

/// The hosts on which jobs may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HostChoice {
    /// All of them.
    #[default]
    Any,
    /// Those on which a promise may rest: hosts without users, and desktops as long as users hardly come.
    Promised,
    /// Hosts without users.
    Dedicated,
    /// Hosts that are set aside, on which no job with another choice runs.
    SetAside,
}

/// Until when jobs may run on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostTimes {
    /// [`Instant::MAX`] if the host stays.
    closes: Instant,
    /// The instant until which no user comes with the probability [`PlanParams::GUARD`]; [`Instant::ZERO`] where log-ins
    /// are not known.
    promised_until: Instant,
    pub(super) is_desktop: bool,
    is_set_aside: bool,
}

impl HostTimes {
    /// A host that stays and has no users.
    pub(super) const FOREVER: Self = Self {
        closes: Instant::MAX,
        promised_until: Instant::MAX,
        is_desktop: false,
        is_set_aside: false,
    };

    pub(super) fn of(view: View<'_>, host: &Host) -> Self {
        let promised_until = match (host.terms.is_desktop, view.logins_at(host)) {
            (false, _) => Instant::MAX,
            (true, Some(logins)) => logins.until(view.now, -PlanParams::GUARD.as_f64().ln()),
            (true, None) => Instant::ZERO,
        };
        Self {
            closes: host.terms.closes.unwrap_or(Instant::MAX),
            promised_until,
            is_desktop: host.terms.is_desktop,
            is_set_aside: host.terms.is_set_aside,
        }
    }

    /// Returns the last end of jobs on the host: long ago if they never run there.
    pub(super) fn last_end(&self, hosts: HostChoice) -> Instant {
        if self.is_set_aside != (hosts == HostChoice::SetAside) {
            return Instant::ZERO;
        }
        match hosts {
            HostChoice::Any | HostChoice::SetAside => self.closes,
            HostChoice::Promised => self.closes.min(self.promised_until),
            HostChoice::Dedicated if self.is_desktop => Instant::ZERO,
            HostChoice::Dedicated => self.closes,
        }
    }

    /// Returns the host after a user has come to it.
    pub(super) const fn in_use(self) -> Self {
        Self {
            closes: Instant::ZERO,
            ..self
        }
    }

    /// Returns the key by which jobs take hosts: first desktops, then those that close first.
    pub(super) const fn order(&self) -> (bool, Instant) {
        (!self.is_desktop, self.closes)
    }
}

/// Returns the order in which jobs take hosts, of which the first `n_desktops` are desktops: these come last for
/// promised jobs.
pub(super) fn order_for(
    hosts: HostChoice,
    n_desktops: usize,
    n_hosts: usize,
) -> impl Iterator<Item = usize> {
    let first = match hosts {
        HostChoice::Any => 0,
        HostChoice::Promised | HostChoice::Dedicated | HostChoice::SetAside => n_desktops,
    };
    (first..n_hosts).chain(0..first)
}

/// The next log-in at each desktop in a future. A user who has come stays.
#[derive(Clone, Debug, Default)]
pub(super) struct FutureLogins {
    /// By host: [`Instant::MAX`] if none comes. Empty if none comes to any.
    by_host: Vec<Instant>,
}

impl FutureLogins {
    /// Draws the log-ins of each future.
    pub(super) fn drawn(view: View<'_>, draws: &FutureDraws) -> Vec<Self> {
        let mut futures = vec![Self::default(); draws.n_futures()];
        for (index, host) in view.hosts().iter().enumerate() {
            let Some(logins) = view.logins_at(host) else {
                continue;
            };
            for (future, level) in futures.iter_mut().zip(draws.of_host(index)) {
                future.by_host.resize(view.hosts().len(), Instant::MAX);
                future.by_host[index] = logins.until(view.now, -(1.0 - level).ln());
            }
        }
        futures
    }

    /// One user comes, to one of `n_hosts` hosts.
    #[cfg(test)]
    pub(super) fn at_host(host: usize, login: Instant, n_hosts: usize) -> Self {
        let mut by_host = vec![Instant::MAX; n_hosts];
        if let Some(of_host) = by_host.get_mut(host) {
            *of_host = login;
        }
        Self { by_host }
    }

    /// Returns when a user comes to a host.
    pub(super) fn at(&self, host: usize) -> Instant {
        self.by_host.get(host).copied().unwrap_or(Instant::MAX)
    }

    /// Returns when the first user comes to one of the hosts of a running job.
    pub(super) fn first_at_job(&self, view: View<'_>, id: JobId) -> Instant {
        let job = view.job(id);
        let hosts = job
            .placement()
            .iter()
            .filter_map(|&range| view.host_of(range));
        let logins = hosts.map(|host| self.at(host));
        logins.min().unwrap_or(Instant::MAX)
    }
}

//! One future of the hosts: when users come to desktops, and when hosts come that are expected.

use tollgate_model::{Instant, JobId, Probability};
use tollgate_policy::{ExpectedHost, ExpectedHosts, View, preempted_at};

use super::draws::FutureDraws;
use super::host_times::HostTimes;

/// The level of the end of a host before its time at which it is not ended so.
const STAYS: Probability = Probability::new(1.0).expect("a probability");

/// A host that comes in a future.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ComingHost {
    /// Number of its nodes.
    pub(super) nodes: u32,
    pub(super) opens: Instant,
    pub(super) closes: Instant,
    /// When its site ends it before its time: [`Instant::MAX`] if it does not, or the dispatch rule is not to know.
    pub(super) preempted: Instant,
    /// How often an hour its site does so.
    pub(super) preempted_per_h: f64,
}

impl ComingHost {
    pub(super) fn times(&self) -> HostTimes {
        HostTimes::between([self.opens, self.closes], self.preempted_per_h)
    }
}

/// The hosts in a future. A user who has come stays, and a host that its site has ended is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct HostFuture {
    /// When a user comes, or the site ends the host, by host: [`Instant::MAX`] if neither happens. Empty if neither happens
    /// to any.
    logins: Vec<Instant>,
    /// The hosts that come.
    pub(super) coming: Vec<ComingHost>,
}

impl HostFuture {
    /// Returns the future of a plan at a level: no user comes, and each host that is expected comes when it does at the latest
    /// with this probability.
    pub(super) fn planned(view: View<'_>, level: Probability) -> Self {
        let sites = view.expected_sites();
        let coming = sites.flat_map(|(_, site)| {
            let hosts = site.hosts.iter();
            hosts.filter_map(move |host| coming(view, (site, host), [level, STAYS]))
        });
        Self {
            logins: Vec::new(),
            coming: coming.collect(),
        }
    }

    /// Draws futures.
    pub(super) fn drawn(view: View<'_>, draws: &mut FutureDraws) -> Vec<Self> {
        let mut futures = vec![Self::default(); draws.n_futures()];
        for (index, host) in view.hosts().iter().enumerate() {
            let logins = view.logins_at(host);
            if logins.is_none() && host.preempted_per_h <= 0.0 {
                continue;
            }
            for (future, level) in futures.iter_mut().zip(draws.of_host(index)) {
                let n_ends = -(1.0 - level).ln();
                let login = logins.map_or(Instant::MAX, |logins| logins.until(view.now, n_ends));
                let preempted = preempted_at(view.now, host.preempted_per_h, n_ends);
                future.logins.resize(view.hosts().len(), Instant::MAX);
                future.logins[index] = login.min(preempted);
            }
        }
        let sites = view.expected_sites();
        let hosts = sites.flat_map(|(place, site)| {
            let hosts = site.hosts.iter();
            hosts.map(move |host| (place, (site, host)))
        });
        for (index, (place, host)) in hosts.enumerate() {
            // Pilots that are in no queue yet are submitted to one site or to another: they do not stand in for each other.
            let queue = match host.1.name {
                Some(_) => place,
                None => usize::MAX,
            };
            let starts = draws.of_expected_host(queue, index);
            let ends = draws.of_preemption(index);
            for ((future, start), end) in futures.iter_mut().zip(starts).zip(ends) {
                future.coming.extend(coming(view, host, [start, end]));
            }
        }
        futures
    }

    /// One user comes, to one of `n_hosts` hosts.
    #[cfg(test)]
    pub(super) fn with_login(host: usize, login: Instant, n_hosts: usize) -> Self {
        let mut logins = vec![Instant::MAX; n_hosts];
        if let Some(of_host) = logins.get_mut(host) {
            *of_host = login;
        }
        Self {
            logins,
            coming: Vec::new(),
        }
    }

    /// Returns when a user comes to a host.
    pub(super) fn login_at(&self, host: usize) -> Instant {
        self.logins.get(host).copied().unwrap_or(Instant::MAX)
    }

    /// Returns when the first user comes to one of the hosts of a running job.
    pub(super) fn first_login(&self, view: View<'_>, id: JobId) -> Instant {
        let job = view.job(id);
        let hosts = job
            .placement()
            .iter()
            .filter_map(|&range| view.host_of(range));
        let logins = hosts.map(|host| self.login_at(host));
        logins.min().unwrap_or(Instant::MAX)
    }
}

/// Returns when a host of a site comes, closes, and is ended before, at levels of its start and of that end; None if it never
/// comes. At level 1 it is not ended before.
fn coming(
    view: View<'_>,
    (site, host): (&ExpectedHosts, &ExpectedHost),
    [start, end]: [Probability; 2],
) -> Option<ComingHost> {
    let opens = host.comes_by(view.now, start);
    let n_ends = -(1.0 - end.as_f64()).ln();
    (opens < Instant::MAX).then(|| ComingHost {
        nodes: host.nodes,
        opens,
        closes: opens + host.stays,
        preempted: match n_ends.is_finite() {
            true => preempted_at(opens, site.preempted_per_h, n_ends),
            false => Instant::MAX,
        },
        preempted_per_h: site.preempted_per_h,
    })
}

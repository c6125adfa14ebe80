//! One future of the hosts: when users come to desktops, and when hosts come that are expected.

use tollgate_model::{Instant, JobId, Probability};
use tollgate_policy::{ExpectedHost, View};

use super::draws::FutureDraws;

/// A host that comes in a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ComingHost {
    /// Number of its nodes.
    pub(super) nodes: u32,
    pub(super) opens: Instant,
    pub(super) closes: Instant,
}

/// The hosts in a future. A user who has come stays.
#[derive(Clone, Debug, Default)]
pub(super) struct HostFuture {
    /// When a user comes, by host: [`Instant::MAX`] if none does. Empty if none comes to any.
    logins: Vec<Instant>,
    /// The hosts that come.
    pub(super) coming: Vec<ComingHost>,
}

impl HostFuture {
    /// Returns the future of a plan at a level: no user comes, and each host that is expected comes when it does at the latest
    /// with this probability.
    pub(super) fn planned(view: View<'_>, level: Probability) -> Self {
        let expected = view.expected_hosts();
        let coming = expected.filter_map(|(_, host)| coming(view, host, level));
        Self {
            logins: Vec::new(),
            coming: coming.collect(),
        }
    }

    /// Draws futures.
    pub(super) fn drawn(view: View<'_>, draws: &mut FutureDraws) -> Vec<Self> {
        let mut futures = vec![Self::default(); draws.n_futures()];
        for (index, host) in view.hosts().iter().enumerate() {
            let Some(logins) = view.logins_at(host) else {
                continue;
            };
            for (future, level) in futures.iter_mut().zip(draws.of_host(index)) {
                future.logins.resize(view.hosts().len(), Instant::MAX);
                future.logins[index] = logins.until(view.now, -(1.0 - level).ln());
            }
        }
        for (index, (site, host)) in view.expected_hosts().enumerate() {
            let levels = draws.of_expected_host(site, index);
            for (future, level) in futures.iter_mut().zip(levels) {
                future.coming.extend(coming(view, host, level));
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

/// Returns when a host comes and closes, at a level of its start; None if it never comes.
fn coming(view: View<'_>, host: &ExpectedHost, level: Probability) -> Option<ComingHost> {
    let opens = host.starts.by(view.now, level);
    (opens < Instant::MAX).then(|| ComingHost {
        nodes: host.nodes,
        opens,
        closes: opens + host.stays,
    })
}

//! Until when jobs may run on a host: it closes, or a user comes to it.

use tollgate_model::Instant;
use tollgate_policy::{Host, View, preempted_at};

use super::settings::PlanParams;

/// The hosts on which jobs may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HostChoice {
    /// All of them.
    #[default]
    Any,
    /// Those on which a promise may rest: hosts without users, and others as long as jobs hardly have to leave them.
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
    /// The instant until which no user comes, and the host's site does not end it, with the probability
    /// [`PlanParams::GUARD`]; [`Instant::ZERO`] where log-ins are not known.
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

    /// A host without users that opens and closes at these instants, and which its site ends so often an hour.
    pub(super) fn between([opens, closes]: [Instant; 2], preempted_per_h: f64) -> Self {
        Self {
            closes,
            promised_until: preempted_at(opens, preempted_per_h, -PlanParams::GUARD.as_f64().ln()),
            ..Self::FOREVER
        }
    }

    pub(super) fn of(view: View<'_>, host: &Host) -> Self {
        let n_ends = -PlanParams::GUARD.as_f64().ln();
        let without_user = match (host.terms.is_desktop, view.logins_at(host)) {
            (false, _) => Instant::MAX,
            (true, Some(logins)) => logins.until(view.now, n_ends),
            (true, None) => Instant::ZERO,
        };
        let promised_until = without_user.min(preempted_at(view.now, host.preempted_per_h, n_ends));
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

//! The change of the epoch when a site is lost.

use std::collections::BTreeMap;

use super::persistent_state::DurableState;
use crate::membership::{Membership, MembershipError};
use crate::site::{Ballot, SiteId};

/// The account of a site that was dropped from a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOff {
    /// The membership of the next epoch.
    pub membership: Membership,
    /// The states of the sites that stay, in the next epoch.
    pub states: BTreeMap<SiteId, DurableState>,
    /// Number of proxies in the next epoch, at the sites that stay and in flight between them.
    pub kept: u32,
    /// Number of proxies that are written off: those at the lost site, those given to it that it
    /// has not confirmed, and those it gave that have not arrived. Their pilots may still exist in
    /// the lost site's queue.
    pub written_off: u32,
}

/// An error in writing off a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteOffError {
    /// The membership does not allow the change.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    /// The state of a site that stays is not known.
    #[error("site {0}: its state is not known: every site that stays must be counted")]
    UnknownState(SiteId),
    /// The sites that stay have more proxies than the session.
    #[error("the sites that stay have {kept} pilots, more than the session's {all}")]
    TooMany {
        /// Number of proxies of the sites that stay.
        kept: u32,
        /// Number of proxies of the session.
        all: u32,
    },
}

impl WriteOff {
    /// Writes off `lost` from a session of `proxies` proxies. `states` has the state of every site
    /// that stays, as no site changes it. A state may be in the next epoch already: then an earlier
    /// write-off of the same site was interrupted, and the account is the same.
    ///
    /// The account is exact also if the lost site is up and still moves proxies with sites that have not
    /// changed their epoch. No message crosses the change, so the moments at which the sites change are a
    /// consistent cut.
    ///
    /// # Errors
    ///
    /// `lost` is not a member or is the last one, or the states have more proxies than the session. Or a
    /// state is missing, or of an epoch that is neither the current one nor the next.
    pub fn new(
        current: &Membership,
        lost: SiteId,
        proxies: u32,
        states: &BTreeMap<SiteId, DurableState>,
    ) -> Result<Self, WriteOffError> {
        let membership = current.without(lost)?;
        let mut next = BTreeMap::new();
        for site in membership.sites() {
            let state = states.get(&site);
            let mut state = state.ok_or(WriteOffError::UnknownState(site))?.clone();
            for record in membership.entry(state.epoch)? {
                state.apply(record);
            }
            next.insert(site, state);
        }
        let held = next.values().map(|state| state.proxies);
        let kept = held.fold(in_flight(&next).count() as u32, u32::saturating_add);
        let written_off = proxies.checked_sub(kept);
        let written_off = written_off.ok_or(WriteOffError::TooMany { kept, all: proxies })?;
        Ok(Self {
            membership,
            states: next,
            kept,
            written_off,
        })
    }
}

/// A proxy that one site gave and the other has not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InFlightProxy {
    /// The round.
    pub ballot: Ballot,
    /// The donor.
    pub from: SiteId,
    /// The receiver.
    pub to: SiteId,
}

/// Returns the proxies in flight between the sites of `states`, by donor and round. The sum of
/// these and of the proxies of every state is constant in an epoch, at every consistent cut.
pub fn in_flight(
    states: &BTreeMap<SiteId, DurableState>,
) -> impl Iterator<Item = InFlightProxy> + '_ {
    let open = states
        .iter()
        .flat_map(|(&from, state)| state.unconfirmed().map(move |open| (from, open)));
    open.filter_map(|(from, (ballot, to))| {
        let receiver = states.get(&to)?;
        let flies = !receiver.has_received(from, ballot);
        flies.then_some(InFlightProxy { ballot, from, to })
    })
}

//! The sites of a session, and the messages that count between them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::message::{SiteEvent, SiteMessage, SiteRecord};
use crate::rule::MoveRule;
use crate::site::SiteId;
use crate::timing::SessionTiming;

/// The terms of a session, the same at all its sites in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionTerms {
    /// The sites.
    pub membership: Membership,
    /// The delays and time-outs.
    pub timing: SessionTiming,
    /// The moves that are worth a request.
    pub moves: MoveRule,
}

/// The sites of a session in an epoch.
///
/// The sites are fixed as long as the epoch lasts. The next epoch has one site less. Each site
/// changes by a record of its own ([`Membership::entry`]), at a moment of its own. Messages count
/// only between sites of the same epoch, so no message crosses the change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Membership {
    first_epoch: u64,
    sites: BTreeSet<SiteId>,
    dropped: Vec<SiteId>,
}

/// An error in a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    /// The site is not a member, or was dropped before.
    #[error("site {0}: not in the session: the site was dropped, or never joined")]
    UnknownSite(SiteId),
    /// A session needs a site.
    #[error("site {0}: the last site of the session cannot be dropped")]
    LastSite(SiteId),
    /// The state is of an epoch that this membership does not have.
    #[error("epoch {state} of the site's state: the session is in epoch {session}")]
    OtherEpoch {
        /// The epoch of the site's state.
        state: u64,
        /// The epoch of the membership.
        session: u64,
    },
}

/// A message on its way, with its epoch and its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Envelope {
    /// The epoch in which the message was sent.
    pub epoch: u64,
    /// The sender.
    pub from: SiteId,
    /// The message.
    pub message: SiteMessage,
}

impl Membership {
    /// Creates the first membership of a session. `first_epoch` is any number of the session's
    /// own; each dropped site adds 1 to the epoch.
    pub fn new(first_epoch: u64, sites: impl IntoIterator<Item = SiteId>) -> Self {
        Self {
            first_epoch,
            sites: sites.into_iter().collect(),
            dropped: Vec::new(),
        }
    }

    /// Returns the epoch.
    pub fn epoch(&self) -> u64 {
        self.first_epoch.saturating_add(self.dropped.len() as u64)
    }

    /// Returns the sites, by id.
    pub fn sites(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.sites.iter().copied()
    }

    /// Returns the number of sites.
    pub fn count(&self) -> usize {
        self.sites.len()
    }

    /// Returns whether `site` is a member.
    pub fn contains(&self, site: SiteId) -> bool {
        self.sites.contains(&site)
    }

    /// Returns the membership of the next epoch, without `lost`. The id of a dropped site is never
    /// used again.
    ///
    /// # Errors
    ///
    /// `lost` is not a member, or is the last one.
    pub fn without(&self, lost: SiteId) -> Result<Self, MembershipError> {
        let mut next = self.clone();
        if !next.sites.remove(&lost) {
            return Err(MembershipError::UnknownSite(lost));
        }
        if next.sites.is_empty() {
            return Err(MembershipError::LastSite(lost));
        }
        next.dropped.push(lost);
        Ok(next)
    }

    /// Returns the records by which a site whose state is of `epoch` enters this epoch, in order;
    /// none if the state is of this epoch. The driver has the records on disk and applied before it
    /// restores the site.
    ///
    /// # Errors
    ///
    /// The session has no such epoch, or has it in future.
    pub fn entry(&self, epoch: u64) -> Result<Vec<SiteRecord>, MembershipError> {
        let drops = epoch
            .checked_sub(self.first_epoch)
            .and_then(|passed| self.dropped.get(usize::try_from(passed).ok()?..));
        let drops = drops.ok_or(MembershipError::OtherEpoch {
            state: epoch,
            session: self.epoch(),
        })?;
        let epochs = epoch.saturating_add(1)..;
        let records = epochs.zip(drops);
        Ok(records
            .map(|(epoch, &site)| SiteRecord::Dropped { epoch, site })
            .collect())
    }

    /// Returns the envelope for a message of `from` in this epoch. A driver wraps a message when
    /// the site sends it, never after a change of the epoch.
    pub fn envelope(&self, from: SiteId, message: SiteMessage) -> Envelope {
        let epoch = self.epoch();
        Envelope {
            epoch,
            from,
            message,
        }
    }

    /// Returns the event for a message that arrived; None if the message is of another epoch or
    /// its sender is not a member.
    pub fn admit(&self, envelope: Envelope) -> Option<SiteEvent> {
        let Envelope {
            epoch,
            from,
            message,
        } = envelope;
        let counts = epoch == self.epoch() && self.contains(from);
        counts.then_some(SiteEvent::Received { from, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Ballot;

    const LOST: SiteId = SiteId(1);

    fn three() -> Membership {
        Membership::new(7, (0..3).map(SiteId))
    }

    #[test]
    fn dropped_site_ends_the_epoch() {
        let next = three().without(LOST).expect("a member");
        assert_eq!((three().epoch(), next.epoch()), (7, 8));
        assert_eq!(next.sites().collect::<Vec<_>>(), [SiteId(0), SiteId(2)]);
        assert_eq!(next.without(LOST), Err(MembershipError::UnknownSite(LOST)));
        let one = Membership::new(0, [LOST]);
        assert_eq!(one.without(LOST), Err(MembershipError::LastSite(LOST)));
    }

    #[test]
    fn entry_has_a_record_for_every_dropped_site() {
        let next = three().without(LOST).expect("a member");
        let last = next.without(SiteId(2)).expect("a member");
        let record = |epoch, site| SiteRecord::Dropped {
            epoch,
            site: SiteId(site),
        };
        assert_eq!(last.entry(7), Ok(vec![record(8, 1), record(9, 2)]));
        assert_eq!(last.entry(8), Ok(vec![record(9, 2)]));
        assert_eq!(last.entry(9), Ok(vec![]));
        for epoch in [6, 10] {
            let error = MembershipError::OtherEpoch {
                state: epoch,
                session: 9,
            };
            assert_eq!(last.entry(epoch), Err(error));
        }
    }

    #[test]
    fn message_of_another_epoch_or_site_is_ignored() {
        let now = three();
        let next = now.without(LOST).expect("a member");
        let message = SiteMessage::Request {
            ballot: Ballot::NONE,
        };
        let sent = now.envelope(SiteId(0), message);
        assert!(now.admit(sent).is_some());
        assert_eq!(next.admit(sent), None);
        assert_eq!(next.admit(next.envelope(LOST, message)), None);
    }
}

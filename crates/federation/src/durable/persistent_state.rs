//! The state that survives a crash.

use std::collections::BTreeMap;

use tollgate_model::Instant;

use crate::message::SiteRecord;
use crate::site::{Ballot, SiteId};

/// The state of a site on disk: the sum of its records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DurableState {
    /// The highest ballot that the site promised.
    pub promised: Ballot,
    /// The last round that the site handed to another site.
    pub relinquished: Ballot,
    /// Number of the site's own proxies, pending and running: its initial proxies and every
    /// transfer since. The queue follows this number, never the reverse.
    pub proxies: u32,
    /// Time until which the site takes part in no move.
    pub cool_until: Instant,
    /// Every proxy that the site gave, by round. A round is served once, whichever site asks.
    pub given: BTreeMap<Ballot, ProxyTransfer>,
    /// The donor of every proxy that the site received, by round.
    pub added: BTreeMap<Ballot, SiteId>,
}

/// A proxy that was sent, and possibly received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProxyTransfer {
    /// The receiving site.
    pub to: SiteId,
    /// Whether the receiver has confirmed the proxy.
    pub confirmed: bool,
}

impl DurableState {
    /// Creates the state of a site that begins with `proxies` proxies.
    pub const fn new(proxies: u32) -> Self {
        Self {
            promised: Ballot::NONE,
            relinquished: Ballot::NONE,
            proxies,
            cool_until: Instant::ZERO,
            given: BTreeMap::new(),
            added: BTreeMap::new(),
        }
    }

    /// Applies a record when it is written or read back. A repeated record counts once.
    pub fn apply(&mut self, record: SiteRecord) {
        match record {
            SiteRecord::Promised(ballot) => self.promised = self.promised.max(ballot),
            SiteRecord::Relinquished(ballot) => self.relinquished = self.relinquished.max(ballot),
            SiteRecord::Given {
                ballot,
                to,
                cool_until,
            } => {
                self.promised = self.promised.max(ballot);
                self.cool_until = self.cool_until.max(cool_until);
                let confirmed = false;
                self.given.entry(ballot).or_insert_with(|| {
                    self.proxies = self.proxies.saturating_sub(1);
                    ProxyTransfer { to, confirmed }
                });
            }
            SiteRecord::Confirmed(ballot) => {
                if let Some(transfer) = self.given.get_mut(&ballot) {
                    transfer.confirmed = true;
                }
            }
            SiteRecord::Added {
                ballot,
                from,
                cool_until,
            } => {
                self.cool_until = self.cool_until.max(cool_until);
                self.added.entry(ballot).or_insert_with(|| {
                    self.proxies += 1;
                    from
                });
            }
        }
    }

    /// Returns the transfers that the receiver has not confirmed, by round.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (Ballot, SiteId)> + '_ {
        let open = self
            .given
            .iter()
            .filter(|(_, transfer)| !transfer.confirmed);
        open.map(|(&ballot, transfer)| (ballot, transfer.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applying_a_record_twice_has_no_effect() {
        let ballot = Ballot::NONE.next(SiteId(1));
        let cool_until = Instant::from_micros(5);
        let given = SiteRecord::Given {
            ballot,
            to: SiteId(1),
            cool_until,
        };
        let added = SiteRecord::Added {
            ballot,
            from: SiteId(0),
            cool_until,
        };
        for (record, proxies) in [(given, 2), (added, 4)] {
            let mut durable = DurableState::new(3);
            durable.apply(record);
            let once = durable.clone();
            durable.apply(record);
            assert_eq!(durable, once);
            assert_eq!((durable.proxies, durable.cool_until), (proxies, cool_until));
        }
    }
}

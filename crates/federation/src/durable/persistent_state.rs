//! What survives a crash.

use std::collections::BTreeMap;

use tollgate_model::Instant;

use crate::message::SiteRecord;
use crate::site::{Ballot, SiteId};

/// What a site has on disk: the sum of its records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DurableState {
    /// The highest ballot that it promised.
    pub promised: Ballot,
    /// The last round that it handed to another site.
    pub relinquished: Ballot,
    /// How many proxies are its own, pending and running: what it began with, and every transfer
    /// since. The queue follows this number, never the other way round.
    pub proxies: u32,
    /// Until when it takes part in no move.
    pub cool_until: Instant,
    /// Every proxy that it gave, by round: a round is served once, whoever asks.
    pub given: BTreeMap<Ballot, ProxyTransfer>,
    /// From whom it received a proxy, by round.
    pub added: BTreeMap<Ballot, SiteId>,
}

/// A proxy on its way, or arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProxyTransfer {
    /// To whom.
    pub to: SiteId,
    /// Whether the receiver said that it has it.
    pub confirmed: bool,
}

impl DurableState {
    /// A site that begins with so many proxies.
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

    /// Adds a record, as it is written or as it is read back. The same one twice counts once.
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

    /// Transfers that the receiver has not confirmed, by round.
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
    fn a_record_counts_once() {
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

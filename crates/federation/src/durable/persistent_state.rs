//! The state that survives a crash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

use crate::message::SiteRecord;
use crate::site::{Ballot, SiteId};

/// The state of a site on disk: the sum of its records.
///
/// A driver may replace the records by a snapshot of this state at any time. Records that are applied again
/// to a snapshot that has them change nothing. The state has at most two entries for each other site, however
/// many proxies have moved. A donor gives a site nothing before that site has confirmed the previous proxy.
/// So the proxies from a donor arrive in the order of their ballots, and the last one tells which were
/// received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DurableState {
    /// The epoch of the site.
    pub epoch: u64,
    /// The highest ballot that the site promised.
    pub promised: Ballot,
    /// The last round that the site handed to another site.
    pub relinquished: Ballot,
    /// Number of the site's own proxies, pending and running: its initial proxies and every
    /// transfer since. The queue follows this number, never the reverse.
    pub proxies: u32,
    /// Time until which the site takes part in no move.
    pub cool_until: Instant,
    /// The last proxy that the site gave, by receiver. A round is served once, whichever site asks.
    pub given: BTreeMap<SiteId, ProxyTransfer>,
    /// The round of the last proxy that the site received, by donor. [`Ballot::LAST`] for a site
    /// that was dropped.
    pub received: BTreeMap<SiteId, Ballot>,
}

/// A proxy that was sent, and possibly received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProxyTransfer {
    /// The round.
    pub ballot: Ballot,
    /// Whether the transfer is over: the receiver has confirmed the proxy, or was dropped.
    pub confirmed: bool,
}

impl DurableState {
    /// Creates the state of a site that begins with `proxies` proxies in `epoch`.
    pub const fn new(epoch: u64, proxies: u32) -> Self {
        Self {
            epoch,
            promised: Ballot::NONE,
            relinquished: Ballot::NONE,
            proxies,
            cool_until: Instant::ZERO,
            given: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    /// Applies a record when it is written or read back. A repeated record counts once.
    pub fn apply(&mut self, record: SiteRecord) {
        match record {
            SiteRecord::Promised { ballot } => self.promised = self.promised.max(ballot),
            SiteRecord::Relinquished { ballot } => {
                self.relinquished = self.relinquished.max(ballot)
            }
            SiteRecord::Given {
                ballot,
                to,
                cool_until,
            } => {
                self.cool_until = self.cool_until.max(cool_until);
                self.apply_given(ballot, to);
            }
            SiteRecord::Confirmed { ballot } => {
                let transfers = self.given.values_mut();
                let mut confirmed = transfers.filter(|transfer| transfer.ballot == ballot);
                if let Some(transfer) = confirmed.next() {
                    transfer.confirmed = true;
                }
            }
            SiteRecord::Added {
                ballot,
                from,
                cool_until,
            } => {
                self.cool_until = self.cool_until.max(cool_until);
                if !self.has_received(from, ballot) {
                    self.proxies = self.proxies.saturating_add(1);
                    self.received.insert(from, ballot);
                }
            }
            SiteRecord::Dropped { epoch, site } => self.apply_dropped(epoch, site),
        }
    }

    fn apply_given(&mut self, ballot: Ballot, to: SiteId) {
        // A transfer below the promise was applied before, and perhaps a later one took its place.
        if ballot < self.promised || self.has_served(ballot) {
            return;
        }
        self.promised = ballot;
        self.proxies = self.proxies.saturating_sub(1);
        let confirmed = false;
        self.given.insert(to, ProxyTransfer { ballot, confirmed });
    }

    fn apply_dropped(&mut self, epoch: u64, site: SiteId) {
        if epoch <= self.epoch {
            return;
        }
        self.epoch = epoch;
        if let Some(transfer) = self.given.get_mut(&site) {
            transfer.confirmed = true;
        }
        self.received.insert(site, Ballot::LAST);
    }

    /// Returns the transfers that the receiver has not confirmed, with the receiver.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (Ballot, SiteId)> + '_ {
        let given = self.given.iter();
        let open = given.filter(|(_, transfer)| !transfer.confirmed);
        open.map(|(&to, transfer)| (transfer.ballot, to))
    }

    /// Returns whether the site has received the proxy that `donor` gave in a round.
    pub fn has_received(&self, donor: SiteId, ballot: Ballot) -> bool {
        let last = self.received.get(&donor);
        last.is_some_and(|&last| ballot <= last)
    }

    /// Returns whether the site gave a proxy in a round; false if that round is below the promise
    /// and a later proxy went to the same site.
    pub(super) fn has_served(&self, ballot: Ballot) -> bool {
        let mut transfers = self.given.values();
        transfers.any(|transfer| transfer.ballot == ballot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOL: Instant = Instant::from_micros(5);
    const OTHER: SiteId = SiteId(1);

    fn ballot(counter: u64) -> Ballot {
        let site = OTHER;
        Ballot { counter, site }
    }

    fn given(counter: u64) -> SiteRecord {
        SiteRecord::Given {
            ballot: ballot(counter),
            to: OTHER,
            cool_until: COOL,
        }
    }

    fn added(counter: u64) -> SiteRecord {
        SiteRecord::Added {
            ballot: ballot(counter),
            from: OTHER,
            cool_until: COOL,
        }
    }

    fn after(records: &[SiteRecord]) -> DurableState {
        let mut durable = DurableState::new(0, 3);
        records.iter().for_each(|&record| durable.apply(record));
        durable
    }

    #[test]
    fn applying_a_record_twice_has_no_effect() {
        for (record, proxies) in [(given(1), 2), (added(1), 4)] {
            let once = after(&[record]);
            assert_eq!(after(&[record, record]), once);
            assert_eq!((once.proxies, once.cool_until), (proxies, COOL));
        }
    }

    #[test]
    fn applying_all_records_again_has_no_effect() {
        let dropped = SiteRecord::Dropped {
            epoch: 1,
            site: OTHER,
        };
        let records = [
            given(1),
            SiteRecord::Confirmed { ballot: ballot(1) },
            added(2),
            given(3),
            SiteRecord::Promised { ballot: ballot(4) },
            added(5),
            dropped,
        ];
        for length in 0..=records.len() {
            let once = after(&records[..length]);
            for from in 0..length {
                let mut twice = once.clone();
                for &record in &records[from..length] {
                    twice.apply(record);
                }
                assert_eq!(twice, once, "{from}..{length}");
            }
        }
    }

    #[test]
    fn state_does_not_grow_with_the_number_of_transfers() {
        let rounds = (1..100).map(ballot);
        let records: Vec<SiteRecord> = rounds
            .flat_map(|ballot| {
                [
                    given(ballot.counter * 2),
                    SiteRecord::Confirmed {
                        ballot: ballot.next(OTHER),
                    },
                    added(ballot.counter * 2 + 1),
                ]
            })
            .collect();
        let durable = after(&records);
        assert_eq!((durable.given.len(), durable.received.len()), (1, 1));
        assert_eq!(durable.proxies, 3);
    }

    #[test]
    fn dropped_site_is_fenced_and_its_transfer_is_over() {
        let dropped = |epoch| SiteRecord::Dropped { epoch, site: OTHER };
        let mut durable = after(&[given(1), added(1), dropped(1)]);
        assert_eq!(durable.unconfirmed().count(), 0);
        assert_eq!((durable.epoch, durable.proxies), (1, 3));
        let before = durable.clone();
        for late in [added(1), added(9), dropped(1), dropped(0)] {
            durable.apply(late);
        }
        assert_eq!(durable, before);
    }
}

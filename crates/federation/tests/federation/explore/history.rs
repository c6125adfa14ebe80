//! Every transfer that ever happened, which no site remembers once its journal is cut.

use std::collections::BTreeMap;

use tollgate_federation::{Ballot, SiteEffect, SiteId, SiteRecord};

/// The donor and the receiver of every proxy that was given, and of every proxy that was added.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TransferHistory {
    pub(crate) given: BTreeMap<Ballot, (SiteId, SiteId)>,
    pub(crate) added: BTreeMap<Ballot, (SiteId, SiteId)>,
}

impl TransferHistory {
    /// Adds the records that a site wrote. Checks invariant 2: a round deletes once and adds once,
    /// at all sites together.
    pub(crate) fn extend(&mut self, site: SiteId, effects: &[SiteEffect]) {
        for effect in effects {
            let SiteEffect::Write { record, .. } = effect else {
                continue;
            };
            match *record {
                SiteRecord::Given { ballot, to, .. } => {
                    let earlier = self.given.insert(ballot, (site, to));
                    assert_eq!(earlier, None, "{ballot} deletes once");
                }
                SiteRecord::Added { ballot, from, .. } => {
                    let earlier = self.added.insert(ballot, (from, site));
                    assert_eq!(earlier, None, "{ballot} adds once");
                }
                SiteRecord::Promised { .. }
                | SiteRecord::Relinquished { .. }
                | SiteRecord::Confirmed { .. }
                | SiteRecord::Dropped { .. } => {}
            }
        }
    }

    /// Returns the transfers in flight, by round.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = (Ballot, (SiteId, SiteId))> + '_ {
        let given = self.given.iter();
        let open = given.filter(|(ballot, _)| !self.added.contains_key(ballot));
        open.map(|(&ballot, &transfer)| (ballot, transfer))
    }
}

//! Sites, their values, and ballots.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A site of a session, by its index in the list of sites that all of them share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// The value of a site: proxies move to the site with the highest value. Any number is valid;
/// values are compared with [`f64::total_cmp`], so they always have an order.
#[derive(Clone, Copy, Debug)]
pub struct SiteValue(pub f64);

impl Ord for SiteValue {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for SiteValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SiteValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SiteValue {}

impl Hash for SiteValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// The name of a round. No two rounds have the same ballot, and ballots are totally ordered: by the
/// counter, then by the site that made the ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ballot {
    /// One more than the highest counter that the proposer had promised.
    pub counter: u64,
    /// The proposer.
    pub site: SiteId,
}

impl Ballot {
    /// The ballot before every other ballot.
    pub const NONE: Self = Self {
        counter: 0,
        site: SiteId(0),
    };

    /// Returns the next ballot of `site` after this one.
    pub const fn next(self, site: SiteId) -> Self {
        Self {
            counter: self.counter.saturating_add(1),
            site,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_values_are_totally_ordered() {
        let mut worths = [f64::NAN, 1.0, f64::NEG_INFINITY, -1.0].map(SiteValue);
        worths.sort();
        assert_eq!(worths[0], SiteValue(f64::NEG_INFINITY));
        assert_eq!(worths[3].0.to_bits(), f64::NAN.to_bits());
    }

    #[test]
    fn ballots_are_ordered_by_counter_then_by_site() {
        let (a, b) = (SiteId(0), SiteId(1));
        let first = Ballot::NONE.next(b);
        assert!(first > Ballot::NONE.next(a));
        assert!(first.next(a) > first);
    }
}

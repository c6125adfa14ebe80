//! Sites, their values, and ballots.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A site of a session, by a number that all sites share and that no other site ever gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u32);

impl fmt::Display for SiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The value of a site: proxies move to the site with the highest value. Any number is valid;
/// values are compared with [`f64::total_cmp`], so they always have an order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SiteValue(pub f64);

impl SiteValue {
    /// Returns the nearest finite value, the lowest one for NaN, since JSON has finite numbers
    /// only.
    pub(crate) fn finite(self) -> Self {
        let lowest = if self.0.is_nan() { f64::MIN } else { self.0 };
        Self(lowest.clamp(f64::MIN, f64::MAX))
    }
}

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

/// The measurement of a site, as its migration policy sees the site. All three values have the unit
/// of the policy; they are compared, never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteMeasurement {
    /// The site's value: proxies move to the site with the highest value.
    pub worth: SiteValue,
    /// The work that a proxy does which arrives here now, its wait included.
    pub arriving: SiteValue,
    /// The work that the newest pending proxy does if it stays, the rest of its wait included.
    pub staying: SiteValue,
}

impl SiteMeasurement {
    /// Creates the measurement of a policy that has only a value. No guard stops a move by it.
    pub const fn of_worth(worth: f64) -> Self {
        let worth = SiteValue(worth);
        Self {
            worth,
            arriving: worth,
            staying: worth,
        }
    }

    pub(crate) fn finite(self) -> Self {
        Self {
            worth: self.worth.finite(),
            arriving: self.arriving.finite(),
            staying: self.staying.finite(),
        }
    }
}

/// The name of a round. No two rounds have the same ballot, and ballots are totally ordered: by the
/// counter, then by the site that made the ballot. As text a ballot is `COUNTER.SITE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

    /// The ballot after every ballot that a site makes.
    pub const LAST: Self = Self {
        counter: u64::MAX,
        site: SiteId(u32::MAX),
    };

    /// Returns the next ballot of `site` after this one.
    pub const fn next(self, site: SiteId) -> Self {
        Self {
            counter: self.counter.saturating_add(1),
            site,
        }
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.counter, self.site)
    }
}

/// A text that is no ballot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ballot {0:?}: expected COUNTER.SITE, two whole numbers")]
pub struct BallotError(pub String);

impl FromStr for Ballot {
    type Err = BallotError;

    fn from_str(text: &str) -> Result<Self, BallotError> {
        let parts = text.split_once('.');
        let parts = parts.and_then(|(counter, site)| {
            let counter = counter.parse().ok()?;
            Some((counter, SiteId(site.parse().ok()?)))
        });
        let (counter, site) = parts.ok_or_else(|| BallotError(text.to_owned()))?;
        Ok(Self { counter, site })
    }
}

impl TryFrom<String> for Ballot {
    type Error = BallotError;

    fn try_from(text: String) -> Result<Self, BallotError> {
        text.parse()
    }
}

impl From<Ballot> for String {
    fn from(ballot: Ballot) -> Self {
        ballot.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ballot_is_read_back_from_its_text() {
        for ballot in [Ballot::NONE.next(SiteId(3)), Ballot::LAST] {
            assert_eq!(ballot.to_string().parse(), Ok(ballot));
        }
        for text in ["", "1", "1.", ".1", "1.2.3", "-1.2", "x.1"] {
            assert!(text.parse::<Ballot>().is_err(), "{text}");
        }
    }

    #[test]
    fn measurement_becomes_finite() {
        let finite = |value| SiteValue(value).finite().0;
        assert_eq!(finite(f64::NAN), f64::MIN);
        assert_eq!(finite(f64::NEG_INFINITY), f64::MIN);
        assert_eq!(finite(f64::INFINITY), f64::MAX);
        assert_eq!(finite(-1.5), -1.5);
    }

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

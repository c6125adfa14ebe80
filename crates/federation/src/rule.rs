//! The rule for moves that are worth a request.

use crate::message::SiteReport;
use crate::site::SiteValue;

/// The rule by which a round decides whether a proxy should move. It has the parameters `stop`, `guard`, `keep` and
/// `donor` of the migration policies, with the same meaning: without the first two, sites of like values move the same
/// proxies for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MoveRule {
    stop: SiteValue,
    guard: bool,
    keep: u32,
    donors: DonorSearch,
}

/// The sites among which a round looks for a donor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DonorSearch {
    /// The site of the lowest value alone.
    Lowest,
    /// All sites below the highest value, from the lowest up.
    Upwards,
}

/// A `stop` below 1 or not finite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("stop {0}: expected a number of at least 1")]
pub struct MoveRuleError(pub f64);

impl MoveRule {
    /// The rule that allows every move to a higher value, and lets a donor keep one pending proxy.
    pub const ANY: Self = Self {
        stop: SiteValue(1.0),
        guard: false,
        keep: 1,
        donors: DonorSearch::Upwards,
    };

    /// Creates a rule. Nothing moves if the highest value is less than `stop` times the lowest. A
    /// negative lowest value never stops a move. With `guard` a donor is passed over if its newest
    /// pending proxy would do less at the receiver.
    ///
    /// # Errors
    ///
    /// `stop` is below 1 or not finite.
    pub fn new(stop: f64, guard: bool) -> Result<Self, MoveRuleError> {
        if !stop.is_finite() || stop < 1.0 {
            return Err(MoveRuleError(stop));
        }
        let stop = SiteValue(stop);
        Ok(Self {
            stop,
            guard,
            ..Self::ANY
        })
    }

    /// Returns the rule by which a donor keeps `keep` pending proxies.
    #[must_use]
    pub const fn with_keep(self, keep: u32) -> Self {
        Self { keep, ..self }
    }

    /// Returns the rule that looks for donors among these sites.
    #[must_use]
    pub const fn with_donors(self, donors: DonorSearch) -> Self {
        Self { donors, ..self }
    }

    /// Returns the factor by which the highest value must exceed the lowest; at least 1.
    pub const fn stop(&self) -> f64 {
        self.stop.0
    }

    /// Returns whether a donor is passed over if its proxy would lose by the move.
    pub const fn guard(&self) -> bool {
        self.guard
    }

    /// Returns the number of pending proxies that a donor keeps.
    pub const fn keep(&self) -> u32 {
        self.keep
    }

    /// Returns the maximum number of sites among which a round looks for a donor.
    pub(crate) const fn searched(self) -> usize {
        match self.donors {
            DonorSearch::Lowest => 1,
            DonorSearch::Upwards => usize::MAX,
        }
    }

    /// Returns whether the values of the highest and the lowest site are too alike for a move.
    pub(crate) fn are_alike(self, highest: SiteValue, lowest: SiteValue) -> bool {
        highest <= lowest || highest.0 < self.stop.0 * lowest.0
    }

    /// Returns whether `donor` is passed over: its newest pending proxy would lose by the move.
    pub(crate) fn guards(self, donor: &SiteReport, receiver: &SiteReport) -> bool {
        self.guard && receiver.measured.arriving < donor.measured.staying
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_compares_positive_values_only() {
        let rule = MoveRule::new(1.3, false).expect("a rule");
        let alike = |highest, lowest| rule.are_alike(SiteValue(highest), SiteValue(lowest));
        assert!(alike(1.29, 1.0) && !alike(1.3, 1.0));
        assert!(!alike(-0.9, -1.0) && !alike(0.1, 0.0));
        assert!(alike(-1.0, -1.0) && alike(0.0, 0.0) && alike(2.0, 2.0));
        assert!(MoveRule::ANY.are_alike(SiteValue(1.0), SiteValue(1.0)));
    }

    #[test]
    fn stop_below_one_is_rejected() {
        for stop in [0.99, f64::NAN, f64::INFINITY] {
            assert!(MoveRule::new(stop, true).is_err());
        }
    }
}

//! Policies in order of preference.

use std::cmp::Ordering;

use crate::profile::steps;
use crate::{Gradient, Profile};

/// The order of the figures by which policies are ranked (Yeo & Buyya 2008, §4.3).
///
/// The next figure decides a tie in one figure. The paper's last figure is the gradient. The paper
/// ranks policy C before D, which tie in all its figures, because most points of C lie near its
/// best. The mean distance to that best expresses this, and is the last figure here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ranking {
    /// Table III: maximum performance, minimum volatility, performance difference, volatility
    /// difference, gradient, mean distance.
    BestPerformance,
    /// Table IV: minimum volatility, maximum performance, volatility difference, performance
    /// difference, gradient, mean distance.
    BestVolatility,
}

/// The rank of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyRank {
    /// 1 for the best. Policies that tie in every figure share a rank, and the next rank counts all
    /// policies before it: 1, 2, 2, 4.
    pub rank: usize,
    /// The policy, by its index among the ranked policies.
    pub policy: usize,
}

impl Ranking {
    /// Both rankings.
    pub const ALL: [Self; 2] = [Self::BestPerformance, Self::BestVolatility];

    /// Returns the ranks of policies, best first. Policies that share a rank stay in the given
    /// order.
    pub fn ranks(self, profiles: &[Profile]) -> Vec<PolicyRank> {
        let mut order: Vec<usize> = (0..profiles.len()).collect();
        order.sort_by(|&a, &b| self.compare(&profiles[a], &profiles[b]));
        let mut places: Vec<PolicyRank> = Vec::with_capacity(order.len());
        for (before, &policy) in order.iter().enumerate() {
            let tied = places.last().filter(|last| {
                self.compare(&profiles[last.policy], &profiles[policy])
                    .is_eq()
            });
            let rank = tied.map_or(before + 1, |last| last.rank);
            places.push(PolicyRank { rank, policy });
        }
        places
    }

    /// Returns [`Ordering::Less`] if `a` is preferred to `b`. Figures are compared in billionths.
    pub fn compare(self, a: &Profile, b: &Profile) -> Ordering {
        self.key(a).cmp(&self.key(b))
    }

    /// Returns the figures in the order of their importance, the preferred ones smaller.
    fn key(self, profile: &Profile) -> ([i64; 4], Gradient, i64) {
        let performance = -steps(profile.max_performance);
        let volatility = steps(profile.min_volatility);
        let performance_difference = steps(profile.performance_difference());
        let volatility_difference = steps(profile.volatility_difference());
        let figures = match self {
            Self::BestPerformance => [
                performance,
                volatility,
                performance_difference,
                volatility_difference,
            ],
            Self::BestVolatility => [
                volatility,
                performance,
                volatility_difference,
                performance_difference,
            ],
        };
        (figures, profile.gradient, steps(profile.mean_distance))
    }
}

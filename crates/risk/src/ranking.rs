//! Policies in order of preference.

use std::cmp::Ordering;

use crate::profile::steps;
use crate::{Gradient, Profile};

/// What counts first when policies are ranked (Yeo & Buyya 2008, §4.3).
///
/// A tie in one figure is decided by the next. The paper's last figure is the gradient, and its
/// text puts policy C before D, which tie in all of them, because most points of C lie near its
/// best: the mean distance to that best says so, and comes last here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ranking {
    /// Table III: maximum performance, minimum volatility, performance difference, volatility
    /// difference, gradient, mean distance.
    BestPerformance,
    /// Table IV: minimum volatility, maximum performance, volatility difference, performance
    /// difference, gradient, mean distance.
    BestVolatility,
}

/// Where a policy comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyRank {
    /// 1 for the best. Policies that tie in every figure share a rank, and the next one counts
    /// all before it: 1, 2, 2, 4.
    pub rank: usize,
    /// The policy, by its position among those that were ranked.
    pub policy: usize,
}

impl Ranking {
    /// Both rankings.
    pub const ALL: [Self; 2] = [Self::BestPerformance, Self::BestVolatility];

    /// The places of policies, best first; those that share a rank in the order given.
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

    /// [`Ordering::Less`] if `a` is preferred to `b`. Figures are compared in billionths.
    pub fn compare(self, a: &Profile, b: &Profile) -> Ordering {
        self.key(a).cmp(&self.key(b))
    }

    /// The figures in the order in which they count, the preferred ones smaller.
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

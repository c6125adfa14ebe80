//! Policies in order of preference.

use std::cmp::Ordering;

use crate::profile::steps;
use crate::{Gradient, Profile};

/// The order of the figures by which policies are ranked.
///
/// The next figure decides a tie in one figure. The figures of the first two rankings are those of
/// Yeo & Buyya (2008, §4.3), whose last figure is the gradient. The paper ranks policy C before D,
/// which tie in all its figures, because most points of C lie near its best. The mean distance to
/// that best expresses this, and is the last figure here. The other two rankings are not in the
/// paper: a policy that is at its best in one scenario alone is first by the paper's rankings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ranking {
    /// Table III: maximum performance, minimum volatility, performance difference, volatility
    /// difference, gradient, mean distance.
    BestPerformance,
    /// Table IV: minimum volatility, maximum performance, volatility difference, performance
    /// difference, gradient, mean distance.
    BestVolatility,
    /// Mean performance, mean volatility, performance difference, volatility difference, gradient,
    /// mean distance.
    MeanPerformance,
    /// Minimum performance, maximum volatility, performance difference, volatility difference,
    /// gradient, mean distance.
    WorstPoint,
}

/// A figure of a [`Profile`] by which policies are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileFigure {
    /// Best performance in any scenario; more is better.
    MaxPerformance,
    /// Mean performance over the scenarios; more is better.
    MeanPerformance,
    /// Worst performance in any scenario; more is better.
    MinPerformance,
    /// Best volatility in any scenario; less is better.
    MinVolatility,
    /// Mean volatility over the scenarios; less is better.
    MeanVolatility,
    /// Worst volatility in any scenario; less is better.
    MaxVolatility,
    /// Difference of performance between scenarios; less is better.
    PerformanceDifference,
    /// Difference of volatility between scenarios; less is better.
    VolatilityDifference,
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
    /// All rankings, those of the paper first.
    pub const ALL: [Self; 4] = [
        Self::BestPerformance,
        Self::BestVolatility,
        Self::MeanPerformance,
        Self::WorstPoint,
    ];

    /// Returns the keyword of the ranking in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BestPerformance => "performance",
            Self::BestVolatility => "volatility",
            Self::MeanPerformance => "mean-performance",
            Self::WorstPoint => "worst-point",
        }
    }

    /// Returns the figures in the order of their importance. The gradient and the mean distance
    /// follow in every ranking.
    pub const fn figures(self) -> [ProfileFigure; 4] {
        use ProfileFigure::{
            MaxPerformance, MaxVolatility, MeanPerformance, MeanVolatility, MinPerformance,
            MinVolatility, PerformanceDifference, VolatilityDifference,
        };
        match self {
            Self::BestPerformance => [
                MaxPerformance,
                MinVolatility,
                PerformanceDifference,
                VolatilityDifference,
            ],
            Self::BestVolatility => [
                MinVolatility,
                MaxPerformance,
                VolatilityDifference,
                PerformanceDifference,
            ],
            Self::MeanPerformance => [
                MeanPerformance,
                MeanVolatility,
                PerformanceDifference,
                VolatilityDifference,
            ],
            Self::WorstPoint => [
                MinPerformance,
                MaxVolatility,
                PerformanceDifference,
                VolatilityDifference,
            ],
        }
    }

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
        let figures = self.figures().map(|figure| {
            let steps = steps(figure.of(profile));
            if figure.is_better_greater() {
                -steps
            } else {
                steps
            }
        });
        (figures, profile.gradient, steps(profile.mean_distance))
    }
}

impl ProfileFigure {
    /// Returns the figure of a profile.
    pub fn of(self, profile: &Profile) -> f64 {
        match self {
            Self::MaxPerformance => profile.max_performance,
            Self::MeanPerformance => profile.mean_performance,
            Self::MinPerformance => profile.min_performance,
            Self::MinVolatility => profile.min_volatility,
            Self::MeanVolatility => profile.mean_volatility,
            Self::MaxVolatility => profile.max_volatility,
            Self::PerformanceDifference => profile.performance_difference(),
            Self::VolatilityDifference => profile.volatility_difference(),
        }
    }

    /// Returns the name of the figure in the head of a column.
    pub const fn label(self) -> &'static str {
        match self {
            Self::MaxPerformance => "max. performance",
            Self::MeanPerformance => "mean performance",
            Self::MinPerformance => "min. performance",
            Self::MinVolatility => "min. volatility",
            Self::MeanVolatility => "mean volatility",
            Self::MaxVolatility => "max. volatility",
            Self::PerformanceDifference => "performance difference",
            Self::VolatilityDifference => "volatility difference",
        }
    }

    /// Returns whether the policy with the greater figure is preferred.
    const fn is_better_greater(self) -> bool {
        match self {
            Self::MaxPerformance | Self::MeanPerformance | Self::MinPerformance => true,
            Self::MinVolatility
            | Self::MeanVolatility
            | Self::MaxVolatility
            | Self::PerformanceDifference
            | Self::VolatilityDifference => false,
        }
    }
}

//! Rankings compared with a slow and simple second implementation, on points coarse enough to tie
//! often.

use std::cmp::Ordering;

use proptest::prelude::*;
use tollgate_risk::{Gradient, PolicyRank, Profile, Ranking, Risk};

/// Returns points on a grid of halves, so that figures often tie.
fn policies() -> impl Strategy<Value = Vec<Vec<Risk>>> {
    let figure = || prop_oneof![Just(0.0), Just(0.5), Just(1.0)];
    let point = (figure(), figure()).prop_map(|(performance, volatility)| Risk {
        performance,
        volatility,
    });
    let policy = proptest::collection::vec(point, 1..4);
    proptest::collection::vec(policy, 0..7)
}

fn profiles(policies: &[Vec<Risk>]) -> Vec<Profile> {
    policies
        .iter()
        .map(|points| Profile::of(points).expect("at least one point"))
        .collect()
}

/// Returns whether `a` is preferred to `b`, written out figure by figure from the text of §4.3 and
/// from the definition of the other rankings.
fn preferred(ranking: Ranking, a: &Profile, b: &Profile) -> bool {
    let performance = b.max_performance.total_cmp(&a.max_performance);
    let volatility = a.min_volatility.total_cmp(&b.min_volatility);
    let performance_range =
        (a.max_performance - a.min_performance).total_cmp(&(b.max_performance - b.min_performance));
    let volatility_range =
        (a.max_volatility - a.min_volatility).total_cmp(&(b.max_volatility - b.min_volatility));
    let (first, second, third, fourth) = match ranking {
        Ranking::BestPerformance => (performance, volatility, performance_range, volatility_range),
        Ranking::BestVolatility => (volatility, performance, volatility_range, performance_range),
        Ranking::MeanPerformance => (
            b.mean_performance.total_cmp(&a.mean_performance),
            a.mean_volatility.total_cmp(&b.mean_volatility),
            performance_range,
            volatility_range,
        ),
        Ranking::WorstPoint => (
            b.min_performance.total_cmp(&a.min_performance),
            a.max_volatility.total_cmp(&b.max_volatility),
            performance_range,
            volatility_range,
        ),
    };
    let gradient = preference(a.gradient).cmp(&preference(b.gradient));
    let distance = a.mean_distance.total_cmp(&b.mean_distance);
    for figure in [first, second, third, fourth, gradient, distance] {
        if figure != Ordering::Equal {
            return figure == Ordering::Less;
        }
    }
    false
}

fn preference(gradient: Gradient) -> u8 {
    match gradient {
        Gradient::Decreasing => 1,
        Gradient::Increasing => 2,
        Gradient::Zero => 3,
        Gradient::None => 4,
    }
}

proptest! {
    #[test]
    fn a_rank_is_one_more_than_the_number_of_preferred_policies(policies in policies()) {
        let profiles = profiles(&policies);
        for ranking in Ranking::ALL {
            for place in ranking.ranks(&profiles) {
                let own = &profiles[place.policy];
                let better = profiles.iter().filter(|other| preferred(ranking, other, own));
                prop_assert_eq!(place.rank, better.count() + 1);
            }
        }
    }

    #[test]
    fn every_policy_has_one_place_and_ties_keep_the_order_given(policies in policies()) {
        let profiles = profiles(&policies);
        for ranking in Ranking::ALL {
            let places = ranking.ranks(&profiles);
            prop_assert!(places.is_sorted());
            let mut placed: Vec<_> = places.iter().map(|place| place.policy).collect();
            placed.sort_unstable();
            prop_assert!(placed.into_iter().eq(0..profiles.len()));
        }
    }

    #[test]
    fn the_order_of_scenarios_does_not_matter(policies in policies()) {
        let reversed: Vec<Vec<_>> = policies
            .iter()
            .map(|points| points.iter().rev().copied().collect())
            .collect();
        for ranking in Ranking::ALL {
            prop_assert_eq!(
                ranking.ranks(&profiles(&policies)),
                ranking.ranks(&profiles(&reversed))
            );
        }
    }
}

#[test]
fn equal_policies_share_a_rank() {
    let point = |performance| {
        vec![Risk {
            performance,
            volatility: 0.1,
        }]
    };
    let profiles = profiles(&[point(0.3), point(0.8), point(0.1 + 0.2), point(0.1)]);
    let places = Ranking::BestPerformance.ranks(&profiles);
    let place = |rank, policy| PolicyRank { rank, policy };
    assert_eq!(places, [place(1, 1), place(2, 0), place(2, 2), place(4, 3)]);
}

#[test]
fn mean_and_worst_point_rank_a_policy_with_one_lucky_scenario_last() {
    let points = |figures: [(f64, f64); 3]| {
        figures.map(|(performance, volatility)| Risk {
            performance,
            volatility,
        })
    };
    let lucky = points([(1.0, 0.0), (0.2, 0.3), (0.1, 0.3)]);
    let steady = points([(0.9, 0.1), (0.8, 0.1), (0.7, 0.1)]);
    let profiles = profiles(&[lucky.to_vec(), steady.to_vec()]);
    let first = |ranking: Ranking| ranking.ranks(&profiles)[0].policy;
    assert_eq!(first(Ranking::BestPerformance), 0);
    assert_eq!(first(Ranking::BestVolatility), 0);
    assert_eq!(first(Ranking::MeanPerformance), 1);
    assert_eq!(first(Ranking::WorstPoint), 1);
}

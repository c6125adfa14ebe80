//! The sample risk analysis plot of Yeo & Buyya (2008): eight policies in five scenarios.
//!
//! The figure gives no numbers. The points here reproduce all of Table II and the text about Figure 1. A
//! stays in one place, four of the five points of C are near its best, and the points of D are evenly spread.
//! Tables III and IV must follow from these points. Table III prints rank 4 for E, above rank 3 for G, in
//! rows that are otherwise in order. By the paper's own rule E is third, since its minimum volatility is
//! lower.

use tollgate_risk::{Gradient, Profile, Ranking, Risk};

/// (performance, volatility) in each scenario.
const FIGURE_1: [(char, [(f64, f64); 5]); 8] = [
    ('A', [(1.0, 0.0); 5]),
    (
        'B',
        [(0.9, 0.3), (0.9, 0.4), (0.9, 0.45), (0.9, 0.5), (0.9, 0.6)],
    ),
    (
        'C',
        [
            (0.7, 0.3),
            (0.68, 0.32),
            (0.66, 0.35),
            (0.64, 0.38),
            (0.2, 1.0),
        ],
    ),
    (
        'D',
        [
            (0.7, 0.3),
            (0.575, 0.475),
            (0.45, 0.65),
            (0.325, 0.825),
            (0.2, 1.0),
        ],
    ),
    (
        'E',
        [
            (0.7, 0.1),
            (0.65, 0.15),
            (0.6, 0.2),
            (0.55, 0.25),
            (0.5, 0.3),
        ],
    ),
    (
        'F',
        [
            (0.2, 0.3),
            (0.325, 0.4),
            (0.45, 0.5),
            (0.575, 0.6),
            (0.7, 0.7),
        ],
    ),
    (
        'G',
        [
            (0.4, 0.3),
            (0.475, 0.475),
            (0.55, 0.65),
            (0.625, 0.825),
            (0.7, 1.0),
        ],
    ),
    (
        'H',
        [
            (0.2, 0.3),
            (0.325, 0.475),
            (0.45, 0.65),
            (0.575, 0.825),
            (0.7, 1.0),
        ],
    ),
];

/// Maximum, minimum and difference of performance, then of volatility.
const TABLE_II: [(char, [f64; 3], [f64; 3]); 8] = [
    ('A', [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]),
    ('B', [0.9, 0.9, 0.0], [0.6, 0.3, 0.3]),
    ('C', [0.7, 0.2, 0.5], [1.0, 0.3, 0.7]),
    ('D', [0.7, 0.2, 0.5], [1.0, 0.3, 0.7]),
    ('E', [0.7, 0.5, 0.2], [0.3, 0.1, 0.2]),
    ('F', [0.7, 0.2, 0.5], [0.7, 0.3, 0.4]),
    ('G', [0.7, 0.4, 0.3], [1.0, 0.3, 0.7]),
    ('H', [0.7, 0.2, 0.5], [1.0, 0.3, 0.7]),
];

fn profiles() -> Vec<Profile> {
    let points = |points: [(f64, f64); 5]| {
        points.map(|(performance, volatility)| Risk {
            performance,
            volatility,
        })
    };
    FIGURE_1
        .iter()
        .map(|&(_, plotted)| Profile::of(&points(plotted)).expect("five points"))
        .collect()
}

/// Returns the policies from rank 1 to rank 8; no rank is shared.
fn ranked(ranking: Ranking) -> String {
    let places = ranking.ranks(&profiles());
    let ranks: Vec<_> = places.iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [1, 2, 3, 4, 5, 6, 7, 8]);
    places
        .iter()
        .map(|place| FIGURE_1[place.policy].0)
        .collect()
}

#[test]
fn table_ii_extremes_and_differences() {
    for ((policy, performance, volatility), profile) in TABLE_II.into_iter().zip(profiles()) {
        let found = [
            profile.max_performance,
            profile.min_performance,
            profile.performance_difference(),
        ];
        assert_eq!(found, performance, "performance of {policy}");
        let found = [
            profile.max_volatility,
            profile.min_volatility,
            profile.volatility_difference(),
        ];
        assert_eq!(found, volatility, "volatility of {policy}");
    }
}

#[test]
fn tables_iii_and_iv_gradients() {
    use Gradient::{Decreasing, Increasing, None, Zero};
    let gradients: Vec<_> = profiles().iter().map(|profile| profile.gradient).collect();
    assert_eq!(
        gradients,
        [
            None, Zero, Decreasing, Decreasing, Decreasing, Increasing, Increasing, Increasing
        ]
    );
}

#[test]
fn table_iii_by_best_performance() {
    assert_eq!(ranked(Ranking::BestPerformance), "ABEGFCDH");
}

#[test]
fn table_iv_by_best_volatility() {
    assert_eq!(ranked(Ranking::BestVolatility), "AEBFGCDH");
}

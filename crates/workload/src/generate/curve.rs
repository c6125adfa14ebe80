//! Distributions given by a few of their quantiles.

/// Returns the value at `u` (0 to 1) of a distribution whose values at the given levels are known.
/// Between two levels the logarithm is interpolated, since all values here span magnitudes.
///
/// Levels ascend from 0 to 1; values ascend and are positive.
pub(super) fn quantile<const N: usize>(levels: &[f64; N], values: &[f64; N], u: f64) -> f64 {
    let above = levels.partition_point(|&level| level < u).clamp(1, N - 1);
    let (left, right) = (levels[above - 1], levels[above]);
    let (low, high) = (libm::log(values[above - 1]), libm::log(values[above]));
    libm::exp(low + (high - low) * (u - left) / (right - left))
}

/// Returns the value at `u` (0 to 1) of a discrete distribution, given as values with their
/// weights.
pub(super) fn pick<T: Copy>(weighted: &[(T, f64)], u: f64) -> T {
    let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
    let mut left = u * total;
    for &(value, weight) in weighted {
        left -= weight;
        if left < 0.0 {
            return value;
        }
    }
    weighted[weighted.len() - 1].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_met_and_interpolated_in_magnitude() {
        let (levels, values) = ([0.0, 0.5, 1.0], [1.0, 100.0, 10_000.0]);
        for (u, value) in [(0.0, 1.0), (0.25, 10.0), (0.5, 100.0), (1.0, 10_000.0)] {
            assert!((quantile(&levels, &values, u) / value - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn picks_follow_the_weights() {
        let weighted = [('a', 1.0), ('b', 3.0)];
        assert_eq!(pick(&weighted, 0.2), 'a');
        assert_eq!(pick(&weighted, 0.3), 'b');
        assert_eq!(pick(&weighted, 1.0), 'b');
    }
}

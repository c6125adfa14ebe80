//! The mixture of distributions.

use super::{Distribution, LEVELS, N_LEVELS};
use crate::Span;

/// Number of halvings of an interval of logarithms of times: an interval between a microsecond and the
/// largest [`Span`] is then shorter than 1e-9.
const N_HALVINGS: usize = 36;

/// The distribution function over the logarithm of seconds.
struct LogDistribution {
    weight: f64,
    /// The quantiles at [`LEVELS`].
    knots: [f64; N_LEVELS],
    tail_exponent: f64,
}

impl Distribution {
    /// Returns the distribution of a run time that has each of `parts`, a weight and a distribution, with a
    /// probability in proportion to the weight. Its distribution function is their weighted mean. The
    /// quantiles at [`LEVELS`] are exact to 1e-9 of their size, and to a microsecond.
    ///
    /// # Panics
    /// If no weight is positive, or one is negative.
    #[must_use]
    pub fn mixture(parts: &[(f64, Self)]) -> Self {
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        assert!(
            total > 0.0 && parts.iter().all(|(weight, _)| *weight >= 0.0),
            "the weights of a mixture are not negative, and one is positive"
        );
        let mut present = parts.iter().filter(|(weight, _)| *weight > 0.0);
        if let (Some((_, only)), None) = (present.next(), present.next()) {
            return *only;
        }
        let parts = parts.iter().filter(|(weight, _)| *weight > 0.0);
        let parts: Vec<LogDistribution> = parts
            .map(|(weight, part)| LogDistribution::new(weight / total, part))
            .collect();
        let mut knots: Vec<f64> = parts.iter().flat_map(|part| part.knots).collect();
        knots.sort_by(f64::total_cmp);
        let quantiles = LEVELS.map(|level| quantile(&parts, &knots, level.as_f64()));
        Self::new(quantiles.map(|ln_secs| Span::from_secs_f64(ln_secs.exp())))
    }
}

impl LogDistribution {
    fn new(weight: f64, part: &Distribution) -> Self {
        Self {
            weight,
            knots: part.quantiles.map(|quantile| quantile.as_secs_f64().ln()),
            tail_exponent: part.tail_exponent(),
        }
    }

    /// Returns the probability of at most `ln_secs`, as [`Distribution::probability_within`] does.
    fn probability_within(&self, ln_secs: f64) -> f64 {
        let after = self.knots.partition_point(|&knot| knot <= ln_secs);
        if after == 0 {
            LEVELS[0].as_f64() * (ln_secs - self.knots[0]).exp()
        } else if after == N_LEVELS {
            let beyond = ln_secs - self.knots[N_LEVELS - 1];
            let rest = 1.0 - LEVELS[N_LEVELS - 1].as_f64();
            1.0 - rest * (-beyond * self.tail_exponent).exp()
        } else {
            let (low, high) = (LEVELS[after - 1].as_f64(), LEVELS[after].as_f64());
            let (from, to) = (self.knots[after - 1], self.knots[after]);
            low + (high - low) * ((ln_secs - from) / (to - from))
        }
    }
}

/// Returns the smallest logarithm of seconds at which the mixture reaches `level`. `knots` has the
/// knots of all parts, ascending: every part reaches the level at one of them, so the mixture does.
fn quantile(parts: &[LogDistribution], knots: &[f64], level: f64) -> f64 {
    let reaches = |ln_secs: f64| {
        let within = parts
            .iter()
            .map(|part| part.weight * part.probability_within(ln_secs));
        within.sum::<f64>() >= level - f64::EPSILON
    };
    let at = knots.partition_point(|&knot| !reaches(knot));
    let mut high = knots[at.min(knots.len() - 1)];
    // Where the mixture jumps over the level, it does so at a knot. Below the first knot of all, each
    // part is below its lowest level.
    let Some(mut low) = at.checked_sub(1).map(|below| knots[below]) else {
        return high;
    };
    for _ in 0..N_HALVINGS {
        let middle = low.midpoint(high);
        if reaches(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn constant(secs: i64) -> Distribution {
        Distribution::new([Span::from_secs(secs); N_LEVELS])
    }

    fn doubling(first: i64) -> Distribution {
        Distribution::new(std::array::from_fn(|level| Span::from_secs(first << level)))
    }

    #[test]
    fn mixture_of_equals_is_the_same() {
        let mixture = Distribution::mixture(&[(1.0, doubling(3)), (2.0, doubling(3))]);
        for (mixed, pure) in mixture.quantiles().iter().zip(doubling(3).quantiles()) {
            let apart = mixed.as_secs_f64() / pure.as_secs_f64() - 1.0;
            assert!(apart.abs() < 1e-8, "{mixed} {pure}");
        }
        let alone = Distribution::mixture(&[(0.0, constant(1)), (0.3, doubling(3))]);
        assert_eq!(alone, doubling(3));
    }

    #[test]
    fn mixture_of_two_constants_jumps_between_them() {
        let mixture = Distribution::mixture(&[(0.25, constant(8)), (0.75, constant(2))]);
        let secs = mixture.quantiles().map(Span::as_secs_f64);
        let expected = [2.0; 8].into_iter().chain([8.0; 4]);
        for (found, expected) in secs.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{secs:?}");
        }
    }

    #[test]
    fn quantiles_follow_from_the_mean_of_the_distribution_functions() {
        // From 8 s to 2048 s; from 32 s to 8192 s. At 64 s they are at 0.30 and 0.10.
        let mixture = Distribution::mixture(&[(1.0, doubling(8)), (1.0, doubling(32))]);
        assert!((mixture.quantiles()[2].as_secs_f64() - 64.0).abs() < 1e-5);
    }

    proptest! {
        #[test]
        fn the_distribution_function_of_a_mixture_is_the_mean(
            one in proptest::array::uniform12(1i64..1_000_000_000_000),
            two in proptest::array::uniform12(1i64..1_000_000_000_000),
            weight in 0.01..0.99,
        ) {
            let [one, two] = [one, two].map(|micros| Distribution::new(micros.map(Span::from_micros)));
            let mixture = Distribution::mixture(&[(weight, one), (1.0 - weight, two)]);
            prop_assert!(mixture.quantiles().is_sorted());
            let mean = |at: Span| {
                let p = |part: &Distribution| part.probability_within(at).as_f64();
                weight * p(&one) + (1.0 - weight) * p(&two)
            };
            for (level, &quantile) in LEVELS.iter().zip(mixture.quantiles()) {
                let near = Span::from_micros(2 + quantile.as_micros() / 1_000_000_000);
                prop_assert!(mean(quantile - near) <= level.as_f64() + 1e-9);
                prop_assert!(mean(quantile + near) >= level.as_f64() - 1e-9);
            }
        }
    }
}

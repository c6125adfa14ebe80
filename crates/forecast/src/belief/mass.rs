//! Probability masses of run times, on a grid of logarithms of seconds.

use std::array;

use tollgate_model::Span;
use tollgate_model::distribution::LEVELS;

/// Number of bins.
pub(crate) const N_BINS: usize = 175;
/// The width of a bin, as a logarithm. With half of it and twice the bins, pinball losses on archived
/// traces are equal.
pub(crate) const BIN: f64 = 0.1;

/// Number of kernels that are applied side by side.
const LANES: usize = 4;

/// The least mass beyond a bin by which other masses are divided.
const MIN_BEYOND: f64 = 1e-9;

/// The logarithm up to which the first bin reaches.
pub(crate) const FIRST_BIN_ENDS: f64 = 0.5 * BIN;

/// The power of the time in the first bin to which the part of its run times below that time is in
/// proportion. About that part of them is as short where run times are log-normal around one or two seconds.
pub(crate) const FIRST_BIN_POWER: f64 = 3.0;

/// Masses of run times. Bin `i` holds those whose logarithm is nearest to `i` times [`BIN`]: from one second
/// to a year. Run times outside count at the edge: of those of the first bin, the part below a time grows as
/// [`FIRST_BIN_POWER`] says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunMass(pub(crate) [f64; N_BINS]);

impl Default for RunMass {
    fn default() -> Self {
        Self([0.0; N_BINS])
    }
}

/// Returns the bin of a logarithm.
pub(crate) fn bin(ln_run: f64) -> usize {
    ((ln_run / BIN).round().max(0.0) as usize).min(N_BINS - 1)
}

impl RunMass {
    /// Adds a mass at a logarithm, shared by the two bins around it.
    pub(crate) fn add(&mut self, ln_run: f64, mass: f64) {
        let at = (ln_run / BIN).clamp(0.0, (N_BINS - 1) as f64 - 1e-9);
        let low = at as usize;
        let share = at - low as f64;
        self.0[low] += mass * (1.0 - share);
        self.0[low + 1] += mass * share;
    }

    /// Adds `factor` times another mass.
    pub(crate) fn add_scaled(&mut self, other: &Self, factor: f64) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own += factor * other;
        }
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        self.0.iter_mut().for_each(|mass| *mass *= factor);
    }

    pub(crate) fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Returns the masses as parts of their sum; None if the sum is zero.
    pub(crate) fn normalised(mut self) -> Option<Self> {
        let total = self.total();
        (total > 0.0).then(|| {
            self.scale(1.0 / total);
            self
        })
    }

    /// Returns the sum of masses, each spread by a Laplace kernel of its own scale, a logarithm. Mass that would leave
    /// the grid stays at its edge.
    pub(crate) fn sum_smoothed(parts: &[(Self, f64)]) -> Self {
        let parts: Vec<(&Self, f64)> = parts.iter().map(|(mass, scale)| (mass, *scale)).collect();
        let mut sum = Self::default();
        for parts in parts.chunks(LANES) {
            for (sum, lanes) in sum.0.iter_mut().zip(smoothed_lanes(parts)) {
                *sum += lanes.iter().sum::<f64>();
            }
        }
        sum
    }

    /// Returns the masses, each spread as in [`RunMass::sum_smoothed`].
    pub(crate) fn each_smoothed(parts: &[(&Self, f64)]) -> Vec<Self> {
        let mut smoothed = vec![Self::default(); parts.len()];
        for (parts, smoothed) in parts.chunks(LANES).zip(smoothed.chunks_mut(LANES)) {
            for (at, lanes) in smoothed_lanes(parts).into_iter().enumerate() {
                for (smoothed, mass) in smoothed.iter_mut().zip(lanes) {
                    smoothed.0[at] = mass;
                }
            }
        }
        smoothed
    }

    /// Returns the logarithm below which this part of a mass of 1 lies. `level` is positive.
    pub(crate) fn quantile(&self, level: f64) -> f64 {
        let [first, ..] = self.0;
        if level <= first {
            return FIRST_BIN_ENDS + (level / first).ln() / FIRST_BIN_POWER;
        }
        let mut below = 0.0;
        for (bin, &mass) in self.0.iter().enumerate() {
            if below + mass >= level {
                let within = if mass > 0.0 {
                    (level - below) / mass
                } else {
                    0.5
                };
                return (bin as f64 - 0.5 + within) * BIN;
            }
            below += mass;
        }
        (N_BINS - 1) as f64 * BIN
    }

    /// Returns the logarithms at [`LEVELS`].
    pub(crate) fn quantiles(&self) -> [f64; LEVELS.len()] {
        LEVELS.map(|level| self.quantile(level.as_f64()))
    }

    /// Returns the mass of a job that has run for each of some times, with its weight, and has the shape of
    /// `self` beyond them. Where almost nothing is left, the job ends at about twice the time.
    pub(crate) fn beyond(&self, elapsed: impl Iterator<Item = (Span, f64)>) -> Self {
        let mut out = Self::default();
        let left = self.survival();
        let mut factors = [0.0; N_BINS];
        for (elapsed, weight) in elapsed {
            let ln_elapsed = elapsed.as_secs_f64().max(1.0).ln();
            let at = bin(ln_elapsed);
            if left[at] > MIN_BEYOND {
                factors[at] += weight / left[at];
            } else {
                out.add(ln_elapsed + std::f64::consts::LN_2, weight);
            }
        }
        let mut factor = 0.0;
        for ((out, mass), part) in out.0[1..].iter_mut().zip(&self.0[1..]).zip(&factors) {
            factor += part;
            *out += factor * mass;
        }
        out
    }

    /// Returns the mass above each bin.
    fn survival(&self) -> [f64; N_BINS] {
        let mut above = 0.0;
        let mut left: [f64; N_BINS] = array::from_fn(|at| {
            let left = above;
            above += self.0[N_BINS - 1 - at];
            left
        });
        left.reverse();
        left
    }
}

/// Returns by bin at most [`LANES`] masses, each spread by its kernel, in one pass each way: side by side they take
/// as long as one.
fn smoothed_lanes(parts: &[(&RunMass, f64)]) -> [[f64; LANES]; N_BINS] {
    let decay: [f64; LANES] = array::from_fn(|lane| {
        parts
            .get(lane)
            .map_or(0.0, |(_, scale)| (-BIN / scale).exp())
    });
    let norm = decay.map(|decay| (1.0 - decay) / (1.0 + decay));
    let mut masses = [[0.0; LANES]; N_BINS];
    for (lane, (mass, _)) in parts.iter().enumerate() {
        for (masses, mass) in masses.iter_mut().zip(&mass.0) {
            masses[lane] = *mass;
        }
    }
    let mut smoothed = [[0.0; LANES]; N_BINS];
    let mut from_below = [0.0; LANES];
    for (below, mass) in smoothed.iter_mut().zip(&masses) {
        from_below = array::from_fn(|lane| mass[lane] + decay[lane] * from_below[lane]);
        *below = from_below;
    }
    let mut from_above = [0.0; LANES];
    for (smoothed, mass) in smoothed.iter_mut().zip(&masses).rev() {
        *smoothed = array::from_fn(|lane| (smoothed[lane] + from_above[lane]) * norm[lane]);
        from_above = array::from_fn(|lane| decay[lane] * (mass[lane] + from_above[lane]));
    }
    for lane in 0..LANES {
        let out = 1.0 + decay[lane];
        smoothed[0][lane] += from_above[lane] / out;
        smoothed[N_BINS - 1][lane] += from_below[lane] * decay[lane] / out;
    }
    smoothed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ln_runs: &[f64]) -> RunMass {
        let mut mass = RunMass::default();
        for &ln_run in ln_runs {
            mass.add(ln_run, 1.0 / ln_runs.len() as f64);
        }
        mass
    }

    /// Returns the spread by a Laplace kernel, bin by bin.
    fn smoothed_slowly(mass: &RunMass, scale: f64) -> RunMass {
        let decay = (-BIN / scale).exp();
        let norm = (1.0 - decay) / (1.0 + decay);
        let mut out = RunMass::default();
        for (from, mass) in mass.0.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            // Far enough beyond the grid that nothing is left.
            for to in -4000_i32..4000 + N_BINS as i32 {
                let bin = to.clamp(0, N_BINS as i32 - 1) as usize;
                out.0[bin] += mass * norm * decay.powi((to - from as i32).abs());
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn smoothing_side_by_side_is_smoothing_bin_by_bin(
            ln_runs in prop::collection::vec(-1.0..19.0f64, 1..5),
            scales in prop::collection::vec(0.02..2.0f64, 1..7),
        ) {
            let mass = at(&ln_runs);
            let parts: Vec<(RunMass, f64)> = scales.iter().map(|&scale| (mass.clone(), scale)).collect();
            let sum = RunMass::sum_smoothed(&parts);
            let parts: Vec<(&RunMass, f64)> = scales.iter().map(|&scale| (&mass, scale)).collect();
            let mut slow = RunMass::default();
            for (&scale, one) in scales.iter().zip(RunMass::each_smoothed(&parts)) {
                let slowly = smoothed_slowly(&mass, scale);
                slow.add_scaled(&slowly, 1.0);
                for (fast, slow) in one.0.iter().zip(&slowly.0) {
                    prop_assert!((fast - slow).abs() < 1e-9, "{} {}", fast, slow);
                }
            }
            for (fast, slow) in sum.0.iter().zip(&slow.0) {
                prop_assert!((fast - slow).abs() < 1e-9, "{} {}", fast, slow);
            }
        }

        #[test]
        fn quantile_has_its_part_below_it(ln_runs in prop::collection::vec(0.0..17.0f64, 1..9), level in 0.01..0.99f64) {
            let mass = RunMass::sum_smoothed(&[(at(&ln_runs), 0.2)]);
            let quantile = mass.quantile(level);
            let within = bin(quantile);
            let below: f64 = mass.0[..within].iter().sum();
            prop_assert!(below <= level + 1e-9 && level <= below + mass.0[within] + 1e-9);
        }
    }

    #[test]
    fn mass_beyond_an_elapsed_time_has_the_shape_of_the_parent() {
        let parent = at(&[1.0, 3.0, 4.0, 4.0]);
        let e_squared = Span::from_secs_f64(2f64.exp());
        let beyond = parent.beyond([(e_squared, 1.0)].into_iter());
        assert!((beyond.total() - 1.0).abs() < 1e-9);
        assert!((beyond.0[bin(3.0)] - 1.0 / 3.0).abs() < 1e-9);
        assert!((beyond.0[bin(4.0)] - 2.0 / 3.0).abs() < 1e-9);
        // Nothing of the parent is left.
        let e_to_the_6 = Span::from_secs_f64(6f64.exp());
        let longer = parent.beyond([(e_to_the_6, 0.5)].into_iter());
        assert!((longer.quantile(0.25) - 6.7).abs() < 0.2 && (longer.total() - 0.5).abs() < 1e-9);
    }
}

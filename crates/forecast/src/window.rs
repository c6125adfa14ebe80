//! The most recent values of a series, in order of arrival and in order of size.

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::{LEVELS, N_LEVELS};

/// The last `N` values, all finite.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<f64>", into = "Vec<f64>")]
pub(crate) struct RollingWindow<const N: usize> {
    /// The values, behind at most N forgotten ones.
    arrived: Vec<f64>,
    sorted: Vec<f64>,
}

impl<const N: usize> RollingWindow<N> {
    /// Adds `value`, unless it is not finite; removes the oldest value if there are too many.
    pub(crate) fn push(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.sorted.len() == N {
            self.replace(self.arrived()[0], value);
        } else {
            self.sorted.insert(self.rank(value), value);
        }
        // Rarely many forgotten values at once, instead of one each time.
        if self.arrived.len() == 2 * N {
            self.arrived.drain(..N);
        }
        self.arrived.push(value);
    }

    /// Removes the oldest value, if there is one.
    pub(crate) fn forget_oldest(&mut self) {
        if let Some(&oldest) = self.arrived().first() {
            self.sorted.remove(self.rank(oldest));
        }
    }

    /// Replaces a value in the order of size.
    fn replace(&mut self, oldest: f64, value: f64) {
        let from = self.rank(oldest);
        let to = self.rank(value);
        if from < to {
            self.sorted.copy_within(from + 1..to, from);
            self.sorted[to - 1] = value;
        } else {
            self.sorted.copy_within(to..from, to + 1);
            self.sorted[to] = value;
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the values in order of arrival.
    pub(crate) fn arrived(&self) -> &[f64] {
        &self.arrived[self.arrived.len() - self.sorted.len()..]
    }

    /// Returns the conformal quantile at `level`; None without values.
    pub(crate) fn quantile(&self, level: f64) -> Option<f64> {
        conformal(&self.sorted, level)
    }

    /// Returns the conformal quantiles at [`LEVELS`]; None without values.
    pub(crate) fn quantiles(&self) -> Option<[f64; N_LEVELS]> {
        let (last, sorted) = (self.sorted.len().checked_sub(1)?, &self.sorted[..]);
        Some(LEVELS.map(|level| {
            let place = ConformalPlace::of(last, level.as_f64());
            place.between(sorted[place.below], sorted[place.above])
        }))
    }

    /// Returns the conformal quantile of the absolute values at `level`; None without values.
    pub(crate) fn magnitude_quantile(&self, level: f64) -> Option<f64> {
        let place = ConformalPlace::of(self.sorted.len().checked_sub(1)?, level);
        Some(place.between(self.magnitude(place.below), self.magnitude(place.above)))
    }

    /// Returns the absolute value that as many absolute values as `rank` precede in order of size.
    ///
    /// The smallest absolute values are neighbours in the order of size, on both sides of zero. Of
    /// all `rank` + 1 neighbours they are those whose larger end is smallest.
    fn magnitude(&self, rank: usize) -> f64 {
        let firsts = &self.sorted[..self.sorted.len() - rank];
        let lasts = &self.sorted[rank..];
        // The larger end of the neighbours from `first` on is their last value, and further left
        // their first.
        let first = partition_point(firsts.len(), |first| -firsts[first] > lasts[first]);
        let left = first.checked_sub(1).map(|left| firsts[left].abs());
        let right = lasts.get(first).map(|last| last.abs());
        match (left, right) {
            (Some(left), Some(right)) => left.min(right),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => 0.0,
        }
    }

    /// Returns the largest value; None without values.
    pub(crate) fn max(&self) -> Option<f64> {
        self.sorted.last().copied()
    }

    fn rank(&self, value: f64) -> usize {
        self.sorted
            .partition_point(|known| known.total_cmp(&value).is_lt())
    }
}

/// Returns the value of rank ceil((n + 1) level) among n ascending ones: the next value is at most
/// this with probability `level` if all orders are equally likely. Ranks are interpolated; beyond
/// the last rank the result is the last value. None without values.
fn conformal(sorted: &[f64], level: f64) -> Option<f64> {
    let place = ConformalPlace::of(sorted.len().checked_sub(1)?, level);
    Some(place.between(sorted[place.below], sorted[place.above]))
}

/// The place of a conformal quantile among values in order of size.
#[derive(Clone, Copy, Debug)]
struct ConformalPlace {
    /// The index of the value below.
    below: usize,
    /// The index of the value above; the same if there is none.
    above: usize,
    /// The part of the way from the value below to the value above.
    part: f64,
}

impl ConformalPlace {
    /// Returns the place of the quantile at `level` among values of which the last has the index
    /// `last`.
    #[inline]
    fn of(last: usize, level: f64) -> Self {
        let rank = ((last + 2) as f64 * level - 1.0).clamp(0.0, last as f64);
        let below = rank as usize;
        Self {
            below,
            above: (below + 1).min(last),
            part: rank - below as f64,
        }
    }

    #[inline]
    fn between(self, below: f64, above: f64) -> f64 {
        below + (above - below) * self.part
    }
}

/// Returns the number of indices below `n` for which `is_before` holds, which come before all others.
fn partition_point(n: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl<const N: usize> From<Vec<f64>> for RollingWindow<N> {
    fn from(values: Vec<f64>) -> Self {
        let mut window = Self::default();
        for value in values {
            window.push(value);
        }
        window
    }
}

impl<const N: usize> From<RollingWindow<N>> for Vec<f64> {
    fn from(window: RollingWindow<N>) -> Self {
        window.arrived().to_vec()
    }
}

impl<const N: usize> PartialEq for RollingWindow<N> {
    fn eq(&self, other: &Self) -> bool {
        self.arrived() == other.arrived()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_conformal_rank_counts_the_next_value() {
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(conformal(&nine, 0.5), Some(5.0));
        assert_eq!(conformal(&nine, 0.9), Some(9.0));
        assert_eq!(conformal(&nine, 0.99), Some(9.0));
        assert_eq!(conformal(&nine, 0.05), Some(1.0));
        assert_eq!(conformal(&[], 0.5), None);
    }

    proptest! {
        #[test]
        fn magnitudes_have_the_quantile_of_sorted_absolute_values(
            values in prop::collection::vec(-9.0..9.0f64, 0..40),
            from in prop::sample::select(vec![-20.0, -4.0, 0.0, 20.0]),
            is_rounded: bool,
            level in 0.0..=1.0f64,
        ) {
            let value = |value: &f64| from + if is_rounded { value.round() } else { *value };
            let window = RollingWindow::<30>::from(values.iter().map(value).collect::<Vec<f64>>());
            let mut sizes: Vec<f64> = window.arrived().iter().map(|value| value.abs()).collect();
            sizes.sort_by(f64::total_cmp);
            prop_assert_eq!(window.magnitude_quantile(level), conformal(&sizes, level));
        }

        #[test]
        fn quantiles_are_those_of_each_level(values in prop::collection::vec(-9.0..9.0f64, 0..40)) {
            let window = RollingWindow::<30>::from(values);
            let each = LEVELS.map(|level| window.quantile(level.as_f64()));
            prop_assert_eq!(window.quantiles().map(|all| all.map(Some)), each[0].map(|_| each));
        }

        #[test]
        fn both_orders_hold_the_same_values(values in prop::collection::vec(any::<f64>(), 0..40)) {
            let window = RollingWindow::<7>::from(values.clone());
            let finite: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
            let mut kept = finite[finite.len().saturating_sub(7)..].to_vec();
            prop_assert_eq!(window.arrived(), &kept[..]);
            kept.sort_by(f64::total_cmp);
            prop_assert_eq!(&window.sorted, &kept);
        }
    }
}

//! The most recent values of a series, in order of arrival and in order of size.

use serde::{Deserialize, Serialize};

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
pub(crate) fn conformal(sorted: &[f64], level: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = conformal_rank(sorted.len(), level);
    let below = rank as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (rank - below as f64))
}

/// Returns the index of the conformal rank among `n` values, at least one, with its fraction.
fn conformal_rank(n: usize, level: f64) -> f64 {
    ((n + 1) as f64 * level - 1.0).clamp(0.0, (n - 1) as f64)
}

/// Returns what [`conformal`] returns of the same values in ascending order, and reorders them.
pub(crate) fn conformal_unsorted(values: &mut [f64], level: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let below = conformal_rank(values.len(), level) as usize;
    let (_, _, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    if below < last {
        above.select_nth_unstable_by(0, f64::total_cmp);
    }
    // The two values that count are in their places.
    conformal(values, level)
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
        fn selection_and_sorting_give_the_same_quantile(
            values in prop::collection::vec(-9.0..9.0f64, 0..40),
            level in 0.0..=1.0f64,
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let mut unsorted = values;
            prop_assert_eq!(conformal_unsorted(&mut unsorted, level), conformal(&sorted, level));
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

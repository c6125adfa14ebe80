//! Means and medians of the most recent values.

/// Maximum number of values whose median is taken without an allocation: that of the experts.
const MAX_RECENT: usize = 20;

/// Returns the mean of the last `n` values, or of all if there are fewer; None without values.
pub fn mean_of_last(values: &[f64], n: usize) -> Option<f64> {
    let recent = last(values, n);
    (!recent.is_empty()).then(|| recent.iter().sum::<f64>() / recent.len() as f64)
}

/// Returns the median of the last `n` values, or of all if there are fewer; the mean of the middle
/// two if their number is even; None without values.
pub fn median_of_last(values: &[f64], n: usize) -> Option<f64> {
    let mut recent = [0.0; MAX_RECENT];
    let values = last(values, n);
    match recent.get_mut(..values.len()) {
        Some(recent) => {
            recent.copy_from_slice(values);
            median(recent)
        }
        None => median(&mut values.to_vec()),
    }
}

/// Returns the median of `values`, reordering them; None without values.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(lower + (upper - lower) / 2.0)
}

fn last(values: &[f64], n: usize) -> &[f64] {
    &values[values.len().saturating_sub(n)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recent_values_count() {
        let values = [100.0, 1.0, 9.0, 2.0];
        assert_eq!(mean_of_last(&values, 2), Some(5.5));
        assert_eq!(median_of_last(&values, 3), Some(2.0));
        assert_eq!(median_of_last(&values, 4), Some(5.5));
        assert_eq!(median_of_last(&values, 9), Some(5.5));
        assert_eq!(median_of_last(&[], 3), None);
        assert_eq!(mean_of_last(&[], 3), None);
    }
}

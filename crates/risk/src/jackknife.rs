//! The uncertainty of a figure over a stretch of time, from what it is without each part of that time.

use crate::bootstrap::Interval;

/// The fewest parts from which an interval is taken.
pub const MIN_PARTS: usize = 3;
/// The most parts: more make an interval no better, and cost a measurement each.
pub const MAX_PARTS: usize = 12;

/// The quantile at 0.975 of Student's t, from `MIN_PARTS` - 1 to `MAX_PARTS` - 1 degrees of freedom.
const STUDENT: [f64; MAX_PARTS - MIN_PARTS + 1] = [
    4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
];

/// Returns the interval at 95 % around a figure, from what it is `without` each of some parts of equal length. This is the
/// jackknife of Efron & Stein (1981), with Student's t for the few parts. None unless there are [`MIN_PARTS`] to
/// [`MAX_PARTS`] of them.
///
/// The figure must be a mean or a ratio, which leaves its size as it is where a part is left out; a sum is not.
pub fn jackknife(figure: f64, without: &[f64]) -> Option<Interval> {
    let student = STUDENT.get(without.len().checked_sub(MIN_PARTS)?)?;
    let n_parts = without.len() as f64;
    let centre = without.iter().sum::<f64>() / n_parts;
    let squares: f64 = without.iter().map(|one| (one - centre).powi(2)).sum();
    let half = student * ((n_parts - 1.0) / n_parts * squares).sqrt();
    Some(Interval {
        low: figure - half,
        high: figure + half,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the means of `values` without each of them.
    fn means_without(values: &[f64]) -> Vec<f64> {
        let sum: f64 = values.iter().sum();
        let others = (values.len() - 1) as f64;
        values.iter().map(|value| (sum - value) / others).collect()
    }

    proptest! {
        /// Of a mean, the jackknife is the textbook's interval: the standard deviation over the root of the number.
        #[test]
        fn interval_of_a_mean_is_that_of_student(values in prop::collection::vec(-100.0..100.0f64, MIN_PARTS..=MAX_PARTS)) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let interval = jackknife(mean, &means_without(&values)).unwrap();
            let half = STUDENT[values.len() - MIN_PARTS] * (variance / n).sqrt();
            prop_assert!((interval.high - mean - half).abs() < 1e-9, "{} {}", interval.high - mean, half);
            prop_assert!((mean - interval.low - half).abs() < 1e-9);
        }
    }

    #[test]
    fn too_few_and_too_many_parts_give_no_interval() {
        assert_eq!(jackknife(1.0, &[1.0; MIN_PARTS - 1]), None);
        assert_eq!(jackknife(1.0, &[1.0; MAX_PARTS + 1]), None);
        assert!(jackknife(1.0, &[1.0; MIN_PARTS]).is_some());
    }
}

//! Long autoregressions by the equations of Yule and Walker.

use crate::side_by_side::SideBySide;

/// Returns the shocks of an autoregression of `order` by Yule-Walker; zero for the first `order`. There
/// are at least [`super::MIN_POINTS`] values, four times as many as the order.
pub(super) fn long_shocks(centred: &[f64], order: usize) -> Option<Vec<f64>> {
    let coefficients = yule_walker(centred, order)?;
    let n = centred.len();
    let mut shocks = vec![0.0; n];
    // Blocks of neighbouring shocks side by side; the last block overlaps the one before.
    for first in (order..n).step_by(SIDE_BY_SIDE) {
        let first = first.min(n - SIDE_BY_SIDE);
        let mut expected = NO_TERMS;
        let past = &centred[first - order..first + SIDE_BY_SIDE - 1];
        let latest_first = past.array_windows::<SIDE_BY_SIDE>().rev();
        for (coefficient, past) in coefficients.iter().zip(latest_first) {
            expected = expected + SideBySide::all(*coefficient) * SideBySide(*past);
        }
        let values = centred[first..].iter().zip(expected.0);
        for (shock, (value, expected)) in shocks[first..].iter_mut().zip(values) {
            *shock = value - expected;
        }
    }
    Some(shocks)
}

/// Number of sums that are computed side by side: as many as hide how long an addition takes.
const SIDE_BY_SIDE: usize = 8;
/// Sums without terms: the neutral element is -0.0, as for an iterator's.
const NO_TERMS: SideBySide<SIDE_BY_SIDE> = SideBySide::all(-0.0);

/// Returns the autocovariances at the lags from 0 to `order`.
fn autocovariances(centred: &[f64], order: usize) -> Vec<f64> {
    let n = centred.len();
    // Products with the zeros at the end change no sum.
    let mut padded = centred.to_vec();
    padded.resize(n + order + SIDE_BY_SIDE, 0.0);
    let blocks = (0..=order).step_by(SIDE_BY_SIDE).map(|first| {
        let mut sums = NO_TERMS;
        for (value, later) in centred.iter().zip(padded[first..].array_windows()) {
            sums = sums + SideBySide(*later) * SideBySide::all(*value);
        }
        sums.0.map(|sum| sum / n as f64)
    });
    let mut covariances = blocks
        .collect::<Vec<[f64; SIDE_BY_SIDE]>>()
        .into_flattened();
    covariances.truncate(order + 1);
    covariances
}

/// Computes autoregressive coefficients by the Levinson-Durbin recursion. None for a constant
/// series.
fn yule_walker(centred: &[f64], order: usize) -> Option<Vec<f64>> {
    let covariance = autocovariances(centred, order);
    let mut error = covariance[0];
    let mut coefficients = Vec::with_capacity(order);
    let mut mirrored = Vec::with_capacity(order);
    for k in 0..order {
        if error <= covariance[0] * f64::EPSILON {
            return None;
        }
        let explained: f64 = (0..k).map(|j| coefficients[j] * covariance[k - j]).sum();
        let reflection = (covariance[k + 1] - explained) / error;
        mirrored.clear();
        mirrored.extend(coefficients.iter().rev());
        for (coefficient, mirror) in coefficients.iter_mut().zip(&mirrored) {
            *coefficient -= reflection * mirror;
        }
        coefficients.push(reflection);
        error *= 1.0 - reflection * reflection;
    }
    Some(coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_side_by_side_are_those_of_each_alone(
            centred in prop::collection::vec(-9.0..9.0f64, 40..=100),
            part in 0.0..=1.0f64,
        ) {
            let order = 1 + (part * (centred.len() / 4 - 1) as f64) as usize;
            let covariances: Vec<f64> = (0..=order)
                .map(|lag| {
                    let pairs = centred[lag..].iter().zip(&centred);
                    pairs.map(|(later, value)| later * value).sum::<f64>() / centred.len() as f64
                })
                .collect();
            prop_assert_eq!(autocovariances(&centred, order), covariances);
            let coefficients = yule_walker(&centred, order).unwrap();
            let shock = |t: usize| {
                let past = centred[t - order..t].iter().rev();
                let expected: f64 = coefficients.iter().zip(past).map(|(c, x)| c * x).sum();
                centred[t] - expected
            };
            let shocks: Vec<f64> = (0..centred.len())
                .map(|t| if t < order { 0.0 } else { shock(t) })
                .collect();
            prop_assert_eq!(long_shocks(&centred, order), Some(shocks));
        }
    }
}

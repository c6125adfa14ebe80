//! Polynomial trends by least squares.

/// Number of values to which a trend is fitted (Lazarevic et al. 2005, §4).
pub const TREND_POINTS: usize = 10;

/// Fits polynomials of the orders 0 to 3 to the last [`TREND_POINTS`] values at x = 0, 1, .., and
/// evaluates each one step further. With n values no order is above n - 1; None without values.
///
/// The fit is a projection on the Gram polynomials of n equidistant points, which are orthogonal:
/// p(k+1) = (x - m) p(k) - b(k) p(k-1) with b(k) = k² (n² - k²) / (4 (4k² - 1)).
pub fn trends(values: &[f64]) -> Option<[f64; 4]> {
    let recent = &values[values.len().saturating_sub(TREND_POINTS)..];
    let n = recent.len();
    let highest = n.checked_sub(1)?;
    let points = n as f64;
    let middle = (points - 1.0) / 2.0;
    let mut before = [0.0; TREND_POINTS + 1];
    let mut present = [1.0; TREND_POINTS + 1];
    let mut sum = 0.0;
    let mut ahead = [0.0; 4];
    for (k, ahead) in ahead.iter_mut().enumerate() {
        if k > highest {
            *ahead = sum;
            continue;
        }
        let known = &present[..n];
        let dot: f64 = known.iter().zip(recent).map(|(p, y)| p * y).sum();
        let norm: f64 = known.iter().map(|p| p * p).sum();
        sum += present[n] * dot / norm;
        *ahead = sum;
        let square = (k * k) as f64;
        let b = square * (points * points - square) / (4.0 * (4.0 * square - 1.0));
        for x in 0..=n {
            let next = (x as f64 - middle) * present[x] - b * before[x];
            before[x] = present[x];
            present[x] = next;
        }
    }
    Some(ahead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expert::SAMPLE;

    #[test]
    fn orders_0_to_3_on_ten_points() {
        for (order, expected) in [
            (0, 364.8),
            (1, 759.2),
            (2, 749.283_333_333),
            (3, 370.133_333_333),
        ] {
            let ahead = trends(&SAMPLE).unwrap()[order];
            assert!((ahead - expected).abs() < 1e-6, "order {order}: {ahead}");
        }
    }

    #[test]
    fn the_weights_of_a_cubic_are_known() {
        let weights = [
            -0.4,
            0.8 / 3.0,
            1.3 / 3.0,
            0.8 / 3.0,
            -0.2 / 3.0,
            -0.4,
            -1.7 / 3.0,
            -0.4,
            0.8 / 3.0,
            1.6,
        ];
        for (place, weight) in weights.into_iter().enumerate() {
            let mut impulse = [0.0; TREND_POINTS];
            impulse[place] = 1.0;
            assert!((trends(&impulse).unwrap()[3] - weight).abs() < 1e-9);
        }
    }

    #[test]
    fn few_values_lower_the_order() {
        assert_eq!(trends(&[]), None);
        assert_eq!(trends(&[5.0]), Some([5.0; 4]));
        assert!((trends(&[5.0, 7.0]).unwrap()[3] - 9.0).abs() < 1e-9);
    }
}

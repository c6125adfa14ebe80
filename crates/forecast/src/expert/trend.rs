//! Polynomial trends by least squares.

/// Number of values to which a trend is fitted (Lazarevic et al. 2005, §4).
pub const TREND_POINTS: usize = 10;

/// Fits polynomials of the orders 0 to 3 to the last [`TREND_POINTS`] values at x = 0, 1, .., and
/// evaluates each one step further. With n values no order is above n - 1; None without values.
///
/// The fit is a projection on the Gram polynomials of n equidistant points, which are orthogonal.
pub fn trends(values: &[f64]) -> Option<[f64; N_ORDERS]> {
    let recent = &values[values.len().saturating_sub(TREND_POINTS)..];
    let n = recent.len();
    let highest = n.checked_sub(1)?;
    let mut sum = 0.0;
    let mut ahead = [0.0; N_ORDERS];
    for (k, (ahead, polynomial)) in ahead.iter_mut().zip(&GRAM[n]).enumerate() {
        if k <= highest {
            let known = &polynomial.values[..n];
            let dot: f64 = known.iter().zip(recent).map(|(p, y)| p * y).sum();
            sum += polynomial.values[n] * dot / polynomial.norm;
        }
        *ahead = sum;
    }
    Some(ahead)
}

/// Number of orders of polynomials.
const N_ORDERS: usize = 4;

/// A polynomial at equidistant points.
#[derive(Clone, Copy)]
struct GramPolynomial {
    /// The values at x = 0, 1, .., n.
    values: [f64; TREND_POINTS + 1],
    /// The sum of the squares of the first n values.
    norm: f64,
}

/// The Gram polynomials of n points, by n and order.
static GRAM: [[GramPolynomial; N_ORDERS]; TREND_POINTS + 1] = gram_polynomials();

/// Computes the polynomials: p(k+1) = (x - m) p(k) - b(k) p(k-1) with
/// b(k) = k² (n² - k²) / (4 (4k² - 1)).
const fn gram_polynomials() -> [[GramPolynomial; N_ORDERS]; TREND_POINTS + 1] {
    let none = GramPolynomial {
        values: [0.0; TREND_POINTS + 1],
        norm: 0.0,
    };
    let mut all = [[none; N_ORDERS]; TREND_POINTS + 1];
    let mut n = 1;
    while n <= TREND_POINTS {
        let points = n as f64;
        let middle = (points - 1.0) / 2.0;
        let mut before = [0.0; TREND_POINTS + 1];
        let mut values = [1.0; TREND_POINTS + 1];
        let mut k = 0;
        while k < N_ORDERS {
            let square = (k * k) as f64;
            let b = square * (points * points - square) / (4.0 * (4.0 * square - 1.0));
            let (mut next, mut norm) = (values, 0.0);
            let mut x = 0;
            while x <= n {
                next[x] = (x as f64 - middle) * values[x] - b * before[x];
                if x < n {
                    norm += values[x] * values[x];
                }
                x += 1;
            }
            all[n][k] = GramPolynomial { values, norm };
            (before, values) = (values, next);
            k += 1;
        }
        n += 1;
    }
    all
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

//! How fast a core of a site is, by a short computation.

use std::fmt;
use std::hint::black_box;
use std::time::Instant as MonotonicInstant;

use serde::{Deserialize, Serialize};

/// The number of rows and columns of the matrices that are multiplied: they stay in the first cache.
const SIZE: usize = 32;
/// The number of multiplications of a run: about a tenth of a second.
const PRODUCTS: usize = 2000;
/// The number of runs. The fastest counts: the others may have been disturbed.
const RUNS: usize = 5;

/// The speed of a core, in millions of floating-point operations a second: the normalised FLOPS rate F of Walker (2009).
///
/// Only ratios between sites count. A site that was never measured counts as one with 1 GFLOPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CoreSpeed(u64);

/// The speed of a core that was never measured.
impl Default for CoreSpeed {
    fn default() -> Self {
        Self::UNMEASURED
    }
}

impl CoreSpeed {
    /// The speed of a core that was never measured.
    pub const UNMEASURED: Self = Self(1000);

    /// Measures a core of this host. Takes about half a second.
    pub fn measure() -> Self {
        let operations = (2 * PRODUCTS * SIZE * SIZE * SIZE) as f64;
        let seconds = (0..RUNS).map(|_| {
            let began = MonotonicInstant::now();
            black_box(multiply());
            began.elapsed().as_secs_f64()
        });
        let fastest = seconds.fold(f64::INFINITY, f64::min);
        // The conversion saturates.
        Self(((operations / fastest / 1e6) as u64).max(1))
    }

    /// Returns the speed that a probe printed, in MFLOPS. None if it is no positive whole number.
    pub fn parse(text: &str) -> Option<Self> {
        let speed: u64 = text.trim().parse().ok()?;
        (speed > 0).then_some(Self(speed))
    }

    /// Returns the millions of operations a second; positive.
    pub const fn as_mflops(self) -> u64 {
        self.0
    }

    /// Returns the billions of operations a second; positive.
    pub fn as_gflops(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// `2.31 GFLOPS`.
impl fmt::Display for CoreSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} GFLOPS", self.as_gflops())
    }
}

/// Multiplies matrices again and again, each product by the same factor.
fn multiply() -> [[f64; SIZE]; SIZE] {
    let factor = black_box([[1.0 / SIZE as f64; SIZE]; SIZE]);
    let mut product = black_box([[1.0; SIZE]; SIZE]);
    for _ in 0..PRODUCTS {
        let mut next = [[0.0; SIZE]; SIZE];
        for (to, from) in next.iter_mut().zip(&product) {
            for (value, row) in from.iter().zip(&factor) {
                for (sum, entry) in to.iter_mut().zip(row) {
                    *sum += value * entry;
                }
            }
        }
        product = next;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computation_is_the_one_that_is_counted() {
        // Each product with a matrix of equal entries 1/n keeps a matrix of ones.
        let product = multiply();
        assert!(
            product
                .iter()
                .flatten()
                .all(|entry| (entry - 1.0).abs() < 1e-9)
        );
    }

    #[test]
    fn measured_speed_is_read_back() {
        let speed = CoreSpeed::measure();
        assert_eq!(
            CoreSpeed::parse(&speed.as_mflops().to_string()),
            Some(speed)
        );
        for text in ["", "fast", "0", "-1", "1.5"] {
            assert_eq!(CoreSpeed::parse(text), None, "{text}");
        }
        assert_eq!(CoreSpeed(2310).to_string(), "2.31 GFLOPS");
    }
}

//! Numbers that are computed side by side.

use std::ops::{Add, Mul, Sub};

/// The values of one variable in `N` independent computations with the same steps. Each value is
/// rounded as if it were computed alone, but a processor works on several at once.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide<const N: usize>(pub [f64; N]);

impl<const N: usize> SideBySide<N> {
    /// Returns the same value for each computation.
    pub const fn all(value: f64) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    fn zip(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let mut values = self.0;
        for (value, other) in values.iter_mut().zip(other.0) {
            *value = of(*value, other);
        }
        Self(values)
    }
}

impl<const N: usize> Add for SideBySide<N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl<const N: usize> Sub for SideBySide<N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl<const N: usize> Mul for SideBySide<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

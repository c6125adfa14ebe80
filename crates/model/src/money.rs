//! Money as fixed-point numbers of millionths.
//!
//! Prices are computed in `f64` inside a pricing function and rounded once, here.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::{Deserialize, Serialize};

use crate::time::{Span, fmt_fixed};

const MICROS_PER_CREDIT: f64 = 1e6;

/// An amount of money; negative where the provider pays.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Credits(i64);

/// A rate of money over time: the cost of one second of delay.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct CreditsPerSecond(i64);

impl Credits {
    /// Zero credits.
    pub const ZERO: Self = Self(0);

    /// Returns the amount nearest to `credits`, saturating. NaN gives zero.
    pub fn from_f64(credits: f64) -> Self {
        Self(micros_of(credits))
    }

    /// Returns an amount in millionths of a credit.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the amount in millionths of a credit.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the amount in credits.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_CREDIT
    }

    /// Returns the amount `n` times, saturating.
    #[must_use]
    pub const fn times(self, n: u32) -> Self {
        Self(self.0.saturating_mul(n as i64))
    }
}

impl CreditsPerSecond {
    /// No penalty.
    pub const ZERO: Self = Self(0);

    /// Returns the rate nearest to `rate` credits per second, saturating. NaN gives zero.
    pub fn from_f64(rate: f64) -> Self {
        Self(micros_of(rate))
    }

    /// Returns the rate in credits per second.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_CREDIT
    }

    /// Returns the cost of `span` at this rate, rounded to the nearest millionth, saturating.
    pub fn times(self, span: Span) -> Credits {
        let picos = i128::from(self.0) * i128::from(span.as_micros());
        let half = if picos < 0 { -500_000 } else { 500_000 };
        let micros = (picos + half) / 1_000_000;
        Credits(micros.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }
}

/// Returns the nearest number of millionths, saturating; 0 for NaN. Of an amount of up to 2^52 millionths
/// that was turned into credits it returns the very number, although above 10^9 credits both steps round.
fn micros_of(credits: f64) -> i64 {
    let nearest = (credits * MICROS_PER_CREDIT).round() as i64;
    let near = [
        nearest,
        nearest.saturating_sub(1),
        nearest.saturating_add(1),
    ];
    let exact = |&micros: &i64| micros as f64 / MICROS_PER_CREDIT == credits;
    near.into_iter().find(exact).unwrap_or(nearest)
}

impl Add for Credits {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Credits {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Credits {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Credits {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Add for CreditsPerSecond {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for CreditsPerSecond {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Credits {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// Writes credits with as many decimals as are needed, at most six.
impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_fixed(self.0, f)
    }
}

/// Writes credits per second with as many decimals as are needed, at most six.
impl fmt::Display for CreditsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_fixed(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_survives_the_way_through_a_floating_point_number() {
        for micros in [
            4_294_967_296_100_001,
            -4_294_967_296_100_001,
            (1 << 52) - 1,
            1,
        ] {
            let amount = Credits::from_micros(micros);
            assert_eq!(Credits::from_f64(amount.as_f64()), amount);
        }
        assert_eq!(Credits::from_f64(f64::NAN), Credits::ZERO);
        assert_eq!(Credits::from_f64(f64::INFINITY).as_micros(), i64::MAX);
    }

    #[test]
    fn a_rate_over_a_span_is_rounded_once() {
        let rate = CreditsPerSecond::from_f64(4.0);
        assert_eq!(rate.times(Span::from_secs(8)), Credits::from_f64(32.0));
        let tiny = CreditsPerSecond::from_f64(0.000001);
        assert_eq!(tiny.times(Span::from_micros(499_999)), Credits::ZERO);
        assert_eq!(
            tiny.times(Span::from_micros(500_000)),
            Credits::from_micros(1)
        );
        assert_eq!(
            tiny.times(Span::from_micros(-500_000)),
            Credits::from_micros(-1)
        );
    }

    #[test]
    fn absurd_amounts_saturate() {
        let rate = CreditsPerSecond::from_f64(f64::INFINITY);
        assert_eq!(rate.times(Span::MAX), Credits::from_micros(i64::MAX));
        assert_eq!(Credits::from_f64(f64::NAN), Credits::ZERO);
    }
}

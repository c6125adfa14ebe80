//! Instants and spans as integer microseconds.
//!
//! Arithmetic saturates at the ends of the range (about 292,000 years either way), so that an
//! absurd estimate can never wrap around into the past.

use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::{Deserialize, Serialize};

const MICROS_PER_SECOND: i64 = 1_000_000;

/// A point in time: microseconds since the origin of the workload (or of the Unix epoch, live).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Instant(i64);

/// A length of time in microseconds; may be negative where a difference is meant.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span(i64);

impl Instant {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// The last instant, later than any event.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns the instant `micros` microseconds after the origin.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the instant `secs` whole seconds after the origin, saturating.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(MICROS_PER_SECOND))
    }

    /// Returns the microseconds since the origin.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the seconds since the origin.
    pub fn as_secs_f64(self) -> f64 {
        Span(self.0).as_secs_f64()
    }

    /// Returns the span from `earlier` to `self`; negative if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of zero length.
    pub const ZERO: Self = Self(0);
    /// The smallest step of the clock, 1 microsecond. Comparisons of times that were computed from
    /// real numbers allow a job this much.
    pub const TICK: Self = Self(1);
    /// The longest span.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns a span of `micros` microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns a span of `secs` whole seconds, saturating.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(MICROS_PER_SECOND))
    }

    /// Returns the span nearest to `secs` seconds, saturating. NaN gives zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        let micros = secs * MICROS_PER_SECOND as f64;
        // As `f64::round`, which is a library call on the oldest supported processors: the cast
        // truncates towards zero, and the rest is exact.
        let whole = micros as i64;
        let rest = micros - whole as f64;
        let away = i64::from(rest >= 0.5) - i64::from(rest <= -0.5);
        Self(whole.saturating_add(away))
    }

    /// Returns the shortest span that is not below `secs` seconds, saturating. NaN gives zero.
    ///
    /// Instants of events that follow from real-valued work are rounded this way, so the work is
    /// certainly done by then.
    pub fn ceil_secs_f64(secs: f64) -> Self {
        let micros = secs * MICROS_PER_SECOND as f64;
        // The cast truncates towards zero. `f64::ceil` is a library call on the oldest supported
        // processors, and this function is in the innermost loop of the time-shared policies.
        let whole = micros as i64;
        Self(whole.saturating_add(i64::from(micros > whole as f64)))
    }

    /// Returns the span in microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND as f64
    }

    /// Returns the span `n` times, saturating.
    #[must_use]
    pub const fn times(self, n: u32) -> Self {
        Self(self.0.saturating_mul(n as i64))
    }

    /// Returns how many whole spans of this length, which is positive, are in `whole`: 0 if that is negative.
    pub fn number_in(self, whole: Self) -> u32 {
        u32::try_from((whole.0 / self.0).max(0)).unwrap_or(u32::MAX)
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

/// Writes seconds with as many decimals as are needed, at most six: `12`, `14.5`, `-0.000001`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_fixed(self.0, f)
    }
}

/// Writes the seconds since the origin in the format of a [`Span`].
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_fixed(self.0, f)
    }
}

/// Writes a count of millionths as a decimal number without trailing zeros.
pub(crate) fn fmt_fixed(millionths: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let magnitude = millionths.unsigned_abs();
    let (whole, fraction) = (magnitude / 1_000_000, magnitude % 1_000_000);
    let sign = if millionths < 0 { "-" } else { "" };
    if fraction == 0 {
        return write!(f, "{sign}{whole}");
    }
    let digits = format!("{fraction:06}");
    write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_are_written_without_trailing_zeros() {
        for (micros, text) in [
            (0, "0"),
            (12_000_000, "12"),
            (14_500_000, "14.5"),
            (1, "0.000001"),
            (-1, "-0.000001"),
            (-2_250_000, "-2.25"),
        ] {
            assert_eq!(Span::from_micros(micros).to_string(), text);
        }
    }

    #[test]
    fn absurd_times_saturate() {
        assert_eq!(Instant::MAX + Span::from_secs(1), Instant::MAX);
        assert_eq!(Span::from_secs(i64::MAX), Span::MAX);
        assert_eq!(Span::from_secs_f64(f64::INFINITY), Span::MAX);
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
        assert_eq!(-Span::from_micros(i64::MIN), Span::MAX);
    }

    proptest! {
        #[test]
        fn rounding_up_never_undershoots(secs in 0.0..1e9f64) {
            let up = Span::ceil_secs_f64(secs).as_secs_f64();
            prop_assert!(up >= secs * (1.0 - 1e-15));
            prop_assert!(up - secs < 1.1e-6);
        }

        #[test]
        fn writing_and_reading_agree(micros in -4_000_000_000_000_000i64..4_000_000_000_000_000) {
            let text = Span::from_micros(micros).to_string();
            let read: f64 = text.parse().unwrap();
            prop_assert_eq!(Span::from_secs_f64(read), Span::from_micros(micros));
        }
    }
}

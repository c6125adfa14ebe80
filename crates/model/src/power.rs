//! Electrical power and energy.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use crate::time::Span;

/// What a computer draws, in watts; finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Watts(pub f64);

/// An amount of energy. Internally joules; may be negative where a difference is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Energy {
    joules: f64,
}

/// What a computer draws in each of its states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// While a user or a task is there.
    pub active: Watts,
    /// For a while after that.
    pub idle: Watts,
    /// Until somebody wakes it again.
    pub asleep: Watts,
}

impl Watts {
    /// The energy drawn in `span`.
    pub fn during(self, span: Span) -> Energy {
        Energy {
            joules: self.0 * span.as_secs_f64(),
        }
    }
}

impl Energy {
    /// None.
    pub const ZERO: Self = Self { joules: 0.0 };

    /// `kwh` kilowatt hours.
    pub const fn from_kwh(kwh: f64) -> Self {
        Self {
            joules: kwh * 3.6e6,
        }
    }

    /// In kilowatt hours.
    pub const fn as_kwh(self) -> f64 {
        self.joules / 3.6e6
    }

    /// In megawatt hours.
    pub const fn as_mwh(self) -> f64 {
        self.joules / 3.6e9
    }
}

impl Add for Energy {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            joules: self.joules + other.joules,
        }
    }
}

impl AddAssign for Energy {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Energy {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            joules: self.joules - other.joules,
        }
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(energies: I) -> Self {
        energies.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_watts_for_an_hour_are_a_kilowatt_hour() {
        let energy = Watts(1000.0).during(Span::from_secs(3600));
        assert_eq!(energy, Energy::from_kwh(1.0));
        assert_eq!(energy.as_kwh(), 1.0);
        assert_eq!(energy.as_mwh(), 0.001);
        assert_eq!(energy - energy, Energy::ZERO);
    }
}

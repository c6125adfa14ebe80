//! Electrical power and energy.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// A power draw in watts; finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Watts(pub f64);

/// An amount of energy, stored in joules. Negative where a difference is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Energy {
    joules: f64,
}

/// The power draw of a computer in each of its states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// Power while a user or a task is present.
    pub active: Watts,
    /// Power for a while after the last use.
    pub idle: Watts,
    /// Power while the computer sleeps, until it is woken.
    pub asleep: Watts,
}

impl Power {
    /// The usual desktop of McGough, Forshaw, Gerrard and Wheater (2013), Table I, class "normal".
    pub const OF_DESKTOP: Self = Self {
        active: Watts(57.0),
        idle: Watts(40.0),
        asleep: Watts(2.0),
    };
}

impl Watts {
    /// Returns the energy drawn in `span`.
    pub fn during(self, span: Span) -> Energy {
        Energy {
            joules: self.0 * span.as_secs_f64(),
        }
    }
}

impl Energy {
    /// Zero energy.
    pub const ZERO: Self = Self { joules: 0.0 };

    /// Returns an energy of `kwh` kilowatt hours.
    pub const fn from_kwh(kwh: f64) -> Self {
        Self {
            joules: kwh * 3.6e6,
        }
    }

    /// Returns the energy in kilowatt hours.
    pub const fn as_kwh(self) -> f64 {
        self.joules / 3.6e6
    }

    /// Returns the energy in megawatt hours.
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

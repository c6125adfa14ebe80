//! Places axis marks at a few round numbers.

use std::ops::RangeInclusive;

/// The maximum magnitude of numbers that are drawn. Differences of larger numbers could overflow,
/// and no measured value comes near this limit.
pub(crate) const MAX_MAGNITUDE: f64 = 1e100;

/// The minimum width of an axis, as a fraction of its largest number. Numbers closer together
/// differ only by rounding, and steps between them could not be told apart.
const MIN_RELATIVE_WIDTH: f64 = 1e-9;

/// The maximum distance from a multiple at which a number counts as this multiple, as a fraction of
/// a step. 0.3 / 0.05 is a little below 6. On a page the difference is invisible.
const ROUNDING: f64 = 1e-6;

/// The decimal exponents of numbers that are written out. Numbers outside are written as 2e7.
const PLAIN_EXPONENTS: RangeInclusive<i32> = -5..=6;

/// A distance between marks, which is 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickStep {
    mantissa: i64,
    exponent: i32,
}

impl TickStep {
    /// Returns the smallest step with at most `most` multiples in `low..=high`. `most` is at least
    /// 2, and the range is a result of [`widened`].
    pub fn for_range(low: f64, high: f64, most: usize) -> Self {
        let least = (high - low) / (most.max(2) as f64);
        let exponent = least.log10().floor() as i32 - 1;
        let finer_first =
            (exponent..).flat_map(|exponent| [1, 2, 5].map(|mantissa| Self { mantissa, exponent }));
        finer_first
            .into_iter()
            .find(|step| step.indices(low, high).count() <= most.max(2))
            .expect("steps grow without end")
    }

    /// Returns the power of ten at most as large as the magnitude of a value; 1 for the value 0.
    pub fn decade(value: f64) -> Self {
        let exponent = match value.abs() {
            0.0 => 0,
            magnitude => (magnitude * (1.0 + ROUNDING)).log10().floor() as i32,
        };
        Self {
            mantissa: 1,
            exponent,
        }
    }

    /// Returns the `index`-th multiple. The computation is a single division or multiplication by
    /// an exact power of ten if such a power exists, so that the third multiple of 0.1 is 0.3.
    pub fn at(self, index: i64) -> f64 {
        let count = (index * self.mantissa) as f64;
        if self.exponent < 0 {
            count / 10f64.powi(-self.exponent)
        } else {
            count * 10f64.powi(self.exponent)
        }
    }

    /// Returns the multiples within `low..=high`, ascending.
    pub fn within(self, low: f64, high: f64) -> Vec<f64> {
        self.indices(low, high)
            .map(|index| self.at(index))
            .collect()
    }

    /// Returns the nearest multiples around `low` and `high`, so that both values lie between them.
    pub fn around(self, low: f64, high: f64) -> (f64, f64) {
        let unit = self.at(1);
        let below = (low / unit + ROUNDING).floor() as i64;
        let above = (high / unit - ROUNDING).ceil() as i64;
        (self.at(below), self.at(above))
    }

    /// Formats a multiple with the decimals of the step and with separated thousands.
    pub fn label(self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let sign = if value < 0.0 { "\u{2212}" } else { "" };
        let magnitude = value.abs();
        let exponent = magnitude.log10().floor() as i32;
        if !PLAIN_EXPONENTS.contains(&exponent) || !PLAIN_EXPONENTS.contains(&self.exponent) {
            let decimals = (exponent - self.exponent).clamp(0, 12) as usize;
            return format!("{sign}{magnitude:.decimals$e}");
        }
        let decimals = (-self.exponent).max(0) as usize;
        format!("{sign}{}", thousands(&format!("{magnitude:.decimals$}")))
    }

    /// Returns a step a hundred times smaller.
    pub(crate) fn hundredth(self) -> Self {
        Self {
            exponent: self.exponent - 2,
            ..self
        }
    }

    fn indices(self, low: f64, high: f64) -> RangeInclusive<i64> {
        let unit = self.at(1);
        let first = (low / unit - ROUNDING).ceil() as i64;
        let last = (high / unit + ROUNDING).floor() as i64;
        first..=last
    }
}

/// Returns `low..=high` with its ends in ascending order. If the ends are too close together for an
/// axis, the result is a wider range around them.
pub fn widened(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = (low.min(high), low.max(high));
    let magnitude = low.abs().max(high.abs());
    if magnitude < 1.0 / MAX_MAGNITUDE {
        return (0.0, 1.0);
    }
    if high - low > magnitude * MIN_RELATIVE_WIDTH {
        return (low, high);
    }
    (low - magnitude / 10.0, high + magnitude / 10.0)
}

/// Returns whether a number can be put on an axis.
pub fn drawable(value: f64) -> bool {
    value.abs() <= MAX_MAGNITUDE
}

/// Groups the digits before the point in threes, from five digits on.
fn thousands(number: &str) -> String {
    let whole = number.split('.').next().map_or(0, str::len);
    if whole < 5 {
        return number.to_owned();
    }
    let mut grouped = String::with_capacity(number.len() + whole / 3 * 3);
    for (position, digit) in number.chars().enumerate() {
        if position > 0 && position < whole && (whole - position).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(low: f64, high: f64, most: usize) -> Vec<String> {
        let step = TickStep::for_range(low, high, most);
        let values = step.within(low, high);
        values.into_iter().map(|value| step.label(value)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            labels(0.0, 1.0, 6),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(labels(0.0, 100.0, 5), ["0", "50", "100"]);
        assert_eq!(
            labels(-0.03, 0.02, 6),
            [
                "\u{2212}0.03",
                "\u{2212}0.02",
                "\u{2212}0.01",
                "0",
                "0.01",
                "0.02"
            ]
        );
        assert_eq!(
            labels(0.0, 30_000.0, 4),
            ["0", "10\u{2009}000", "20\u{2009}000", "30\u{2009}000"]
        );
        assert_eq!(labels(0.0, 0.3, 7).last().map(String::as_str), Some("0.30"));
        assert_eq!(labels(0.0, 4e9, 3), ["0", "2e9", "4e9"]);
    }

    #[test]
    fn tick_at_the_end_of_the_axis_is_included() {
        let step = TickStep::for_range(0.0, 0.28, 7);
        assert_eq!(step.around(0.0, 0.28), (0.0, 0.3));
        assert_eq!(step.around(0.0, 0.3), (0.0, 0.3));
        assert_eq!(step.within(0.0, 0.3).len(), 7);
    }

    #[test]
    fn equal_ends_are_widened() {
        assert_eq!(widened(0.0, 0.0), (0.0, 1.0));
        assert_eq!(widened(-0.0, 7e-309), (0.0, 1.0));
        assert_eq!(widened(100.0, 100.0), (90.0, 110.0));
        assert_eq!(widened(-10.0, -10.0), (-11.0, -9.0));
        assert_eq!(widened(2.0, 1.0), (1.0, 2.0));
    }

    #[test]
    fn non_finite_numbers_are_not_drawable() {
        assert!(drawable(-1e99));
        assert!(!drawable(f64::NAN) && !drawable(f64::INFINITY) && !drawable(1e101));
    }

    proptest! {
        #[test]
        fn ticks_are_few_distinct_and_inside_the_range(
            a in any::<f64>().prop_filter("drawable", |x| drawable(*x)),
            b in any::<f64>().prop_filter("drawable", |x| drawable(*x)),
            most in 2usize..12,
        ) {
            let (low, high) = widened(a, b);
            let step = TickStep::for_range(low, high, most);
            let values = step.within(low, high);
            prop_assert!(values.len() <= most);
            prop_assert!(values.len() * 5 + 5 >= most, "{} of {most}", values.len());
            let slack = step.at(1) * 2.0 * ROUNDING;
            prop_assert!(values.iter().all(|&v| low - slack <= v && v <= high + slack));
            prop_assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
            let labels: Vec<String> = values.iter().map(|&v| step.label(v)).collect();
            prop_assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
            let (below, above) = step.around(low, high);
            prop_assert!(below <= low + slack && high - slack <= above);
        }

        #[test]
        fn shifting_a_range_by_steps_shifts_its_ticks(start in -1000i64..1000, width in 1i64..1000) {
            let (low, high) = (start as f64, (start + width) as f64);
            let step = TickStep::for_range(low, high, 6);
            let shift = step.at(10);
            prop_assert_eq!(step.within(low, high).len(), step.within(low + shift, high + shift).len());
        }
    }
}

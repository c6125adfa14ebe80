//! Chart axes: title, extent, and the place of a value between their ends.

use tollgate_study::chart::AxisSpacing;

use crate::ticks::{TickStep, drawable, widened};

/// An axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartAxis {
    /// The text beside the axis.
    pub label: String,
    /// The unit of the values, such as `%` or `h`. None for pure numbers.
    pub unit: Option<String>,
    /// The range of values on the axis.
    pub extent: AxisExtent,
    /// The spacing of the values. A logarithmic axis ends at 1, 2 or 5 times a power of ten, and
    /// leaves out the ends of its extent that it cannot show.
    pub spacing: AxisSpacing,
}

/// The extent of an axis. The ends are always round numbers, and all finite values lie between
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AxisExtent {
    /// The axis reaches as far as the values.
    #[default]
    Fitted,
    /// The axis runs from `low` to `high`, and farther if values lie outside.
    AtLeast {
        /// The left or bottom end of the range that is always shown.
        low: f64,
        /// The right or top end of the range that is always shown.
        high: f64,
    },
}

impl ChartAxis {
    /// Returns the label with its unit.
    pub(crate) fn caption(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

impl AxisExtent {
    /// Returns the extent that also shows `least` to `greatest`.
    pub(crate) fn including(self, least: f64, greatest: f64) -> Self {
        let all = self.shown().chain([least, greatest]);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
            (low.min(end), high.max(end))
        });
        Self::AtLeast { low, high }
    }

    /// Returns the ends of the range that is always shown.
    fn shown(self) -> impl Iterator<Item = f64> {
        let shown = match self {
            Self::Fitted => None,
            Self::AtLeast { low, high } => Some([low, high]),
        };
        shown.into_iter().flatten()
    }

    /// Returns the ends of an axis with these values, before they are rounded.
    fn ends(self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let ends = self
            .shown()
            .chain(values)
            .filter(|&value| drawable(value))
            .map(|value| (value, value))
            .reduce(|(low, high), (l, h)| (low.min(l), high.max(h)));
        ends.map_or((0.0, 1.0), |(low, high)| widened(low, high))
    }
}

/// An axis laid out on the page, with its values, pixels and marks.
#[derive(Clone, Debug)]
pub(crate) struct AxisScale {
    /// The ends, as places: values on a linear axis, powers of ten on a logarithmic axis.
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    spacing: ScaleSpacing,
}

/// The marks of a scale, and its places of values.
#[derive(Clone, Debug)]
enum ScaleSpacing {
    Linear(TickStep),
    Log(LogSpacing),
    /// The scale of the remainders to [`WHOLE`], descending.
    LogComplement(LogSpacing),
}

/// Decades of positive values.
#[derive(Clone, Debug)]
struct LogSpacing {
    /// The marked values, ascending.
    marks: Vec<f64>,
    /// The place of values of at most 0, if there are any.
    zero: Option<f64>,
}

/// The value whose remainders a complementary axis shows: 100 %.
const WHOLE: f64 = 100.0;

/// The distance of the mark for 0 to the end of the decades, as a fraction of all decades.
const ZERO_GAP: f64 = 0.12;

impl AxisScale {
    /// Returns the scale of an axis with these values and at most `most` marks. The scale runs from
    /// pixel 0 to pixel 1 at first.
    pub(crate) fn of(
        spacing: AxisSpacing,
        extent: AxisExtent,
        values: impl Iterator<Item = f64>,
        most: usize,
    ) -> Self {
        let (low, high, spacing) = match spacing {
            AxisSpacing::Linear => {
                let (low, high) = extent.ends(values);
                let step = TickStep::for_range(low, high, most);
                let (low, high) = step.around(low, high);
                (low, high, ScaleSpacing::Linear(step))
            }
            AxisSpacing::Log => {
                let shown = extent.shown().filter(|end| *end > 0.0);
                let (low, high, spacing) = LogSpacing::of(values.chain(shown), most);
                (low, high, ScaleSpacing::Log(spacing))
            }
            AxisSpacing::LogComplement => {
                let shown = extent.shown().filter(|end| *end < WHOLE);
                let remainders = values.chain(shown).map(|value| WHOLE - value);
                let (low, high, spacing) = LogSpacing::of(remainders, most);
                (-high, -low, ScaleSpacing::LogComplement(spacing))
            }
        };
        Self {
            low,
            high,
            from: 0.0,
            to: 1.0,
            spacing,
        }
    }

    /// Returns the same scale between two pixels. The first pixel may be the larger one.
    pub(crate) fn with_pixels(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Returns the pixel of a value.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let place = match &self.spacing {
            ScaleSpacing::Linear(_) => value,
            ScaleSpacing::Log(spacing) => spacing.place(value),
            ScaleSpacing::LogComplement(spacing) => -spacing.place(WHOLE - value),
        };
        let part = (place - self.low) / (self.high - self.low);
        self.from + part * (self.to - self.from)
    }

    /// Returns the marks, each with its label, from the low end up.
    pub(crate) fn marks(&self) -> Vec<(f64, String)> {
        let labelled = |values: Vec<f64>, label: &dyn Fn(f64) -> String| {
            let marks = values.into_iter();
            marks
                .map(|value| (self.position(value), label(value)))
                .collect()
        };
        match &self.spacing {
            ScaleSpacing::Linear(step) => {
                labelled(step.within(self.low, self.high), &|value| step.label(value))
            }
            ScaleSpacing::Log(spacing) => labelled(spacing.marks.clone(), &|value| {
                TickStep::decade(value).label(value)
            }),
            ScaleSpacing::LogComplement(spacing) => {
                let values = spacing.marks.iter().rev().map(|mark| WHOLE - mark);
                labelled(values.collect(), &|value| {
                    TickStep::decade(WHOLE - value).label(value)
                })
            }
        }
    }

    /// Formats a value like the labels of the marks, but a hundred times finer.
    pub(crate) fn describe(&self, value: f64) -> String {
        let step = match self.spacing {
            ScaleSpacing::Linear(step) => step,
            ScaleSpacing::Log(_) => TickStep::decade(value),
            ScaleSpacing::LogComplement(_) => TickStep::decade(WHOLE - value),
        };
        step.hundredth().label(value)
    }

    /// Returns the low and the high end of the axis, as places.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

impl LogSpacing {
    /// Returns the decades around the positive values, with at most about `most` marks, and their
    /// ends as powers of ten.
    fn of(values: impl Iterator<Item = f64>, most: usize) -> (f64, f64, Self) {
        let (mut least, mut greatest, mut has_zero) = (f64::INFINITY, 0.0f64, false);
        for value in values.filter(|value| drawable(*value)) {
            if value > 0.0 {
                (least, greatest) = (least.min(value), greatest.max(value));
            } else {
                has_zero = true;
            }
        }
        if greatest == 0.0 {
            (least, greatest) = (1.0, 10.0);
        }
        let (first, last) = (mark_below(least), mark_above(greatest));
        let (mut low, high) = (first.log10(), last.log10().max(first.log10() + 1.0));
        let mut marks = marks_between(low, high, most);
        let zero = has_zero.then(|| {
            low -= ZERO_GAP * (high - low);
            marks.insert(0, 0.0);
            low
        });
        (low, high, Self { marks, zero })
    }

    fn place(&self, value: f64) -> f64 {
        match self.zero {
            Some(zero) if value <= 0.0 => zero,
            Some(_) | None => value.log10(),
        }
    }
}

/// The first digits of the ends of logarithmic axes, and of their marks if the axis is short.
const DIGITS: [f64; 3] = [1.0, 2.0, 5.0];

/// Returns the greatest mark that is at most a positive value.
fn mark_below(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let marks = DIGITS.map(|digit| digit * decade).into_iter();
    marks
        .filter(|mark| *mark <= value * (1.0 + MARK_ROUNDING))
        .fold(decade, f64::max)
}

/// Returns the least mark that is at least a positive value.
fn mark_above(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let marks = DIGITS.map(|digit| digit * decade).into_iter();
    marks
        .filter(|mark| *mark >= value * (1.0 - MARK_ROUNDING))
        .fold(10.0 * decade, f64::min)
}

/// The relative distance at which a value counts as a mark.
const MARK_ROUNDING: f64 = 1e-9;

/// Returns marks between two powers of ten: 1, 2 and 5 times the powers if they are few enough, or
/// else the powers, or every second, third or further power.
fn marks_between(low: f64, high: f64, most: usize) -> Vec<f64> {
    let slack = MARK_ROUNDING.sqrt();
    let within = |value: &f64| (low - slack..=high + slack).contains(&value.log10());
    let powers = low.floor() as i32..=high.ceil() as i32;
    let fine: Vec<f64> = powers
        .clone()
        .flat_map(|power| DIGITS.map(|digit| digit * 10f64.powi(power)))
        .filter(within)
        .collect();
    if fine.len() <= most {
        return fine;
    }
    (1..)
        .map(|every| {
            let decades = powers.clone().step_by(every);
            let decades = decades.map(|power| 10f64.powi(power));
            decades.filter(within).collect::<Vec<f64>>()
        })
        .find(|decades| decades.len() <= most)
        .expect("a single mark is few enough")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(extent: AxisExtent, values: &[f64]) -> (f64, f64) {
        scale(AxisSpacing::Linear, extent, values).ends()
    }

    fn scale(spacing: AxisSpacing, extent: AxisExtent, values: &[f64]) -> AxisScale {
        AxisScale::of(spacing, extent, values.iter().copied(), 6)
    }

    fn labels(spacing: AxisSpacing, values: &[f64]) -> Vec<String> {
        let marks = scale(spacing, AxisExtent::Fitted, values).marks();
        assert!(marks.is_sorted_by(|a, b| a.0 < b.0));
        marks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn logarithmic_axes_mark_powers_of_ten() {
        let log = |values: &[f64]| labels(AxisSpacing::Log, values);
        assert_eq!(log(&[1.0, 30.0, 1000.0]), ["1", "10", "100", "1000"]);
        assert_eq!(log(&[0.03, 0.4]), ["0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(log(&[0.0, 7.0, 40.0]), ["0", "5", "10", "20", "50"]);
        assert_eq!(log(&[0.0]), ["0", "1", "2", "5", "10"]);
        assert_eq!(log(&[1e-9, 1e9]).len(), 5);
    }

    #[test]
    fn complementary_axes_mark_remainders_to_a_hundred() {
        let values = [80.0, 90.0, 99.0, 99.99, 100.0];
        let expected = ["90", "99", "99.9", "99.99", "100"];
        assert_eq!(labels(AxisSpacing::LogComplement, &values), expected);
    }

    #[test]
    fn equal_ratios_have_equal_lengths_on_a_logarithmic_axis() {
        let scale = scale(AxisSpacing::Log, AxisExtent::Fitted, &[1.0, 100.0]);
        assert!((scale.position(10.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn axis_covers_its_values_and_ends_at_round_numbers() {
        assert_eq!(ends(AxisExtent::Fitted, &[0.13, 0.87]), (0.0, 1.0));
        assert_eq!(ends(AxisExtent::Fitted, &[3.0, f64::NAN]), (2.6, 3.4));
        assert_eq!(ends(AxisExtent::Fitted, &[f64::INFINITY]), (0.0, 1.0));
    }

    #[test]
    fn axis_covers_its_minimum_extent_and_its_values() {
        let percent = AxisExtent::AtLeast {
            low: 0.0,
            high: 100.0,
        };
        assert_eq!(ends(percent, &[40.0]), (0.0, 100.0));
        assert_eq!(ends(percent, &[-130.0]), (-150.0, 100.0));
    }

    #[test]
    fn scale_can_be_descending() {
        let scale =
            scale(AxisSpacing::Linear, AxisExtent::Fitted, &[0.0, 10.0]).with_pixels(200.0, 0.0);
        assert_eq!(scale.position(2.5), 150.0);
        assert_eq!(scale.marks()[0], (200.0, "0".to_owned()));
    }
}

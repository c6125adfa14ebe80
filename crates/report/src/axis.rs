//! Chart axes: title, extent, and the place of a value between their ends.

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
    /// Returns the ends of an axis with these values, before they are rounded.
    fn ends(self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let shown = match self {
            Self::Fitted => None,
            Self::AtLeast { low, high } => Some([low, high]),
        };
        let all = shown.into_iter().flatten().chain(values);
        let ends = all
            .filter(|&value| drawable(value))
            .map(|value| (value, value))
            .reduce(|(low, high), (l, h)| (low.min(l), high.max(h)));
        ends.map_or((0.0, 1.0), |(low, high)| widened(low, high))
    }
}

/// An axis laid out on the page, with its values, pixels and marks.
#[derive(Clone, Debug)]
pub(crate) struct AxisScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    step: TickStep,
}

impl AxisScale {
    /// Returns the scale of an axis with these values and at most `most` marks. The scale runs from
    /// pixel 0 to pixel 1 at first.
    pub(crate) fn of(extent: AxisExtent, values: impl Iterator<Item = f64>, most: usize) -> Self {
        let (low, high) = extent.ends(values);
        let step = TickStep::for_range(low, high, most);
        let (low, high) = step.around(low, high);
        Self {
            low,
            high,
            from: 0.0,
            to: 1.0,
            step,
        }
    }

    /// Returns the same scale between two pixels. The first pixel may be the larger one.
    pub(crate) fn with_pixels(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Returns the pixel of a value.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        self.from + part * (self.to - self.from)
    }

    /// Returns the marks, each with its label, from the low end up.
    pub(crate) fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        let values = self.step.within(self.low, self.high);
        values
            .into_iter()
            .map(|value| (self.position(value), self.step.label(value)))
    }

    /// Formats a value like the labels of the marks, but a hundred times finer.
    pub(crate) fn describe(&self, value: f64) -> String {
        self.step.hundredth().label(value)
    }

    /// Returns the low and the high end of the axis.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(extent: AxisExtent, values: &[f64]) -> (f64, f64) {
        AxisScale::of(extent, values.iter().copied(), 6).ends()
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
            AxisScale::of(AxisExtent::Fitted, [0.0, 10.0].into_iter(), 6).with_pixels(200.0, 0.0);
        assert_eq!(scale.position(2.5), 150.0);
        assert_eq!(scale.marks().next(), Some((200.0, "0".to_owned())));
    }
}

//! An axis: what it shows, how far it goes, and where a value lies on it.

use crate::ticks::{TickStep, drawable, widened};

/// An axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartAxis {
    /// What is shown, in words.
    pub label: String,
    /// The unit of the values, such as `%` or `h`; none for pure numbers.
    pub unit: Option<String>,
    /// How far it goes.
    pub extent: AxisExtent,
}

/// How far an axis goes. Whatever it is, the ends are round numbers, and all values that are
/// finite lie between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AxisExtent {
    /// As far as the values do.
    #[default]
    Fitted,
    /// From `low` to `high`, and farther if values do.
    AtLeast {
        /// The end that is shown in any case, at the left or at the bottom.
        low: f64,
        /// The other end.
        high: f64,
    },
}

impl ChartAxis {
    /// The label with its unit.
    pub(crate) fn caption(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

impl AxisExtent {
    /// The ends of an axis with these values, before they are made round.
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

/// An axis laid out on the page: values, pixels and marks.
#[derive(Clone, Debug)]
pub(crate) struct AxisScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    step: TickStep,
}

impl AxisScale {
    /// The scale of an axis with these values and at most `most` marks, for now from pixel 0
    /// to 1.
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

    /// The same scale between two pixels; the first may be the larger one.
    pub(crate) fn with_pixels(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Where a value lies.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        self.from + part * (self.to - self.from)
    }

    /// The marks, each with its label, from the low end up.
    pub(crate) fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        let values = self.step.within(self.low, self.high);
        values
            .into_iter()
            .map(|value| (self.position(value), self.step.label(value)))
    }

    /// A value as the marks are labelled, but a hundred times finer.
    pub(crate) fn describe(&self, value: f64) -> String {
        self.step.hundredth().label(value)
    }

    /// The ends.
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
    fn an_axis_goes_as_far_as_its_values_and_ends_at_round_numbers() {
        assert_eq!(ends(AxisExtent::Fitted, &[0.13, 0.87]), (0.0, 1.0));
        assert_eq!(ends(AxisExtent::Fitted, &[3.0, f64::NAN]), (2.6, 3.4));
        assert_eq!(ends(AxisExtent::Fitted, &[f64::INFINITY]), (0.0, 1.0));
    }

    #[test]
    fn an_axis_shows_what_it_must_and_grows_with_its_values() {
        let percent = AxisExtent::AtLeast {
            low: 0.0,
            high: 100.0,
        };
        assert_eq!(ends(percent, &[40.0]), (0.0, 100.0));
        assert_eq!(ends(percent, &[-130.0]), (-150.0, 100.0));
    }

    #[test]
    fn a_scale_may_run_downwards() {
        let scale =
            AxisScale::of(AxisExtent::Fitted, [0.0, 10.0].into_iter(), 6).with_pixels(200.0, 0.0);
        assert_eq!(scale.position(2.5), 150.0);
        assert_eq!(scale.marks().next(), Some((200.0, "0".to_owned())));
    }
}

//! Summary of the points of one policy in a risk analysis plot.

use std::fmt;

use crate::Risk;

/// The number of steps per unit for comparisons of points. Billionths are far finer than any plot,
/// and coarse enough that rounding errors break no tie.
const STEPS: f64 = 1e9;

/// The distance between points, in [`STEPS`], at which a plot of the paper's size shows two.
const VISIBLE: f64 = 0.01 * STEPS;

/// Number of points that a plot shows apart at which a line through them says something.
const MIN_POINTS: usize = 3;

/// The extremes of a policy's points, one for each scenario, and their trend (Yeo & Buyya 2008,
/// Tables II-IV). All figures are rounded to billionths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Best performance in any scenario, 0 to 1; more is better.
    pub max_performance: f64,
    /// Worst performance in any scenario, 0 to 1.
    pub min_performance: f64,
    /// Mean performance over the scenarios, 0 to 1.
    pub mean_performance: f64,
    /// Worst volatility in any scenario; not negative.
    pub max_volatility: f64,
    /// Best volatility in any scenario; not negative, less is better.
    pub min_volatility: f64,
    /// Mean volatility over the scenarios; not negative.
    pub mean_volatility: f64,
    /// The trend line through the points.
    pub gradient: Gradient,
    /// Mean Euclidean distance of the points to the corner (maximum performance, minimum
    /// volatility): how close the policy stays to its own best.
    pub mean_distance: f64,
}

/// The direction of the trend line, the preferred directions first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gradient {
    /// Better performance comes with less volatility.
    Decreasing,
    /// Better performance comes with more volatility.
    Increasing,
    /// Volatility changes, performance hardly changes.
    Zero,
    /// There is no line: a plot shows fewer than three different points, or all have the same
    /// volatility, as those of a policy that behaves the same in every scenario.
    None,
}

impl Profile {
    /// Summarises the points of a policy. None if `points` is empty.
    pub fn of(points: &[Risk]) -> Option<Self> {
        let performance = || points.iter().map(|point| steps(point.performance));
        let volatility = || points.iter().map(|point| steps(point.volatility));
        Some(Self {
            max_performance: from_steps(performance().max()?),
            min_performance: from_steps(performance().min()?),
            mean_performance: mean(performance()),
            max_volatility: from_steps(volatility().max()?),
            min_volatility: from_steps(volatility().min()?),
            mean_volatility: mean(volatility()),
            gradient: Gradient::of(points),
            mean_distance: mean_distance(points, performance().max()?, volatility().min()?),
        })
    }

    /// Returns the difference of performance between scenarios; less is better.
    pub fn performance_difference(&self) -> f64 {
        from_steps(steps(self.max_performance) - steps(self.min_performance))
    }

    /// Returns the difference of volatility between scenarios; less is better.
    pub fn volatility_difference(&self) -> f64 {
        from_steps(steps(self.max_volatility) - steps(self.min_volatility))
    }
}

impl Gradient {
    /// Returns the direction of the least-squares line of performance on volatility. A slope
    /// between -0.1 and 0.1, both included, counts as zero, because the paper calls lines that look
    /// level so.
    ///
    /// The sums are exact integers of billionths, so the order of the points does not matter.
    pub fn of(points: &[Risk]) -> Self {
        let Some(TrendLine { spread, joint }) = TrendLine::through(points) else {
            return Self::None;
        };
        if 10 * joint.abs() <= spread {
            Self::Zero
        } else if joint < 0 {
            Self::Decreasing
        } else {
            Self::Increasing
        }
    }

    /// Returns the slope of the least-squares line, performance over volatility, or None if there
    /// is no line.
    pub fn slope(points: &[Risk]) -> Option<f64> {
        let TrendLine { spread, joint } = TrendLine::through(points)?;
        Some(joint as f64 / spread as f64)
    }

    /// Returns the points that decide the direction of the line alone, by their places in `points`:
    /// without one of them the direction is another, or there is no line. The result is empty if
    /// there is no line.
    pub fn decisive_points(points: &[Risk]) -> Vec<usize> {
        let gradient = Self::of(points);
        if gradient == Self::None {
            return Vec::new();
        }
        let without = |left_out: usize| {
            let others = points.iter().enumerate();
            let others = others.filter(|&(place, _)| place != left_out);
            Self::of(&others.map(|(_, point)| *point).collect::<Vec<Risk>>())
        };
        let places = 0..points.len();
        places.filter(|&place| without(place) != gradient).collect()
    }
}

/// The least-squares line of performance on volatility: its slope is `joint / spread`, and `spread`
/// is positive.
struct TrendLine {
    spread: i128,
    joint: i128,
}

impl TrendLine {
    /// Returns the line through at least three points that differ, and not only in performance.
    fn through(points: &[Risk]) -> Option<Self> {
        if !shows_several(points) {
            return None;
        }
        let count = points.len() as i128;
        let (mut x, mut y, mut xx, mut xy) = (0, 0, 0, 0);
        for point in points {
            let volatility = i128::from(steps(point.volatility));
            let performance = i128::from(steps(point.performance));
            x += volatility;
            y += performance;
            xx += volatility * volatility;
            xy += volatility * performance;
        }
        let spread = count * xx - x * x;
        (spread > 0).then(|| Self {
            spread,
            joint: count * xy - x * y,
        })
    }
}

/// Returns whether a plot shows [`MIN_POINTS`] of the points apart.
fn shows_several(points: &[Risk]) -> bool {
    let mut places: Vec<(i64, i64)> = points
        .iter()
        .map(|point| (steps(point.volatility), steps(point.performance)))
        .collect();
    places.sort_unstable();
    let mut apart: Vec<(i64, i64)> = Vec::with_capacity(MIN_POINTS);
    for (x, y) in places {
        let is_apart = |&(x0, y0): &(i64, i64)| ((x - x0) as f64).hypot((y - y0) as f64) >= VISIBLE;
        if apart.len() < MIN_POINTS && apart.iter().all(is_apart) {
            apart.push((x, y));
        }
    }
    apart.len() == MIN_POINTS
}

/// Writes the words of Tables III-IV, in lower case.
impl fmt::Display for Gradient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decreasing => "decreasing",
            Self::Increasing => "increasing",
            Self::Zero => "zero",
            Self::None => "none",
        })
    }
}

fn mean_distance(points: &[Risk], max_performance: i64, min_volatility: i64) -> f64 {
    let distances = points.iter().map(|point| {
        let short_of = (max_performance - steps(point.performance)) as f64;
        let above = (steps(point.volatility) - min_volatility) as f64;
        short_of.hypot(above)
    });
    (distances.sum::<f64>() / points.len() as f64).round() / STEPS
}

/// Returns a figure in billionths.
pub(crate) fn steps(figure: f64) -> i64 {
    (figure * STEPS).round() as i64
}

/// Returns the mean of figures in billionths, rounded to billionths. The sum is exact, so the order
/// of the figures does not matter.
fn mean(steps: impl ExactSizeIterator<Item = i64>) -> f64 {
    let count = steps.len() as f64;
    from_steps((steps.sum::<i64>() as f64 / count).round() as i64)
}

fn from_steps(steps: i64) -> f64 {
    steps as f64 / STEPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(points: &[(f64, f64)]) -> Vec<Risk> {
        points
            .iter()
            .map(|&(performance, volatility)| Risk {
                performance,
                volatility,
            })
            .collect()
    }

    #[test]
    fn a_slope_of_a_tenth_is_still_level() {
        let slope = |rise: f64| {
            let line = [(0.5, 0.0), (0.5 + rise / 2.0, 0.25), (0.5 + rise, 0.5)];
            Gradient::of(&points(&line))
        };
        assert_eq!(slope(0.05), Gradient::Zero);
        assert_eq!(slope(0.050_000_001), Gradient::Increasing);
        assert_eq!(slope(-0.05), Gradient::Zero);
        assert_eq!(slope(-0.050_000_001), Gradient::Decreasing);
    }

    #[test]
    fn points_without_a_line_have_no_gradient() {
        assert_eq!(Gradient::of(&[]), Gradient::None);
        assert_eq!(Gradient::of(&points(&[(0.3, 0.1)])), Gradient::None);
        assert_eq!(Gradient::of(&points(&[(0.3, 0.1); 5])), Gradient::None);
        let upright = points(&[(0.3, 0.1), (0.4, 0.1)]);
        assert_eq!(Gradient::of(&upright), Gradient::None);
    }

    #[test]
    fn a_point_that_decides_the_gradient_alone_is_found() {
        let gradient = |line: &[(f64, f64)]| Gradient::decisive_points(&points(line));
        let near = [(1.0, 0.0), (0.98, 0.02), (0.96, 0.04), (0.94, 0.06)];
        assert_eq!(gradient(&near), [] as [usize; 0]);
        let few = [(1.0, 0.0), (1.0, 0.0), (0.98, 0.02), (0.5, 0.3)];
        assert_eq!(gradient(&few), [2, 3]);
        let outlier = [(0.9, 0.0), (0.92, 0.02), (0.94, 0.04), (0.2, 0.3)];
        assert_eq!(gradient(&outlier), [3]);
        assert_eq!(gradient(&[(0.3, 0.1); 5]), [] as [usize; 0]);
    }

    #[test]
    fn differences_are_free_of_rounding_errors() {
        let profile = Profile::of(&points(&[(0.7, 1.0), (0.2, 0.3)])).unwrap();
        assert_eq!(profile.performance_difference(), 0.5);
        assert_eq!(profile.volatility_difference(), 0.7);
    }

    #[test]
    fn distance_is_to_the_policys_own_best() {
        let profile = Profile::of(&points(&[(0.9, 0.1), (0.6, 0.5)])).unwrap();
        assert_eq!(profile.mean_distance, 0.25);
        assert_eq!(Profile::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_gradient_is_that_of_the_textbook_line(
            coordinates in proptest::collection::vec((0.0..1.0f64, 0.0..0.5f64), 2..20),
        ) {
            let points = points(&coordinates);
            if !shows_several(&points) {
                prop_assert_eq!(Gradient::of(&points), Gradient::None);
                return Ok(());
            }
            let n = points.len() as f64;
            let mean_x = points.iter().map(|p| p.volatility).sum::<f64>() / n;
            let mean_y = points.iter().map(|p| p.performance).sum::<f64>() / n;
            let spread: f64 = points.iter().map(|p| (p.volatility - mean_x).powi(2)).sum();
            let joint: f64 = points
                .iter()
                .map(|p| (p.volatility - mean_x) * (p.performance - mean_y))
                .sum();
            let slope = joint / spread;
            prop_assume!(spread > 1e-6 && (slope.abs() - 0.1).abs() > 1e-6);
            let expected = if slope.abs() < 0.1 {
                Gradient::Zero
            } else if slope < 0.0 {
                Gradient::Decreasing
            } else {
                Gradient::Increasing
            };
            prop_assert_eq!(Gradient::of(&points), expected);
            let found = Gradient::slope(&points).unwrap();
            prop_assert!((found - slope).abs() < 1e-3);
        }
    }
}

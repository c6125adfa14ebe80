//! One level of the chain before it is mixed: components, which are histograms with kernels, and weights.

use std::array;

use serde::{Deserialize, Serialize};

use super::group::{GroupKey, GroupLesson};
use super::mass::{N_BINS, RunMass, bin};
use super::weights::{Cell, ComponentWeights, N_COMPONENTS, PARENT};

/// Added to the mass near a run time, so that no component explains nothing: 2 to the power of -16.
const MIN_FIT: f32 = 1.0 / 65_536.0;
/// Number of the low bits of a fit, as a floating-point number, that are not stored. The upper bits are 16 values
/// for each power of two, and so 256 from [`MIN_FIT`] to 1.
const DROPPED_BITS: u32 = 19;

/// A component of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    /// The place among the weights.
    pub(crate) at: usize,
    /// The place of its histogram.
    pub(crate) histogram: usize,
    /// The scale of its Laplace kernel; None if the histogram is smooth.
    pub(crate) scale: Option<f64>,
}

impl Component {
    /// Returns the components of a level with two histograms: its own, under kernels of these scales, and that of the level
    /// above, as it is.
    pub(crate) fn below_parent(scales: &[f64]) -> Vec<Self> {
        let own = scales.iter().enumerate().map(|(at, &scale)| Self {
            at,
            histogram: 0,
            scale: Some(scale),
        });
        let above = Self {
            at: PARENT,
            histogram: 1,
            scale: None,
        };
        own.chain([above]).collect()
    }
}

/// The components of a level with their weights.
#[derive(Clone, Debug)]
pub(crate) struct LevelMixture {
    cell: Cell,
    /// The group that learns from the level, and by which multipliers.
    group: Option<(GroupKey, GroupLesson)>,
    histograms: Vec<RunMass>,
    components: Vec<(Component, f64)>,
}

/// The experience that a statement leaves to its level: what each component would have explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lesson {
    pub(crate) cell: Cell,
    pub(crate) group: Option<(GroupKey, GroupLesson)>,
    components: Vec<ComponentFit>,
}

/// The fit of a component: the mass near each run time, by bin as the upper bits of a floating-point number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ComponentFit {
    at: u8,
    weight: f32,
    near: Vec<u8>,
}

impl LevelMixture {
    /// Creates the level of these components; absent ones leave their weight to the others. Each histogram
    /// has the mass 1.
    pub(crate) fn new(
        cell: Cell,
        group: Option<(GroupKey, GroupLesson)>,
        histograms: Vec<RunMass>,
        components: Vec<Component>,
        weights: &ComponentWeights,
    ) -> Self {
        // A weight of zero would never learn.
        let weight = |component: &Component| weights[component.at].max(1e-6);
        let total: f64 = components.iter().map(weight).sum();
        let weighed = components
            .into_iter()
            .map(|component| (component, weight(&component) / total));
        Self {
            cell,
            group,
            histograms,
            components: weighed.collect(),
        }
    }

    /// Returns the weight of the level above.
    pub(crate) fn parent_weight(&self) -> f64 {
        self.weight_of(PARENT)
    }

    pub(crate) fn weight_of(&self, component: usize) -> f64 {
        let of = self
            .components
            .iter()
            .filter(|(other, _)| other.at == component);
        of.map(|(_, weight)| weight).sum()
    }

    /// Returns the mixture. Components with one kernel are smoothed together.
    pub(crate) fn mass(&self) -> RunMass {
        let mut smooth = RunMass::default();
        let mut rough: Vec<(RunMass, f64)> = Vec::new();
        for (component, weight) in &self.components {
            let histogram = &self.histograms[component.histogram];
            let Some(scale) = component.scale else {
                smooth.add_scaled(histogram, *weight);
                continue;
            };
            let alike = rough.iter().position(|(_, other)| *other == scale);
            let at = alike.unwrap_or_else(|| {
                rough.push((RunMass::default(), scale));
                rough.len() - 1
            });
            rough[at].0.add_scaled(histogram, *weight);
        }
        smooth.add_scaled(&RunMass::sum_smoothed(&rough), 1.0);
        smooth
    }

    /// Returns what the level will learn from a run time.
    pub(crate) fn lesson(&self) -> Lesson {
        let rough = self.components.iter().filter_map(|(component, _)| {
            let scale = component.scale?;
            Some((&self.histograms[component.histogram], scale))
        });
        let smoothed = RunMass::each_smoothed(&rough.collect::<Vec<_>>());
        let mut smoothed = smoothed.iter();
        let fits = self.components.iter().map(|(component, weight)| {
            let smooth = component.scale.and_then(|_| smoothed.next());
            let mass = smooth.unwrap_or(&self.histograms[component.histogram]);
            ComponentFit {
                at: component.at as u8,
                weight: *weight as f32,
                near: mass.0.iter().map(|&near| stored_fit(near)).collect(),
            }
        });
        Lesson {
            cell: self.cell,
            group: self.group,
            components: fits.collect(),
        }
    }
}

impl Lesson {
    /// Returns the part of a run time, a logarithm, that each component explains; the sum is 1.
    pub(crate) fn explained(&self, ln_run: f64) -> ComponentWeights {
        let mut parts = [0.0; N_COMPONENTS];
        for fit in &self.components {
            parts[usize::from(fit.at)] = f64::from(fit.weight) * fit.at_run(ln_run);
        }
        let total: f64 = parts.iter().sum();
        array::from_fn(|at| parts[at] / total)
    }

    /// Returns how much better than the mixture, as a logarithm, each component explains a run time.
    pub(crate) fn gains(&self, ln_run: f64) -> impl Iterator<Item = (usize, f64)> {
        let parts = self.components.iter();
        let mixed: f64 = parts
            .map(|fit| f64::from(fit.weight) * fit.at_run(ln_run))
            .sum();
        let fits = self.components.iter();
        fits.map(move |fit| (usize::from(fit.at), (fit.at_run(ln_run) / mixed).ln()))
    }
}

impl ComponentFit {
    fn at_run(&self, ln_run: f64) -> f64 {
        debug_assert_eq!(self.near.len(), N_BINS, "a fit covers the grid");
        fit_of(self.near[bin(ln_run)])
    }
}

/// Returns the stored form of the mass near a run time.
fn stored_fit(near: f64) -> u8 {
    let above = (near as f32 + MIN_FIT).to_bits() - MIN_FIT.to_bits();
    (above >> DROPPED_BITS).min(u32::from(u8::MAX)) as u8
}

fn fit_of(stored: u8) -> f64 {
    // The middle of the values that are stored alike.
    let above = (u32::from(stored) << DROPPED_BITS) + (1 << (DROPPED_BITS - 1));
    f64::from(f32::from_bits(MIN_FIT.to_bits() + above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_fits_are_right_within_a_thirty_second() {
        for near in [0.0, 1e-6, 1e-4, 0.01, 0.3, 1.0] {
            let stored = fit_of(stored_fit(near));
            let exact = near + f64::from(MIN_FIT);
            assert!((stored / exact - 1.0).abs() < 0.033, "{near} {stored}");
        }
    }

    #[test]
    fn component_that_holds_the_run_time_explains_most_of_it() {
        let histogram = |ln_run: f64| {
            let mut mass = RunMass::default();
            mass.add(ln_run, 1.0);
            mass
        };
        let component = |at, histogram| Component {
            at,
            histogram,
            scale: Some(0.03),
        };
        let level = LevelMixture::new(
            Cell::Siblings(0),
            None,
            vec![histogram(2.0), histogram(5.0)],
            vec![component(0, 0), component(1, 1)],
            &[0.5; N_COMPONENTS],
        );
        let lesson = level.lesson();
        assert!(lesson.explained(5.0)[1] > 0.99);
        let gains: Vec<(usize, f64)> = lesson.gains(5.0).collect();
        assert!(gains[0].1 < -5.0 && gains[1].1 > 0.6, "{gains:?}");
    }
}

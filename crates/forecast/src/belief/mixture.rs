//! One level of the chain before it is mixed: components, which are histograms with kernels, and weights.

use std::array;

use serde::{Deserialize, Serialize};

use super::group::GroupKey;
use super::mass::{N_BINS, RunMass, bin};
use super::weights::{Cell, ComponentWeights, N_COMPONENTS, PARENT};

/// Added to the mass near a run time, so that no component explains nothing.
const MIN_FIT: f64 = 1e-5;
/// The step of a stored fit, as a logarithm: 256 of them reach from 1 below [`MIN_FIT`].
const FIT_STEP: f64 = 0.0453;

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

/// The components of a level with their weights.
#[derive(Clone, Debug)]
pub(crate) struct LevelMixture {
    cell: Cell,
    /// The group that learns from the level, and whether requests differ.
    group: Option<(GroupKey, bool)>,
    histograms: Vec<RunMass>,
    components: Vec<(Component, f64)>,
}

/// The experience that a statement leaves to its level: what each component would have explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lesson {
    pub(crate) cell: Cell,
    pub(crate) group: Option<(GroupKey, bool)>,
    components: Vec<ComponentFit>,
}

/// The fit of a component: the mass near each run time, as a stored logarithm by bin.
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
        group: Option<(GroupKey, bool)>,
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
        let fits = self.components.iter().map(|(component, weight)| {
            let histogram = &self.histograms[component.histogram];
            let smooth = component.scale.map(|scale| histogram.smoothed(scale));
            let mass = smooth.as_ref().unwrap_or(histogram);
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
        (-FIT_STEP * f64::from(self.near[bin(ln_run)])).exp()
    }
}

fn stored_fit(near: f64) -> u8 {
    // The cast saturates.
    (-(near + MIN_FIT).ln() / FIT_STEP).round().max(0.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_fits_are_right_within_three_percent() {
        for near in [0.0, 1e-6, 1e-4, 0.01, 0.3, 1.0] {
            let stored = (-FIT_STEP * f64::from(stored_fit(near))).exp();
            assert!(
                (stored / (near + MIN_FIT) - 1.0).abs() < 0.03,
                "{near} {stored}"
            );
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

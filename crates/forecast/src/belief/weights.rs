//! The weights of the components of a level: shipped, learned by the site, and multiplied by the experience
//! of a group.

use std::array;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::shipped;

/// Maximum number of components of a level.
pub(crate) const N_COMPONENTS: usize = 9;
/// The component that is the level above.
pub(crate) const PARENT: usize = N_COMPONENTS - 1;

/// The weights of the components of a level. Their sum is 1, and those of absent components are 0.
pub(crate) type ComponentWeights = [f64; N_COMPONENTS];

/// Number of classes of the number of batches of a group.
pub(crate) const N_COUNTS: usize = 6;
/// Number of classes of the distance between requests.
pub(crate) const N_DISTANCES: usize = 4;
/// Number of classes of the weight of a site's jobs.
pub(crate) const N_EVIDENCE: usize = 6;

/// Number of ended batches that weigh as much as the shipped weights.
const SHIPPED_WEIGHT: f64 = 30.0;
/// The same where a class may have come to a new mode: the shipped weights are cautious, and sites differ.
const SHIPPED_NEW_MODE_WEIGHT: f64 = 8.0;
/// Maximum weight of what a cell has learned: later jobs replace earlier ones.
const MAX_COUNT: f64 = 400.0;
/// The furthest that one run time moves a multiplier, as a logarithm.
const MAX_SURPRISE: f64 = 1.5;

/// A case in which the components of a level have weights of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Cell {
    /// The site, by its evidence.
    Site { evidence: u8, has_request: bool },
    /// A level of groups, by number of batches, distance of the requests and age of the last end, by which the shipped
    /// weights do not differ.
    Group {
        level: u8,
        count: u8,
        distance: u8,
        age: u8,
    },
    /// The mode to which a class may have come, by the kind of doubt.
    NewMode(u8),
    /// The siblings, by their bucket.
    Siblings(u8),
}

impl Cell {
    fn shipped(self) -> &'static ComponentWeights {
        match self {
            Self::Site {
                evidence,
                has_request,
            } => &shipped::SITE[usize::from(evidence)][usize::from(has_request)],
            Self::Group {
                level,
                count,
                distance,
                age: _,
            } => &shipped::GROUPS[usize::from(level)][usize::from(count)][usize::from(distance)],
            Self::NewMode(doubt) => &shipped::NEW_MODE[usize::from(doubt)],
            Self::Siblings(bucket) => &shipped::SIBLINGS[usize::from(bucket)],
        }
    }

    const fn shipped_weight(self) -> f64 {
        match self {
            Self::NewMode(_) => SHIPPED_NEW_MODE_WEIGHT,
            Self::Site { .. } | Self::Group { .. } | Self::Siblings(_) => SHIPPED_WEIGHT,
        }
    }
}

/// The weights that a site has learned, by cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LearnedWeights(
    #[serde(with = "crate::map_entries")] BTreeMap<Cell, ComponentWeights>,
);

impl LearnedWeights {
    /// Returns the weights of a cell.
    pub(crate) fn of(&self, cell: Cell) -> ComponentWeights {
        let shipped = cell.shipped();
        let Some(counts) = self.0.get(&cell) else {
            return *shipped;
        };
        let weight = cell.shipped_weight();
        let total = counts.iter().sum::<f64>() + weight;
        array::from_fn(|at| (counts[at] + weight * shipped[at]) / total)
    }

    /// Learns which components explained a run time, with this weight.
    pub(crate) fn learn(&mut self, cell: Cell, explained: &ComponentWeights, weight: f64) {
        let counts = self.0.entry(cell).or_default();
        let total = counts.iter().sum::<f64>() + weight;
        let kept = (MAX_COUNT / total).min(1.0);
        for (count, explained) in counts.iter_mut().zip(explained) {
            *count = (*count + weight * explained) * kept;
        }
    }
}

/// Factors on the weights of components, as logarithms: what a group or a batch has seen of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Multipliers([f32; N_COMPONENTS]);

impl Multipliers {
    /// Multiplies the weights.
    pub(crate) fn apply(&self, weights: &mut ComponentWeights) {
        for (weight, ln) in weights.iter_mut().zip(self.0) {
            *weight *= f64::from(ln).exp();
        }
    }

    /// Learns how much better than the mixture, as a logarithm, each component explained a run time: moves by
    /// `step` times that, and forgets the part `forgets`.
    pub(crate) fn learn(
        &mut self,
        gains: impl Iterator<Item = (usize, f64)>,
        step: f64,
        forgets: f64,
    ) {
        for (component, gain) in gains {
            let moved = step * gain.clamp(-MAX_SURPRISE, MAX_SURPRISE);
            let ln = &mut self.0[component];
            *ln = ((1.0 - forgets) * f64::from(*ln) + moved) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell::Siblings(3);

    fn only(component: usize) -> ComponentWeights {
        array::from_fn(|at| f64::from(u8::from(at == component)))
    }

    #[test]
    fn shipped_weights_have_the_sum_1() {
        let groups = shipped::GROUPS.as_flattened().as_flattened();
        let site = shipped::SITE.as_flattened();
        for weights in groups
            .iter()
            .chain(site)
            .chain(&shipped::SIBLINGS)
            .chain(&shipped::NEW_MODE)
        {
            let sum: f64 = weights.iter().sum();
            assert!((sum - 1.0).abs() < 1e-3, "{weights:?}");
        }
    }

    #[test]
    fn thirty_batches_weigh_as_much_as_the_shipped_weights() {
        let mut learned = LearnedWeights::default();
        let shipped = learned.of(CELL)[0];
        for _ in 0..30 {
            learned.learn(CELL, &only(0), 1.0);
        }
        assert!((learned.of(CELL)[0] - (1.0 + shipped) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn old_experience_gives_way_to_new() {
        let mut learned = LearnedWeights::default();
        for component in [0, 1] {
            for _ in 0..2000 {
                learned.learn(CELL, &only(component), 1.0);
            }
        }
        let weights = learned.of(CELL);
        assert!(weights[1] > 0.9 && weights[0] < 0.05, "{weights:?}");
    }
}

//! Quantiles of the last outcomes of a class, or of the site.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::job::WaitClass;
use super::statement::WaitBasis;

/// Number of outcomes that are kept of a class, and of the site.
const KEPT: usize = 300;
/// Minimum number of outcomes of a class.
const MIN_OF_CLASS: usize = 30;
/// Minimum number of outcomes of the site.
const MIN_OF_SITE: usize = 10;

/// The last outcomes of each class and of the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ClassQuantiles {
    classes: BTreeMap<WaitClass, VecDeque<f32>>,
    site: VecDeque<f32>,
}

impl ClassQuantiles {
    /// Learns an outcome.
    pub(super) fn learn(&mut self, class: WaitClass, outcome: f64) {
        for kept in [self.classes.entry(class).or_default(), &mut self.site] {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(outcome as f32);
        }
    }

    /// Returns the quantiles at ascending levels of the class, or of the site if too few outcomes of the class are
    /// known. Returns None if too few outcomes of the site are known.
    pub(super) fn quantiles<const N: usize>(
        &self,
        class: WaitClass,
        levels: &[f64; N],
    ) -> Option<([f64; N], WaitBasis)> {
        let own = self.classes.get(&class);
        let own = own.filter(|own| own.len() >= MIN_OF_CLASS);
        let (kept, basis) = match own {
            Some(own) => (own, WaitBasis::Class),
            None if self.site.len() >= MIN_OF_SITE => (&self.site, WaitBasis::Site),
            None => return None,
        };
        let mut sorted: Vec<f32> = kept.iter().copied().collect();
        sorted.sort_unstable_by(f32::total_cmp);
        // The smallest outcome below or at which a part `level` of the outcomes is.
        let place = |level: f64| (level * sorted.len() as f64).ceil() as usize;
        let quantiles = levels.map(|level| f64::from(sorted[place(level).max(1) - 1]));
        Some((quantiles, basis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::job::WaitJob;

    fn class(procs: u32) -> WaitClass {
        let job = WaitJob {
            user: None,
            queue: Some(1),
            procs,
            request: None,
        };
        job.class()
    }

    #[test]
    fn young_class_gets_the_quantiles_of_the_site() {
        let mut quantiles = ClassQuantiles::default();
        assert_eq!(quantiles.quantiles(class(1), &[0.5]), None);
        (1..=30).for_each(|n| quantiles.learn(class(1), f64::from(n)));
        let own = quantiles.quantiles(class(1), &[0.5, 0.9]);
        assert_eq!(own, Some(([15.0, 27.0], WaitBasis::Class)));
        let other = quantiles.quantiles(class(8), &[0.5, 0.9]);
        assert_eq!(other, Some(([15.0, 27.0], WaitBasis::Site)));
    }

    #[test]
    fn old_outcomes_are_forgotten() {
        let mut quantiles = ClassQuantiles::default();
        (0..300).for_each(|_| quantiles.learn(class(1), 9.0));
        (0..300).for_each(|_| quantiles.learn(class(1), 1.0));
        let all = quantiles.quantiles(class(1), &[0.01, 0.99]);
        assert_eq!(all, Some(([1.0, 1.0], WaitBasis::Class)));
    }
}

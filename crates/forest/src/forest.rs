//! Fits, learns and forecasts.

use std::cmp::Reverse;

use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::bins::{N_BINS, bin_of};
use crate::explanation::{ForestExplanation, NearRow};
use crate::growth::{TrainingColumns, TreeGrowth};
use crate::mixture::OutcomeMixture;
use crate::rows::TrainingRows;
use crate::settings::ForestSettings;
use crate::tree::RegressionTree;

/// A forest of regression trees whose leaves learn online.
///
/// The serialised form is a snapshot: what is restored from it forecasts and learns as the original.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredForest", into = "StoredForest")]
pub struct RegressionForest {
    n_features: usize,
    trees: Vec<RegressionTree>,
}

/// The stored form of a forest, not checked yet.
#[derive(Clone, Serialize, Deserialize)]
struct StoredForest {
    n_features: usize,
    trees: Vec<RegressionTree>,
}

/// A snapshot that holds no whole forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trees of a forest are damaged")]
pub struct ForestSnapshotError;

impl RegressionForest {
    /// Fits a forest to rows, whose outcomes are then in its leaves. Returns None without rows.
    ///
    /// The result depends on the arguments alone. A tree draws from a stream of its own.
    pub fn fit(settings: &ForestSettings, rows: &TrainingRows, seed: u64) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let columns = TrainingColumns::of(rows);
        let grown = |tree: u16| {
            let random = Pcg64::new(u128::from(seed), u128::from(tree));
            TreeGrowth::new(&columns, settings, random).grow()
        };
        Some(Self {
            n_features: rows.n_features(),
            trees: (0..settings.n_trees.max(1)).map(grown).collect(),
        })
    }

    /// Enters an outcome into the leaf of its row, in each tree.
    pub fn learn(&mut self, features: &[f32], outcome: f32) {
        self.check_width(features);
        let bin = bin_of(f64::from(outcome));
        for tree in &mut self.trees {
            let leaf = tree.leaf(features);
            tree.leaves.enter(leaf, bin);
        }
    }

    /// Forecasts the outcome of a row: the mean of the distributions in its leaves.
    pub fn forecast(&self, features: &[f32]) -> OutcomeMixture {
        self.check_width(features);
        let mut weights = [0.0; N_BINS];
        for tree in &self.trees {
            let outcomes = tree.leaves.outcomes(tree.leaf(features));
            let weight = 1.0 / outcomes.len() as f64;
            for bin in outcomes {
                weights[usize::from(*bin)] += weight;
            }
        }
        OutcomeMixture::of_weights(&weights)
    }

    /// Explains the forecast of a row with at most `n_nearest` of the past `rows`.
    pub fn explain(
        &self,
        features: &[f32],
        rows: &TrainingRows,
        n_nearest: usize,
    ) -> ForestExplanation {
        self.check_width(features);
        let n_trees = self.trees.len() as f64;
        let own: Vec<u32> = self.trees.iter().map(|tree| tree.leaf(features)).collect();
        let n_shared = |row: &[f32]| {
            let leaves = self.trees.iter().map(|tree| tree.leaf(row));
            leaves.zip(&own).filter(|(leaf, own)| leaf == *own).count()
        };
        let near = rows.iter().enumerate();
        let near = near.map(|(position, (row, outcome))| (n_shared(row), position, outcome));
        let mut near: Vec<_> = near.filter(|(shared, ..)| *shared > 0).collect();
        near.sort_by_key(|(shared, position, _)| Reverse((*shared, *position)));
        near.truncate(n_nearest);
        let mut contributions = vec![0.0; self.n_features];
        let bases = self.trees.iter();
        let base: f64 = bases
            .map(|tree| tree.add_contributions(features, &mut contributions))
            .sum();
        contributions.iter_mut().for_each(|sum| *sum /= n_trees);
        let near_row = |(shared, position, outcome): (usize, usize, f32)| NearRow {
            position,
            outcome,
            nearness: shared as f64 / n_trees,
        };
        ForestExplanation {
            nearest: near.into_iter().map(near_row).collect(),
            base: base / n_trees,
            contributions,
        }
    }

    fn check_width(&self, features: &[f32]) {
        assert_eq!(features.len(), self.n_features, "features of a row");
    }
}

impl TryFrom<StoredForest> for RegressionForest {
    type Error = ForestSnapshotError;

    fn try_from(stored: StoredForest) -> Result<Self, Self::Error> {
        let StoredForest { n_features, trees } = stored;
        let is_whole = !trees.is_empty()
            && n_features > 0
            && trees.iter().all(|tree| tree.is_whole(n_features));
        if is_whole {
            Ok(Self { n_features, trees })
        } else {
            Err(ForestSnapshotError)
        }
    }
}

impl From<RegressionForest> for StoredForest {
    fn from(forest: RegressionForest) -> Self {
        Self {
            n_features: forest.n_features,
            trees: forest.trees,
        }
    }
}

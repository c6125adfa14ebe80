//! The size of a forest and of its leaves.

use serde::{Deserialize, Serialize};

/// The settings by which a forest is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForestSettings {
    /// Number of trees, at least 1.
    pub n_trees: u16,
    /// The part of the features among which a node chooses its split, above 0 and at most 1.
    pub tried_features: f64,
    /// Minimum number of rows on each side of a split, at least 1.
    pub min_rows: u16,
}

/// Returns 40 trees, .6 of the features and 5 rows.
impl Default for ForestSettings {
    fn default() -> Self {
        Self {
            n_trees: 40,
            tried_features: 0.6,
            min_rows: 5,
        }
    }
}

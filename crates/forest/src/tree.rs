//! One tree of a forest, and the latest outcomes in its leaves.

use serde::{Deserialize, Serialize};

/// Maximum number of outcomes that a leaf keeps.
pub(crate) const MAX_OUTCOMES: usize = 40;

/// A tree: nodes of which each one but the first is a child, and comes after its parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RegressionTree {
    pub(crate) nodes: Vec<TreeNode>,
    /// The mean outcome of the rows from which each node was grown.
    pub(crate) means: Vec<f32>,
    pub(crate) leaves: LeafOutcomes,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum TreeNode {
    /// Rows with `feature` at most `threshold` go to the child `low`, others to the child after it.
    Split {
        feature: u16,
        threshold: f32,
        low: u32,
    },
    Leaf(u32),
}

/// The latest outcomes of the leaves of a tree, as bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeafOutcomes {
    /// The places of all leaves, [`MAX_OUTCOMES`] a leaf.
    bins: Vec<u16>,
    /// The number of places of each leaf that are filled.
    n_filled: Vec<u8>,
    /// The place of each leaf that the next outcome takes.
    next: Vec<u8>,
}

impl RegressionTree {
    /// Returns the leaf of a row.
    pub(crate) fn leaf(&self, features: &[f32]) -> u32 {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                TreeNode::Split {
                    feature,
                    threshold,
                    low,
                } => node = child(features, feature, threshold, low),
                TreeNode::Leaf(leaf) => return leaf,
            }
        }
    }

    /// Adds, to the entry of each feature, the change of the mean outcome at the splits by the feature on the way of
    /// a row. Returns the mean outcome of all rows.
    pub(crate) fn add_contributions(&self, features: &[f32], by_feature: &mut [f64]) -> f64 {
        let mut node = 0;
        while let TreeNode::Split {
            feature,
            threshold,
            low,
        } = self.nodes[node]
        {
            let next = child(features, feature, threshold, low);
            by_feature[usize::from(feature)] += f64::from(self.means[next] - self.means[node]);
            node = next;
        }
        f64::from(self.means[0])
    }

    /// Returns whether every way through the tree ends at a leaf, given the number of features of a row.
    pub(crate) fn is_whole(&self, n_features: usize) -> bool {
        let n_leaves = self.leaves.len();
        let ends = |(place, node): (usize, &TreeNode)| match *node {
            TreeNode::Split { feature, low, .. } => {
                usize::from(feature) < n_features
                    && low as usize > place
                    && (low as usize) + 1 < self.nodes.len()
            }
            TreeNode::Leaf(leaf) => (leaf as usize) < n_leaves,
        };
        !self.nodes.is_empty()
            && self.means.len() == self.nodes.len()
            && self.nodes.iter().enumerate().all(ends)
            && self.leaves.is_whole()
    }
}

fn child(features: &[f32], feature: u16, threshold: f32, low: u32) -> usize {
    // Not a number goes to the high side, as at the growth.
    let is_low = features[usize::from(feature)] <= threshold;
    low as usize + usize::from(!is_low)
}

impl LeafOutcomes {
    /// Appends an empty leaf and returns its number.
    pub(crate) fn add_leaf(&mut self) -> u32 {
        let leaf = self.len();
        self.bins.resize((leaf + 1) * MAX_OUTCOMES, 0);
        self.n_filled.push(0);
        self.next.push(0);
        leaf as u32
    }

    /// Enters an outcome, in the place of the oldest one if the leaf is full.
    pub(crate) fn enter(&mut self, leaf: u32, bin: u16) {
        let leaf = leaf as usize;
        let next = usize::from(self.next[leaf]);
        self.bins[leaf * MAX_OUTCOMES + next] = bin;
        self.next[leaf] = ((next + 1) % MAX_OUTCOMES) as u8;
        self.n_filled[leaf] = (self.n_filled[leaf] + 1).min(MAX_OUTCOMES as u8);
    }

    /// Returns the outcomes of a leaf, in no order.
    pub(crate) fn outcomes(&self, leaf: u32) -> &[u16] {
        let leaf = leaf as usize;
        &self.bins[leaf * MAX_OUTCOMES..][..usize::from(self.n_filled[leaf])]
    }

    fn len(&self) -> usize {
        self.n_filled.len()
    }

    fn is_whole(&self) -> bool {
        let fits = |(filled, next): (&u8, &u8)| {
            let (filled, next) = (usize::from(*filled), usize::from(*next));
            (filled == MAX_OUTCOMES && next < MAX_OUTCOMES)
                || (0 < filled && filled < MAX_OUTCOMES && next == filled)
        };
        self.bins.len() == self.len() * MAX_OUTCOMES
            && self.next.len() == self.len()
            && self.n_filled.iter().zip(&self.next).all(fits)
            && self
                .bins
                .iter()
                .all(|bin| usize::from(*bin) < crate::bins::N_BINS)
    }
}

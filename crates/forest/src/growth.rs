//! The growth of an extremely randomised tree (Geurts, Ernst & Wehenkel 2006, table 1).
//!
//! Departures: outcomes are numbers of fixed point, so that sums are exact and independent of the order of rows. A
//! split leaves a minimum number of rows on each side.

use rand::RngExt;
use rand_pcg::Pcg64;

use crate::bins::bin_of;
use crate::rows::TrainingRows;
use crate::settings::ForestSettings;
use crate::tree::{RegressionTree, TreeNode};

/// Units of the fixed point in one unit of an outcome.
const FIXED_PER_UNIT: f32 = 4_096.0;

/// The largest outcome in fixed point.
const MAX_FIXED: f32 = (1 << 18) as f32;

/// Number of rows whose outcomes are summed in 32 bits, which takes half as long as in 64.
const SUMMED_ROWS: usize = 1 << 12;

/// Rows in columns, for the growth of many trees.
pub(crate) struct TrainingColumns {
    /// One column a feature.
    features: Vec<Vec<f32>>,
    /// The outcomes in fixed point.
    outcomes: Vec<i32>,
    /// The bins of the outcomes.
    bins: Vec<u16>,
}

impl TrainingColumns {
    pub(crate) fn of(rows: &TrainingRows) -> Self {
        let column = |feature| rows.iter().map(|(row, _)| row[feature]).collect();
        let fixed = |outcome: f32| (outcome * FIXED_PER_UNIT).clamp(-MAX_FIXED, MAX_FIXED) as i32;
        Self {
            features: (0..rows.n_features()).map(column).collect(),
            outcomes: rows.iter().map(|(_, outcome)| fixed(outcome)).collect(),
            bins: rows
                .iter()
                .map(|(_, outcome)| bin_of(f64::from(outcome)))
                .collect(),
        }
    }
}

/// A tree that grows.
pub(crate) struct TreeGrowth<'a> {
    columns: &'a TrainingColumns,
    min_rows: usize,
    n_tried: usize,
    random: Pcg64,
    tree: RegressionTree,
    /// The features, in the order in which they were last drawn.
    drawn: Vec<u16>,
    node: NodeRows,
}

/// The rows of the node that is split, gathered from the columns.
#[derive(Default)]
struct NodeRows {
    outcomes: Vec<i32>,
    total: i64,
    values: Vec<f32>,
}

/// A split of a node with its merit.
#[derive(Clone, Copy)]
struct SplitChoice {
    feature: u16,
    threshold: f32,
    /// The part of the squared outcomes that the means of both sides explain.
    merit: f64,
}

impl<'a> TreeGrowth<'a> {
    pub(crate) fn new(
        columns: &'a TrainingColumns,
        settings: &ForestSettings,
        random: Pcg64,
    ) -> Self {
        let n_features = columns.features.len();
        let n_tried = (settings.tried_features * n_features as f64).ceil() as usize;
        Self {
            columns,
            min_rows: usize::from(settings.min_rows.max(1)),
            n_tried: n_tried.clamp(1, n_features),
            random,
            tree: RegressionTree::default(),
            drawn: (0..n_features as u16).collect(),
            node: NodeRows::default(),
        }
    }

    /// Grows the tree from all rows, of which there is at least one. Their outcomes are in its leaves, entered from the
    /// oldest to the newest.
    pub(crate) fn grow(mut self) -> RegressionTree {
        let mut rows: Vec<u32> = (0..self.columns.outcomes.len() as u32).collect();
        self.add_node();
        let mut open = vec![(0, 0, rows.len())];
        while let Some((node, begin, end)) = open.pop() {
            let split = self.split(&rows[begin..end]);
            let n_rows = (end - begin) as f64;
            let mean = self.node.total as f64 / n_rows / f64::from(FIXED_PER_UNIT);
            self.tree.means[node] = mean as f32;
            let Some(SplitChoice {
                feature, threshold, ..
            }) = split
            else {
                self.add_leaf(node, &mut rows[begin..end]);
                continue;
            };
            let column = &self.columns.features[usize::from(feature)];
            let middle = begin
                + partition(&mut rows[begin..end], |row| {
                    column[row as usize] <= threshold
                });
            let low = self.add_node();
            let high = self.add_node();
            self.tree.nodes[node] = TreeNode::Split {
                feature,
                threshold,
                low: low as u32,
            };
            open.push((high, middle, end));
            open.push((low, begin, middle));
        }
        self.tree
    }

    fn add_node(&mut self) -> usize {
        self.tree.nodes.push(TreeNode::Leaf(0));
        self.tree.means.push(0.0);
        self.tree.nodes.len() - 1
    }

    fn add_leaf(&mut self, node: usize, rows: &mut [u32]) {
        let leaf = self.tree.leaves.add_leaf();
        self.tree.nodes[node] = TreeNode::Leaf(leaf);
        rows.sort_unstable();
        for row in rows {
            self.tree
                .leaves
                .enter(leaf, self.columns.bins[*row as usize]);
        }
    }

    /// Returns the best of the random splits of `rows`; None if the rows stay together.
    fn split(&mut self, rows: &[u32]) -> Option<SplitChoice> {
        self.node.gather_outcomes(rows, &self.columns.outcomes);
        if rows.len() < 2 * self.min_rows || self.node.is_uniform() {
            return None;
        }
        let mut best: Option<SplitChoice> = None;
        let mut n_tried = 0;
        for place in 0..self.drawn.len() {
            let with = self.random.random_range(place..self.drawn.len());
            self.drawn.swap(place, with);
            let feature = self.drawn[place];
            let column = &self.columns.features[usize::from(feature)];
            let (least, most) = self.node.gather_values(rows, column);
            if least >= most {
                // A constant feature separates nothing, and does not count as tried.
                continue;
            }
            let part: f32 = self.random.random();
            let threshold = least + (most - least) * part;
            let threshold = if threshold < most { threshold } else { least };
            let merit = self.node.merit(threshold, self.min_rows);
            if merit > best.map_or(0.0, |best| best.merit) {
                best = Some(SplitChoice {
                    feature,
                    threshold,
                    merit,
                });
            }
            n_tried += 1;
            if n_tried == self.n_tried {
                break;
            }
        }
        best
    }
}

impl NodeRows {
    fn gather_outcomes(&mut self, rows: &[u32], outcomes: &[i32]) {
        self.outcomes.clear();
        let own = rows.iter().map(|row| outcomes[*row as usize]);
        self.outcomes.extend(own);
        self.total = self.outcomes.iter().map(|z| i64::from(*z)).sum();
    }

    fn is_uniform(&self) -> bool {
        self.outcomes.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Gathers the values of a feature. Returns the least and the largest one.
    fn gather_values(&mut self, rows: &[u32], column: &[f32]) -> (f32, f32) {
        self.values.clear();
        self.values
            .extend(rows.iter().map(|row| column[*row as usize]));
        // Comparisons instead of `min` and `max`, whose care for what is not a number costs more: it compares as false.
        let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
        for x in &self.values {
            least = if *x < least { *x } else { least };
            most = if *x > most { *x } else { most };
        }
        (least, most)
    }

    /// Returns the merit of a split at `threshold`, 0 if a side has fewer than `min_rows` rows.
    ///
    /// The variance that is left on both sides is least where n₁ m₁² + n₂ m₂² is largest, with the numbers n and the
    /// means m of the sides. The square of the mean of all rows is subtracted.
    fn merit(&self, threshold: f32, min_rows: usize) -> f64 {
        let mut n_low = 0;
        let mut sum_low = 0_i64;
        let values = self.values.chunks(SUMMED_ROWS);
        for (values, outcomes) in values.zip(self.outcomes.chunks(SUMMED_ROWS)) {
            let (mut n, mut sum) = (0_i32, 0_i32);
            for (x, z) in values.iter().zip(outcomes) {
                let low = *x <= threshold;
                n += i32::from(low);
                sum += if low { *z } else { 0 };
            }
            n_low += n as usize;
            sum_low += i64::from(sum);
        }
        let n_high = self.outcomes.len() - n_low;
        if n_low.min(n_high) < min_rows {
            return 0.0;
        }
        // (m₁ - m₂)² n₁ n₂ / n, which is the same without a difference of large numbers.
        let mean_low = sum_low as f64 / n_low as f64;
        let mean_high = (self.total - sum_low) as f64 / n_high as f64;
        let apart = mean_low - mean_high;
        apart * apart * (n_low as f64 * n_high as f64 / self.outcomes.len() as f64)
    }
}

/// Moves the rows for which `is_low` holds to the front. Returns their number.
fn partition(rows: &mut [u32], is_low: impl Fn(u32) -> bool) -> usize {
    let mut n_low = 0;
    for place in 0..rows.len() {
        if is_low(rows[place]) {
            rows.swap(place, n_low);
            n_low += 1;
        }
    }
    n_low
}

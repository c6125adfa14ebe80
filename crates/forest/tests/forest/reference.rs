//! A slow, plain forest: boxed nodes, outcomes in lists, quantiles from sorted weights.

use rand::RngExt;
use rand_pcg::Pcg64;
use tollgate_forest::ForestSettings;

/// A row: its features and its outcome.
pub(crate) type PlainRow = (Vec<f32>, f32);

/// A slow forest.
pub(crate) struct PlainForest {
    trees: Vec<PlainNode>,
}

enum PlainNode {
    Split {
        feature: usize,
        threshold: f32,
        low: Box<PlainNode>,
        high: Box<PlainNode>,
    },
    Leaf(Vec<f32>),
}

impl PlainForest {
    pub(crate) fn fit(settings: &ForestSettings, rows: &[PlainRow], seed: u64) -> Self {
        let grown = |tree: u16| {
            let mut random = Pcg64::new(u128::from(seed), u128::from(tree));
            let mut order: Vec<usize> = (0..rows[0].0.len()).collect();
            grow(settings, rows, &mut order, &mut random)
        };
        let mut forest = Self {
            trees: (0..settings.n_trees).map(grown).collect(),
        };
        rows.iter().for_each(|row| forest.learn(row));
        forest
    }

    pub(crate) fn learn(&mut self, row: &PlainRow) {
        for tree in &mut self.trees {
            let leaf = leaf(tree, &row.0);
            leaf.push(row.1);
            if leaf.len() > 40 {
                leaf.remove(0);
            }
        }
    }

    /// Returns the bin of the quantile at `level`.
    pub(crate) fn quantile_bin(&mut self, features: &[f32], level: f64) -> usize {
        let mut weights: Vec<(usize, f64)> = Vec::new();
        let n_trees = self.trees.len() as f64;
        for tree in &mut self.trees {
            let outcomes = leaf(tree, features);
            let weight = 1.0 / n_trees / outcomes.len() as f64;
            let bins = outcomes.iter().map(|z| (z * 12.0).floor() as usize);
            weights.extend(bins.map(|bin| (bin, weight)));
        }
        weights.sort_by_key(|(bin, _)| *bin);
        let mut sum = 0.0;
        for (bin, weight) in &weights {
            sum += weight;
            if sum >= level {
                return *bin;
            }
        }
        weights.last().expect("an outcome").0
    }
}

fn leaf<'a>(node: &'a mut PlainNode, features: &[f32]) -> &'a mut Vec<f32> {
    match node {
        PlainNode::Split {
            feature,
            threshold,
            low,
            high,
        } => {
            let next = if features[*feature] <= *threshold {
                low
            } else {
                high
            };
            leaf(next, features)
        }
        PlainNode::Leaf(outcomes) => outcomes,
    }
}

fn grow(
    settings: &ForestSettings,
    rows: &[PlainRow],
    order: &mut [usize],
    random: &mut Pcg64,
) -> PlainNode {
    let min_rows = usize::from(settings.min_rows);
    if rows.len() < 2 * min_rows || rows.iter().all(|row| row.1 == rows[0].1) {
        return PlainNode::Leaf(Vec::new());
    }
    let n_tried = (settings.tried_features * order.len() as f64).ceil() as usize;
    let mut best: Option<(f64, usize, f32)> = None;
    let mut tried = 0;
    for place in 0..order.len() {
        let with = random.random_range(place..order.len());
        order.swap(place, with);
        let feature = order[place];
        let values: Vec<f32> = rows.iter().map(|row| row.0[feature]).collect();
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if least == most {
            continue;
        }
        let threshold = least + (most - least) * random.random::<f32>();
        let threshold = if threshold < most { threshold } else { least };
        let (low, high) = sides(rows, feature, threshold);
        if low.len() >= min_rows && high.len() >= min_rows {
            let left = spread(&low) + spread(&high);
            if best.is_none_or(|(least, ..)| left < least - 1e-9) && left < spread(rows) - 1e-9 {
                best = Some((left, feature, threshold));
            }
        }
        tried += 1;
        if tried == n_tried {
            break;
        }
    }
    let Some((_, feature, threshold)) = best else {
        return PlainNode::Leaf(Vec::new());
    };
    let (low, high) = sides(rows, feature, threshold);
    // The lower side is grown first: it draws first.
    let low = Box::new(grow(settings, &low, order, random));
    PlainNode::Split {
        feature,
        threshold,
        low,
        high: Box::new(grow(settings, &high, order, random)),
    }
}

fn sides(rows: &[PlainRow], feature: usize, threshold: f32) -> (Vec<PlainRow>, Vec<PlainRow>) {
    rows.iter()
        .cloned()
        .partition(|row| row.0[feature] <= threshold)
}

/// Returns the sum of the squared distances from the mean.
fn spread(rows: &[PlainRow]) -> f64 {
    let mean = rows.iter().map(|row| f64::from(row.1)).sum::<f64>() / rows.len() as f64;
    let squares = rows.iter().map(|row| (f64::from(row.1) - mean).powi(2));
    squares.sum()
}

//! A forest that forecasts run times: one more source of a belief.
//!
//! The forest learns each run time at its end, and is grown anew one tree at a time. So it follows a site whose jobs
//! change, and no event waits for the growth of a whole forest.

use serde::{Deserialize, Serialize};
use tollgate_forest::{ForestSettings, RegressionForest, TrainingRows};
use tollgate_model::{Instant, Span};

use super::mass::RunMass;
use super::run_features::{N_RUN_FEATURES, RunFeatures};

/// Number of run times from which a tree is grown. With twice as many, losses fall by at most .6 %, and a tree takes
/// twice as long.
const ROWS: usize = 5_000;
/// Number of run times, and of batches of them, before the first tree: before, one large batch would be all that the
/// forest knows.
const MIN_ROWS: u64 = 200;
const MIN_BATCHES: u64 = 100;
/// Number of run times of a batch of which each is learned; then one in two, in three, and so on, so that no batch fills
/// the rows.
const EQUAL_RUNS: u32 = 32;
/// Number of trees.
const TREES: u16 = 40;
/// Number of trees without which the forest says nothing.
const MIN_TREES: usize = 10;
/// Every tree is grown anew after as many run times as a half of all, at most these.
const FRESH_PART: u64 = 2;
const MAX_FRESH: u64 = 2_000;
/// The time between the growths of two trees, once there are enough run times: every tree is grown anew in a month.
/// With twice and half of that, losses on archived traces are equal within half a per cent.
const MIN_AGE: Span = Span::from_secs(30 * 86_400 / TREES as i64);
/// The part of the features among which a node chooses its split. With .6, losses fall by at most .3 %, and a tree
/// takes half as long again.
const TRIED_FEATURES: f64 = 0.4;

/// The forest with its rows. Outcomes are logarithms of run times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunForest {
    rows: TrainingRows,
    forest: Option<RegressionForest>,
    /// The instant of the last growth of a tree, and the number of run times then.
    grown_at: Instant,
    n_grown: u64,
    /// Number of trees that were ever grown.
    n_growths: u64,
    /// Number of batches of which a run time was learned.
    n_batches: u64,
}

/// A forest that knows nothing.
impl Default for RunForest {
    fn default() -> Self {
        Self {
            rows: TrainingRows::new(N_RUN_FEATURES, ROWS),
            forest: None,
            grown_at: Instant::ZERO,
            n_grown: 0,
            n_growths: 0,
            n_batches: 0,
        }
    }
}

impl RunForest {
    /// Returns the masses of the run time of a row; None while the forest is too small.
    pub(crate) fn forecast(&self, row: &RunFeatures) -> Option<RunMass> {
        let forest = self.forest.as_ref()?;
        if forest.n_trees() < MIN_TREES {
            return None;
        }
        let mut mass = RunMass::default();
        for (ln_run, part) in forest.forecast(row).masses() {
            mass.add(ln_run, part);
        }
        Some(mass)
    }

    /// Returns the number of run times that are remembered.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Learns the run time, a logarithm, of a row, and grows a tree anew if one is due. The job was the `rank`-th of its
    /// batch to end.
    pub(crate) fn learn(&mut self, row: &RunFeatures, ln_run: f64, (rank, now): (u32, Instant)) {
        if rank > EQUAL_RUNS && !rank.is_multiple_of(rank / EQUAL_RUNS) {
            return;
        }
        self.n_batches += u64::from(rank == 1);
        self.rows.push(row, ln_run as f32);
        if let Some(forest) = &mut self.forest {
            forest.learn(row, ln_run as f32);
        }
        if self.is_due(now) {
            self.grow(now);
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let n_rows = self.rows.n_pushed();
        if n_rows < MIN_ROWS || self.n_batches < MIN_BATCHES {
            return false;
        }
        if self.n_growths < u64::from(TREES) {
            return true;
        }
        let n_fresh = n_rows - self.n_grown;
        let usual = (n_rows / FRESH_PART).min(MAX_FRESH) / u64::from(TREES);
        let is_young = n_rows < 2 * MAX_FRESH;
        n_fresh >= usual && (is_young || now.since(self.grown_at) >= MIN_AGE)
    }

    fn grow(&mut self, now: Instant) {
        let tree = (self.n_growths % u64::from(TREES)) as u16;
        let settings = ForestSettings {
            n_trees: 1,
            tried_features: TRIED_FEATURES,
            ..ForestSettings::default()
        };
        let seed = self.n_growths;
        match &mut self.forest {
            Some(forest) => forest.regrow(tree, &settings, &self.rows, seed),
            None => self.forest = RegressionForest::fit(&settings, &self.rows, seed),
        }
        self.grown_at = now;
        self.n_grown = self.rows.n_pushed();
        self.n_growths += 1;
    }
}

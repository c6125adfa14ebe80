//! One quantity of waiting jobs, forecast by a forest of its own.

use serde::{Deserialize, Serialize};
use tollgate_forest::{
    ForestExplanation, ForestSettings, LevelOffsets, OutcomeMixture, RegressionForest, TrainingRows,
};
use tollgate_model::{Instant, Span};

use super::features::{FeatureRow, N_FEATURES};
use super::first_guess::ClassQuantiles;
use super::job::WaitClass;
use super::queue_state::span_of_ln;
use super::statement::{N_WAIT_LEVELS, SpanBounds, WAIT_LEVELS, WaitBasis};

/// Number of outcomes from which a forest is fitted.
const ROWS: usize = 10_000;
/// Number of outcomes before the first forest.
const MIN_ROWS: u64 = 300;
/// Number of new outcomes after which a forest is fitted anew.
const REFIT_ROWS: u64 = 2_000;
/// Time after which a forest is fitted anew, and the fewest new outcomes then.
const REFIT_AFTER: Span = Span::from_secs(14 * 86_400);
const REFIT_LATE_ROWS: u64 = 500;
/// The change of an offset by one broken bound at level 1, in ln.
const OFFSET_STEP: f64 = 0.004;
/// The largest offset, in ln.
const OFFSET_LIMIT: f64 = 0.7;

/// A quantity of waiting jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WaitQuantity {
    /// The wait, at submission.
    Wait,
    /// The rest of the wait, while the job waits.
    Rest,
    /// The time from submission to the end, at submission.
    End,
    /// The time to the end, while the job waits.
    RestToEnd,
}

/// The forest of a quantity with its rows and its offsets. Outcomes are ln(1 + seconds).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct QuantityModel {
    quantity: WaitQuantity,
    rows: TrainingRows,
    forest: Option<RegressionForest>,
    guess: ClassQuantiles,
    offsets: LevelOffsets,
    fitted_at: Instant,
    /// The number of outcomes, and of fits, at the last fit.
    n_fitted: u64,
    n_fits: u64,
}

/// The bounds of a quantity, in spans and as they are judged.
#[derive(Clone, Debug)]
pub(super) struct QuantityForecast {
    pub(super) bounds: SpanBounds,
    /// The group of the offsets. None if no forest has given the bounds.
    pub(super) group: Option<usize>,
    /// The distribution in the leaves of the forest, before the offsets.
    pub(super) mixture: Option<OutcomeMixture>,
}

/// A fit of a forest that is due: a pure computation, for any thread.
#[derive(Clone, Debug)]
pub struct WaitRefit {
    quantity: WaitQuantity,
    rows: TrainingRows,
    seed: u64,
}

/// A forest that was fitted.
#[derive(Clone, Debug)]
pub struct FittedWaitForest {
    pub(super) quantity: WaitQuantity,
    forest: Option<RegressionForest>,
    n_rows: u64,
}

impl WaitRefit {
    /// Returns the quantity of the forest.
    pub fn quantity(&self) -> WaitQuantity {
        self.quantity
    }

    /// Returns the number of outcomes that were learned so far. The forest is fitted from the last 10,000 of them.
    pub fn n_outcomes(&self) -> u64 {
        self.rows.n_pushed()
    }

    /// Fits the forest.
    pub fn run(self) -> FittedWaitForest {
        FittedWaitForest {
            quantity: self.quantity,
            forest: RegressionForest::fit(&ForestSettings::default(), &self.rows, self.seed),
            n_rows: self.rows.n_pushed(),
        }
    }
}

impl QuantityModel {
    pub(super) fn new(quantity: WaitQuantity, n_groups: usize) -> Self {
        Self {
            quantity,
            rows: TrainingRows::new(N_FEATURES, ROWS),
            forest: None,
            guess: ClassQuantiles::default(),
            offsets: LevelOffsets::new(&WAIT_LEVELS, n_groups, OFFSET_STEP, OFFSET_LIMIT),
            fitted_at: Instant::ZERO,
            n_fitted: 0,
            n_fits: 0,
        }
    }

    /// Forecasts the quantity for a row. `group` returns the group of the offsets by the median before the offsets.
    /// Returns None if too little is known even for a first guess.
    pub(super) fn forecast(
        &self,
        row: &FeatureRow,
        class: WaitClass,
        group: impl Fn(f64) -> usize,
    ) -> Option<QuantityForecast> {
        let Some(forest) = &self.forest else {
            let (quantiles, basis) = self.guess.quantiles(class, &WAIT_LEVELS)?;
            return Some(QuantityForecast {
                bounds: bounds(quantiles, basis),
                group: None,
                mixture: None,
            });
        };
        let mixture = forest.forecast(row);
        let group = group(mixture.quantile(0.5));
        let corrected: [f64; N_WAIT_LEVELS] = std::array::from_fn(|idx| {
            mixture.quantile(WAIT_LEVELS[idx]) + self.offsets.offset(group, idx)
        });
        Some(QuantityForecast {
            bounds: bounds(corrected, WaitBasis::Forest),
            group: Some(group),
            mixture: Some(mixture),
        })
    }

    /// Learns the outcome of a row.
    pub(super) fn learn(&mut self, row: &FeatureRow, class: WaitClass, outcome: f64) {
        self.rows.push(row, outcome as f32);
        match &mut self.forest {
            Some(forest) => forest.learn(row, outcome as f32),
            None => self.guess.learn(class, outcome),
        }
    }

    pub(super) fn judge(&mut self, group: usize, level_idx: usize, kept: bool) {
        self.offsets.judge(group, level_idx, kept);
    }

    /// Takes back that a bound was broken.
    pub(super) fn retract_broken(&mut self, group: usize, level_idx: usize) {
        self.offsets.retract_broken(group, level_idx);
    }

    /// Returns the fit that is due. The next one is due some time later, whether this one is run or not.
    pub(super) fn refit_due(&mut self, now: Instant) -> Option<WaitRefit> {
        let n_rows = self.rows.n_pushed();
        let n_fresh = n_rows - self.n_fitted;
        // The first forests have few rows: half as many again change them much.
        let is_due = n_rows >= MIN_ROWS
            && (n_fresh >= REFIT_ROWS.min(self.n_fitted / 2).max(1)
                || (n_fresh >= REFIT_LATE_ROWS && now.since(self.fitted_at) >= REFIT_AFTER));
        if !is_due {
            return None;
        }
        self.fitted_at = now;
        self.n_fitted = n_rows;
        self.n_fits += 1;
        Some(WaitRefit {
            quantity: self.quantity,
            rows: self.rows.clone(),
            seed: self.n_fits,
        })
    }

    /// Puts a fitted forest in the place of the present one. Outcomes that came in meanwhile enter its leaves.
    pub(super) fn install(&mut self, fitted: FittedWaitForest) {
        let mut forest = fitted.forest;
        if let Some(forest) = &mut forest {
            for (row, outcome) in self.rows.since(fitted.n_rows) {
                forest.learn(row, outcome);
            }
        }
        self.forest = forest;
    }

    /// Explains the forecast of a row. Returns None before the first forest.
    pub(super) fn explain(&self, row: &FeatureRow, n_nearest: usize) -> Option<ForestExplanation> {
        let forest = self.forest.as_ref()?;
        Some(forest.explain(row, &self.rows, n_nearest))
    }

    pub(super) fn n_outcomes(&self) -> u64 {
        self.rows.n_pushed()
    }
}

/// Returns bounds that ascend: a bound below its predecessor is raised to it. Bounds are not sorted, because two
/// offsets would then learn each other's outcomes.
fn bounds(ln: [f64; N_WAIT_LEVELS], basis: WaitBasis) -> SpanBounds {
    let mut floor = 0.0_f64;
    let bounds = ln.map(|ln| {
        floor = floor.max(ln);
        span_of_ln(floor)
    });
    SpanBounds { bounds, basis }
}

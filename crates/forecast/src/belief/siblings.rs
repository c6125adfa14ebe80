//! The last level: the tasks of the same batch, which have ended or run.

use tollgate_model::Instant;

use super::StatementTime;
use super::batch::LiveBatch;
use super::mass::RunMass;
use super::mixture::{Component, LevelMixture};
use super::weights::{Cell, Multipliers};
use super::{MID, NARROW, WIDE};

/// Number of cases of siblings, on either occasion.
const N_CASES: usize = 7;
/// Number of buckets of siblings.
pub(crate) const N_SIBLING_BUCKETS: usize = 2 * N_CASES;
/// The first case in which a sibling has ended.
const FIRST_ENDED: usize = 2;
/// Number of running siblings from which more of them make no other case.
pub(crate) const MANY_RUNNING: usize = 3;
/// Number of running siblings that count one by one.
const RUNNING: usize = 8;

/// Returns the bucket of a batch by what its tasks have shown; None if none runs or has ended.
pub(crate) fn bucket(batch: &LiveBatch, observed_at: StatementTime) -> Option<usize> {
    let case = match (batch.n_ended, batch.n_running()) {
        (0, 0) => return None,
        (0, ..MANY_RUNNING) => 0,
        (0, _) => 1,
        (1, _) => FIRST_ENDED,
        (2, _) => 3,
        (3..=5, _) => 4,
        (6..=15, _) => 5,
        (16.., _) => 6,
    };
    Some(match observed_at {
        StatementTime::Submission => case,
        StatementTime::Later => N_CASES + case,
    })
}

/// Returns true if a sibling had ended in a case of this bucket.
pub(crate) const fn has_ended(bucket: u8) -> bool {
    bucket as usize % N_CASES >= FIRST_ENDED
}

/// Returns the level of the siblings in a batch; None if none runs or has ended.
pub(crate) fn level(
    batch: &LiveBatch,
    class: Option<&Multipliers>,
    weights: impl FnOnce(Cell) -> super::weights::ComponentWeights,
    (observed_at, now): (StatementTime, Instant),
    parent: &RunMass,
) -> Option<LevelMixture> {
    let cell = Cell::Siblings(bucket(batch, observed_at)? as u8);
    let mut weights = weights(cell);
    if batch.n_ended > 0 {
        batch.multipliers.apply(&mut weights);
        if let Some(class) = class {
            class.apply(&mut weights);
        }
    }
    let components = Component::below_parent(&[NARROW, MID, WIDE]);
    let histograms = vec![product_limit(batch, now, parent)?, parent.clone()];
    Some(LevelMixture::new(
        cell, None, histograms, components, &weights,
    ))
}

/// Returns the run times of the siblings, with those of the running ones redistributed beyond their elapsed
/// times (product limit, Kaplan & Meier 1958; Efron 1967). The m ended ones that ran longer get the share m /
/// (m + 1), and the level above gets the rest.
fn product_limit(batch: &LiveBatch, now: Instant, parent: &RunMass) -> Option<RunMass> {
    let ended = || batch.ended.iter().map(|&ln_run| f64::from(ln_run));
    // Each remembered run time stands for as many forgotten ones.
    let stands_for = f64::from(batch.n_ended) / batch.ended.len().max(1) as f64;
    let mut mass = RunMass::default();
    ended().for_each(|ln_run| mass.add(ln_run, stands_for));
    let mut beyond = Vec::with_capacity(RUNNING);
    for (elapsed, weight) in batch.elapsed(now, RUNNING) {
        let ln_elapsed = elapsed.as_secs_f64().max(1.0).ln();
        let longer = || ended().filter(|&ln_run| ln_run > ln_elapsed);
        let n_longer = longer().count() as f64;
        let share = n_longer * stands_for / (n_longer * stands_for + 1.0);
        longer().for_each(|ln_run| mass.add(ln_run, weight * share / n_longer));
        beyond.push((elapsed, weight * (1.0 - share)));
    }
    if !beyond.is_empty() {
        mass.add_scaled(&parent.beyond(beyond.into_iter()), 1.0);
    }
    mass.normalised()
}

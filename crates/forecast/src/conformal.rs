//! Calibrated quantiles: several conformal proposals, blended by past performance, and shifted by
//! past misses.

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::{LEVELS, N_LEVELS};

/// A value for each of [`LEVELS`], as logarithms of seconds unless stated otherwise.
pub(crate) type QuantileTable = [f64; N_LEVELS];

/// Number of sources of proposals: residuals of the point forecast, recent run times, run times of
/// look-alikes, recent ratios of run time to request.
pub(crate) const N_SOURCES: usize = 4;

/// The proposal of each source, if it has one.
pub(crate) type QuantileProposals = [Option<QuantileTable>; N_SOURCES];

/// Builds a table from `quantile` at each level; None if `quantile` returns None.
pub(crate) fn table(mut quantile: impl FnMut(f64) -> Option<f64>) -> Option<QuantileTable> {
    let mut values = [0.0; N_LEVELS];
    for (value, level) in values.iter_mut().zip(LEVELS) {
        *value = quantile(level.as_f64())?;
    }
    Some(values)
}

/// The speed at which old losses are forgotten: about the last fifty count.
const FORGET: f64 = 0.02;
/// The power by which loss reduces a source's weight: twice the loss, a sixteenth of the weight.
const SHARPNESS: i32 = 4;
/// Added to every loss, as a logarithm of seconds, so that a source that was never wrong yet does
/// not silence the others.
const MIN_LOSS: f64 = 1e-4;

/// The performance of each source at each level: the running mean of its pinball loss.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SourceWeights([[Option<f64>; N_LEVELS]; N_SOURCES]);

impl SourceWeights {
    /// Returns the weighted mean of the proposals; None without proposals. A source without a
    /// record counts as much as the worst source with one.
    pub(crate) fn blend(&self, proposals: &QuantileProposals) -> Option<QuantileTable> {
        let mut blended = [0.0; N_LEVELS];
        for (level, value) in blended.iter_mut().enumerate() {
            let losses = self.0.iter().filter_map(|losses| losses[level]);
            let worst = losses.fold(0.0, f64::max);
            let (mut sum, mut total) = (0.0, 0.0);
            for (losses, proposal) in self.0.iter().zip(proposals) {
                if let Some(proposal) = proposal {
                    let loss = losses[level].unwrap_or(worst) + MIN_LOSS;
                    let weight = loss.powi(-SHARPNESS);
                    sum += weight * proposal[level];
                    total += weight;
                }
            }
            if total <= 0.0 {
                return None;
            }
            *value = sum / total;
        }
        Some(blended)
    }

    /// Learns the loss of each proposal.
    pub(crate) fn learn(&mut self, proposals: &QuantileProposals, actual: f64) {
        for (losses, proposal) in self.0.iter_mut().zip(proposals) {
            let Some(proposal) = proposal else { continue };
            for ((loss, bound), level) in losses.iter_mut().zip(proposal).zip(LEVELS) {
                let new = pinball(*bound, actual, level.as_f64());
                *loss = Some(loss.map_or(new, |old| old + FORGET * (new - old)));
            }
        }
    }
}

/// Returns the loss that the quantile at `level` minimises (Koenker & Bassett 1978).
pub(crate) fn pinball(bound: f64, actual: f64, level: f64) -> f64 {
    let above = actual - bound;
    (level * above).max((level - 1.0) * above)
}

/// Maximum offset, as a logarithm: without a limit, late feedback winds it up. With 1.5, two
/// archived traces with the latest feedback are covered a point less; with 3, the sum of bounds of
/// one of them doubles.
const MAX_OFFSET: f64 = 2.0;

/// The offsets by which bounds are moved so that each is exceeded as often as its level states
/// (adaptive conformal inference: Gibbs & Candès 2021, eq. 2, on the bound instead of the level).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConformalOffsets(QuantileTable);

impl ConformalOffsets {
    /// Adds the offsets to `bounds`.
    pub(crate) fn shift(&self, bounds: &mut QuantileTable) {
        for (bound, offset) in bounds.iter_mut().zip(self.0) {
            *bound += offset;
        }
    }

    /// Moves the offset of the level of this index by `step` x (missed - (1 - level)).
    pub(crate) fn judge(&mut self, level_idx: usize, kept: bool, step: f64) {
        let missed = f64::from(!kept);
        let offset = &mut self.0[level_idx];
        *offset += step * (missed - (1.0 - LEVELS[level_idx].as_f64()));
        *offset = offset.clamp(-MAX_OFFSET, MAX_OFFSET);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_accurate_source_gets_more_weight() {
        let mut trust = SourceWeights::default();
        let proposals = [Some([1.0; N_LEVELS]), Some([9.0; N_LEVELS]), None, None];
        assert_eq!(trust.blend(&proposals), Some([5.0; N_LEVELS]));
        for _ in 0..10 {
            trust.learn(&proposals, 1.0);
        }
        assert!(trust.blend(&proposals).unwrap().iter().all(|b| *b < 1.01));
        assert_eq!(trust.blend(&[None; N_SOURCES]), None);
    }

    fn judge_all(offsets: &mut ConformalOffsets, kept: bool) {
        for level_idx in 0..N_LEVELS {
            offsets.judge(level_idx, kept, 0.1);
        }
    }

    #[test]
    fn offset_is_stable_where_the_level_holds() {
        let mut offsets = ConformalOffsets::default();
        // At level 0.90 one miss in ten moves the offset up as far as nine hits move it down.
        for job in 0..10 {
            judge_all(&mut offsets, job < 9);
        }
        assert!(offsets.0[9].abs() < 1e-12);
        assert!(offsets.0[10] > 0.0 && offsets.0[5] < 0.0);
    }

    #[test]
    fn offset_is_bounded_under_repeated_misses() {
        let mut offsets = ConformalOffsets::default();
        for _ in 0..10_000 {
            judge_all(&mut offsets, false);
        }
        assert_eq!(offsets.0, [MAX_OFFSET; N_LEVELS]);
    }
}

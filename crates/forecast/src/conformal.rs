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

/// The speed at which old losses are forgotten: about the last fifty count.
const FORGET: f64 = 0.02;
/// The power by which loss reduces a source's weight: twice the loss, a sixteenth of the weight.
const SHARPNESS: i32 = 4;
/// Added to every loss, as a logarithm of seconds, so that a source that was never wrong yet does
/// not silence the others.
const MIN_LOSS: f64 = 1e-4;

/// The performance of each source at each level: the running mean of its pinball loss. None for a
/// source that has proposed nothing yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredLosses", into = "StoredLosses")]
pub(crate) struct SourceWeights([Option<QuantileTable>; N_SOURCES]);

/// The losses as they are stored: a source has one at every level, or at none.
type StoredLosses = [[Option<f64>; N_LEVELS]; N_SOURCES];

impl From<StoredLosses> for SourceWeights {
    fn from(stored: StoredLosses) -> Self {
        Self(stored.map(|losses| {
            let known = losses.iter().all(Option::is_some);
            known.then(|| losses.map(Option::unwrap_or_default))
        }))
    }
}

impl From<SourceWeights> for StoredLosses {
    fn from(weights: SourceWeights) -> Self {
        weights
            .0
            .map(|losses| losses.map_or([None; N_LEVELS], |losses| losses.map(Some)))
    }
}

impl SourceWeights {
    /// Returns the weighted mean of the proposals; None without proposals. A source without a
    /// record counts as much as the worst source with one.
    pub(crate) fn blend(&self, proposals: &QuantileProposals) -> Option<QuantileTable> {
        let mut worst = [0.0_f64; N_LEVELS];
        for losses in self.0.iter().flatten() {
            for (worst, loss) in worst.iter_mut().zip(losses) {
                *worst = worst.max(*loss);
            }
        }
        let (mut sums, mut totals) = ([0.0; N_LEVELS], [0.0; N_LEVELS]);
        for (losses, proposal) in self.0.iter().zip(proposals) {
            let Some(proposal) = proposal else { continue };
            let losses = losses.as_ref().unwrap_or(&worst);
            for level in 0..N_LEVELS {
                let weight = (losses[level] + MIN_LOSS).powi(-SHARPNESS);
                sums[level] += weight * proposal[level];
                totals[level] += weight;
            }
        }
        let has_weight = totals.iter().all(|total| *total > 0.0);
        has_weight.then(|| std::array::from_fn(|level| sums[level] / totals[level]))
    }

    /// Learns the loss of each proposal.
    pub(crate) fn learn(&mut self, proposals: &QuantileProposals, actual: f64) {
        for (losses, proposal) in self.0.iter_mut().zip(proposals) {
            let Some(proposal) = proposal else { continue };
            let new: QuantileTable = std::array::from_fn(|level| {
                pinball(proposal[level], actual, LEVELS[level].as_f64())
            });
            match losses {
                None => *losses = Some(new),
                Some(losses) => {
                    for (loss, new) in losses.iter_mut().zip(new) {
                        *loss += FORGET * (new - *loss);
                    }
                }
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

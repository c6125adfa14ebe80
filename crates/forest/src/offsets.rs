//! Slow corrections of forecast quantiles.

use serde::{Deserialize, Serialize};

/// Corrections of the quantiles at some levels, one a group of statements and level.
///
/// A kept bound lowers its offset by step × (1 - level) and a broken one raises it by step × level. The offset rests
/// where the bound is kept as often as its level demands (Gibbs & Candès, *Adaptive conformal inference under
/// distribution shift*, 2021). An offset never leaves its limits, so a burst of broken bounds cannot wind it up.
/// Levels are never sorted: an exchange of two bounds would feed each offset with the outcomes of the other one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelOffsets {
    levels: Vec<f64>,
    step: f64,
    limit: f64,
    /// Group after group, an offset a level.
    offsets: Vec<f64>,
}

impl LevelOffsets {
    /// Creates offsets of zero for `n_groups` groups. `step` and `limit` are in the unit of the outcomes, not negative.
    pub fn new(levels: &[f64], n_groups: usize, step: f64, limit: f64) -> Self {
        Self {
            levels: levels.to_vec(),
            step,
            limit,
            offsets: vec![0.0; levels.len() * n_groups],
        }
    }

    /// Returns the offset of a group at the level with index `level_idx`.
    pub fn offset(&self, group: usize, level_idx: usize) -> f64 {
        self.offsets[group * self.levels.len() + level_idx]
    }

    /// Learns whether a bound of a group, at the level with index `level_idx`, was kept.
    pub fn judge(&mut self, group: usize, level_idx: usize, kept: bool) {
        let level = self.levels[level_idx];
        self.change(group, level_idx, if kept { level - 1.0 } else { level });
    }

    /// Takes back that a bound of a group, at the level with index `level_idx`, was broken: its job has no outcome.
    pub fn retract_broken(&mut self, group: usize, level_idx: usize) {
        self.change(group, level_idx, -self.levels[level_idx]);
    }

    fn change(&mut self, group: usize, level_idx: usize, steps: f64) {
        let offset = &mut self.offsets[group * self.levels.len() + level_idx];
        *offset = (*offset + self.step * steps).clamp(-self.limit, self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_rests_where_the_level_is_kept() {
        let mut offsets = LevelOffsets::new(&[0.5, 0.9], 2, 0.01, 0.7);
        for nth in 0..100 {
            offsets.judge(1, 1, nth % 10 != 0);
        }
        assert!(offsets.offset(1, 1).abs() < 1e-12);
        assert_eq!(offsets.offset(0, 1), 0.0);
        assert_eq!(offsets.offset(1, 0), 0.0);
    }

    #[test]
    fn retracted_bound_leaves_no_trace() {
        let mut offsets = LevelOffsets::new(&[0.9], 1, 0.25, 0.7);
        offsets.judge(0, 0, false);
        offsets.retract_broken(0, 0);
        assert_eq!(offsets.offset(0, 0), 0.0);
    }

    #[test]
    fn offset_stays_within_its_limit() {
        let mut offsets = LevelOffsets::new(&[0.9], 1, 0.01, 0.7);
        (0..1_000).for_each(|_| offsets.judge(0, 0, false));
        assert_eq!(offsets.offset(0, 0), 0.7);
        (0..100_000).for_each(|_| offsets.judge(0, 0, true));
        assert_eq!(offsets.offset(0, 0), -0.7);
    }
}

//! The measures by which statements about waits are compared.

use std::collections::BTreeMap;

use tollgate_model::Span;

use super::queue_state::ln_wait;
use super::statement::N_WAIT_LEVELS;
use super::statement::WAIT_LEVELS;

/// The spans of which a bound is compared with what was bounded only if that took longer.
const MIN_RATIO_SPAN: Span = Span::from_secs(600);

/// The index of .9 among the levels.
pub const LEVEL_90: usize = 3;

/// The index of .5 among the levels.
pub const LEVEL_50: usize = 2;

/// The score of one method about one quantity.
#[derive(Clone, Debug, Default)]
pub struct BoundScore {
    /// Number of statements.
    pub n_jobs: u64,
    /// By level; None for a level at which the method states no bound.
    pub levels: [Option<LevelScore>; N_WAIT_LEVELS],
    abs_ln: f64,
    /// Bound / actual at .9, of spans longer than ten minutes.
    ratios: Vec<f32>,
}

/// The sums of a method at one level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelScore {
    /// Number of bounds that were kept.
    pub n_kept: u64,
    /// The sums of the pinball losses in ln(1 + seconds), in ln(1 + minutes) and in seconds.
    pinball: [f64; 3],
}

impl BoundScore {
    /// Adds a statement: a bound a level, where one was stated, and the span that was bounded.
    pub fn add(&mut self, bounds: &[Option<Span>; N_WAIT_LEVELS], actual: Span) {
        self.n_jobs += 1;
        for (idx, bound) in bounds.iter().enumerate() {
            if let Some(bound) = bound {
                let level = self.levels[idx].get_or_insert_default();
                level.add(WAIT_LEVELS[idx], *bound, actual);
            }
        }
        if let Some(median) = bounds[LEVEL_50] {
            self.abs_ln += (ln_wait(median) - ln_wait(actual)).abs();
        }
        if let Some(bound) = bounds[LEVEL_90].filter(|_| actual > MIN_RATIO_SPAN) {
            let ratio = bound.as_secs_f64() / actual.as_secs_f64();
            self.ratios.push(ratio as f32);
        }
    }

    /// Returns the part of the bounds at a level that were kept. None without a bound.
    pub fn coverage(&self, level_idx: usize) -> Option<f64> {
        Some(self.levels[level_idx]?.n_kept as f64 / self.n_jobs as f64)
    }

    /// Returns the mean pinball losses at a level, in ln(1 + seconds), in ln(1 + minutes) and in seconds. None
    /// without a bound.
    pub fn pinball(&self, level_idx: usize) -> Option<[f64; 3]> {
        let level = self.levels[level_idx]?;
        Some(level.pinball.map(|sum| sum / self.n_jobs as f64))
    }

    /// Returns the mean distance between the median and the actual span, in ln(1 + seconds). None without a
    /// statement.
    pub fn mean_abs_ln(&self) -> Option<f64> {
        let median = self.levels[LEVEL_50];
        median.map(|_| self.abs_ln / self.n_jobs as f64)
    }

    /// Returns the median of bound / actual at .9 of the spans longer than ten minutes. None without one.
    pub fn median_ratio(&self) -> Option<f64> {
        let mut ratios = self.ratios.clone();
        ratios.sort_unstable_by(f32::total_cmp);
        ratios.get(ratios.len() / 2).map(|ratio| f64::from(*ratio))
    }
}

impl LevelScore {
    fn add(&mut self, level: f64, bound: Span, actual: Span) {
        self.n_kept += u64::from(actual <= bound);
        let minutes = |span: Span| (span.as_secs_f64() / 60.0).ln_1p();
        let scales: [(f64, f64); 3] = [
            (ln_wait(bound), ln_wait(actual)),
            (minutes(bound), minutes(actual)),
            (bound.as_secs_f64(), actual.as_secs_f64()),
        ];
        for (sum, (bound, actual)) in self.pinball.iter_mut().zip(scales) {
            *sum += pinball(level, bound, actual);
        }
    }
}

/// Returns the pinball loss of a bound at `level`.
fn pinball(level: f64, bound: f64, actual: f64) -> f64 {
    if actual > bound {
        level * (actual - bound)
    } else {
        (1.0 - level) * (bound - actual)
    }
}

/// Numbers of statements and of kept bounds in the parts of a record.
#[derive(Clone, Debug)]
pub struct CoverageByPart<K: Ord>(pub BTreeMap<K, PartCoverage>);

/// The statements of a part of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartCoverage {
    /// Number of statements.
    pub n_jobs: u64,
    /// Number of kept bounds, by level.
    pub n_kept: [u64; N_WAIT_LEVELS],
}

impl<K: Ord> Default for CoverageByPart<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> CoverageByPart<K> {
    /// Adds a statement.
    pub fn add(&mut self, part: K, bounds: &[Span; N_WAIT_LEVELS], actual: Span) {
        let part = self.0.entry(part).or_default();
        part.n_jobs += 1;
        for (kept, bound) in part.n_kept.iter_mut().zip(bounds) {
            *kept += u64::from(actual <= *bound);
        }
    }

    /// Returns half of the width of the 95 % confidence interval of the coverage at a level. The parts are blocks: the
    /// error is that of a ratio of sums over independent blocks. None with fewer than two parts.
    pub fn half_width(&self, level_idx: usize) -> Option<f64> {
        if self.0.len() < 2 {
            return None;
        }
        let parts = self.0.values();
        let n_jobs: u64 = parts.clone().map(|part| part.n_jobs).sum();
        let n_kept: u64 = parts.clone().map(|part| part.n_kept[level_idx]).sum();
        let coverage = n_kept as f64 / n_jobs as f64;
        let squares = parts.map(|part| {
            let expected = coverage * part.n_jobs as f64;
            (part.n_kept[level_idx] as f64 - expected).powi(2)
        });
        Some(1.96 * squares.sum::<f64>().sqrt() / n_jobs as f64)
    }
}

impl PartCoverage {
    /// Returns the part of the bounds at a level that were kept.
    pub fn coverage(&self, level_idx: usize) -> f64 {
        self.n_kept[level_idx] as f64 / self.n_jobs as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_two_statements_are_their_means() {
        let mut score = BoundScore::default();
        let bound = |s: i64| Some(Span::from_secs(s));
        score.add(
            &[None, None, bound(100), bound(1_000), None],
            Span::from_secs(500),
        );
        score.add(
            &[None, None, bound(900), bound(3_000), None],
            Span::from_secs(1_000),
        );
        assert_eq!(score.coverage(0), None);
        assert_eq!(score.coverage(LEVEL_50), Some(0.0));
        assert_eq!(score.coverage(LEVEL_90), Some(1.0));
        let seconds = score.pinball(LEVEL_50).map(|pinball| pinball[2]);
        assert_eq!(seconds, Some((0.5 * 400.0 + 0.5 * 100.0) / 2.0));
        let seconds = score.pinball(LEVEL_90).map(|pinball| pinball[2]);
        assert!((seconds.expect("a bound") - (50.0 + 200.0) / 2.0).abs() < 1e-9);
        // Only the second wait was longer than ten minutes.
        assert_eq!(score.median_ratio(), Some(3.0));
    }

    #[test]
    fn interval_of_equal_blocks_is_that_of_their_means() {
        let mut days = CoverageByPart::default();
        for day in 0..100 {
            let actual = Span::from_secs(if day % 10 == 0 { 9 } else { 1 });
            (0..5).for_each(|_| days.add(day, &[Span::from_secs(2); N_WAIT_LEVELS], actual));
        }
        let half_width = days.half_width(LEVEL_90).expect("days");
        assert!((half_width - 1.96 * (0.9_f64 * 0.1 / 100.0).sqrt()).abs() < 1e-9);
    }
}

//! Calibration of promises: the share of them that was kept, by the probability that was promised.

use tollgate_model::Probability;

/// The edges of the bins, in ascending order. Few promises are made with a low probability, so bins
/// are narrower towards 1.
pub const BIN_EDGES: [f64; 12] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0];

/// The end of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromiseVerdict {
    /// The job finished by its deadline.
    Kept,
    /// The job did not finish by its deadline.
    Broken,
    /// The job failed by itself before its deadline: neither kept nor broken.
    Void,
}

/// The promises with about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbabilityBin {
    /// The least probability.
    pub from: f64,
    /// The next bin's least probability, or 1.
    pub to: f64,
    /// Number of promises that were kept or broken.
    pub promises: u64,
    /// Expected number of kept promises: the sum of the probabilities.
    pub expected: f64,
    /// Number of kept promises.
    pub kept: u64,
    /// Number of void promises, which count in none of the other fields.
    pub void: u64,
}

impl ProbabilityBin {
    /// Returns the bins that have a promise, in ascending order.
    pub fn of(promises: impl Iterator<Item = (Probability, PromiseVerdict)>) -> Vec<Self> {
        let edges = BIN_EDGES.windows(2);
        let mut bins: Vec<Self> = edges.map(|edge| Self::empty(edge[0], edge[1])).collect();
        let last = bins.len() - 1;
        for (probability, verdict) in promises {
            let p = probability.as_f64();
            let bin = &mut bins[BIN_EDGES[1..].partition_point(|&edge| edge <= p).min(last)];
            let is_kept = match verdict {
                PromiseVerdict::Kept => true,
                PromiseVerdict::Broken => false,
                PromiseVerdict::Void => {
                    bin.void += 1;
                    continue;
                }
            };
            bin.promises += 1;
            bin.expected += p;
            bin.kept += u64::from(is_kept);
        }
        bins.retain(|bin| bin.promises + bin.void > 0);
        bins
    }

    const fn empty(from: f64, to: f64) -> Self {
        Self {
            from,
            to,
            promises: 0,
            expected: 0.0,
            kept: 0,
            void: 0,
        }
    }

    /// Returns the mean probability, 0 to 1. None if every promise is void.
    pub fn promised(&self) -> Option<f64> {
        (self.promises > 0).then(|| self.expected / self.promises as f64)
    }

    /// Returns the share of kept promises, 0 to 1. None if every promise is void.
    pub fn kept_part(&self) -> Option<f64> {
        (self.promises > 0).then(|| self.kept as f64 / self.promises as f64)
    }

    /// Returns the 95 % interval of that share. None if every promise is void.
    pub fn kept_interval(&self) -> Option<[f64; 2]> {
        (self.promises > 0).then(|| score_interval(self.kept, self.promises))
    }
}

/// Returns the 95 % score interval of the share `part` of `of` (Wilson 1927). It stays within 0 and 1 and is
/// wide for small numbers even if the share is 1. `of` is at least 1.
pub fn score_interval(part: u64, of: u64) -> [f64; 2] {
    /// The 0.975-quantile of the normal distribution.
    const Z: f64 = 1.959_964;
    let (n, share) = (of as f64, part as f64 / of as f64);
    let z2 = Z * Z;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let spread = (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let half = Z * spread / (1.0 + z2 / n);
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(p: f64) -> Probability {
        Probability::new(p).expect("a probability")
    }

    #[test]
    fn edge_belongs_to_the_bin_above_it_and_one_to_the_last() {
        let promises = [0.1, 0.94, 0.95, 1.0].map(|level| (p(level), PromiseVerdict::Kept));
        let bins = ProbabilityBin::of(promises.into_iter());
        let found: Vec<(f64, u64)> = bins.iter().map(|bin| (bin.from, bin.promises)).collect();
        assert_eq!(found, [(0.1, 1), (0.9, 1), (0.95, 2)]);
    }

    #[test]
    fn void_promise_is_neither_kept_nor_broken() {
        let promises = [
            PromiseVerdict::Kept,
            PromiseVerdict::Broken,
            PromiseVerdict::Void,
        ];
        let bins = ProbabilityBin::of(promises.into_iter().map(|verdict| (p(0.75), verdict)));
        let [bin] = bins[..] else {
            panic!("one bin: {bins:?}")
        };
        assert_eq!((bin.promises, bin.kept, bin.void), (2, 1, 1));
        assert_eq!((bin.promised(), bin.kept_part()), (Some(0.75), Some(0.5)));
    }

    #[test]
    fn interval_of_a_share_is_that_of_the_literature() {
        // Newcombe 1998, table I: 81 of 263, and 0 of 20, by the score method without continuity
        // correction.
        for (part, of, expected) in [(81, 263, [0.2553, 0.3662]), (0, 20, [0.0, 0.1611])] {
            let found = score_interval(part, of);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 5e-5, "{part} of {of}: {found}");
            }
        }
    }
}

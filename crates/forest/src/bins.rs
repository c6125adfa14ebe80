//! Outcomes as bins of 16 bits.

/// Bins in one unit of an outcome.
const BINS_PER_UNIT: f64 = 12.0;

/// Number of bins: outcomes from 0 to 42.7, the logarithm of more seconds than any clock counts.
pub(crate) const N_BINS: usize = 512;

/// Returns the bin of an outcome. An outcome below 0 is in the first bin, a too large one in the last bin.
pub(crate) fn bin_of(outcome: f64) -> u16 {
    // A conversion from a float saturates, and not a number becomes 0.
    ((outcome * BINS_PER_UNIT) as u16).min(N_BINS as u16 - 1)
}

/// Returns the lower end of a bin.
pub(crate) fn lower_end(bin: usize) -> f64 {
    bin as f64 / BINS_PER_UNIT
}

/// Returns the number of bins, with their fraction, below an outcome.
pub(crate) fn bins_below(outcome: f64) -> f64 {
    (outcome * BINS_PER_UNIT).clamp(0.0, N_BINS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_is_within_its_bin() {
        for outcome in [0.0, 0.08, 0.09, 1.0, 7.25, 41.9] {
            let bin = usize::from(bin_of(outcome));
            assert!(lower_end(bin) <= outcome && outcome < lower_end(bin + 1));
        }
    }

    #[test]
    fn outcome_outside_the_range_is_in_the_nearest_bin() {
        assert_eq!(bin_of(-3.0), 0);
        assert_eq!(bin_of(f64::NAN), 0);
        assert_eq!(usize::from(bin_of(1e300)), N_BINS - 1);
    }
}

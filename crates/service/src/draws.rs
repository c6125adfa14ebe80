//! Random numbers of decisions, which are the same when a decision is repeated.

use tollgate_policy::RandomSource;

/// A stream of random numbers that follows from its seed: the generator `SplitMix64` of Steele, Lea and Flood (2014).
pub(crate) struct SeededDraws(u64);

impl SeededDraws {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl RandomSource for SeededDraws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

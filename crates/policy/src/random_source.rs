//! Random numbers as an argument: a policy that decides at random receives a stream from its
//! caller.

/// A stream of random numbers.
pub trait RandomSource {
    /// Returns the next number, uniform in (0, 1).
    fn unit(&mut self) -> f64;

    /// Returns the next number, uniform among `0..n`; 0 for an `n` of 0.
    fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

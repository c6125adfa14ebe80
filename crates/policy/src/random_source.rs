//! Random numbers as an argument: who decides at random is handed a stream by its world.

/// A stream of random numbers.
pub trait RandomSource {
    /// The next number, uniform in (0, 1).
    fn unit(&mut self) -> f64;

    /// The next number, uniform among `0..n`; 0 for an `n` of 0.
    fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

//! The latent traits behind a user's jobs, and their persistence over time.

use crate::rng::RandomStream;

/// The latent traits of a user at one time: independent normal deviates.
pub(super) struct LatentTraits {
    /// Trait for the number of processors.
    pub(super) width: f64,
    /// Trait for the estimated run time, beyond its correlation with the width.
    pub(super) estimate: f64,
    /// Trait for the used share of the estimate.
    pub(super) used: f64,
    /// Trait for the probability that a job never runs.
    pub(super) cancelled: f64,
}

impl LatentTraits {
    pub(super) fn draw(stream: &mut RandomStream) -> Self {
        Self {
            width: stream.normal(),
            estimate: stream.normal(),
            used: stream.normal(),
            cancelled: stream.normal(),
        }
    }

    /// Changes the traits of the request a little.
    pub(super) fn drift_request(&mut self, kept: f64, stream: &mut RandomStream) {
        self.width = blend(kept, self.width, stream.normal());
        self.estimate = blend(kept, self.estimate, stream.normal());
    }

    /// Changes the traits of the outcome a little.
    pub(super) fn drift_outcome(&mut self, kept: f64, stream: &mut RandomStream) {
        self.used = blend(kept, self.used, stream.normal());
        self.cancelled = blend(kept, self.cancelled, stream.normal());
    }
}

/// Returns a normal deviate that has correlation `kept` with `old`; `old` and `new` are normal.
pub(super) fn blend(kept: f64, old: f64, new: f64) -> f64 {
    kept * old + (1.0 - kept * kept).sqrt() * new
}

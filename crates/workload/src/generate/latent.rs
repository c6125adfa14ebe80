//! What lies behind a user's jobs, and how it lasts.

use crate::rng::RandomStream;

/// What a user is at, at a time: independent normal deviates.
pub(super) struct LatentTraits {
    /// How many processors the jobs need.
    pub(super) width: f64,
    /// How long the user thinks they take, beyond what goes with their width.
    pub(super) estimate: f64,
    /// How much of that they really take.
    pub(super) used: f64,
    /// How likely they never run.
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

    /// What the user asks for changes a little.
    pub(super) fn drift_request(&mut self, kept: f64, stream: &mut RandomStream) {
        self.width = blend(kept, self.width, stream.normal());
        self.estimate = blend(kept, self.estimate, stream.normal());
    }

    /// How the jobs end changes a little.
    pub(super) fn drift_outcome(&mut self, kept: f64, stream: &mut RandomStream) {
        self.used = blend(kept, self.used, stream.normal());
        self.cancelled = blend(kept, self.cancelled, stream.normal());
    }
}

/// A normal deviate that has correlation `kept` with `old`, itself and `new` being normal.
pub(super) fn blend(kept: f64, old: f64, new: f64) -> f64 {
    kept * old + (1.0 - kept * kept).sqrt() * new
}

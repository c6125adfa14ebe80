//! What lies behind a user's jobs, and how it lasts.

use crate::stream::Stream;

/// What a user is at, at a time: independent normal deviates.
pub(super) struct Latent {
    /// How many processors the jobs need.
    pub(super) width: f64,
    /// How long the user thinks they take, beyond what goes with their width.
    pub(super) estimate: f64,
    /// How much of that they really take.
    pub(super) used: f64,
    /// How likely they never run.
    pub(super) cancelled: f64,
}

impl Latent {
    pub(super) fn draw(stream: &mut Stream) -> Self {
        Self {
            width: stream.normal(),
            estimate: stream.normal(),
            used: stream.normal(),
            cancelled: stream.normal(),
        }
    }

    /// What the user asks for changes a little.
    pub(super) fn request_drifts(&mut self, kept: f64, stream: &mut Stream) {
        self.width = blend(kept, self.width, stream.normal());
        self.estimate = blend(kept, self.estimate, stream.normal());
    }

    /// How the jobs end changes a little.
    pub(super) fn outcome_drifts(&mut self, kept: f64, stream: &mut Stream) {
        self.used = blend(kept, self.used, stream.normal());
        self.cancelled = blend(kept, self.cancelled, stream.normal());
    }
}

/// A normal deviate that has correlation `kept` with `old`, itself and `new` being normal.
pub(super) fn blend(kept: f64, old: f64, new: f64) -> f64 {
    kept * old + (1.0 - kept * kept).sqrt() * new
}

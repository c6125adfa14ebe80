//! How long things take and how long they are waited for.

use tollgate_model::Span;

/// The times of a session, the same at all its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionTiming {
    /// How often a site looks whether a proxy should move; positive.
    pub period: Span,
    /// The longest that a message takes, unless it is lost; positive.
    pub max_delay: Span,
}

impl SessionTiming {
    /// How long answers are waited for: four times the longest delay.
    pub const fn time_out(&self) -> Span {
        Span::from_micros(self.max_delay.as_micros().saturating_mul(4))
    }

    /// For how long a site that gave or received a proxy takes part in no further move, and one
    /// that promised a round begins none: nine tenths of a period.
    pub const fn cool_down(&self) -> Span {
        Span::from_micros(self.period.as_micros() / 10 * 9)
    }
}

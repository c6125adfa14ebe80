//! The delays and time-outs of a session.

use tollgate_model::Span;

/// The timing of a session, the same at all its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionTiming {
    /// The interval at which a site checks whether a proxy should move; positive.
    pub period: Span,
    /// The maximum delay of a message that is not lost; positive.
    pub max_delay: Span,
}

impl SessionTiming {
    /// Returns the time-out for answers: four times the longest delay.
    pub const fn time_out(&self) -> Span {
        Span::from_micros(self.max_delay.as_micros().saturating_mul(4))
    }

    /// Returns nine tenths of a period. For this time a site that gave or received a proxy takes part in no
    /// other move, and a site that promised a round begins none.
    pub const fn cool_down(&self) -> Span {
        Span::from_micros(self.period.as_micros() / 10 * 9)
    }
}

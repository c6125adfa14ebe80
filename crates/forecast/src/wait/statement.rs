//! Statements about waits.

use tollgate_model::{Instant, Probability, Span};

/// Number of levels of a statement.
pub const N_WAIT_LEVELS: usize = 5;

/// The levels of a statement, ascending.
pub const WAIT_LEVELS: [f64; N_WAIT_LEVELS] = [0.05, 0.1, 0.5, 0.9, 0.95];

/// A statement about a job that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitStatement {
    /// The instant of the statement.
    pub at: Instant,
    /// The time from `at` to the start of the job.
    pub wait: SpanBounds,
    /// The time from `at` to the end of the job. None if too little is known.
    pub end: Option<SpanBounds>,
    /// The probability that the job starts within a minute after `at`.
    pub at_once: Probability,
}

/// Upper bounds of a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanBounds {
    /// The bounds at [`WAIT_LEVELS`]. Ascending, not negative.
    pub bounds: [Span; N_WAIT_LEVELS],
    /// The origin of the bounds.
    pub basis: WaitBasis,
}

impl SpanBounds {
    /// Returns the bound of which half are exceeded.
    pub fn median(&self) -> Span {
        self.bounds[2]
    }
}

/// The origin of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitBasis {
    /// The forest.
    Forest,
    /// A first guess from the last jobs of the class.
    Class,
    /// A first guess from the last jobs of the site.
    Site,
}

impl WaitBasis {
    /// Returns the origin as text.
    pub fn key(self) -> &'static str {
        match self {
            Self::Forest => "forest",
            Self::Class => "class",
            Self::Site => "site",
        }
    }
}

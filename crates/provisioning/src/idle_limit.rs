//! When a pilot without tasks leaves.

use std::fmt;

use tollgate_model::Span;

/// The time without tasks after which a pilot leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleLimit {
    /// After this time. Falkon (Raicu et al., SC 2007) compares 15 s, 60 s, 120 s and 180 s.
    After(Span),
    /// Never: a pilot stays until its time limit.
    Never,
}

impl IdleLimit {
    /// Returns the time without tasks after which a pilot with this time limit leaves.
    pub fn idle_time(self, time_limit: Span) -> Span {
        match self {
            Self::After(time) => time.min(time_limit),
            Self::Never => time_limit,
        }
    }
}

impl fmt::Display for IdleLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(time) => write!(f, "{}s", time.as_secs_f64()),
            Self::Never => f.write_str("never"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pilot_outlives_its_time_limit() {
        let minute = Span::from_secs(60);
        let quarter = IdleLimit::After(Span::from_secs(15));
        assert_eq!(quarter.idle_time(minute), Span::from_secs(15));
        assert_eq!(
            IdleLimit::After(Span::from_secs(120)).idle_time(minute),
            minute
        );
        assert_eq!(IdleLimit::Never.idle_time(minute), minute);
    }
}

//! The economic models: payments and their times.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Credits, CreditsPerSecond, Span};

/// The economic model (Yeo & Buyya 2008, §5.1).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Market {
    /// Deadlines count, no payments.
    #[default]
    None,
    /// The provider sets the price; a job that costs more than its budget is rejected; a late
    /// job is still charged.
    Commodity,
    /// The user bids a budget; each second past the deadline costs the penalty rate (eq. 9-10).
    Bid,
}

impl Market {
    /// All markets.
    pub const ALL: [Self; 3] = [Self::None, Self::Commodity, Self::Bid];

    /// Returns the name of the market on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Commodity => "commodity",
            Self::Bid => "bid",
        }
    }
}

impl fmt::Display for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a word that is not the name of a market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMarket(pub String);

impl fmt::Display for UnknownMarket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no market `{}`: none, commodity or bid", self.0)
    }
}

impl std::error::Error for UnknownMarket {}

impl FromStr for Market {
    type Err = UnknownMarket;

    fn from_str(word: &str) -> Result<Self, UnknownMarket> {
        Self::ALL
            .into_iter()
            .find(|market| market.name() == word)
            .ok_or_else(|| UnknownMarket(word.to_owned()))
    }
}

/// The most that a delay costs the provider where users bid, as a multiple of the job's budget. The
/// penalty of Yeo & Buyya 2008 (eq. 9-10) has none; a bounded penalty is that of Irwin, Grit & Chase
/// 2004.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PenaltyLimit(f64);

impl PenaltyLimit {
    /// Every second of delay costs the penalty rate.
    pub const UNLIMITED: Self = Self(f64::INFINITY);

    /// Creates the limit of `factor` budgets: 0 or more, infinite for none. With 1 a late job earns
    /// nothing at worst.
    ///
    /// # Panics
    /// If the factor is negative or not a number.
    pub fn of_budgets(factor: f64) -> Self {
        assert!(factor >= 0.0, "a penalty of {factor} budgets");
        Self(factor)
    }

    /// Returns the cost of a delay at a penalty rate. A job without a budget has no limit.
    pub fn cost(self, rate: CreditsPerSecond, delay: Span, budget: Option<Credits>) -> Credits {
        let cost = rate.times(delay);
        match budget {
            Some(budget) if self.0.is_finite() => {
                cost.min(Credits::from_f64(self.0 * budget.as_f64()))
            }
            Some(_) | None => cost,
        }
    }
}

impl Default for PenaltyLimit {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

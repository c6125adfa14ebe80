//! The axes along which the time-shared policies differ.

use tollgate_model::Market;

/// A time-shared policy as a point on its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareSettings {
    /// Which nodes suit a job.
    pub fit: Fit,
    /// The share of a task that has used its estimate up.
    pub overrun: Rule,
    /// The share of a task past its deadline.
    pub expired: Rule,
    /// Who pays what.
    pub market: Market,
}

/// Which nodes suit a job, and which of them come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its share is free; the fullest node first.
    Libra,
    /// In the commodity market also its price is within the budget; elsewhere as Libra.
    LibraDollar,
    /// The risk of deadline delay stays zero; the lowest index first.
    LibraRisk,
}

/// The share of a task for which eq. (1) has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// 1.
    Full,
    /// 0.
    Zero,
    /// Estimate over deadline, as at submission.
    Keep,
    /// One second over the remaining deadline, which counts as one second at least.
    OneSecond,
}

impl ShareSettings {
    /// The policy called `policy` with its default settings; none if it is not time-shared.
    pub fn named(policy: &str, market: Market) -> Option<Self> {
        let fit = match policy {
            "libra" => Fit::Libra,
            "libra-dollar" => Fit::LibraDollar,
            "libra-risk" => Fit::LibraRisk,
            _ => return None,
        };
        Some(Self {
            fit,
            overrun: Rule::Keep,
            expired: Rule::Full,
            market,
        })
    }
}

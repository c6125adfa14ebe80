//! The axes along which the time-shared policies differ.

use tollgate_model::Market;

/// A time-shared policy as a point on its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OracleShareSettings {
    /// The criterion and order of suitable nodes.
    pub fit: OracleFit,
    /// The share of a task that has used up its estimate.
    pub overrun: OracleShareRule,
    /// The share of a task past its deadline.
    pub expired: OracleShareRule,
    /// The market.
    pub market: Market,
}

/// The criterion and order of suitable nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleFit {
    /// The job's share is free; the fullest node first.
    Libra,
    /// In the commodity market the price must also be within the budget; elsewhere as Libra.
    LibraDollar,
    /// The risk of deadline delay stays zero; the lowest index first.
    LibraRisk,
}

/// The share of a task for which eq. (1) is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleShareRule {
    /// 1.
    Full,
    /// 0.
    Zero,
    /// Estimate over deadline, as at submission.
    Keep,
    /// One second over the remaining deadline, which counts as one second at least.
    OneSecond,
}

impl OracleShareSettings {
    /// Returns the policy named `policy` with its default settings; None if it is not time-shared.
    pub fn named(policy: &str, market: Market) -> Option<Self> {
        let fit = match policy {
            "libra" => OracleFit::Libra,
            "libra-dollar" => OracleFit::LibraDollar,
            "libra-risk" => OracleFit::LibraRisk,
            _ => return None,
        };
        Some(Self {
            fit,
            overrun: OracleShareRule::Keep,
            expired: OracleShareRule::Full,
            market,
        })
    }
}

//! The axes along which the time-shared policies differ.

use tollgate_model::Market;

/// A time-shared policy as a point on its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OracleShareSettings {
    /// Which nodes suit a job.
    pub fit: OracleFit,
    /// The share of a task that has used its estimate up.
    pub overrun: OracleShareRule,
    /// The share of a task past its deadline.
    pub expired: OracleShareRule,
    /// Who pays what.
    pub market: Market,
}

/// Which nodes suit a job, and which of them come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleFit {
    /// Its share is free; the fullest node first.
    Libra,
    /// In the commodity market also its price is within the budget; elsewhere as Libra.
    LibraDollar,
    /// The risk of deadline delay stays zero; the lowest index first.
    LibraRisk,
}

/// The share of a task for which eq. (1) has no answer.
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
    /// The policy called `policy` with its default settings; none if it is not time-shared.
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

//! The answer to a submission, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The decision about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Decision {
    /// Admitted.
    Accepted,
    /// Not admitted, for this reason.
    Rejected(Reason),
}

/// A reason to reject a job. Its text is defined here once, for every output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The job asks for more processors than there are.
    TooManyProcs,
    /// The job would cost more than its budget at the fixed price.
    OverBudget,
    /// Too few nodes have enough processor share left for the job's deadline.
    InsufficientShare,
    /// Too few nodes can take the job without putting another deadline at risk.
    DeadlineRisk,
    /// Too few nodes with share left have a utilisation price within the job's budget.
    PriceOverBudget,
    /// The job earns less than delaying other jobs would cost.
    LowSlack,
    /// The job's deadline passed while it was queued.
    DeadlinePassed,
    /// By its estimate, the job can no longer finish in time.
    DeadlineUnreachable,
    /// The job asks for more memory than the machine has, or on each of its nodes more than the
    /// smallest node has.
    NoMemory,
    /// Too many of the suitable nodes are at their maximum number of tasks or out of memory.
    NodeFull,
}

impl Reason {
    /// Every reason, in the order in which outputs list them.
    pub const ALL: [Self; 10] = [
        Self::TooManyProcs,
        Self::OverBudget,
        Self::InsufficientShare,
        Self::DeadlineRisk,
        Self::PriceOverBudget,
        Self::LowSlack,
        Self::DeadlinePassed,
        Self::DeadlineUnreachable,
        Self::NoMemory,
        Self::NodeFull,
    ];

    /// Number of reasons, from the start of [`Reason::ALL`], that can occur where nodes have no
    /// limits but their processors, as in a replay.
    pub const N_WITHOUT_LIMITS: usize = 8;

    /// Returns the key of the reason in CSV and JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::TooManyProcs => "too_many_procs",
            Self::OverBudget => "over_budget",
            Self::InsufficientShare => "insufficient_share",
            Self::DeadlineRisk => "deadline_risk",
            Self::PriceOverBudget => "price_over_budget",
            Self::LowSlack => "low_slack",
            Self::DeadlinePassed => "deadline_passed",
            Self::DeadlineUnreachable => "deadline_unreachable",
            Self::NoMemory => "no_memory",
            Self::NodeFull => "node_full",
        }
    }
}

/// Writes the reason as a sentence without a full stop, to follow "rejected:".
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyProcs => "the job asks for more processors than there are",
            Self::OverBudget => "the job would cost more than its budget",
            Self::InsufficientShare => {
                "too few nodes have enough processor share left for its deadline"
            }
            Self::DeadlineRisk => {
                "too few nodes can take it without putting another deadline at risk"
            }
            Self::PriceOverBudget => "on too few nodes is the price within its budget",
            Self::LowSlack => "the job earns less than the delay of other jobs would cost",
            Self::DeadlinePassed => "its deadline passed while it was queued",
            Self::DeadlineUnreachable => "by its estimate it can no longer finish in time",
            Self::NoMemory => "the job asks for more memory than there is",
            Self::NodeFull => "too many nodes are full: no free task slot, or too little memory",
        })
    }
}

//! What is said to a job, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a job was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Decision {
    /// Let in.
    Accepted,
    /// Kept out, for this reason.
    Rejected(Reason),
}

/// Why a job was kept out. Put into words here, once, for every output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// It asks for more processors than there are.
    TooWide,
    /// What it would cost at the fixed price is above its budget.
    OverBudget,
    /// Too few nodes have enough processor share left for its deadline.
    NoShare,
    /// On too few nodes would the risk of a deadline delay stay zero.
    Risk,
    /// On too few nodes with share left is the utilisation price within its budget.
    OverPriced,
    /// What it earns does not outweigh what delaying other jobs would cost.
    LowSlack,
    /// Its deadline passed while it waited.
    DeadlinePassed,
    /// By its estimate it can no longer finish in time.
    DeadlineUnreachable,
    /// It asks for more memory on each of its nodes than the smallest one has.
    NoMemory,
    /// Too many of the nodes that would do hold as many tasks, or as much memory, as they may.
    Crowded,
}

impl Reason {
    /// Every reason, in the order in which outputs list them.
    pub const ALL: [Self; 10] = [
        Self::TooWide,
        Self::OverBudget,
        Self::NoShare,
        Self::Risk,
        Self::OverPriced,
        Self::LowSlack,
        Self::DeadlinePassed,
        Self::DeadlineUnreachable,
        Self::NoMemory,
        Self::Crowded,
    ];

    /// How many of [`Reason::ALL`], from the first on, there are where nodes have no limits but
    /// their processors, as in a replay.
    pub const N_WITHOUT_LIMITS: usize = 8;

    /// The key of the reason in CSV and JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::TooWide => "too_wide",
            Self::OverBudget => "over_budget",
            Self::NoShare => "no_share",
            Self::Risk => "risk",
            Self::OverPriced => "over_priced",
            Self::LowSlack => "low_slack",
            Self::DeadlinePassed => "deadline_passed",
            Self::DeadlineUnreachable => "deadline_unreachable",
            Self::NoMemory => "no_memory",
            Self::Crowded => "crowded",
        }
    }
}

/// The reason in words, to stand after "rejected:".
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooWide => "it asks for more processors than there are",
            Self::OverBudget => "it would cost more than its budget",
            Self::NoShare => "too few nodes have enough processor share left for its deadline",
            Self::Risk => "on too few nodes would every deadline stay without risk",
            Self::OverPriced => "on too few nodes is the price within its budget",
            Self::LowSlack => "it earns too little for what it would delay",
            Self::DeadlinePassed => "its deadline passed while it waited",
            Self::DeadlineUnreachable => "by its estimate it can no longer finish in time",
            Self::NoMemory => "it asks for more memory than its nodes have",
            Self::Crowded => "too many nodes hold as many tasks, or as much memory, as they may",
        })
    }
}

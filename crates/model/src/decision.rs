//! The answer to a submission, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The decision about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Admitted; its deadline, if it has one, is promised.
    Accepted,
    /// Admitted without a promise of its deadline.
    Unpromised,
    /// Not admitted, for this reason.
    Rejected(Reason),
}

impl Decision {
    /// Returns whether the job is admitted.
    pub const fn is_admitted(self) -> bool {
        match self {
            Self::Accepted | Self::Unpromised => true,
            Self::Rejected(_) => false,
        }
    }
}

/// The treatment of a job whose deadline cannot be promised at its submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Otherwise {
    /// It waits for a promise until none is possible any more.
    #[default]
    Wait,
    /// It runs without a promise, where no promise suffers.
    Run,
    /// It is rejected.
    Reject,
}

/// A reason to reject a job. Its key and its text are defined once, for every output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The plan of all promises has no room for the job by its deadline.
    NoRoom,
    /// The job asks for more memory than the machine has, or on each of its nodes more than the
    /// smallest node has.
    NoMemory,
    /// Too many of the suitable nodes are at their maximum number of tasks or out of memory.
    NodeFull,
    /// A reason that a policy of another crate has of its own.
    Other(&'static OtherReason),
}

/// A reason that a policy of another crate has of its own. Key and text are constants of the program,
/// so that a [`Reason`] is copied and compared without an allocation.
///
/// ```
/// use tollgate_model::{OtherReason, Reason};
///
/// const TOO_LONG: Reason = Reason::Other(&OtherReason::new(
///     "estimate_too_long",
///     "its estimate is longer than this policy allows",
/// ));
/// assert_eq!(TOO_LONG.key(), "estimate_too_long");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherReason {
    key: &'static str,
    text: &'static str,
}

impl OtherReason {
    /// Creates a reason. `key` stands in CSV, JSON and the store of a service; `text` is a sentence
    /// without a full stop, to follow "rejected:".
    ///
    /// # Panics
    /// If the key is empty, is not made of lower-case letters, digits and `_`, or is the key of one
    /// of [`Reason::ALL`]. The compiler reports a panic in the value of a constant.
    pub const fn new(key: &'static str, text: &'static str) -> Self {
        let letters = key.as_bytes();
        assert!(!letters.is_empty(), "the key of a reason is empty");
        let mut at = 0;
        while at < letters.len() {
            let letter = letters[at];
            assert!(
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_',
                "the key of a reason has lower-case letters, digits and `_` only"
            );
            at += 1;
        }
        let mut known = 0;
        while known < Reason::ALL.len() {
            assert!(
                !is_equal(letters, Reason::ALL[known].key().as_bytes()),
                "a reason of tollgate has this key already"
            );
            known += 1;
        }
        Self { key, text }
    }
}

/// Compares two words, also where the compiler evaluates a constant.
const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl Reason {
    /// Every reason but [`Reason::Other`], in the order in which outputs list them.
    pub const ALL: [Self; 11] = [
        Self::TooManyProcs,
        Self::OverBudget,
        Self::InsufficientShare,
        Self::DeadlineRisk,
        Self::PriceOverBudget,
        Self::LowSlack,
        Self::DeadlinePassed,
        Self::DeadlineUnreachable,
        Self::NoRoom,
        Self::NoMemory,
        Self::NodeFull,
    ];

    /// Number of reasons, from the start of [`Reason::ALL`], that can occur where nodes have no
    /// limits but their processors, as in a replay.
    pub const N_WITHOUT_LIMITS: usize = 9;

    /// The reason of a job that its user does not want to start once it could hardly end in time.
    pub const LATE: Self = Self::Other(&OtherReason {
        key: "late",
        text: "it has not started in time for its deadline, and was not to start late",
    });

    /// The reason of a job whose user's share of what can be promised is used up.
    pub const SHARE_USED_UP: Self = Self::Other(&OtherReason {
        key: "user_share",
        text: "the promises to its user take all of a user's share already",
    });

    /// Returns whether a job is rejected for what other jobs have or may have, and not for what it is.
    pub fn is_lack_of_room(self) -> bool {
        self == Self::NoRoom || self == Self::SHARE_USED_UP
    }

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
            Self::NoRoom => "no_room",
            Self::Other(reason) => reason.key,
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
            Self::NoRoom => "it would end too late, or delay a job that has a promise",
            Self::Other(reason) => reason.text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed_in_order_and_a_policy_s_own_comes_last() {
        const LAST: Reason = Reason::Other(&OtherReason::new("b", "beta"));
        const FIRST: Reason = Reason::Other(&OtherReason::new("a", "alpha"));
        assert!(Reason::ALL.is_sorted());
        assert!(Reason::ALL.iter().all(|&known| known < FIRST) && FIRST < LAST);
        assert_eq!((LAST.key(), LAST.to_string().as_str()), ("b", "beta"));
    }

    #[test]
    #[should_panic(expected = "a reason of tollgate has this key already")]
    fn key_of_another_reason_is_refused() {
        let _ = OtherReason::new("low_slack", "it is poor");
    }

    #[test]
    #[should_panic(expected = "lower-case letters")]
    fn key_that_is_no_word_is_refused() {
        let _ = OtherReason::new("a,b", "two reasons");
    }
}

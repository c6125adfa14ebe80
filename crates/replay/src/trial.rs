//! Treatments of jobs whose run time cannot be predicted, to be compared.

use std::fmt;
use std::str::FromStr;

use tollgate_policy::PolicySpec;
use tollgate_sim::{UnpredictableAction, UnpredictableActionError};

use crate::error::ReplayError;

/// A treatment of jobs whose run time cannot be predicted, in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreatmentTrial {
    /// The treatment.
    pub action: UnpredictableAction,
    /// Number of nodes that no other job gets; above 0 only of [`UnpredictableAction::Dedicated`].
    pub dedicated_nodes: u32,
}

impl TreatmentTrial {
    /// Checks that the treatment is possible under a policy on a machine of `nodes` nodes.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn check(&self, policy: &PolicySpec, nodes: u32) -> Result<(), ReplayError> {
        let misfit = match self.action {
            UnpredictableAction::Limit(_) if policy.shares_nodes() => {
                "no limit under a policy that shares nodes: it ends none"
            }
            UnpredictableAction::Dedicated if !policy.chooses_hosts() => {
                "the policy `plan`, which chooses nodes"
            }
            UnpredictableAction::Dedicated if self.dedicated_nodes >= nodes => {
                "fewer nodes than the machine has"
            }
            UnpredictableAction::None
            | UnpredictableAction::Limit(_)
            | UnpredictableAction::NoPromise
            | UnpredictableAction::Dedicated => return Ok(()),
        };
        Err(ReplayError::Treatment {
            treatment: *self,
            policy: policy.to_string(),
            expected: misfit,
        })
    }
}

/// A word that names no treatment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreatmentTrialError {
    /// No such treatment.
    #[error(transparent)]
    Action(UnpredictableActionError),
    /// The nodes of `dedicated` are missing, or no positive number.
    #[error("expected a number of nodes, as in dedicated:16, found `{0}`")]
    Nodes(String),
}

impl FromStr for TreatmentTrial {
    type Err = TreatmentTrialError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let (name, nodes) = words.split_once(':').unwrap_or((words, ""));
        if name == "dedicated" {
            let nodes = nodes.parse().ok().filter(|&nodes| nodes > 0);
            let dedicated_nodes = nodes.ok_or(TreatmentTrialError::Nodes(words.to_owned()))?;
            return Ok(Self {
                action: UnpredictableAction::Dedicated,
                dedicated_nodes,
            });
        }
        Ok(Self {
            action: words.parse().map_err(TreatmentTrialError::Action)?,
            dedicated_nodes: 0,
        })
    }
}

/// Formats the treatment in the form in which it is parsed.
impl fmt::Display for TreatmentTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(f)?;
        match self.dedicated_nodes {
            0 => Ok(()),
            nodes => write!(f, ":{nodes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn treatments_are_parsed_as_they_are_written() {
        for words in ["none", "no-promise", "limit:4h", "dedicated:16"] {
            assert_eq!(words.parse::<TreatmentTrial>().unwrap().to_string(), words);
        }
        for words in [
            "dedicated",
            "dedicated:0",
            "dedicated:x",
            "dedicated:-1",
            "other",
            "limit:4",
        ] {
            assert!(words.parse::<TreatmentTrial>().is_err(), "{words}");
        }
    }
}

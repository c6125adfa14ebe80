//! Kinds of personal schedulers, their nodes and their load.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A commodity scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerKind {
    /// Slurm, 22.05 or later.
    Slurm,
    /// HTCondor.
    Htcondor,
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Slurm => "slurm",
            Self::Htcondor => "htcondor",
        })
    }
}

impl FromStr for SchedulerKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "slurm" => Ok(Self::Slurm),
            "htcondor" => Ok(Self::Htcondor),
            _ => Err(format!(
                "unknown scheduler `{word}`: expected slurm or htcondor"
            )),
        }
    }
}

/// The nodes that the pilots of one site become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// The name of the site.
    pub name: String,
    /// The number of cores of a pilot.
    pub cores: u32,
    /// The memory of a pilot in MiB. None if the site does not say.
    pub memory_mib: Option<u64>,
    /// The time limit of a pilot in seconds.
    pub time_s: u64,
}

/// A node that joined, or a slot of one, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerNode {
    /// The name: `SITE-NUMBER`, for HTCondor with slot and host.
    pub name: String,
    /// The state in the scheduler's words, in small letters.
    pub state: String,
}

impl SchedulerNode {
    /// Returns the worker name of the node's pilot, `SITE.NUMBER`, and whether the node has room, if
    /// it is a node of this site.
    pub fn pilot_of(&self, site: &str) -> Option<(String, bool)> {
        // HTCondor: `slot1@north-3@host`.
        let name = match self.name.split_once('@') {
            Some((_, rest)) => rest.split('@').next()?,
            None => &self.name,
        };
        let number = name.strip_prefix(site)?.strip_prefix('-')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let has_room = matches!(self.state.as_str(), "idle" | "unclaimed");
        is_number.then(|| (format!("{site}.{number}"), has_room))
    }
}

/// The unfinished jobs of a personal scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerLoad {
    /// The number of jobs that wait for a node.
    pub waiting: usize,
    /// The number of jobs that run or end.
    pub running: usize,
    /// The number of jobs that the scheduler does not start by itself: held or suspended.
    pub held: usize,
}

impl SchedulerLoad {
    /// Returns the number of unfinished jobs.
    pub const fn total(self) -> usize {
        self.waiting + self.running + self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_belongs_to_the_pilot_in_its_name() {
        let node = |name: &str, state: &str| SchedulerNode {
            name: name.to_owned(),
            state: state.to_owned(),
        };
        let idle = node("north-3", "idle").pilot_of("north");
        assert_eq!(idle, Some(("north.3".to_owned(), true)));
        let slot = node("slot1@north-3@n17", "claimed").pilot_of("north");
        assert_eq!(slot, Some(("north.3".to_owned(), false)));
        // Another site's name may begin with this one's.
        assert_eq!(node("north-b-3", "idle").pilot_of("north"), None);
        assert_eq!(node("north-3", "idle").pilot_of("south"), None);
    }

    #[test]
    fn unknown_scheduler_names_those_that_are_known() {
        let error = "pbs".parse::<SchedulerKind>().expect_err("there is none");
        assert!(error.ends_with("expected slurm or htcondor"), "{error}");
        for kind in [SchedulerKind::Slurm, SchedulerKind::Htcondor] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }
}

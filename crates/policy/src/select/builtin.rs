//! The select policies by name, one file each.

mod least_added_energy;
mod least_added_energy_patient;
mod least_energy;
mod least_energy_online;
mod least_used_cluster;
mod longest_idle;
mod prefer_awake;
mod soonest_end;
mod soonest_end_online;

use std::str::FromStr;

use tollgate_model::Span;

use super::{ComputerPool, LoginLog, SelectPolicy};
use crate::random_source::RandomSource;

/// A policy with a name.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinSelectPolicy {
    /// Name of the policy.
    pub name: &'static str,
    /// Short name; a published policy keeps the paper's name.
    pub alias: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from.
    pub paper: &'static str,
    /// True if the policy is built from a record of log-ins, and so looks ahead if the record
    /// covers the simulated time.
    pub uses_future_logins: bool,
    build: fn(&SelectBuildInputs<'_>, &mut dyn RandomSource) -> Box<dyn SelectPolicy>,
}

/// The inputs from which a policy is built.
#[derive(Clone, Copy, Debug)]
pub struct SelectBuildInputs<'g> {
    /// The computers, all of them free.
    pub pool: &'g ComputerPool,
    /// A record of log-ins on the computers.
    pub log: &'g LoginLog,
}

/// Every policy, in the order in which they are listed.
pub const REGISTRY: &[BuiltinSelectPolicy] = &[
    prefer_awake::PREFER_AWAKE,
    longest_idle::LONGEST_IDLE,
    least_used_cluster::LEAST_USED_CLUSTER,
    soonest_end::SOONEST_END,
    least_energy::LEAST_ENERGY,
    soonest_end_online::SOONEST_END_ONLINE,
    least_energy_online::LEAST_ENERGY_ONLINE,
    least_added_energy::LEAST_ADDED_ENERGY,
    least_added_energy_patient::LEAST_ADDED_ENERGY_PATIENT,
];

/// Assumed length of a task for policies by expected cost: longer than most tasks are, because
/// evicted tasks are longer.
const TASK_LENGTH: Span = Span::from_secs(45 * 60);

/// The error of an unknown policy name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no select policy `{0}`: expected one of {names}", names = names())]
pub struct UnknownSelectPolicy(String);

fn names() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|named| named.name).collect();
    names.join(", ")
}

impl FromStr for &'static BuiltinSelectPolicy {
    type Err = UnknownSelectPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownSelectPolicy> {
        let mut known = REGISTRY.iter();
        let named = known.find(|named| named.name == name || named.alias == name);
        named.ok_or_else(|| UnknownSelectPolicy(name.to_owned()))
    }
}

impl BuiltinSelectPolicy {
    /// Creates the policy. Its random numbers are drawn here, once.
    pub fn build(
        &self,
        grounds: &SelectBuildInputs<'_>,
        draw: &mut dyn RandomSource,
    ) -> Box<dyn SelectPolicy> {
        (self.build)(grounds, draw)
    }
}

/// Policies are equal if their names are.
impl PartialEq for BuiltinSelectPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_registered_once_and_found() {
        for (n, one) in REGISTRY.iter().enumerate() {
            assert_eq!(one.name.parse::<&BuiltinSelectPolicy>(), Ok(one));
            assert_eq!(one.alias.parse::<&BuiltinSelectPolicy>(), Ok(one));
            let others = &REGISTRY[n + 1..];
            assert!(
                others
                    .iter()
                    .all(|other| other != one && other.alias != one.alias)
            );
        }
        let error = "c9"
            .parse::<&BuiltinSelectPolicy>()
            .unwrap_err()
            .to_string();
        insta::assert_snapshot!(error, @"there is no select policy `c9`: expected one of prefer-awake, longest-idle, least-used-cluster, soonest-end, least-energy, soonest-end-online, least-energy-online, least-added-energy, least-added-energy-patient");
    }
}

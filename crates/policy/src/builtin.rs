//! The policies by name. Each is one file that fills in the axes of its family.

mod conservative;
mod easy;
mod edf;
mod edf_bf;
mod fcfs;
mod fcfs_bf;
mod first_reward;
mod libra;
mod libra_dollar;
mod libra_risk;
mod sjf_bf;
mod tail_risk;
mod tail_risk_bf;

use tollgate_model::Market;

use crate::{deadline_tail, queue, share};

/// A policy with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuiltinPolicy {
    /// The policy's name.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from.
    pub paper: &'static str,
    /// The markets in which the policy runs when no policy is named.
    pub markets: &'static [Market],
    /// The policy's default parameters.
    pub settings: FamilyParams,
}

/// The parameters of a policy, by family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FamilyParams {
    /// Space-shared: an ordered queue.
    Queue(queue::QueueParams),
    /// Time-shared: proportional shares.
    Share(share::ShareParams),
    /// Time-shared: the earliest deadline runs.
    Tail(deadline_tail::TailParams),
}

/// Every policy, in the order in which they are listed and run.
pub const REGISTRY: &[BuiltinPolicy] = &[
    fcfs::FCFS,
    easy::EASY,
    conservative::CONSERVATIVE,
    edf::EDF,
    fcfs_bf::FCFS_BF,
    sjf_bf::SJF_BF,
    edf_bf::EDF_BF,
    libra::LIBRA,
    libra_dollar::LIBRA_DOLLAR,
    libra_risk::LIBRA_RISK,
    first_reward::FIRST_REWARD,
    tail_risk::TAIL_RISK,
    tail_risk_bf::TAIL_RISK_BF,
];

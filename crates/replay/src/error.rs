//! Errors of replays.

use tollgate_model::{Market, SpeedCountError};
use tollgate_policy::PolicyError;
use tollgate_sim::ReplayFailure;
use tollgate_trace::OpenError;
use tollgate_trace::record_filter::DatelessRecord;
use tollgate_workload::WorkloadConfigError;

use crate::input::ReplayMachine;
use crate::trial::TreatmentTrial;

/// An error that prevents a replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A name of an unknown policy, or of an unknown parameter of a policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A policy that does not run in the market.
    #[error("`{policy}` weighs budgets, and market `{market}` has no budgets")]
    WrongMarket {
        /// The policy with its parameters.
        policy: String,
        /// The market of the replay.
        market: Market,
    },
    /// A setting of the workload outside its range.
    #[error(transparent)]
    Settings(#[from] WorkloadConfigError),
    /// A record that cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The workload can be read, but no job of it ever ran.
    #[error("{file}: expected at least one job that ran, found {jobs} that never did")]
    NothingRan {
        /// The source of the jobs.
        file: String,
        /// Number of jobs that never ran.
        jobs: usize,
    },
    /// More nodes than any machine has.
    #[error("{machine}: expected at most {most} nodes")]
    HugeMachine {
        /// The machine.
        machine: ReplayMachine,
        /// The maximum number of nodes.
        most: u32,
    },
    /// Memory of nodes without any job that requests memory.
    #[error("{file}: expected at least one job that requests memory, found none")]
    NoRequestedMemory {
        /// The source of the jobs.
        file: String,
    },
    /// Speeds of another number of nodes.
    #[error(transparent)]
    Speeds(#[from] SpeedCountError),
    /// A treatment of unpredictable jobs that the policy or the machine does not allow.
    #[error("`{treatment}` with policy `{policy}`: expected {expected}")]
    Treatment {
        /// The treatment.
        treatment: TreatmentTrial,
        /// The policy with its parameters.
        policy: String,
        /// The expectation.
        expected: &'static str,
    },
    /// A record with too few jobs for its windows.
    #[error("{windows} windows need at least {needed} jobs, and the record has {jobs}")]
    FewJobs {
        /// Number of windows.
        windows: u32,
        /// The fewest jobs for as many windows.
        needed: usize,
        /// Number of jobs of the record.
        jobs: usize,
    },
    /// A date for a record without a calendar.
    #[error(transparent)]
    Dateless(#[from] DatelessRecord),
    /// A period, users or queues without jobs.
    #[error("{file}: no job is of these queues and users in this period")]
    NothingSelected {
        /// The source of the jobs.
        file: String,
    },
    /// A policy that could not decide on every job, or an impossible schedule.
    #[error("policy `{policy}`: {failure}")]
    Run {
        /// The policy with its parameters.
        policy: String,
        /// The cause.
        failure: ReplayFailure,
    },
}

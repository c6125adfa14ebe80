//! The jobs of a run: a trace under settings and a market, or generated.
//!
//! | module | contents |
//! |---|---|
//! | [`workload`] | the jobs of a run: a trace under settings and a market |
//! | [`settings`] | the settings of a run's jobs, with their legal ranges |
//! | [`sla`] | deadlines, budgets and penalty rates for traces that have none |
//! | [`deadline`] | deadlines by what users could know at submission |
//! | [`generate`] | the embedded default workload, and jobs like it for a machine of any size |
//! | `requests` | what jobs without a request are taken to have asked for |
//! | `row_selection` | the rows of a trace that take part in a run, and their order |
//! | `normal` | the normal distribution and its inverse |
//! | [`rng`] | pinned random streams, one per seed, job and purpose |

pub mod deadline;
pub mod generate;
mod normal;
mod requests;
pub mod rng;
mod row_selection;
pub mod settings;
pub mod sla;
pub mod workload;

pub use deadline::DeadlineModel;
pub use generate::{GeneratedMachine, WorkloadGenerator};
pub use settings::{NeverRanHandling, SlaFactor, WorkloadConfig, WorkloadConfigError};
pub use workload::{DeadlineCounts, JobArrival, MissingRequests, SynthesisedSlas, Workload};

//! A personal cluster of a commodity scheduler: Slurm or HTCondor, started by a user, whose execution
//! daemons run inside pilots.
//!
//! [`PersonalScheduler`] is the side of the log-in host, [`ExecutionNode`] the side of a pilot. A
//! pilot gets a [`NodeTicket`]: the address of the scheduler and the secret by which the scheduler
//! knows its nodes.
//!
//! | module | contents |
//! |---|---|
//! | [`scheduler`](PersonalScheduler) | the scheduler in a directory: start, state, stop |
//! | [`slurm`] | configuration files and answers of Slurm |
//! | [`htcondor`] | configuration files and answers of HTCondor |
//! | [`ticket`](NodeTicket) | the file that a pilot gets |
//! | [`node`](ExecutionNode) | the execution daemon in a pilot, from its start to its end |
//! | [`guard`] | processes that end with their pilot, however it ends |
//! | [`host`] | programs, ports, addresses and daemons of this host |
//! | [`error`](InsideError) | errors |

mod error;
pub mod guard;
pub mod host;
pub mod htcondor;
mod node;
mod scheduler;
pub mod slurm;
mod ticket;

pub use error::InsideError;
pub use node::{ExecutionNode, NodeOptions};
pub use scheduler::{NodeGroup, PersonalScheduler, SchedulerKind, SchedulerLoad, SchedulerNode};
pub use ticket::{NodeAccess, NodeTicket};

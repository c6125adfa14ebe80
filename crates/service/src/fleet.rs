//! Workers on other hosts: processes that offer their cores to the service and run what they are
//! given.
//!
//! | module | what it holds |
//! |---|---|
//! | [`words`] | what a worker and the service say to each other |
//! | [`terms`] | who waits how long for whom |
//! | [`muster`] | [`WorkerPool`]: this host's engine and all workers, as the keeper sees them |
//! | `starts` | what is started where, and what has to wait for that |
//! | `talk` | what the service answers to a worker |
//! | `lives` | whose life begins and whose ends |
//! | [`post`] | one worker, as the service knows it |
//! | `roster` | who has ever offered nodes, on disk |
//! | [`hand`] | [`WorkerAgent`]: the worker's own end, without input and output but for its engine |
//! | [`accept`] | where connections of workers come in |
//! | [`line`] | frames on a stream of bytes |
//! | [`route`] | the way from a worker to its service |
//! | [`dial`] | a worker process: connects, again and again |
//! | [`worker`] | what it is made of on a real host |
//!
//! A worker dials; over each connection it and the service first agree on whether the *life* goes on
//! that the worker had, and then bring each other up to date: the worker says what it runs and what has
//! ended, the service what is to run there. So nothing that is lost with a connection needs to be
//! said again by name, and it does no harm to say it twice.
//!
//! A life has a number, the epoch, which grows. It ends when the service has not heard of the worker
//! for the grace time: then its jobs are requeued, or lost. By then the worker has ended what it runs
//! ([`terms`] says why), and it begins a new life with nothing.

pub mod accept;
pub mod dial;
pub mod hand;
mod line;
mod lives;
pub mod muster;
pub mod post;
mod roster;
pub mod route;
mod starts;
mod talk;
pub mod terms;
pub mod words;
pub mod worker;

pub use accept::WorkerAcceptor;
pub use hand::{AgentConfig, AgentPersistentState, DisconnectReason, WorkerAgent};
pub use muster::{JobOwners, MonotonicClock, WorkerPool, WorkerPoolConfig};
pub(crate) use post::WorkerSnapshot;
pub use post::{ConnectionEvent, ConnectionEventKind, FrameSink, WorkerInfo, WorkerState};
pub(crate) use roster::replace_private_file;
pub use route::WorkerTransport;
pub use terms::LeaseTimings;

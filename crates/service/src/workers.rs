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

pub mod acceptor;
pub mod agent;
mod codec;
pub mod connector;
pub mod daemon;
pub mod entry;
pub mod lease;
mod lifecycle;
mod placement;
pub mod pool;
pub mod protocol;
mod registry;
mod session;
pub mod transport;

pub use acceptor::WorkerAcceptor;
pub use agent::{AgentConfig, AgentPersistentState, DisconnectReason, WorkerAgent};
pub(crate) use entry::WorkerSnapshot;
pub use entry::{ConnectionEvent, ConnectionEventKind, FrameSink, WorkerInfo, WorkerState};
pub use lease::LeaseTimings;
pub use pool::{JobOwners, MonotonicClock, WorkerPool, WorkerPoolConfig};
pub(crate) use registry::replace_private_file;
pub use transport::WorkerTransport;

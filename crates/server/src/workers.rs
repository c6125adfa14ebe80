//! The connections between the service and its workers on other hosts, and the daemon of a worker. The
//! decisions of both ends are in `tollgate_workers`.
//!
//! | module | contents |
//! |---|---|
//! | `codec` | frames on a byte stream |
//! | [`acceptor`] | the service's end: the acceptor of worker connections |
//! | [`transport`] | the worker's end: the connection to its service |
//! | [`connector`] | the loop of a worker: connects again and again |
//! | [`key`] | a worker's own key |
//! | `probe` | the task that a worker runs before it offers its cores |
//! | `part_calls` | the requests of jobs for processes on their other hosts |
//! | `batch_nodes` | the nodes of a batch system, as workers inside the service |
//! | [`desktop`] | a worker on a computer that people work at: the monitor, and what it reports |
//! | [`daemon`] | the worker daemon on a real host |

pub mod acceptor;
pub(crate) mod batch_nodes;
mod codec;
pub mod connector;
pub mod daemon;
pub mod desktop;
pub mod key;
mod part_calls;
mod probe;
pub mod transport;

pub use acceptor::WorkerAcceptor;
pub use transport::WorkerTransport;

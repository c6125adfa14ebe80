//! Workers on other hosts: processes that offer their cores to the service and run the attempts it
//! sends them. Both ends of the protocol are here, without a network: frames in, frames out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocol`] | the messages between a worker and the service |
//! | [`lease`] | the lease and the timeouts |
//! | [`pool`] | [`WorkerPool`]: this host's engine and all workers, as the controller sees them |
//! | `outputs` | outputs of attempts on workers |
//! | [`parts`] | parts of attempts on the other hosts of their job |
//! | `placement` | placing attempts on workers, and starts that have to wait |
//! | `session` | the service's answers to a worker |
//! | `signals` | signals of users to running attempts |
//! | `black_hole` | workers on which nothing can be started |
//! | `leaving` | workers that are about to leave, as the service sees them |
//! | `desktop` | hosts that come into use by others, as the service sees them |
//! | [`slowdown`] | [`SlowdownMeter`]: how much slower tasks are because of other load |
//! | `foreign_load` | hosts that other load slows, as the service sees them |
//! | `moved_end` | ends of workers that a batch system moves |
//! | `lifecycle` | begin and end of a worker's incarnations |
//! | [`departure`] | the end of a worker that is known beforehand, and the messages before it leaves |
//! | [`entry`] | one worker, as the service knows it |
//! | `registry` | the file of all workers that ever registered |
//! | [`agent`] | [`WorkerAgent`]: the worker's side, free of I/O except through its engine |
//!
//! The worker opens the connection. On each connection the two sides first agree whether the worker's last
//! *incarnation* goes on, and then bring each other up to date. The worker reports its running and ended
//! attempts, and the service sends the attempts to run. So a message that is lost with a connection needs no
//! separate repetition, and a repeated message does no harm.
//!
//! Incarnations are numbered with a growing epoch. An incarnation ends when the service has
//! received nothing from the worker for the grace period; its jobs are then requeued, or lost. By
//! then the worker has ended its tasks ([`lease`] says why), and it begins a new incarnation with
//! nothing running.

pub mod agent;
mod black_hole;
pub mod departure;
mod desktop;
pub mod entry;
mod foreign_load;
pub mod lease;
mod leaving;
mod lifecycle;
mod moved_end;
mod outputs;
pub mod parts;
mod placement;
pub mod pool;
pub mod protocol;
mod registry;
mod session;
mod signals;
pub mod slowdown;

pub use agent::{AgentConfig, AgentPersistentState, DisconnectReason, WorkerAgent};
pub use entry::{
    ConnectionEvent, ConnectionEventKind, FrameSink, WorkerInfo, WorkerSnapshot, WorkerState,
};
pub use lease::LeaseTimings;
pub use outputs::{CollectedOutput, OutputLocation, OutputReceiver};
pub use parts::{PartAttempt, PartCall, PartSink};
pub use pool::{
    JobOwners, LaunchRequest, MonotonicClock, UserNameLookup, WorkerPool, WorkerPoolConfig,
};
pub use registry::check_registry;
pub use signals::SignalReach;
pub use slowdown::SlowdownMeter;

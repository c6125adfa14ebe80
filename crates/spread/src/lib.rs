//! Copies of a program on the hosts of a job: both ends of their connection.
//!
//! | module | contents |
//! |---|---|
//! | [`hosts`] | the hosts of a job, and which copy runs where |
//! | [`lead`] | the process in the job that starts the copies and passes their output on |
//! | [`part`] | the process on each host that runs the copies there |
//! | `copies` | the copies of one host: start, output, end |
//! | `request` | the request for a part to the worker or service of this host |
//! | `message` | the messages between lead and part |
//! | `signals` | signals that ask a process to end |
//!
//! The lead asks its host for a part on each other host of the job. The service checks the request, and
//! the engine of that host starts the part like an attempt: as the user of the job, in a control group,
//! under the lease. The part then connects to the lead by TCP, so that no output passes through the
//! service. Both prove with a secret, which travels with the request, that they belong together, and
//! encrypt what they send. The copies end with the connection: whichever end is killed, none is left.

mod copies;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod hosts;
pub mod lead;
mod message;
pub mod part;
mod request;
mod signals;

pub use lead::{SpreadError, SpreadOptions, spread};

//! Statements about the jobs of a queue that another scheduler serves: when each starts and ends, with a probability,
//! and whether such statements were kept.
//!
//! Observations of the queue and records of ended jobs come in, statements and outcomes go out. The same observations
//! give the same statements, byte for byte, whether they arrive live or from a record.
//!
//! | module | contents |
//! |---|---|
//! | [`job`] | [`SeenJob`]: a job as its batch system shows it |
//! | [`observation`] | [`QueueObservation`]: the jobs that changed, at an instant |
//! | [`changes`] | [`QueueChanges`]: two views of a queue, and what changed between them |
//! | [`follower`] | [`QueueFollower`]: learns from observations, states, and answers |
//! | `events` | observations as events of single jobs, in order of time |
//! | `names` | users and queues as numbers |
//! | [`snapshot`] | the follower as bytes |
//! | [`statement`] | [`JobStatement`]: a statement with its instants |
//! | [`calibration`] | [`Calibration`]: how many statements were kept |
//! | `offsets` | corrections of the bounds of a group of jobs |
//! | `open` | the statements that are not judged yet |
//! | [`queue`] | [`OpenQueueJob`]: a job of the queue without a statement |
//! | [`answer`] | [`JobAnswer`]: the answer about one job |
//! | [`offers`] | [`SoonerOffer`]: requests that would start or end sooner |
//! | `run_times` | run times of ended jobs, for jobs that run |
//! | `first_guess` | wider bounds where little is known |
//!
//! The crate reads no clock and runs no process: instants are arguments.

pub mod answer;
pub mod calibration;
pub mod changes;
mod events;
mod first_guess;
pub mod follower;
pub mod job;
mod names;
pub mod observation;
pub mod offers;
mod offsets;
mod open;
pub mod queue;
mod run_times;
pub mod snapshot;
pub mod statement;

pub use answer::{
    AS_NEW, FROM_RUN_TIMES, JobAnswer, KeptStatements, QueueAround, RequestedJob, StatedLevels,
};
pub use calibration::{
    Calibration, CalibrationDrift, KeptTally, StatedQuantity, StatementOutcome, TallyScope,
};
pub use changes::QueueChanges;
pub use follower::{MIN_OUTCOMES, QueueFollower};
pub use job::{SeenJob, SeenJobKey, SeenPhase};
pub use observation::{QueueObservation, QueueSight};
pub use offers::{OfferedChange, SoonerOffer};
pub use queue::{OpenQueueJob, QueueCounts};
pub use snapshot::FollowerSnapshotError;
pub use statement::{JobStatement, StatedBounds};

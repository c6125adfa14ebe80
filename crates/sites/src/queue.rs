//! The queue of a batch system with the jobs of all users, followed by looks at it. Nothing is written to the engine.
//!
//! | module | contents |
//! |---|---|
//! | [`live_queue`](LiveQueue) | the questions to a live engine, here or on another host |
//! | [`rounds`](QueueRounds) | one look at the queue, and the records of jobs that left the queue unseen |
//! | [`answer_pace`](AnswerPace) | the pause before the next look |
//! | [`follower_store`](FollowerStore) | the knowledge of a follower on disk |
//! | [`watch`](QueueWatch) | the queue of a site followed for its pilots, in a thread of its own |
//! | [`error`](QueueError) | the errors of an engine, and [those of files](FollowerStoreError) |

mod answer_pace;
mod error;
mod follower_store;
mod live_queue;
mod rounds;
mod watch;

pub use answer_pace::AnswerPace;
pub use error::{FollowerStoreError, QueueError};
pub use follower_store::{
    FollowerLock, FollowerStore, FollowerWriter, StoredFollower, parse_observations,
};
pub use live_queue::LiveQueue;
pub use rounds::{QueueRound, QueueRounds};
pub use watch::{QueueFinding, QueueWatch};

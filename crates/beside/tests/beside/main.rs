//! Tests of the follower of a queue.

mod calibrated;
mod causal;
mod drawn;
mod holds;
mod polled;
mod stored;

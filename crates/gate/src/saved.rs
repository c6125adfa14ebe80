//! A gate on its way to a file and back.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;
use tollgate_policy::{State, Timers};

use crate::input::Retry;
use crate::workers::Workers;

/// All that a gate knows, but for its policy, whose index follows from the state. The data format
/// must give back the floats that it was given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Saved {
    pub(crate) state: State,
    /// When the shares of each node must be set anew.
    pub(crate) alarms: Timers,
    /// When the next pass is wanted at the latest.
    pub(crate) pass: Option<Instant>,
    pub(crate) workers: Workers,
    pub(crate) retries: Vec<Retry>,
}

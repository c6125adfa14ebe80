//! The use of the cores of one pilot, sampled at each look at the service.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

/// The use of a pilot's cores so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PilotUse {
    /// The time of its cores with a task, in core-seconds.
    #[serde(default)]
    pub busy_core_s: u64,
    /// The time of its cores since it has had no task at all, in core-seconds.
    #[serde(default)]
    pub idle_core_s: u64,
    /// The instant at which it was first seen without any task. None while it has one, or has not joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<Instant>,
}

impl PilotUse {
    /// The use of a pilot that has not joined.
    pub const NONE: Self = Self {
        busy_core_s: 0,
        idle_core_s: 0,
        idle_since: None,
    };
}

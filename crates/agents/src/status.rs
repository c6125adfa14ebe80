//! The state of an agent, for people.

use serde::{Deserialize, Serialize};
use tollgate_federation::durable::DurableState;
use tollgate_model::Instant;

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The session.
    pub session: String,
    /// The site.
    pub site: String,
    /// The instant of the state.
    pub at: Instant,
    /// The number of pilots that the site should have.
    pub target: u32,
    /// The number of those that run. None if the engine did not answer.
    pub running: Option<u32>,
    /// The number of those that wait, or are about to be submitted.
    pub pending: u32,
    /// The site's value. None if it is not known, or the site takes no pilots.
    pub value: Option<f64>,
    /// The mean time in seconds that pilots waited which started. None if none has started.
    pub mean_wait_s: Option<f64>,
    /// The number of pilots that the site received.
    pub received: u64,
    /// The number of pilots that the site gave.
    pub given: u64,
    /// The last move. None if nothing has moved since the agent started.
    pub last_move: Option<SiteMove>,
    /// Why the site takes no pilots, or the engine does not answer. None if all is well.
    pub failure: Option<String>,
    /// The state on disk.
    pub state: DurableState,
}

/// A pilot that was given or received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteMove {
    /// The instant of the move.
    pub at: Instant,
    /// The other site.
    pub site: String,
    /// Whether this site gave the pilot; otherwise it received the pilot.
    pub gave: bool,
    /// The values by which the pilot moved, as a sentence.
    pub why: String,
}

//! Inputs of an agent.

use crate::link::PeerInput;
use crate::queue::QueueView;

/// An input of the main loop.
pub(crate) enum AgentInput {
    /// From another agent, or the operator.
    Peer(PeerInput),
    /// A view of the queue.
    Looked(Result<QueueView, String>),
    /// The pilots have ended, or some may be left.
    Ended(Result<(), String>),
}

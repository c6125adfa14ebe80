//! The actions of the engine that follow from a step.

use tollgate_model::{AttemptId, NodeId};

/// An action for the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineAction {
    /// Starts an attempt.
    Start {
        /// The attempt.
        attempt: AttemptId,
        /// The nodes, ascending.
        nodes: Vec<NodeId>,
        /// The attempt that it follows on these nodes; None if it starts at once.
        after: Option<AttemptId>,
    },
    /// Tells where an attempt runs that followed another one and has begun. There is nothing to do.
    Continued {
        /// The attempt.
        attempt: AttemptId,
        /// The nodes, ascending.
        nodes: Vec<NodeId>,
    },
    /// Ends an attempt that follows another one, unless it has started.
    Withdraw {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Changes the rate of an attempt.
    SetShare {
        /// The attempt.
        attempt: AttemptId,
        /// The average share of its nodes that the attempt gets; above 0, at most 1.
        rate: f64,
    },
    /// Ends an attempt.
    Kill {
        /// The attempt.
        attempt: AttemptId,
    },
}

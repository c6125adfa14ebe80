//! The stages of the connection of an agent.

use tollgate_engine::{EngineError, Retryability};
use tollgate_model::{AttemptEvent, AttemptReport};

/// The stage of the current connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentStage {
    /// No connection.
    Disconnected,
    /// The worker has identified itself.
    AwaitingWelcome,
    /// The worker ends the tasks of an incarnation that is over.
    EndingTasks,
    /// The worker has offered its capacity for a new incarnation.
    AwaitingRegistration,
    /// The worker is registered and runs attempts.
    Registered,
}

/// Returns whether an attempt need not be started because its end is already reported.
pub(super) fn has_ended(reports: &[AttemptReport]) -> bool {
    let ends = |report: &AttemptReport| !matches!(report.event, AttemptEvent::Started(_));
    reports.iter().any(ends)
}

/// Returns whether another try can help.
pub(super) fn is_retryable(error: &EngineError) -> bool {
    error.retryability() != Retryability::Never
}

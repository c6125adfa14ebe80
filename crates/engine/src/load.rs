//! The load of an engine's host: the demand of tasks and of others for its processors.

use serde::{Deserialize, Serialize};
use tollgate_model::{AttemptId, Span};

/// The load of a host at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLoad {
    /// The processors of the host. At least 1.
    pub processors: u32,
    /// The threads of the host that run or wait for a processor, without the one that counts them.
    pub runnable: u32,
    /// The demand of running attempts, in ascending order.
    pub attempts: Vec<AttemptDemand>,
}

/// The demand of the threads of an attempt for processors since its start. A thread that has ended counts until it was last
/// seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptDemand {
    /// The attempt.
    pub attempt: AttemptId,
    /// The number of its nodes on the host. At least 1.
    pub nodes: u32,
    /// Whether it has its nodes to itself.
    pub is_alone: bool,
    /// The time on a processor, of all threads together.
    pub ran: Span,
    /// The time in which threads could have run and waited for a processor.
    pub waited: Span,
}

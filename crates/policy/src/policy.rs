//! The interface of a policy.

use std::fmt::Debug;

use tollgate_model::{Credits, Distribution, Instant, JobId, JobSpec, NodeId, Reason, Sla};

use crate::context::{InvariantViolation, PolicyContext};
use crate::state::{Node, View};

/// A policy's decision on a submitted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// The job is rejected.
    Reject(Reason),
    /// The job is queued; admission is decided at its start.
    Queue,
    /// The job is admitted and starts later.
    Promise {
        /// Maximum cost of the job.
        price: Credits,
    },
    /// The job is admitted and starts at once on [`ProbeScratch::nodes`], beside the tasks running
    /// there.
    Run {
        /// Maximum cost of the job.
        price: Credits,
    },
}

/// Scratch buffers of a probe, kept by the caller so that no probe allocates.
#[derive(Clone, Debug, Default)]
pub struct ProbeScratch {
    /// The nodes on which a job with [`AdmissionDecision::Run`] would run.
    pub nodes: Vec<NodeId>,
    /// Suitable nodes, by fill.
    pub(crate) candidates: Vec<(i64, NodeId)>,
    /// Remaining deadlines and shares on one node.
    pub(crate) promises: Vec<(f64, f64)>,
}

/// The events that trigger a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassTrigger {
    /// One pass per instant, after all completions and then all submissions of the instant.
    Instant,
    /// One pass after each input; submissions of an instant come before its completions.
    Event,
}

/// The known facts about a task's job: the user's specification and the forecast.
pub type JobInfo<'a> = (&'a JobSpec, Option<&'a Distribution>);

/// The rule by which the tasks of a node share it, independent of all other nodes.
pub trait NodeSharing {
    /// Sets the shares of a copy of a node, as [`Policy::update_shares`] sets those of the node itself:
    /// after its tasks changed, or after one of them outlived its estimate or its deadline. `known`
    /// returns the job of every task. Returns the latest instant at which the shares must be
    /// recomputed.
    fn set_shares<'a>(
        &self,
        node: &mut Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
    ) -> Option<Instant>;
}

/// A policy: decides which jobs are admitted, when and where they run, and at what price.
///
/// The gate keeps the [`crate::ClusterState`] and notifies the policy of changes; a policy keeps
/// only an index that [`Policy::rebuild`] can derive from the state at any time. A policy never
/// sees a run time.
pub trait Policy: Debug + Send {
    /// Returns the decision on a job submitted now with this forecast. Changes nothing, so that a
    /// quote and a submission get the same answer.
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision;

    /// Records that a job joined the queue.
    fn queued(&mut self, view: View<'_>, job: JobId);

    /// Records that a queued job left the queue without the policy's doing: cancelled or held.
    fn dequeued(&mut self, view: View<'_>, job: JobId);

    /// Records that a running job ended or was evicted. Its entry in the state still describes
    /// the old attempt.
    fn ended(&mut self, view: View<'_>, job: JobId);

    /// Records that nodes came or went.
    fn nodes_changed(&mut self, view: View<'_>);

    /// Sets a node's shares after its tasks changed or one of them outlived its estimate or its
    /// deadline.
    fn update_shares(&mut self, cx: &mut PolicyContext<'_>, node: NodeId);

    /// Starts the jobs that can start and drops the hopeless ones.
    fn pass(&mut self, cx: &mut PolicyContext<'_>);

    /// Rebuilds the index from the state.
    fn rebuild(&mut self, view: View<'_>);

    /// Checks that the index equals a rebuilt one.
    ///
    /// # Errors
    /// Returns a description of the first difference.
    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation>;

    /// Returns the rule by which each node is shared if the outcome of a job with this SLA depends
    /// only on its own nodes: jobs share nodes, and no waiting job could affect this one by
    /// starting.
    fn node_sharing(&self, _: &Sla) -> Option<&dyn NodeSharing> {
        None
    }

    /// Copies the policy with its index, to decide on a copy of the state.
    fn clone_box(&self) -> Box<dyn Policy>;

    /// Returns roughly how many jobs and nodes a pass examines; a look-ahead bounds its work by it.
    fn pass_cost(&self) -> usize;

    /// Returns the events that trigger a pass.
    fn pass_trigger(&self) -> PassTrigger {
        PassTrigger::Instant
    }
}

//! What every policy must answer.

use std::fmt::Debug;

use tollgate_model::{Credits, Distribution, Instant, JobId, JobSpec, NodeId, Reason, Sla};

use crate::context::{InvariantViolation, PolicyContext};
use crate::state::{Node, View};

/// What a policy says to a job at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// Kept out.
    Reject(Reason),
    /// Let wait; whether it is let in is decided at its start.
    Queue,
    /// Let in, to start later.
    Promise {
        /// The most it will cost.
        price: Credits,
    },
    /// Let in, to start at once on [`ProbeScratch::nodes`] beside what runs there.
    Run {
        /// The most it will cost.
        price: Credits,
    },
}

/// Room for a probe to work in, kept by the caller so that nothing is allocated a job.
#[derive(Clone, Debug, Default)]
pub struct ProbeScratch {
    /// Where a job with [`AdmissionDecision::Run`] would run.
    pub nodes: Vec<NodeId>,
    /// Nodes that suit, by fill.
    pub(crate) candidates: Vec<(i64, NodeId)>,
    /// Remaining deadlines and shares on one node.
    pub(crate) promises: Vec<(f64, f64)>,
}

/// When passes happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassTrigger {
    /// One pass an instant, after all ends and then all submissions of it.
    Instant,
    /// One pass after each input; submissions of an instant come before its ends.
    Event,
}

/// What is known of the job of a task: what its user handed in, and what was forecast.
pub type JobInfo<'a> = (&'a JobSpec, Option<&'a Distribution>);

/// How the tasks of a node share it, whatever happens elsewhere.
pub trait NodeSharing {
    /// Sets the shares of a copy of a node whose tasks have changed, or one of which outlived its
    /// estimate or its deadline, as [`Policy::refresh`] sets those of the node. `known` knows the
    /// job of every task. Returns when they must be set again at the latest.
    fn set_shares<'a>(
        &self,
        node: &mut Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
    ) -> Option<Instant>;
}

/// A policy: who gets in, when, where, at what price.
///
/// The gate keeps the [`crate::ClusterState`] and tells the policy what changed; a policy keeps only an
/// index that [`Policy::rebuild`] can derive from the state at any time. It never sees a run
/// time.
pub trait Policy: Debug + Send {
    /// What it would say to a job handed in now, of which this was forecast. Changes nothing, so
    /// that a quote and a submission get the same answer.
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision;

    /// A job joined the queue.
    fn queued(&mut self, view: View<'_>, job: JobId);

    /// A queued job left the queue without the policy's doing: cancelled or held back.
    fn dequeued(&mut self, view: View<'_>, job: JobId);

    /// A running job ended or was evicted. Its entry in the state still tells what it was.
    fn ended(&mut self, view: View<'_>, job: JobId);

    /// Nodes came or went.
    fn nodes_changed(&mut self, view: View<'_>);

    /// The tasks of a node changed, or one of them outlived its estimate or its deadline: set
    /// the node's shares.
    fn update_shares(&mut self, cx: &mut PolicyContext<'_>, node: NodeId);

    /// Start what can be started, drop what is hopeless.
    fn pass(&mut self, cx: &mut PolicyContext<'_>);

    /// Derives the index anew from the state.
    fn rebuild(&mut self, view: View<'_>);

    /// Whether the index says what a rebuilt one would say.
    ///
    /// # Errors
    /// The first difference, in words.
    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation>;

    /// How each node is shared, if what becomes of a job with this wish depends on the nodes that it
    /// runs on alone: jobs share nodes, and none waits for a start that could change anything for
    /// it.
    fn node_sharing(&self, _: &Sla) -> Option<&dyn NodeSharing> {
        None
    }

    /// The policy with its index, to decide on a copy of the state.
    fn clone_box(&self) -> Box<dyn Policy>;

    /// How many jobs and nodes a pass looks at, about: what a look-ahead bounds its work by.
    fn pass_cost(&self) -> usize;

    /// When passes happen.
    fn pass_trigger(&self) -> PassTrigger {
        PassTrigger::Instant
    }
}

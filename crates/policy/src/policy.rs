//! The interface of a policy.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, Kinship, NodeId, NodeRange, Probability,
    Reason, Sla, Span,
};

use crate::context::{InvariantViolation, PolicyContext};
use crate::parameters::ParameterEnum;
use crate::possible_runs::PossibleRuns;
#[cfg(doc)]
use crate::state::Admission;
use crate::state::{JobPhase, Node, View};

/// The reason why a policy can decide no longer, as one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyFailure(pub String);

/// The work before a waiting job in the order in which a policy starts jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOrder {
    /// Number of other jobs with a promise or a place in the plan that have to start now.
    pub due_now: u32,
    /// Number of other waiting jobs with a promise or a place in the plan, which its start must leave alone.
    pub planned: u32,
    /// Number of users who have waiting jobs and have used less of the machine.
    pub users_before: u32,
    /// Number of jobs of its own user that stand before it.
    pub own_before: u32,
    /// Whether the job stands behind all others, because it hardly ends in time any more.
    pub is_hopeless: bool,
}

/// A policy's decision on a submitted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// The job is rejected.
    Reject(Reason),
    /// The job is queued; admission is decided at its start.
    Queue,
    /// The job waits for a promise, which may become possible when others end early.
    Waitlist {
        /// The last instant at which it can be promised; it is rejected then.
        until: Instant,
    },
    /// The job waits without a promise of its deadline, which cannot be made for this reason: it runs where no
    /// promise suffers, and gets one if that becomes possible before.
    Unpromised(Reason),
    /// The job is admitted and starts later.
    Promise {
        /// Maximum cost of the job.
        price: Credits,
        /// The instant by which the policy plans the job's end, if that is not its deadline; see
        /// [`Admission::due`].
        due: Option<Instant>,
        /// Whether the promise counts on hosts that are not there yet.
        on_expected: bool,
    },
    /// The job is admitted and starts at once on [`ProbeScratch::nodes`], beside the tasks running
    /// there.
    Run {
        /// Maximum cost of the job.
        price: Credits,
    },
}

/// Scratch buffers of a probe, kept by the caller so that no probe allocates. Only
/// [`ProbeScratch::nodes`] carries an answer; the other buffers are the policy's own, and hold the
/// remains of the last probe.
#[derive(Clone, Debug, Default)]
pub struct ProbeScratch {
    /// The nodes on which a job with [`AdmissionDecision::Run`] would run.
    pub nodes: Vec<NodeId>,
    /// The leads of suitable nodes, each with its rank; the lowest rank is the best.
    pub candidates: Vec<(i64, NodeId)>,
    /// Seconds to the deadline and share of each task of one node.
    pub promises: Vec<(f64, f64)>,
}

/// The events that trigger a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassTrigger {
    /// One pass per instant, after all completions and then all submissions of the instant.
    Instant,
    /// One pass after each input; submissions of an instant come before its completions.
    Event,
}

impl ParameterEnum for PassTrigger {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("instant", Self::Instant), ("event", Self::Event)];
}

/// The jobs whose end is asked for.
#[derive(Clone, Copy, Debug)]
pub enum OutlookSubject<'a> {
    /// This many equal jobs, as if submitted together now, at least one; and the jobs with which they are
    /// long or short together, if these are known.
    New(JobInfo<'a>, u32, Option<Kinship>),
    /// Queued or running jobs, with all those that wait in one slot. At least one.
    Existing(&'a [JobId]),
    /// The job of a waiting group with this number of them before it.
    InGroup(JobId, u32),
    /// The tasks of an array. At least one.
    Array(ArraySubject<'a>),
}

/// The tasks of an array that are to end.
#[derive(Clone, Copy, Debug)]
pub struct ArraySubject<'a> {
    /// Those that are queued or run.
    pub tasks: &'a [JobId],
    /// One of those that are submitted as others start, their number, at least one, and the jobs with which they
    /// are long or short together; None without such tasks.
    pub later: Option<(JobInfo<'a>, u32, Option<Kinship>)>,
    /// Maximum number of tasks that run at a time, if there is one.
    pub max_at_once: Option<u32>,
}

/// The known facts about a task's job: the user's specification and the forecast.
pub type JobInfo<'a> = (&'a JobSpec, Option<&'a Distribution>);

/// The rule by which the tasks of a node share it, independent of all other nodes.
pub trait NodeSharing {
    /// Sets the shares of a copy of a node, as [`Policy::update_shares`] sets those of the node itself. It is
    /// called after its tasks changed, or after one of them outlived its estimate or its deadline. `known`
    /// returns the job of every task. Returns the latest instant at which the shares must be recomputed.
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
///
/// Five methods are required. The defaults of the others suit a policy whose jobs have their nodes
/// to themselves and whose index depends on the waiting jobs alone. A policy must implement `Clone`,
/// from which [`ClonePolicy`] follows. `examples/widest-first` of the repository is a complete
/// policy in a crate of its own.
pub trait Policy: ClonePolicy + Debug + Send {
    /// Returns the decision on a job submitted now with this forecast. Changes nothing, so that a
    /// quote and a submission get the same answer.
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision;

    /// Empties the index, as if no job waited and nothing ran.
    fn clear(&mut self);

    /// Records that a job joined the queue.
    fn queued(&mut self, view: View<'_>, job: JobId);

    /// Records that a queued job left the queue without the policy's doing: cancelled or held.
    fn dequeued(&mut self, view: View<'_>, job: JobId);

    /// Starts the jobs that can start and drops the hopeless ones. A job that the policy starts or
    /// rejects leaves its queue here: [`Policy::dequeued`] is not called for it.
    fn pass(&mut self, cx: &mut PolicyContext<'_>);

    /// Records that a running job ended or was evicted. Its entry in the state still describes
    /// the old attempt. Does nothing by default.
    fn ended(&mut self, _: View<'_>, _: JobId) {}

    /// Starts a held job in the place of a job of the same array that ended on these nodes at this instant.
    /// The job has no price. Returns false, and changes nothing, if the nodes cannot take it.
    /// By default the job gets the nodes for itself, if they are idle.
    fn start_follower(
        &mut self,
        cx: &mut PolicyContext<'_>,
        job: JobId,
        nodes: &[NodeRange],
    ) -> bool {
        cx.start_held(job, nodes)
    }

    /// Records that nodes came or went. Does nothing by default.
    fn nodes_changed(&mut self, _: View<'_>) {}

    /// Sets the shares of a node, which may stand for others, after its tasks changed or one of them
    /// outlived its estimate or its deadline. Does nothing by default, because jobs that share no node have
    /// no shares.
    fn update_shares(&mut self, _: &mut PolicyContext<'_>, _: NodeId) {}

    /// Records that a node stands for some of those for which another one stood. Its tasks are as they were.
    /// Does nothing by default, as [`Policy::update_shares`].
    fn group_parted(&mut self, _: View<'_>, _: NodeId) {}

    /// Rebuilds the index from the state. By default clears it, and then queues every waiting job
    /// in order of submission.
    fn rebuild(&mut self, view: View<'_>) {
        self.clear();
        let waiting = view.jobs().filter(|(_, job)| job.phase == JobPhase::Queued);
        let mut waiting: Vec<(u64, JobId)> = waiting.map(|(id, job)| (job.sequence, id)).collect();
        waiting.sort_unstable();
        for (_, job) in waiting {
            self.queued(view, job);
        }
    }

    /// Checks that the index equals a rebuilt one. Compares nothing by default.
    ///
    /// # Errors
    /// Returns a description of the first difference.
    fn check(&self, _: View<'_>) -> Result<(), InvariantViolation> {
        Ok(())
    }

    /// Returns the rule by which each node is shared if the outcome of a job with this SLA depends only on
    /// its own nodes. That is, jobs share nodes, and no waiting job could affect this one by starting.
    fn node_sharing(&self, _: &Sla) -> Option<&dyn NodeSharing> {
        None
    }

    /// Returns roughly how many jobs and nodes a pass examines; a look-ahead bounds its work by it.
    /// By default the number of waiting jobs.
    fn pass_cost(&self, view: View<'_>) -> usize {
        let waiting = view.jobs().filter(|(_, job)| job.phase == JobPhase::Queued);
        waiting.count()
    }

    /// Returns the decision on `count` jobs like this one that are submitted together, now and with this
    /// forecast: they are promised together or not at all. Changes nothing. None by default: such jobs
    /// are decided one by one.
    fn probe_array(
        &self,
        _: View<'_>,
        _: &JobSpec,
        _: Option<&Distribution>,
        _count: u32,
    ) -> Option<AdmissionDecision> {
        None
    }

    /// Returns, for each of several futures that are equally likely, from when until when some jobs would
    /// run: the first start and the last end; [`Instant::MAX`] stands for never. The number of futures is
    /// enough to decide whether an event has the probability `tellable`, up to a maximum of the policy. None
    /// by default: then a look-ahead with the expected run times of all jobs has to do.
    fn possible_runs(
        &self,
        _: View<'_>,
        _: OutlookSubject<'_>,
        _least_probability: Option<Probability>,
    ) -> Option<PossibleRuns> {
        None
    }

    /// Returns the same of every running and waiting job, each by itself and all in the same futures. The jobs of a slot
    /// have their first start and their last end. None by default, as above.
    fn possible_runs_of_all(&self, _: View<'_>) -> Option<BTreeMap<JobId, PossibleRuns>> {
        None
    }

    /// Returns what stands before a waiting job; None by default: jobs start in the order of submission, or the policy
    /// cannot tell.
    fn wait_order(&self, _: View<'_>, _job: JobId) -> Option<WaitOrder> {
        None
    }

    /// Returns the run time that the policy plans for a job: its estimate by default.
    fn planned_run(&self, view: View<'_>, job: JobId) -> Span {
        view.job(job).spec.estimate
    }

    /// Returns why the policy can decide no longer; the driver of the policy asks after each pass, and
    /// decides nothing more once there is a failure. None by default: most policies cannot fail.
    fn failure(&self) -> Option<&PolicyFailure> {
        None
    }

    /// Returns true if decisions depend on how much each user has used of the machine; see
    /// [`crate::ClusterState::use_of`]. False by default.
    fn follows_uses(&self) -> bool {
        false
    }

    /// Returns the events that trigger a pass.
    fn pass_trigger(&self) -> PassTrigger {
        PassTrigger::Instant
    }
}

/// The copying of a boxed policy. Every [`Policy`] that implements `Clone` has it.
pub trait ClonePolicy {
    /// Copies the policy with its index, to decide on a copy of the state.
    fn clone_box(&self) -> Box<dyn Policy>;
}

impl<P: Policy + Clone + 'static> ClonePolicy for P {
    fn clone_box(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

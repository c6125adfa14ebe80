//! Policies whose jobs share nodes: every admitted job starts at once on nodes that pass a test.
//!
//! The families differ in the test of a node and in how the tasks of a node share it
//! ([`NodeAdmission`]). The probe, the jobs that wait, and the pass over them are the same.

use std::fmt::Debug;

use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, NodeId, NodeRange, Reason, Sla,
};
use tollgate_policy::toolkit::{HeadOfLine, Waitlist, can_never_start, remaining_spec};
use tollgate_policy::{
    AdmissionDecision, InvariantViolation, JobInfo, Node, NodeSharing, NodeTask, Policy,
    PolicyContext, ProbeScratch, SharedStart, View,
};

/// The admission test and the sharing rule of a family, with an index of the nodes.
pub trait NodeAdmission: Clone + Debug + Send + 'static {
    /// Returns the price of a job that could start now, on `scratch.nodes`.
    ///
    /// # Errors
    /// Returns the reason for which too few nodes can take the job.
    fn admit(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> Result<Credits, Reason>;

    /// Returns the share of each task of a node from `now` on, and the seconds of work at which the
    /// shares must be set anew. `known` returns the job of every task. `only` is the job that runs on the
    /// node by [`NodeAdmission::jobs_in_step`].
    fn shares<'a>(
        &self,
        node: &Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
        only: Option<JobId>,
    ) -> (
        impl Fn(&NodeTask) -> f64 + use<Self>,
        impl Fn(&NodeTask) -> f64 + use<Self>,
    );

    /// Returns, by node, the job that runs alone there where the tasks of a job run in step; None on nodes
    /// where no job can run. Empty if tasks that run in step share their nodes as others do, which is the
    /// default.
    fn jobs_in_step(&self, _: View<'_>) -> Vec<Option<JobId>> {
        Vec::new()
    }

    /// Empties the index.
    fn clear(&mut self);

    /// Makes room in the index for this number of nodes; new nodes have no tasks.
    fn resize(&mut self, n_nodes: usize);

    /// Updates the index for a node, which may stand for others: its rates were just set, or have been set
    /// as those of a node that stood for it.
    fn update(&mut self, view: View<'_>, node: NodeId);

    /// Updates the index for a node whose shares were just set by [`NodeAdmission::shares`].
    fn update_after_shares(&mut self, view: View<'_>, node: NodeId) {
        self.update(view, node);
    }

    /// Checks that the index has a node as the state has it.
    ///
    /// # Errors
    /// Returns a description of the difference.
    fn check(&self, view: View<'_>, node: NodeId) -> Result<(), InvariantViolation>;
}

/// A time-shared policy with the test and the sharing rule `A`.
#[derive(Clone, Debug)]
pub struct TimeSharedPolicy<A> {
    admission: A,
    waitlist: Waitlist,
    /// The nodes whose shares were set since the tasks of jobs last ran in step; empty where tasks
    /// progress on their own.
    uncoupled: Vec<NodeId>,
}

impl<A> TimeSharedPolicy<A> {
    /// Creates a policy from an admission test whose index is empty.
    pub fn new(admission: A) -> Self {
        Self {
            admission,
            waitlist: Waitlist::default(),
            uncoupled: Vec::new(),
        }
    }
}

impl<A: NodeAdmission> TimeSharedPolicy<A> {
    /// Sets the shares of a node, on which the job `only` runs if the family chooses one.
    fn set_shares_of(&mut self, cx: &mut PolicyContext<'_>, node: NodeId, only: Option<JobId>) {
        let view = cx.view();
        let known = |job| (&view.job(job).spec, view.forecast(job));
        let (share, mark) = self
            .admission
            .shares(view.node(node), view.now, &known, only);
        cx.set_shares(node, share, mark);
        self.admission.update_after_shares(cx.view(), node);
        if cx.is_rigid() {
            self.uncoupled.push(node);
        }
    }

    /// Sets the shares of the nodes on which a job was just started.
    fn share_nodes_of(&mut self, cx: &mut PolicyContext<'_>, started: SharedStart) {
        for &(_, node) in &started.parted {
            self.group_parted(cx.view(), node);
        }
        for node in started.leads {
            self.set_shares_of(cx, node, None);
        }
    }

    /// Brings the tasks of each job into step, after shares were set. All changes of an instant are
    /// made before, because a job that starts or ends sets the shares of its nodes one by one.
    fn couple(&mut self, cx: &mut PolicyContext<'_>) {
        if self.uncoupled.is_empty() {
            return;
        }
        let chosen = self.admission.jobs_in_step(cx.view());
        for (node, &only) in (0..).map(NodeId).zip(&chosen) {
            let Some(job) = only.filter(|_| cx.lead_of(node) == node) else {
                continue;
            };
            let waits = |task: &NodeTask| task.job == job && task.share == 0.0;
            if cx.node(node).tasks().iter().any(waits) {
                self.set_shares_of(cx, node, only);
            }
        }
        let uncoupled = std::mem::take(&mut self.uncoupled);
        for node in cx.couple_rates(&uncoupled) {
            let view = cx.view();
            let known = |job| (&view.job(job).spec, view.forecast(job));
            let only = chosen.get(node.index()).copied().flatten();
            let (_, mark) = self
                .admission
                .shares(view.node(node), view.now, &known, only);
            cx.renew_alarm(node, mark);
            self.admission.update(cx.view(), node);
        }
    }
}

impl<A: NodeAdmission> NodeSharing for TimeSharedPolicy<A> {
    fn set_shares<'a>(
        &self,
        node: &mut Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
    ) -> Option<Instant> {
        let (share, mark) = self.admission.shares(node, now, known, None);
        node.set_rates(now, share, mark)
    }
}

impl<A: NodeAdmission> Policy for TimeSharedPolicy<A> {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision {
        let admitted = self.admission.admit(view, spec, forecast, scratch);
        self.waitlist.decide_arrival(view, spec, admitted)
    }

    fn clear(&mut self) {
        self.waitlist = Waitlist::default();
        self.uncoupled.clear();
        self.admission.clear();
    }

    fn queued(&mut self, view: View<'_>, job: JobId) {
        self.waitlist.insert(view, job);
    }

    fn dequeued(&mut self, view: View<'_>, job: JobId) {
        self.waitlist.remove(view, job);
    }

    fn start_follower(
        &mut self,
        cx: &mut PolicyContext<'_>,
        job: JobId,
        nodes: &[NodeRange],
    ) -> bool {
        let started = cx.start_held_shared(job, nodes);
        let starts = started.is_some();
        started
            .into_iter()
            .for_each(|started| self.share_nodes_of(cx, started));
        starts
    }

    fn nodes_changed(&mut self, view: View<'_>) {
        self.admission.resize(view.n_nodes() as usize);
    }

    fn update_shares(&mut self, cx: &mut PolicyContext<'_>, node: NodeId) {
        self.set_shares_of(cx, node, None);
    }

    fn group_parted(&mut self, view: View<'_>, node: NodeId) {
        self.admission.update(view, node);
        // The shares of the node that stood for this one may have been set at this instant.
        if view.is_rigid() {
            self.uncoupled.push(node);
        }
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        let mut scratch = ProbeScratch::default();
        let mut line = HeadOfLine::default();
        for job in self.waitlist.jobs() {
            let rest = remaining_spec(cx.job(job), cx.now());
            if line.is_blocked(&rest) {
                continue;
            }
            let forecast = cx.forecast(job);
            let admitted = self
                .admission
                .admit(cx.view(), &rest, forecast, &mut scratch);
            match admitted {
                Ok(price) => {
                    self.waitlist.remove(cx.view(), job);
                    let started = cx.start_shared(job, &scratch.nodes, price);
                    self.share_nodes_of(cx, started);
                }
                Err(reason) if can_never_start(cx.job(job), reason) => {
                    self.waitlist.remove(cx.view(), job);
                    cx.reject(job, reason);
                }
                Err(reason) => line.note_rejection(&rest, reason),
            }
        }
        self.couple(cx);
    }

    fn rebuild(&mut self, view: View<'_>) {
        self.clear();
        self.waitlist = Waitlist::of(view);
        self.nodes_changed(view);
        for node in leads(view) {
            self.admission.update(view, node);
        }
    }

    fn node_sharing(&self, sla: &Sla) -> Option<&dyn NodeSharing> {
        self.waitlist.cannot_affect(sla).then_some(self)
    }

    fn pass_cost(&self, view: View<'_>) -> usize {
        self.waitlist.len() * view.n_nodes() as usize
    }

    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation> {
        leads(view).try_for_each(|node| self.admission.check(view, node))
    }
}

/// Returns the nodes that stand for themselves, and maybe for others.
fn leads(view: View<'_>) -> impl Iterator<Item = NodeId> {
    let nodes = (0..view.n_nodes()).map(NodeId);
    nodes.filter(move |&node| view.lead_of(node) == node)
}

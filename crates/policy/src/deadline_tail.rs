//! Time-shared admission by the tail of predictive distributions.
//!
//! Two rules keep promises although run times are guesses. **Running**: on each node the task that
//! is due first runs alone. No other order of one node's tasks keeps a set of deadlines that this
//! order breaks (Dertouzos 1974), and the order needs no run times at all, so a wrong guess takes
//! no time from other users. **Admission**: a node takes a job if every promise there is still kept
//! when each task needs its quantile at probability 1 - bound, given how long the task has run
//! already. Where tasks are long together, as when the jobs of a user change all at once, the
//! probability that any promise on the node breaks is then at most the bound.
//!
//! A task past its deadline has no promise left to keep: it runs when no other task wants the node.

mod demand;
pub(crate) mod runtime_model;
mod settings;

use tollgate_model::{Credits, Distribution, Instant, JobId, JobSpec, Market, NodeId, Reason, Sla};

use crate::context::{InvariantViolation, PolicyContext};
use crate::node_fit::{fits_machine, take_first};
use crate::policy::{AdmissionDecision, JobInfo, NodeSharing, Policy, ProbeScratch};
use crate::price;
use crate::state::{Node, NodeTask, View};
use crate::waitlist::{self, HeadOfLine, Waitlist};
use demand::NodeDemand;
use runtime_model::RuntimeModel;

pub(crate) use settings::PARAMETERS;
pub use settings::{DeadlineTrust, TailParams};

/// A policy that admits by the tail of predictive distributions.
#[derive(Clone, Debug)]
pub struct TailPolicy {
    settings: TailParams,
    market: Market,
    /// The promised work, by node.
    demands: Vec<NodeDemand>,
    waitlist: Waitlist,
}

impl TailPolicy {
    /// Creates a policy with these settings in this market.
    pub fn new(settings: TailParams, market: Market) -> Self {
        Self {
            settings,
            market,
            demands: Vec::new(),
            waitlist: Waitlist::default(),
        }
    }

    /// Returns the price of a job that is admitted to `scratch.nodes`: the suitable nodes with the
    /// least promised work, ties by lowest index. A wide job needs capacity on many nodes at once,
    /// so work is spread evenly.
    fn admit(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> Result<Credits, Reason> {
        fits_machine(view, spec)?;
        let price = price::with_incentive(self.market, spec);
        price::within_budget(self.market, spec, price)?;
        let belief = RuntimeModel::of(spec, forecast);
        let due = spec.due().unwrap_or(Instant::MAX);
        let need_s = belief.required_work_s(0.0, spec.sla.deadline, &self.settings);
        let ProbeScratch {
            nodes,
            candidates: fills,
            ..
        } = scratch;
        nodes.clear();
        fills.clear();
        let mut crowded = 0;
        for (id, demand) in (0..).map(NodeId).zip(&self.demands) {
            if view.is_up(id)
                && let Some(load_s) = demand.load_with_task_s(due, need_s, view.now)
            {
                if !view.has_capacity(id, spec) {
                    crowded += 1;
                    continue;
                }
                // Loads that differ by less than a millisecond are equal.
                fills.push(((load_s * 1e3 + 0.5) as i64, id));
            }
        }
        let wanted = spec.procs as usize;
        if fills.len() < wanted {
            return Err(if fills.len() + crowded >= wanted {
                Reason::NodeFull
            } else {
                Reason::DeadlineRisk
            });
        }
        take_first(fills, wanted, nodes, |_| true);
        Ok(price)
    }

    /// Returns the task that runs on a node at `now`, and the seconds of work at which the task
    /// outlives the next quantile of its distribution.
    fn first<'a>(
        &self,
        node: &Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
    ) -> Option<(JobId, f64)> {
        let task = demand::first(node, now)?;
        let (spec, forecast) = known(task.job);
        let mark_s = RuntimeModel::of(spec, forecast)
            .next_quantile_s(node.work_at(task, now), &self.settings);
        Some((task.job, mark_s))
    }

    fn demand(&self, view: View<'_>, node: NodeId) -> NodeDemand {
        NodeDemand::of(view, view.node(node), &self.settings)
    }
}

impl NodeSharing for TailPolicy {
    fn set_shares<'a>(
        &self,
        node: &mut Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
    ) -> Option<Instant> {
        let first = self.first(node, now, known);
        let (share, mark) = all_to(first);
        node.set_rates(now, share, mark)
    }
}

/// Returns the share of each task, and the seconds of work at which it is re-examined, if one task
/// has the node to itself.
fn all_to(first: Option<(JobId, f64)>) -> (impl Fn(&NodeTask) -> f64, impl Fn(&NodeTask) -> f64) {
    let share = move |task: &NodeTask| f64::from(first.is_some_and(|(job, _)| job == task.job));
    (share, move |_: &NodeTask| {
        first.map_or(f64::INFINITY, |(_, mark_s)| mark_s)
    })
}

impl Policy for TailPolicy {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision {
        let admitted = self.admit(view, spec, forecast, scratch);
        self.waitlist.decide_arrival(view, spec, admitted)
    }

    fn clear(&mut self) {
        self.waitlist = Waitlist::default();
        self.demands.clear();
    }

    fn queued(&mut self, view: View<'_>, job: JobId) {
        self.waitlist.insert(view, job);
    }

    fn dequeued(&mut self, view: View<'_>, job: JobId) {
        self.waitlist.remove(view, job);
    }

    fn nodes_changed(&mut self, view: View<'_>) {
        let nodes = view.n_nodes() as usize;
        self.demands.resize_with(nodes, NodeDemand::default);
    }

    /// Gives the node to the task that is due first, until a deadline passes or that task
    /// outlives a quantile of its distribution.
    fn update_shares(&mut self, cx: &mut PolicyContext<'_>, id: NodeId) {
        let view = cx.view();
        let known = |job| (&view.job(job).spec, view.forecast(job));
        let first = self.first(view.node(id), view.now, &known);
        let (share, mark) = all_to(first);
        cx.set_shares(id, share, mark);
        let view = cx.view();
        self.demands[id.index()].set(view, view.node(id), &self.settings);
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        let mut scratch = ProbeScratch::default();
        let mut line = HeadOfLine::default();
        for job in self.waitlist.jobs() {
            let rest = waitlist::remaining_spec(cx.job(job), cx.now());
            if line.is_blocked(&rest) {
                continue;
            }
            let forecast = cx.forecast(job);
            let price = match self.admit(cx.view(), &rest, forecast, &mut scratch) {
                Ok(price) => price,
                Err(reason) if waitlist::can_never_start(cx.job(job), reason) => {
                    self.waitlist.remove(cx.view(), job);
                    cx.reject(job, reason);
                    continue;
                }
                Err(reason) => {
                    line.note_rejection(&rest, reason);
                    continue;
                }
            };
            self.waitlist.remove(cx.view(), job);
            cx.start_shared(job, &scratch.nodes, price);
            for &node in &scratch.nodes {
                self.update_shares(cx, node);
            }
        }
    }

    fn rebuild(&mut self, view: View<'_>) {
        self.clear();
        self.waitlist = Waitlist::of(view);
        let nodes = (0..view.n_nodes()).map(NodeId);
        self.demands = nodes.map(|node| self.demand(view, node)).collect();
    }

    fn node_sharing(&self, sla: &Sla) -> Option<&dyn NodeSharing> {
        self.waitlist.cannot_affect(sla).then_some(self)
    }

    fn pass_cost(&self, _: View<'_>) -> usize {
        self.waitlist.len() * self.demands.len()
    }

    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation> {
        for id in (0..view.n_nodes()).map(NodeId) {
            let (kept, derived) = (&self.demands[id.index()], self.demand(view, id));
            if *kept != derived {
                let (id, now) = (id.0, view.now);
                return Err(InvariantViolation(format!(
                    "at {now} what node {id} has promised is {derived:?}, the index says {kept:?}"
                )));
            }
        }
        Ok(())
    }
}

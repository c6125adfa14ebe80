//! Time-shared admission by the tail of predictive distributions.
//!
//! Two rules keep promises although run times are guesses. **Running**: on each node the task that is due
//! first runs alone. No other order of one node's tasks keeps a set of deadlines that this order breaks
//! (Dertouzos 1974). The order needs no run times at all, so a wrong guess takes no time from other users.
//! **Admission**: a node takes a job if every promise there is still kept when each task needs its quantile
//! at probability 1 - bound. The quantile is given how long the task has run already. Tasks are long together
//! when, for example, the jobs of a user change all at once. The probability that any promise on the node
//! breaks is then at most the bound.
//!
//! A task past its deadline has no promise left to keep: it runs when no other task wants the node.

mod demand;
pub(crate) mod runtime_model;
mod settings;

use std::cell::RefCell;

use demand::NodeDemand;
use runtime_model::{CachedAnswer, RuntimeModel, RuntimeQuestion};
use tollgate_model::{Credits, Distribution, Instant, JobId, JobSpec, Market, NodeId, Reason};
use tollgate_policy::toolkit::price::IncentiveFactors;
use tollgate_policy::toolkit::{TieOrder, fits_machine, price, take_first};
use tollgate_policy::{InvariantViolation, JobInfo, Node, NodeTask, ProbeScratch, View};

use crate::time_shared::NodeAdmission;

pub use settings::{DeadlineTrust, TailParams};

/// The admission test of the family: by the tail of predictive distributions.
#[derive(Clone, Debug)]
pub struct TailAdmission {
    settings: TailParams,
    market: Market,
    /// The promised work, by node.
    demands: Vec<NodeDemand>,
    /// The work that the last task was believed to need: the tasks of a job are alike on most of its
    /// nodes.
    last_need: CachedAnswer,
    /// The quantile that the last task was to outlive next.
    last_mark: RefCell<CachedAnswer>,
}

impl TailAdmission {
    /// Creates the test with these settings in this market, with an empty index.
    pub fn new(settings: TailParams, market: Market) -> Self {
        Self {
            settings,
            market,
            demands: Vec::new(),
            last_need: CachedAnswer::default(),
            last_mark: RefCell::default(),
        }
    }

    /// Returns the task that runs on a node at `now`, that of the job `only` if there is one. Also returns
    /// the seconds of work at which the task outlives the next quantile of its distribution.
    fn first<'a>(
        &self,
        node: &Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
        only: Option<JobId>,
    ) -> Option<(JobId, f64)> {
        let chosen = node.tasks().iter().find(|task| Some(task.job) == only);
        let task = chosen.or_else(|| demand::first(node, now))?;
        let (spec, forecast) = known(task.job);
        let question = RuntimeQuestion {
            estimate: spec.estimate,
            forecast: forecast.copied(),
            speed: node.speed(),
            work_s: node.work_at(task, now),
            deadline: None,
        };
        let mark_s = self.last_mark.borrow_mut().of(&question, || {
            RuntimeModel::of(spec, forecast)
                .at_speed(node.speed())
                .next_quantile_s(question.work_s, &self.settings)
        });
        Some((task.job, mark_s))
    }
}

impl NodeAdmission for TailAdmission {
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
        let price = price::with_incentive(self.market, spec, IncentiveFactors::DEFAULT);
        price::within_budget(self.market, spec, price)?;
        let belief = RuntimeModel::of(spec, forecast);
        let due = spec.due().unwrap_or(Instant::MAX);
        let ProbeScratch {
            nodes, candidates, ..
        } = scratch;
        nodes.clear();
        candidates.clear();
        let (mut n_suitable, mut n_full) = (0, 0);
        for (range, speed) in view.speed_ranges() {
            let belief = belief.at_speed(speed);
            let need_s = belief.required_work_s(0.0, spec.sla.deadline, &self.settings);
            // Returns the promised work of a lead's nodes, if they suit the job. Loads that differ by less
            // than a millisecond are equal.
            let load_ms = |lead: NodeId| {
                let load_s = self.demands[lead.index()].load_with_task_s(due, need_s, view.now)?;
                Some((load_s * 1e3 + 0.5) as i64)
            };
            for lead in view.busy_leads(range) {
                if let Some(load_ms) = load_ms(lead) {
                    let n_nodes = view.group_size(lead);
                    if view.has_capacity(lead, spec) {
                        candidates.push((load_ms, lead));
                        n_suitable += n_nodes;
                    } else {
                        n_full += n_nodes;
                    }
                }
            }
            // Nodes without a task are alike: the first of them are enough.
            let mut n_idle = 0;
            for node in view.idle_nodes(range) {
                let Some(load_ms) = load_ms(node).filter(|_| n_idle < spec.procs) else {
                    break;
                };
                if view.has_capacity(node, spec) {
                    candidates.push((load_ms, node));
                    n_suitable += 1;
                    n_idle += 1;
                } else {
                    n_full += 1;
                }
            }
        }
        if n_suitable < spec.procs {
            return Err(if n_suitable + n_full >= spec.procs {
                Reason::NodeFull
            } else {
                Reason::DeadlineRisk
            });
        }
        let n_procs = spec.procs as usize;
        take_first(
            view,
            candidates,
            n_procs,
            TieOrder::LowestFirst,
            nodes,
            |_| true,
        );
        Ok(price)
    }

    /// Gives the node to the task that is due first, until a deadline passes or that task
    /// outlives a quantile of its distribution.
    fn shares<'a>(
        &self,
        node: &Node,
        now: Instant,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
        only: Option<JobId>,
    ) -> (
        impl Fn(&NodeTask) -> f64 + use<>,
        impl Fn(&NodeTask) -> f64 + use<>,
    ) {
        let first = self.first(node, now, known, only);
        let share = move |task: &NodeTask| f64::from(first.is_some_and(|(job, _)| job == task.job));
        let mark = move |_: &NodeTask| first.map_or(f64::INFINITY, |(_, mark_s)| mark_s);
        (share, mark)
    }

    fn jobs_in_step(&self, view: View<'_>) -> Vec<Option<JobId>> {
        demand::jobs_in_step(view)
    }

    fn clear(&mut self) {
        self.demands.clear();
    }

    fn resize(&mut self, n_nodes: usize) {
        self.demands.resize_with(n_nodes, NodeDemand::default);
    }

    fn update(&mut self, view: View<'_>, id: NodeId) {
        let demand = &mut self.demands[id.index()];
        demand.set(view, view.node(id), &self.settings, &mut self.last_need);
    }

    fn check(&self, view: View<'_>, id: NodeId) -> Result<(), InvariantViolation> {
        let derived = NodeDemand::of(view, view.node(id), &self.settings);
        let kept = &self.demands[id.index()];
        if *kept == derived {
            return Ok(());
        }
        let (id, now) = (id.0, view.now);
        Err(InvariantViolation(format!(
            "at {now} what node {id} has promised is {derived:?}, the index says {kept:?}"
        )))
    }
}

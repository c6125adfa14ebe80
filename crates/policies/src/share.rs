//! The family of time-shared policies: every admitted job starts at once and progresses by its
//! share, remaining work / remaining time (Yeo & Buyya 2006, eq. 1).
//!
//! The policies differ in five rules. They are: when a node suits a job (admission), which suitable nodes are
//! taken (fit), and the price (pricing). The others are the share of a task that outlived its estimate
//! (overrun) or its deadline (expired).

mod load;
mod node_choice;
mod risk;
mod settings;
mod weights;

use load::{NodeLoad, total_by_tasks};
use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, Market, NodeId, NodeSpeed, Reason,
};
use tollgate_policy::toolkit::{fits_machine, price};
use tollgate_policy::{
    InvariantViolation, JobInfo, Node, NodeTask, ProbeScratch, TOLERANCE_S, View, requested_share,
};

use crate::time_shared::NodeAdmission;

pub use settings::{FitStrategy, PricingRule, ShareAdmissionTest, ShareParams};
pub use weights::ShareRule;

/// The admission test of the family: by shares or by the risk of deadline delay.
#[derive(Clone, Debug)]
pub struct ShareAdmission {
    settings: ShareParams,
    market: Market,
    /// By node.
    loads: Vec<NodeLoad>,
}

/// A job's request to each node of one speed.
#[derive(Clone, Copy)]
struct ShareRequest<'a> {
    view: View<'a>,
    spec: &'a JobSpec,
    /// Seconds of work on such a node.
    estimate: f64,
    share: f64,
    /// Seconds.
    deadline: f64,
    /// Maximum total share with which the job still fits.
    capacity: f64,
}

impl ShareRequest<'_> {
    /// Returns the request of the same job to a node of this speed: its estimate is translated to the node
    /// (Yeo & Buyya 2006, §3).
    fn at_speed(&self, speed: NodeSpeed) -> Self {
        Self {
            estimate: self.spec.estimate.as_secs_f64() / speed.as_f64(),
            share: requested_share(self.spec) / speed.as_f64(),
            ..*self
        }
    }

    /// Returns true if no task is predicted to be delayed on a node with this total share.
    fn fits_without_delay(&self, load: &NodeLoad, total: f64) -> bool {
        total + self.share <= risk::RISK_FREE_SHARE || load.n_tasks == 0
    }
}

impl ShareAdmission {
    /// Creates the test with these settings in this market, with an empty index.
    pub fn new(settings: ShareParams, market: Market) -> Self {
        Self {
            settings,
            market,
            loads: Vec::new(),
        }
    }

    /// Admits at prices that rise with a node's utilisation: only nodes where the job stays within
    /// its budget are candidates, and the most expensive node taken sets the price.
    fn admit_priced(
        &self,
        request: &ShareRequest<'_>,
        scratch: &mut ProbeScratch,
    ) -> Result<Credits, Reason> {
        // A price that rounds to the budget is within the budget.
        let limit = request.spec.sla.budget.map_or(f64::INFINITY, |budget| {
            (budget.as_micros() as f64 + 0.5) * 1e-6
        });
        self.choose(request, scratch, Some(limit))?;
        let view = request.view;
        let alike = |one: &NodeId, other: &NodeId| view.lead_of(*one) == view.lead_of(*other);
        let max_price = scratch
            .nodes
            .chunk_by(alike)
            .filter_map(|nodes| self.price(request, view.lead_of(nodes[0])))
            .fold(0.0, f64::max);
        Ok(Credits::from_f64(max_price))
    }

    /// Returns Libra+$'s price on a node: (alpha + beta / free) x base price x estimate. Here free is the
    /// unpromised part of the node's time until the job's deadline, less the job's own estimate there (Yeo &
    /// Buyya 2008, §5.2). A second costs as much on a faster node, which would be cheaper if the estimate
    /// there were paid; therefore the user pays the estimate on the slowest node. None if nothing is free.
    fn price(&self, request: &ShareRequest<'_>, node: NodeId) -> Option<f64> {
        let request = request.at_speed(request.view.node(node).speed());
        let promised = if request.deadline.is_finite() {
            let load = &self.loads[node.index()];
            let committed = load.committed(request.view.now, request.deadline);
            (committed + request.estimate) / request.deadline
        } else {
            self.total(request.view, node)
        };
        let free = 1.0 - promised;
        let ShareParams {
            alpha,
            beta,
            base_price,
            ..
        } = self.settings;
        let estimate = request.spec.estimate.as_secs_f64();
        (free > 0.0).then(|| (alpha + beta / free) * base_price * estimate)
    }

    /// Returns the total share of a node at the present instant.
    fn total(&self, view: View<'_>, node: NodeId) -> f64 {
        let load = &self.loads[node.index()];
        if load.is_nonlinear {
            return total_by_tasks(&self.settings, view.node(node), view.now);
        }
        load.total(view.now)
    }

    /// Returns the total share of a node that suits the job; None of another one.
    fn suitable_total(
        &self,
        request: &ShareRequest<'_>,
        node: NodeId,
        promises: &mut Vec<(f64, f64)>,
    ) -> Option<f64> {
        let view = request.view;
        let load = &self.loads[node.index()];
        if self.is_surely_unsuitable(request, load, load.least_total(view.now)) {
            return None;
        }
        let total = self.total(view, node);
        if self.is_surely_unsuitable(request, load, total) {
            return None;
        }
        let suits = match self.settings.admission {
            ShareAdmissionTest::Share | ShareAdmissionTest::Delay => true,
            ShareAdmissionTest::Risk => {
                request.fits_without_delay(load, total) || self.is_riskless(request, node, promises)
            }
        };
        suits.then_some(total)
    }

    /// Returns true if it is certain that a node with at least this total share does not suit the job. Of the
    /// exact total share, only the risk leaves a doubt.
    #[inline]
    fn is_surely_unsuitable(
        &self,
        request: &ShareRequest<'_>,
        load: &NodeLoad,
        total: f64,
    ) -> bool {
        let with_job = total + request.share;
        match self.settings.admission {
            ShareAdmissionTest::Share => with_job > request.capacity,
            // Above a total share of 1 the task that is due first is late.
            ShareAdmissionTest::Delay => {
                load.is_expired || !request.fits_without_delay(load, total)
            }
            // A lower bound may already prove the risk to be above zero.
            ShareAdmissionTest::Risk => {
                let job = (request.deadline, request.share);
                let gap = || load.delay_gap(request.view.now, with_job, job);
                load.is_expired
                    || !request.fits_without_delay(load, total)
                        && !load.is_nonlinear
                        && gap() > risk::RISKY_GAP
            }
        }
    }

    /// Returns true if the risk of deadline delay is zero with the job on a node where it does not
    /// fit.
    fn is_riskless(
        &self,
        request: &ShareRequest<'_>,
        id: NodeId,
        promises: &mut Vec<(f64, f64)>,
    ) -> bool {
        let now = request.view.now;
        let node = request.view.node(id);
        promises.clear();
        promises.extend(node.tasks().iter().map(|task| {
            let share = weights::share(&self.settings, task, node.work_at(task, now), now);
            (task.time_left(now), share)
        }));
        promises.push((request.deadline, request.share));
        risk::is_zero(promises)
    }
}

/// Returns true if a task of a node is about to outlive its estimate or its deadline. Within a few
/// microseconds of that instant the task's own state has changed already, before the node's alarm
/// fires and its row is rewritten.
fn needs_update(view: View<'_>, id: NodeId) -> bool {
    let node = view.node(id);
    let left = |task: &NodeTask| task.estimate - node.work_at(task, view.now);
    let due = |task: &NodeTask| (0.0..=2.0 * TOLERANCE_S).contains(&task.time_left(view.now));
    let mut tasks = node.tasks().iter();
    tasks.any(|task| due(task) || task.estimate > task.work && left(task) <= 2.0 * TOLERANCE_S)
}

impl NodeAdmission for ShareAdmission {
    fn admit(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        _: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> Result<Credits, Reason> {
        fits_machine(view, spec)?;
        let deadline = spec.sla.deadline.map_or(f64::INFINITY, |d| d.as_secs_f64());
        let request = ShareRequest {
            view,
            spec,
            estimate: spec.estimate.as_secs_f64(),
            share: requested_share(spec),
            deadline,
            // Shares are real numbers, deadlines whole microseconds: the tolerance covers both
            // roundings in favour of the job.
            capacity: 1.0 + 1e-9 + 1e-6 / deadline,
        };
        match (self.settings.pricing, self.market) {
            (PricingRule::Utilisation, Market::Commodity) => self.admit_priced(&request, scratch),
            (PricingRule::Incentive, _)
            | (PricingRule::Utilisation, Market::None | Market::Bid) => {
                let price = price::with_incentive(self.market, spec, self.settings.incentive);
                price::within_budget(self.market, spec, price)?;
                self.choose(&request, scratch, None)?;
                Ok(price)
            }
        }
    }

    fn shares<'a>(
        &self,
        _: &Node,
        now: Instant,
        _: &dyn Fn(JobId) -> JobInfo<'a>,
        _: Option<JobId>,
    ) -> (
        impl Fn(&NodeTask) -> f64 + use<>,
        impl Fn(&NodeTask) -> f64 + use<>,
    ) {
        let settings = self.settings;
        let share = move |task: &NodeTask| weights::share(&settings, task, task.work, now);
        (share, |task: &NodeTask| task.estimate)
    }

    fn clear(&mut self) {
        self.loads.clear();
    }

    fn resize(&mut self, n_nodes: usize) {
        self.loads.resize_with(n_nodes, NodeLoad::default);
    }

    fn update(&mut self, view: View<'_>, node: NodeId) {
        self.loads[node.index()].set(view.node(node), &self.settings);
    }

    fn update_after_shares(&mut self, view: View<'_>, node: NodeId) {
        self.loads[node.index()].set_after_shares(view.node(node), &self.settings);
    }

    fn check(&self, view: View<'_>, id: NodeId) -> Result<(), InvariantViolation> {
        if needs_update(view, id) {
            return Ok(());
        }
        let walked = total_by_tasks(&self.settings, view.node(id), view.now);
        let kept = self.total(view, id);
        if (walked - kept).abs() <= 1e-6 * walked.max(1.0) {
            return Ok(());
        }
        let (id, now) = (id.0, view.now);
        Err(InvariantViolation(format!(
            "at {now} the total share of node {id} is {walked}, the index says {kept}"
        )))
    }
}

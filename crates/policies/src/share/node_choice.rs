//! The choice among the nodes that suit a job.

use tollgate_model::{NodeId, Reason};
use tollgate_policy::toolkit::{TieOrder, take_first};
use tollgate_policy::{ProbeScratch, View};

use super::{FitStrategy, ShareAdmission, ShareAdmissionTest, ShareRequest};

/// The numbers of nodes that suit a job.
#[derive(Clone, Copy, Debug, Default)]
struct NodeCounts {
    /// Those with room for one more task.
    suitable: u32,
    /// Those without.
    full: u32,
}

impl ShareAdmission {
    /// Fills `scratch.nodes` with the nodes for a job: the suitable ones whose price, if prices
    /// apply, is below the limit. They come in the order of the fit; for a job without a deadline
    /// the emptiest first.
    pub(super) fn choose(
        &self,
        request: &ShareRequest<'_>,
        scratch: &mut ProbeScratch,
        price_limit: Option<f64>,
    ) -> Result<(), Reason> {
        scratch.nodes.clear();
        scratch.candidates.clear();
        let promised = request.deadline.is_finite();
        let in_order = promised && self.settings.fit == FitStrategy::First && price_limit.is_none();
        let found = if in_order {
            self.take_in_order(request, scratch)
        } else {
            self.rank_leads(request, scratch)
        };
        let n_procs = request.spec.procs;
        if found.suitable < n_procs {
            return Err(match self.settings.admission {
                _ if found.suitable + found.full >= n_procs => Reason::NodeFull,
                ShareAdmissionTest::Share => Reason::InsufficientShare,
                ShareAdmissionTest::Risk | ShareAdmissionTest::Delay => Reason::DeadlineRisk,
            });
        }
        if in_order {
            return Ok(());
        }
        // A job without a deadline avoids promised work, which starts from the lowest node.
        let ties = match promised {
            true => TieOrder::LowestFirst,
            false => TieOrder::HighestFirst,
        };
        let ProbeScratch {
            nodes, candidates, ..
        } = scratch;
        take_first(
            request.view,
            candidates,
            n_procs as usize,
            ties,
            nodes,
            |lead| {
                price_limit.is_none_or(|limit| {
                    let price = self.price(request, lead);
                    price.is_some_and(|price| price < limit)
                })
            },
        );
        if nodes.len() < n_procs as usize {
            return Err(Reason::PriceOverBudget);
        }
        Ok(())
    }

    /// Fills `scratch.nodes` with the lowest suitable nodes, as many as the job wants.
    fn take_in_order(&self, request: &ShareRequest<'_>, scratch: &mut ProbeScratch) -> NodeCounts {
        let ProbeScratch {
            nodes, promises, ..
        } = scratch;
        let view = request.view;
        let mut found = NodeCounts::default();
        for (range, speed) in view.speed_ranges() {
            let request = request.at_speed(speed);
            for run in view.runs_of_equals(range) {
                let lead = view.lead_of(NodeId(run.first));
                if self.suitable_total(&request, lead, promises).is_none() {
                    continue;
                }
                for node in run.nodes() {
                    if !view.has_capacity(node, request.spec) {
                        found.full += 1;
                        continue;
                    }
                    found.suitable += 1;
                    nodes.push(node);
                    if found.suitable == request.spec.procs {
                        return found;
                    }
                }
            }
        }
        found
    }

    /// Fills `scratch.candidates` with the leads of suitable nodes, except idle nodes that cannot be among
    /// those that the job takes.
    fn rank_leads(&self, request: &ShareRequest<'_>, scratch: &mut ProbeScratch) -> NodeCounts {
        let ProbeScratch {
            candidates,
            promises,
            ..
        } = scratch;
        let view = request.view;
        let promised = request.deadline.is_finite();
        let mut found = NodeCounts::default();
        for (range, speed) in view.speed_ranges() {
            let request = request.at_speed(speed);
            // Returns the rank of a lead, if its nodes suit the job.
            let mut rank = |lead| {
                let total = self.suitable_total(&request, lead, promises)?;
                Some(match self.settings.fit {
                    _ if !promised => idle_rank(view, lead, total),
                    FitStrategy::First => 0,
                    // The fullest first, by totals rounded to 1e-9; ties by lowest index.
                    FitStrategy::Best => -((total * 1e9 + 0.5) as i64),
                })
            };
            for lead in view.busy_leads(range) {
                if let Some(rank) = rank(lead) {
                    let n_nodes = view.group_size(lead);
                    if view.has_capacity(lead, request.spec) {
                        candidates.push((rank, lead));
                        found.suitable += n_nodes;
                    } else {
                        found.full += n_nodes;
                    }
                }
            }
            // Nodes without a task are alike, and only their indices rank them: the first of them are
            // enough for a job with a deadline.
            let most = if promised {
                request.spec.procs
            } else {
                u32::MAX
            };
            let mut n_idle = 0;
            for node in view.idle_nodes(range) {
                let Some(rank) = rank(node).filter(|_| n_idle < most) else {
                    break;
                };
                if view.has_capacity(node, request.spec) {
                    candidates.push((rank, node));
                    found.suitable += 1;
                    n_idle += 1;
                } else {
                    found.full += 1;
                }
            }
        }
        found
    }
}

/// Returns the rank of a node for a job without a deadline, which has no share of its own and runs
/// in the time that promises leave. The least promised node comes first, then the node with the
/// fewest tasks.
fn idle_rank(view: View<'_>, id: NodeId, total: f64) -> i64 {
    const TASKS_BITS: u32 = 12;
    let promised = ((total * 1e6 + 0.5) as i64).min(1 << 24);
    let tasks = (view.node(id).tasks().len() as i64).min((1 << TASKS_BITS) - 1);
    (promised << TASKS_BITS) | tasks
}

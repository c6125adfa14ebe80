//! The admission test and the choice of nodes, by the formulas without the product's shortcuts.

use tollgate_model::{Credits, Instant, Market, Reason};

use super::node::OracleShareNode;
use super::{OracleFit, OracleShareSettings};
use crate::OracleJob;

/// Weight of utilisation in the price of a node, over its base price (Libra+$'s beta).
const UTILISATION_WEIGHT: f64 = 0.3;
/// Tolerance for comparing total shares, and for taking risks as zero.
const PRECISION: f64 = 1e-9;

/// The nodes of an admitted job, and its price.
#[derive(Debug)]
pub(super) struct OracleShareOffer {
    /// Node indices in ascending order.
    pub(super) nodes: Vec<usize>,
    pub(super) price: Credits,
}

/// A task of the new job from a node's perspective, in seconds.
#[derive(Clone, Copy)]
struct TaskRequest {
    estimate: f64,
    deadline: f64,
}

impl TaskRequest {
    /// Returns the request to a node: the estimate takes less of a fast node.
    fn on(self, node: &OracleShareNode) -> Self {
        Self {
            estimate: self.estimate / node.speed,
            ..self
        }
    }
}

/// Returns the policy's decision on `job` at `now`, with `cluster` advanced to `now`.
pub(super) fn decide(
    job: &OracleJob,
    cluster: &[OracleShareNode],
    now: Instant,
    settings: &OracleShareSettings,
) -> Result<OracleShareOffer, Reason> {
    let procs = job.spec.procs as usize;
    if procs > cluster.len() {
        return Err(Reason::TooManyProcs);
    }
    let deadline = job.spec.sla.deadline;
    let request = TaskRequest {
        estimate: job.spec.estimate.as_secs_f64(),
        deadline: deadline
            .expect("time-shared policies need a deadline")
            .as_secs_f64(),
    };
    if settings.market == Market::Commodity && settings.fit == OracleFit::LibraDollar {
        return by_price(job, request, cluster, now, settings);
    }
    let price = match settings.market {
        Market::Commodity => {
            Credits::from_f64(request.estimate + request.estimate / request.deadline)
        }
        Market::None | Market::Bid => Credits::ZERO,
    };
    if job.cannot_pay(price) {
        return Err(Reason::OverBudget);
    }
    let suits = |node: &OracleShareNode| match settings.fit {
        OracleFit::Libra | OracleFit::LibraDollar => has_share(request, node, now, settings),
        OracleFit::LibraRisk => without_risk(request, node, now, settings),
    };
    let mut nodes: Vec<usize> = (0..cluster.len())
        .filter(|&node| suits(&cluster[node]))
        .collect();
    match settings.fit {
        OracleFit::Libra | OracleFit::LibraDollar => {
            fullest_first(&mut nodes, cluster, now, settings)
        }
        OracleFit::LibraRisk => {}
    }
    let lacking = match settings.fit {
        OracleFit::Libra | OracleFit::LibraDollar => Reason::InsufficientShare,
        OracleFit::LibraRisk => Reason::DeadlineRisk,
    };
    let nodes = first(procs, nodes).ok_or(lacking)?;
    Ok(OracleShareOffer { nodes, price })
}

/// Applies Libra+$ where the provider sets the price. A node must have the share free at a price within the
/// budget, and the most expensive node sets the price of the job.
fn by_price(
    job: &OracleJob,
    request: TaskRequest,
    cluster: &[OracleShareNode],
    now: Instant,
    settings: &OracleShareSettings,
) -> Result<OracleShareOffer, Reason> {
    let procs = job.spec.procs as usize;
    let shared =
        (0..cluster.len()).filter(|&node| has_share(request, &cluster[node], now, settings));
    let shared: Vec<usize> = shared.collect();
    if shared.len() < procs {
        return Err(Reason::InsufficientShare);
    }
    let price_on = |node: usize| price(request, &cluster[node], now, settings);
    let payable = |node: &usize| price_on(*node).is_some_and(|price| !job.cannot_pay(price));
    let mut nodes: Vec<usize> = shared.into_iter().filter(payable).collect();
    fullest_first(&mut nodes, cluster, now, settings);
    let nodes = first(procs, nodes).ok_or(Reason::PriceOverBudget)?;
    let max_price = nodes.iter().filter_map(|&node| price_on(node)).max();
    Ok(OracleShareOffer {
        price: max_price.unwrap_or(Credits::ZERO),
        nodes,
    })
}

/// Returns the first `procs` nodes, in ascending order; None if there are too few.
fn first(procs: usize, mut nodes: Vec<usize>) -> Option<Vec<usize>> {
    if nodes.len() < procs {
        return None;
    }
    nodes.truncate(procs);
    nodes.sort();
    Some(nodes)
}

fn total_share(node: &OracleShareNode, now: Instant, settings: &OracleShareSettings) -> f64 {
    let tasks = node.at(now);
    tasks.iter().map(|task| task.share(now, settings)).sum()
}

/// Returns true if the shares of the tasks and of the new task (Yeo & Buyya 2006, eq. 2) fit
/// together.
fn has_share(
    request: TaskRequest,
    node: &OracleShareNode,
    now: Instant,
    settings: &OracleShareSettings,
) -> bool {
    let here = request.on(node);
    let total = total_share(node, now, settings) + here.estimate / request.deadline;
    total <= 1.0 + PRECISION + 1e-6 / request.deadline
}

/// Sorts for best fit: by total share, largest first; ties by index.
fn fullest_first(
    nodes: &mut [usize],
    cluster: &[OracleShareNode],
    now: Instant,
    settings: &OracleShareSettings,
) {
    nodes.sort_by_key(|&node| {
        let total = total_share(&cluster[node], now, settings);
        (-(total / PRECISION).round() as i64, node)
    });
}

/// Returns the price of the new task on `node` (Yeo & Buyya 2008, §5.2: alpha 1, beta 0.3, base price 1). It
/// is that of the estimate on the slowest node; None if nothing would be left of the node.
fn price(
    request: TaskRequest,
    node: &OracleShareNode,
    now: Instant,
    settings: &OracleShareSettings,
) -> Option<Credits> {
    let tasks = node.at(now);
    let committed = tasks.iter().map(|task| {
        let span = if task.expired(now) {
            request.deadline
        } else {
            task.left(now).min(request.deadline)
        };
        task.share(now, settings) * span
    });
    let committed: f64 = committed.sum();
    let free = 1.0 - (committed + request.on(node).estimate) / request.deadline;
    (free > 0.0).then(|| Credits::from_f64((1.0 + UTILISATION_WEIGHT / free) * request.estimate))
}

/// Returns true if no task of `node` is past its deadline and the risk (Yeo & Buyya 2006, eq. 6)
/// with the new task is zero.
fn without_risk(
    request: TaskRequest,
    node: &OracleShareNode,
    now: Instant,
    settings: &OracleShareSettings,
) -> bool {
    let tasks = node.at(now);
    if tasks.iter().any(|task| task.expired(now)) {
        return false;
    }
    let mut shares: Vec<WeightedTask> = tasks
        .iter()
        .map(|task| WeightedTask {
            left: task.left(now),
            share: task.share(now, settings),
        })
        .collect();
    shares.push(WeightedTask {
        left: request.deadline,
        share: request.on(node).estimate / request.deadline,
    });
    risk(shares) <= PRECISION
}

/// A task in the prediction: seconds to its deadline, and its weight.
#[derive(Clone, Copy, Debug)]
struct WeightedTask {
    left: f64,
    share: f64,
}

/// Returns the standard deviation of the deadline delays (eq. 4-6) if every task keeps its weight
/// and has exactly its required work left: tasks end in the order of their deadlines.
fn risk(mut tasks: Vec<WeightedTask>) -> f64 {
    tasks.sort_by(|one, other| one.left.total_cmp(&other.left));
    let mut delays = Vec::new();
    let (mut finish, mut before) = (0.0, 0.0);
    for place in 0..tasks.len() {
        let behind: f64 = tasks[place..].iter().map(|task| task.share).sum();
        finish += (tasks[place].left - before) * behind;
        before = tasks[place].left;
        delays.push(if tasks[place].share > 0.0 {
            (finish / tasks[place].left).max(1.0)
        } else {
            1.0
        });
    }
    deviation(&delays)
}

/// Returns the population standard deviation, computed from the mean.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weighted() -> impl Strategy<Value = WeightedTask> {
        let share = prop_oneof![
            Just(0.0),
            (1u32..8).prop_map(|n| f64::from(n) / 8.0),
            0.01..1.0
        ];
        (1u32..50, share).prop_map(|(left, share)| WeightedTask {
            left: f64::from(left),
            share,
        })
    }

    #[test]
    fn two_of_three_late_is_a_risk() {
        let task = |left, share| WeightedTask { left, share };
        let delays = risk(vec![task(10.0, 0.6), task(20.0, 0.3), task(10.0, 0.6)]);
        assert!((delays - deviation(&[1.5, 1.0, 1.5])).abs() < 1e-12);
        assert_eq!(risk(vec![task(10.0, 7.0)]), 0.0);
    }

    proptest! {
        #[test]
        fn enough_capacity_is_no_risk(tasks in proptest::collection::vec(weighted(), 1..6)) {
            let total: f64 = tasks.iter().map(|task| task.share).sum();
            let scaled = tasks.iter().map(|task| WeightedTask { share: task.share / total.max(1.0), ..*task });
            prop_assert!(risk(scaled.collect()) <= PRECISION);
        }

        #[test]
        fn a_shortage_is_a_risk_unless_all_deadlines_are_equal(
            left in 1u32..50,
            others in proptest::collection::vec(weighted(), 1..5),
        ) {
            let mut tasks = vec![WeightedTask { left: f64::from(left), share: 1.25 }];
            tasks.extend(others);
            let equal = tasks.iter().all(|task| task.left == tasks[0].left && task.share > 0.0);
            prop_assert_eq!(risk(tasks) <= PRECISION, equal);
        }
    }
}

//! Choice of the first free computer in a fixed order.

use tollgate_model::{Instant, NodeId};
use tollgate_policy::RandomSource;

use super::{ComputerPool, LoginLog, Occupant, SelectPolicy};

/// A policy that takes computers in a fixed order.
#[derive(Clone, Debug)]
pub struct FixedOrderSelect {
    order: Vec<NodeId>,
    rank: Vec<u32>,
    /// One bit per rank: set while the computer is free.
    free: Vec<u64>,
}

impl FixedOrderSelect {
    /// Creates a policy from computers in order of preference, each once; all of them free.
    pub fn new(order: Vec<NodeId>) -> Self {
        let mut rank = vec![0; order.len()];
        for (place, node) in (0..).zip(&order) {
            rank[node.index()] = place;
        }
        let mut ordered = Self {
            free: vec![0; order.len().div_ceil(64)],
            order,
            rank,
        };
        for place in 0..ordered.order.len() as u32 {
            ordered.set(place, true);
        }
        ordered
    }

    /// Creates a policy that prefers computers with a long mean gap between users, by a record of
    /// log-ins on them. Ties by lowest index.
    pub fn longest_idle(pool: &ComputerPool, log: &LoginLog) -> Self {
        let gap = |node: NodeId| {
            let idle_s = log.idle[node.index()].as_secs_f64();
            idle_s / (f64::from(log.sessions[node.index()]) + 1.0)
        };
        let mut order = nodes(pool);
        order.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)).then(a.cmp(&b)));
        Self::new(order)
    }

    /// Creates a policy that prefers the cluster whose computers are idle for the largest mean
    /// fraction of a record of log-ins. Within a cluster the order is random but fixed, so that the
    /// same computers are used again while they are awake.
    pub fn least_used_cluster(
        pool: &ComputerPool,
        log: &LoginLog,
        draw: &mut dyn RandomSource,
    ) -> Self {
        let computers = pool.computers();
        let clusters = computers.iter().map(|one| one.cluster as usize + 1).max();
        let mut idle = vec![(0.0, 0.0); clusters.unwrap_or(0)];
        for (computer, span) in computers.iter().zip(&log.idle) {
            let sum = &mut idle[computer.cluster as usize];
            *sum = (sum.0 + span.as_secs_f64(), sum.1 + 1.0);
        }
        let rank = |node: NodeId| {
            let cluster = computers[node.index()].cluster as usize;
            (idle[cluster].0 / idle[cluster].1, cluster)
        };
        let mut order = nodes(pool);
        for last in (1..order.len()).rev() {
            order.swap(last, draw.below(last + 1));
        }
        // The sort is stable: within a cluster the random order stays.
        order.sort_by(|&a, &b| {
            let ((share_a, a), (share_b, b)) = (rank(a), rank(b));
            share_b.total_cmp(&share_a).then(a.cmp(&b))
        });
        Self::new(order)
    }

    fn set(&mut self, rank: u32, free: bool) {
        let (word, bit) = (rank as usize / 64, 1 << (rank % 64));
        match free {
            true => self.free[word] |= bit,
            false => self.free[word] &= !bit,
        }
    }
}

fn nodes(pool: &ComputerPool) -> Vec<NodeId> {
    let count = pool.computers().len() as u32;
    (0..count).map(NodeId).collect()
}

impl SelectPolicy for FixedOrderSelect {
    fn choose(&mut self, _: &ComputerPool, _: Instant, _: &mut dyn RandomSource) -> Option<NodeId> {
        let word = self.free.iter().position(|&word| word != 0)?;
        let rank = word * 64 + self.free[word].trailing_zeros() as usize;
        Some(self.order[rank])
    }

    fn taken(&mut self, node: NodeId, _: Occupant, _: Instant) {
        self.set(self.rank[node.index()], false);
    }

    fn freed(&mut self, node: NodeId, _: Occupant, _: Instant) {
        self.set(self.rank[node.index()], true);
    }
}

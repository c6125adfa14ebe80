//! Choice of the first free computer in a fixed order.

use tollgate_model::{Instant, NodeId};

use super::{ComputerPool, Occupant, SelectPolicy};
use crate::random_source::RandomSource;

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

    fn set(&mut self, rank: u32, free: bool) {
        let (word, bit) = (rank as usize / 64, 1 << (rank % 64));
        match free {
            true => self.free[word] |= bit,
            false => self.free[word] &= !bit,
        }
    }
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

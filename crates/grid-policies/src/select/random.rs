//! Random choice of a free computer, preferably one that is awake.

use tollgate_model::{Instant, NodeId};
use tollgate_policy::RandomSource;

use super::{ComputerPool, SelectPolicy};

/// A policy that draws among the free computers. While the pick is asleep it draws again, at most
/// `redraws` times, and then keeps the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomSelect {
    /// Maximum number of further draws.
    pub redraws: u32,
}

impl SelectPolicy for RandomSelect {
    fn choose(
        &mut self,
        pool: &ComputerPool,
        now: Instant,
        draw: &mut dyn RandomSource,
    ) -> Option<NodeId> {
        let free = pool.free();
        let mut pick = *free.get(draw.below(free.len()))?;
        for _ in 0..self.redraws {
            if pool.is_awake(pick, now) {
                break;
            }
            pick = free[draw.below(free.len())];
        }
        Some(pick)
    }
}

//! One alarm per slot, with constant-time access to the earliest.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

/// A tournament tree of alarms: setting an alarm takes log2(slots) comparisons, and the earliest is
/// read at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimerTree {
    /// A binary tree in an array: the children of `i` are `2i` and `2i + 1`, the root is 1, and the
    /// leaves are the last half. A slot without an alarm contains [`Instant::MAX`].
    tree: Vec<Instant>,
}

impl Default for TimerTree {
    fn default() -> Self {
        Self::new(1)
    }
}

impl TimerTree {
    /// Creates `slots` slots without an alarm.
    pub fn new(slots: usize) -> Self {
        Self {
            tree: vec![Instant::MAX; 2 * slots.next_power_of_two()],
        }
    }

    /// Extends the tree to `slots` slots; alarms that are set stay set.
    pub fn grow(&mut self, slots: usize) {
        if slots <= self.leaves() {
            return;
        }
        let old = std::mem::replace(self, Self::new(slots));
        for (slot, &at) in old.tree[old.leaves()..].iter().enumerate() {
            self.set(slot, Some(at));
        }
    }

    /// Sets or clears the alarm of a slot.
    pub fn set(&mut self, slot: usize, at: Option<Instant>) {
        let mut place = self.leaves() + slot;
        let mut earliest = at.unwrap_or(Instant::MAX);
        self.tree[place] = earliest;
        while place > 1 {
            earliest = earliest.min(self.tree[place ^ 1]);
            place /= 2;
            if self.tree[place] == earliest {
                break;
            }
            self.tree[place] = earliest;
        }
    }

    /// Returns the alarm of a slot.
    pub fn at(&self, slot: usize) -> Option<Instant> {
        let at = self.tree.get(self.leaves() + slot).copied();
        at.filter(|&at| at < Instant::MAX)
    }

    /// Returns the earliest alarm.
    pub fn next(&self) -> Option<Instant> {
        Some(self.tree[1]).filter(|&at| at < Instant::MAX)
    }

    /// Returns the lowest slot among those whose alarm is not later than `until`.
    pub fn due(&self, until: Instant) -> Option<usize> {
        if self.next()? > until {
            return None;
        }
        let mut place = 1;
        while place < self.leaves() {
            place *= 2;
            if self.tree[place] > until {
                place += 1;
            }
        }
        Some(place - self.leaves())
    }

    fn leaves(&self) -> usize {
        self.tree.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_plain_list(steps in prop::collection::vec((0usize..40, prop::option::of(0i64..50)), 1..300)) {
            let mut timers = TimerTree::default();
            let mut list = [None; 40];
            for (slot, secs) in steps {
                let at = secs.map(Instant::from_secs);
                timers.grow(slot + 1);
                timers.set(slot, at);
                list[slot] = at;
                prop_assert_eq!(timers.next(), list.iter().flatten().min().copied());
                let until = Instant::from_secs(25);
                let due = list.iter().position(|at| at.is_some_and(|at| at <= until));
                prop_assert_eq!(timers.due(until), due);
            }
        }
    }
}

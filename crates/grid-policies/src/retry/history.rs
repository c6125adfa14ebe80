//! The history of a task, from its attempts.

use serde::{Deserialize, Serialize};
use tollgate_model::{EvictionCause, Span};

use super::rule::EvictionFilter;

/// The history of a task so far: evictions and the time they cost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHistory {
    count: [u32; EvictionCause::ALL.len()],
    accrued: [Span; EvictionCause::ALL.len()],
}

impl TaskHistory {
    /// Adds an evicted attempt that held its computer for `held`.
    pub fn record_eviction(&mut self, by: EvictionCause, held: Span) {
        let cause = by as usize;
        self.count[cause] = self.count[cause].saturating_add(1);
        self.accrued[cause] += held;
    }

    /// Returns the number of evictions that count.
    pub fn evictions(&self, counted: EvictionFilter) -> u32 {
        let causes = EvictionCause::ALL
            .into_iter()
            .filter(|&cause| counted.includes(cause));
        causes.fold(0, |sum, cause| {
            sum.saturating_add(self.count[cause as usize])
        })
    }

    /// Returns the number of evictions for one cause.
    pub const fn evictions_by(&self, cause: EvictionCause) -> u32 {
        self.count[cause as usize]
    }

    /// Returns the total time that the counted attempts held their computers.
    pub fn accrued(&self, counted: EvictionFilter) -> Span {
        let causes = EvictionCause::ALL
            .into_iter()
            .filter(|&cause| counted.includes(cause));
        causes.fold(Span::ZERO, |sum, cause| sum + self.accrued[cause as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eviction_causes_are_counted_separately() {
        let mut seen = TaskHistory::default();
        for (by, held_s) in [
            (EvictionCause::User, 600),
            (EvictionCause::Reboot, 1200),
            (EvictionCause::User, 300),
            (EvictionCause::Lost, 7),
        ] {
            seen.record_eviction(by, Span::from_secs(held_s));
        }
        let both = |counted| (seen.evictions(counted), seen.accrued(counted));
        assert_eq!(both(EvictionFilter::All), (4, Span::from_secs(2107)));
        assert_eq!(
            both(EvictionFilter::ExceptUsers),
            (2, Span::from_secs(1207))
        );
        assert_eq!(
            both(EvictionFilter::ExceptReboots),
            (3, Span::from_secs(907))
        );
    }
}

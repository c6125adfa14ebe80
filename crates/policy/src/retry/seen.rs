//! What is known of a task by its attempts.

use tollgate_model::Span;

use super::rule::Counted;

/// Why an attempt ended before the task did, as the batch system sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Eviction {
    /// A user sat down at the computer.
    User,
    /// The computer was rebooted as planned.
    Reboot,
    /// The computer was lost, or nobody knows.
    Lost,
}

/// How a task has fared so far: evictions and the time they cost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    count: [u32; 3],
    accrued: [Span; 3],
}

impl Seen {
    /// Adds an attempt that held its computer for `held`.
    pub fn evicted(&mut self, by: Eviction, held: Span) {
        let cause = by as usize;
        self.count[cause] = self.count[cause].saturating_add(1);
        self.accrued[cause] += held;
    }

    /// How many evictions count.
    pub fn evictions(&self, counted: Counted) -> u32 {
        let causes = CAUSES.into_iter().filter(|&cause| counted.counts(cause));
        causes.fold(0, |sum, cause| {
            sum.saturating_add(self.count[cause as usize])
        })
    }

    /// How long the attempts that count held their computers, all together.
    pub fn accrued(&self, counted: Counted) -> Span {
        let causes = CAUSES.into_iter().filter(|&cause| counted.counts(cause));
        causes.fold(Span::ZERO, |sum, cause| sum + self.accrued[cause as usize])
    }
}

const CAUSES: [Eviction; 3] = [Eviction::User, Eviction::Reboot, Eviction::Lost];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_apart() {
        let mut seen = Seen::default();
        for (by, held_s) in [
            (Eviction::User, 600),
            (Eviction::Reboot, 1200),
            (Eviction::User, 300),
            (Eviction::Lost, 7),
        ] {
            seen.evicted(by, Span::from_secs(held_s));
        }
        let both = |counted| (seen.evictions(counted), seen.accrued(counted));
        assert_eq!(both(Counted::All), (4, Span::from_secs(2107)));
        assert_eq!(both(Counted::NotByUsers), (2, Span::from_secs(1207)));
        assert_eq!(both(Counted::NotByReboots), (3, Span::from_secs(907)));
    }
}

//! The limit on the number of each user's jobs.

use std::collections::BTreeMap;

/// The users' remaining number of jobs in a turn. Each task of an array counts.
pub(super) struct UserQuota {
    max: u64,
    /// Each user's number of unfinished tasks; None if all together are below the limit.
    counts: Option<BTreeMap<u32, u64>>,
}

impl UserQuota {
    /// Creates the quota from the `live` users with their unfinished tasks, `together` in all,
    /// before up to `arriving` submissions. The tasks are counted only if some user may exceed the
    /// limit.
    pub(super) fn new<I: Iterator<Item = (u32, u64)>>(
        most: u32,
        together: u64,
        arriving: u64,
        live: impl Fn() -> I,
    ) -> Self {
        let most = u64::from(most);
        let counts = (together.saturating_add(arriving) > most).then(|| {
            let mut counts = BTreeMap::new();
            for (user, tasks) in live() {
                *counts.entry(user).or_insert(0) += tasks;
            }
            counts
        });
        Self { max: most, counts }
    }

    /// Returns whether the user may submit this number of tasks; if so, they are counted.
    pub(super) fn try_admit(&mut self, user: u32, tasks: u64) -> bool {
        let Some(counts) = &mut self.counts else {
            return true;
        };
        let count = counts.entry(user).or_insert(0);
        let sum = count.saturating_add(tasks);
        if sum > self.max {
            return false;
        }
        *count = sum;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_limit_applies_to_each_user_separately() {
        let live = [(1, 1), (1, 1), (2, 1)];
        let mut crowd = UserQuota::new(3, 3, 4, || live.into_iter());
        assert_eq!(
            [1, 1, 2, 3].map(|user| crowd.try_admit(user, 1)),
            [true, false, true, true]
        );
        assert!(!crowd.try_admit(3, 3) && crowd.try_admit(3, 2));
    }

    #[test]
    fn tasks_are_not_counted_far_below_the_limit() {
        let live = [(1, 2)];
        let crowd = UserQuota::new(3, 2, 1, || live.into_iter());
        assert!(crowd.counts.is_none());
    }
}

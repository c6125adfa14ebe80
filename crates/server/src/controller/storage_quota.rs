//! The limit on each user's stored bytes of unfinished jobs.

use std::collections::BTreeMap;

/// The stored bytes of unfinished jobs, by user, with their maximum.
#[derive(Clone, Debug)]
pub(super) struct StorageQuota {
    max: u64,
    /// The owner and the bytes of each job.
    jobs: BTreeMap<u64, (u32, u64)>,
    users: BTreeMap<u32, u64>,
    /// Bytes accepted in the current turn, whose jobs have no number yet.
    arriving: BTreeMap<u32, u64>,
}

impl StorageQuota {
    /// Creates a quota without a maximum from job numbers with their owners and bytes.
    pub(super) fn new(jobs: impl IntoIterator<Item = (u64, u32, u64)>) -> Self {
        let mut stored = Self {
            max: u64::MAX,
            jobs: BTreeMap::new(),
            users: BTreeMap::new(),
            arriving: BTreeMap::new(),
        };
        for (job, user, bytes) in jobs {
            stored.add(job, user, bytes);
        }
        stored
    }

    /// Sets the maximum number of bytes of each user.
    pub(super) fn set_max(&mut self, most: u64) {
        self.max = most;
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// Forgets the bytes accepted in the turn before.
    pub(super) fn begin_tick(&mut self) {
        self.arriving.clear();
    }

    /// Returns whether the user may store this number of bytes more; if so, they are counted for
    /// this turn.
    pub(super) fn try_reserve(&mut self, user: u32, bytes: u64) -> bool {
        let stored = self.users.get(&user).copied().unwrap_or(0);
        let arriving = self.arriving.entry(user).or_default();
        let more = arriving.saturating_add(bytes);
        let fits = stored.saturating_add(more) <= self.max;
        if fits {
            *arriving = more;
        }
        fits
    }

    /// Counts a stored job.
    pub(super) fn add(&mut self, job: u64, user: u32, bytes: u64) {
        self.remove(job);
        self.jobs.insert(job, (user, bytes));
        *self.users.entry(user).or_default() += bytes;
    }

    /// Stops counting a job.
    pub(super) fn remove(&mut self, job: u64) {
        let Some((user, bytes)) = self.jobs.remove(&job) else {
            return;
        };
        let left = self.users.get(&user).map_or(0, |sum| sum - bytes);
        match left {
            0 => self.users.remove(&user),
            left => self.users.insert(user, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_limit_of_a_user_is_freed_when_jobs_end() {
        let mut stored = StorageQuota::new([(1, 7, 60)]);
        stored.set_max(100);
        assert!(
            !stored.try_reserve(7, 41) && stored.try_reserve(7, 30) && !stored.try_reserve(7, 20)
        );
        assert!(stored.try_reserve(8, 100));
        stored.add(2, 7, 30);
        stored.begin_tick();
        assert!(!stored.try_reserve(7, 20));
        stored.remove(1);
        assert!(stored.try_reserve(7, 70));
        stored.remove(2);
        stored.remove(2);
        assert_eq!(stored.users.len(), 0);
    }
}

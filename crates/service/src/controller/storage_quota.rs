//! How many bytes each user has stored with jobs that are not over.

use std::collections::BTreeMap;

/// The bytes of what jobs run that are not over, by user.
#[derive(Clone, Debug)]
pub(super) struct StorageQuota {
    max: u64,
    /// Whose each job is, and how many bytes it takes.
    jobs: BTreeMap<u64, (u32, u64)>,
    users: BTreeMap<u32, u64>,
    /// What is asked for in the turn at hand, and has no number yet.
    arriving: BTreeMap<u32, u64>,
}

impl StorageQuota {
    /// With these jobs: their numbers, whose they are, and their bytes. Without a maximum.
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

    /// Lets each user have so many bytes.
    pub(super) fn set_max(&mut self, most: u64) {
        self.max = most;
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// Forgets what was asked for in the turn before.
    pub(super) fn begin_tick(&mut self) {
        self.arriving.clear();
    }

    /// Whether so many bytes more of this user may be stored; they are counted for this turn if so.
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

    /// Counts a job that was stored.
    pub(super) fn add(&mut self, job: u64, user: u32, bytes: u64) {
        self.remove(job);
        self.jobs.insert(job, (user, bytes));
        *self.users.entry(user).or_default() += bytes;
    }

    /// Counts a job no more.
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
    fn each_user_has_room_until_jobs_are_over() {
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

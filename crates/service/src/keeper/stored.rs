//! How many bytes each user has stored with jobs that are not over.

use std::collections::BTreeMap;

/// The bytes of what jobs run that are not over, by user.
#[derive(Clone, Debug)]
pub(super) struct StorageQuota {
    most: u64,
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
            most: u64::MAX,
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
    pub(super) fn limit(&mut self, most: u64) {
        self.most = most;
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Forgets what was asked for in the turn before.
    pub(super) fn begin_turn(&mut self) {
        self.arriving.clear();
    }

    /// Whether so many bytes more of this user may be stored; they are counted for this turn if so.
    pub(super) fn enters(&mut self, user: u32, bytes: u64) -> bool {
        let stored = self.users.get(&user).copied().unwrap_or(0);
        let arriving = self.arriving.entry(user).or_default();
        let more = arriving.saturating_add(bytes);
        let fits = stored.saturating_add(more) <= self.most;
        if fits {
            *arriving = more;
        }
        fits
    }

    /// Counts a job that was stored.
    pub(super) fn add(&mut self, job: u64, user: u32, bytes: u64) {
        self.forget(job);
        self.jobs.insert(job, (user, bytes));
        *self.users.entry(user).or_default() += bytes;
    }

    /// Counts a job no more.
    pub(super) fn forget(&mut self, job: u64) {
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
        stored.limit(100);
        assert!(!stored.enters(7, 41) && stored.enters(7, 30) && !stored.enters(7, 20));
        assert!(stored.enters(8, 100));
        stored.add(2, 7, 30);
        stored.begin_turn();
        assert!(!stored.enters(7, 20));
        stored.forget(1);
        assert!(stored.enters(7, 70));
        stored.forget(2);
        stored.forget(2);
        assert_eq!(stored.users.len(), 0);
    }
}

//! The fair order: that in which waiting jobs start while no promise suffers.
//!
//! The users stand in the order of their use of the machine, which fades, over their weights: the user who
//! has used least is first. The jobs of a user stand in the order of their deadlines, those without one as if
//! they were due an hour after their submission. Jobs that are hopeless stand behind all others, in the order
//! of submission.

use std::collections::BTreeMap;

use tollgate_model::{Instant, UserId};
use tollgate_policy::View;

use super::planned_job::PlannedJob;

/// The place of a job among those of its user: its deadline, then the order of submission.
type UserQueueKey = (Instant, u64);

/// The waiting jobs by user.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FairQueue {
    users: BTreeMap<UserId, BTreeMap<UserQueueKey, PlannedJob>>,
}

impl FairQueue {
    pub(super) fn insert(&mut self, job: PlannedJob) {
        let own = self.users.entry(job.user).or_default();
        own.insert(job.own_place(), job);
    }

    pub(super) fn remove(&mut self, job: &PlannedJob) {
        if let Some(own) = self.users.get_mut(&job.user) {
            own.remove(&job.own_place());
            if own.is_empty() {
                self.users.remove(&job.user);
            }
        }
    }

    /// Returns whether no job waits.
    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Returns every waiting job in the fair order of an instant.
    pub(super) fn in_order(&self, view: View<'_>) -> impl Iterator<Item = &PlannedJob> {
        let now = view.now;
        let mut users: Vec<(
            f64,
            Option<&UserQueueKey>,
            &BTreeMap<UserQueueKey, PlannedJob>,
        )> = self
            .users
            .iter()
            .map(|(&user, own)| (view.weighted_use_of(user, now), own.keys().next(), own))
            .collect();
        users.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let all = users.into_iter().flat_map(|(_, _, own)| own.values());
        let hopeful = all.filter(move |job| !job.is_hopeless(now));
        hopeful.chain(HopelessJobs::new(self, now))
    }
}

/// The hopeless jobs in order of submission, which are looked for only once they are reached.
struct HopelessJobs<'a> {
    queue: &'a FairQueue,
    now: Instant,
    found: Option<std::vec::IntoIter<&'a PlannedJob>>,
}

impl<'a> HopelessJobs<'a> {
    fn new(queue: &'a FairQueue, now: Instant) -> Self {
        Self {
            queue,
            now,
            found: None,
        }
    }
}

impl<'a> Iterator for HopelessJobs<'a> {
    type Item = &'a PlannedJob;

    fn next(&mut self) -> Option<&'a PlannedJob> {
        let Self { queue, now, found } = self;
        let found = found.get_or_insert_with(|| {
            let all = queue.users.values().flat_map(BTreeMap::values);
            let mut hopeless: Vec<&PlannedJob> = all.filter(|job| job.is_hopeless(*now)).collect();
            hopeless.sort_unstable_by_key(|job| job.sequence);
            hopeless.into_iter()
        });
        found.next()
    }
}

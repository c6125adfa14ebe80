//! The waiting jobs about which more is known than before, and when that is.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{Instant, TaskId, UserId};

use super::super::batch::BatchId;
use super::super::statement::{BeliefTimer, StatementTime};
use super::super::{Belief, BeliefJob};
use super::BeliefModel;

impl BeliefModel {
    /// Returns the waiting jobs about which more is known than at the last call, with what is believed of
    /// each now. Jobs that look alike in one batch have one belief.
    pub fn take_revised(&mut self, now: Instant) -> Vec<(TaskId, Belief)> {
        self.advance(now);
        let users = std::mem::take(&mut self.outdated_users);
        let batches = std::mem::take(&mut self.outdated_batches);
        let mut outdated = BTreeSet::new();
        for user in users {
            outdated.extend(self.waiting_between((user, BatchId(0)), (user, BatchId(u64::MAX))));
        }
        for batch in batches {
            outdated.extend(self.waiting_between(batch, batch));
        }
        let mut known: BTreeMap<(BatchId, BeliefJob), Belief> = BTreeMap::new();
        let beliefs = outdated.into_iter().filter_map(|id| {
            let task = self.tasks.get(&id)?;
            let belief = known.entry((task.batch, task.job)).or_insert_with(|| {
                self.believe(&task.job, Some(task.batch), now, StatementTime::Later)
            });
            Some((id, *belief))
        });
        beliefs.collect()
    }

    fn waiting_between(
        &self,
        (user, first): (UserId, BatchId),
        (_, last): (UserId, BatchId),
    ) -> impl Iterator<Item = TaskId> {
        let ids = [(0, 0), (u64::MAX, u32::MAX)].map(|(job, task)| TaskId { job, task });
        let range = (user, first, ids[0])..=(user, last, ids[1]);
        self.waiting.range(range).map(|&(_, _, id)| id)
    }

    /// Returns the next instant at which a belief about a waiting job changes though nothing happens.
    pub fn next_revision(&self) -> Option<Instant> {
        let is_waited_for = |id: &TaskId| {
            self.tasks.get(id).is_some_and(|task| {
                let batch = (task.job.user, task.batch);
                self.waiting_between(batch, batch).next().is_some()
            })
        };
        let mut due = self.due.iter();
        due.find_map(|(at, due)| match due {
            BeliefTimer::Quantile(id, _) => is_waited_for(id).then_some(*at),
            BeliefTimer::Lesson(..) => None,
        })
    }
}

//! The knowledge of a follower after a look, for requests until the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use tollgate_beside::{
    JobStatement, QueueFollower, QueueObservation, SeenJob, SeenJobKey, SeenPhase,
};
use tollgate_model::{Instant, Span};
use tollgate_sites::now;

use crate::beside::engine::FollowedEngine;
use crate::beside::eta::Queues;

/// Number of ended jobs that are kept, the latest.
const MAX_ENDED: usize = 1_000;

/// The knowledge of a follower at a look.
pub(super) struct FollowerView {
    pub(super) engine: FollowedEngine,
    pub(super) cluster: String,
    /// The partitions and their limits.
    pub(super) queues: Arc<Queues>,
    pub(super) follower: QueueFollower,
    pub(super) seen: SeenJobs,
    /// The metrics, as a file has them.
    pub(super) metrics: String,
    /// The start of the follower.
    pub(super) since: Instant,
    /// By how much the engine's clock is ahead of that of this host.
    pub(super) ahead: Span,
}

impl FollowerView {
    /// Returns the present instant by the engine's clock. It is not before the look.
    pub(super) fn now(&self) -> Instant {
        let now = now() + self.ahead;
        self.follower.at().map_or(now, |at| at.max(now))
    }
}

/// The jobs that ended last and the statements about open jobs, which the follower itself forgets.
#[derive(Clone, Default)]
pub(super) struct SeenJobs {
    ended: BTreeMap<(Instant, SeenJobKey), Arc<SeenJob>>,
    statements: BTreeMap<SeenJobKey, Vec<Arc<JobStatement>>>,
}

impl SeenJobs {
    /// Takes what a look has shown.
    pub(super) fn observe(
        &mut self,
        observation: &QueueObservation,
        statements: &[JobStatement],
        follower: &QueueFollower,
    ) {
        for job in &observation.jobs {
            if let (SeenPhase::Over, Some(ended)) = (job.phase, job.ended) {
                let place = (ended, job.key.clone());
                self.ended.insert(place, Arc::new(job.clone()));
            }
        }
        while self.ended.len() > MAX_ENDED {
            self.ended.pop_first();
        }
        for stated in statements {
            let of_job = self.statements.entry(stated.key.clone()).or_default();
            if stated.nth == 0 {
                // The name is used again.
                of_job.clear();
            }
            of_job.push(Arc::new(stated.clone()));
        }
        let ended: BTreeSet<&SeenJobKey> = self.ended.keys().map(|(_, key)| key).collect();
        self.statements
            .retain(|key, _| ended.contains(key) || follower.submission(key).is_some());
    }

    /// Returns the jobs that ended last, latest first.
    pub(super) fn ended(&self) -> impl Iterator<Item = &SeenJob> {
        self.ended.values().rev().map(|job| &**job)
    }

    /// Returns the statements about a job since the start of the follower, in order of time.
    pub(super) fn statements(&self, key: &SeenJobKey) -> impl Iterator<Item = &JobStatement> {
        let of_job = self.statements.get(key).into_iter().flatten();
        of_job.map(|stated| &**stated)
    }
}

/// The last view, which the follower replaces after each look.
#[derive(Clone)]
pub(super) struct SharedView {
    last: Arc<RwLock<LastView>>,
    /// The number of looks.
    looks: watch::Sender<u64>,
}

impl Default for SharedView {
    fn default() -> Self {
        Self {
            last: Arc::default(),
            looks: watch::Sender::new(0),
        }
    }
}

#[derive(Clone, Default)]
struct LastView {
    view: Option<Arc<FollowerView>>,
    is_down: bool,
}

impl SharedView {
    /// Replaces the view.
    pub(super) fn replace(&self, view: FollowerView) {
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        *last = LastView {
            view: Some(Arc::new(view)),
            is_down: false,
        };
        drop(last);
        self.looks.send_modify(|n_looks| *n_looks += 1);
    }

    /// Returns a receiver of the number of looks, which changes with each.
    pub(super) fn looks(&self) -> watch::Receiver<u64> {
        self.looks.subscribe()
    }

    /// Notes that the engine does not answer. The last view stays.
    pub(super) fn set_down(&self) {
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        last.is_down = true;
    }

    /// Returns the last view. None before the first look.
    pub(super) fn view(&self) -> Option<Arc<FollowerView>> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        last.view.clone()
    }

    /// Returns whether the engine answered the last question.
    pub(super) fn is_answering(&self) -> bool {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        last.view.is_some() && !last.is_down
    }
}

//! The changes between two views of a queue.

use std::collections::BTreeMap;

use crate::job::{SeenJob, SeenJobKey};

/// The last view of a queue, from which changes are computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueChanges {
    last: BTreeMap<SeenJobKey, SeenJob>,
}

impl QueueChanges {
    /// Takes a new view, and returns its jobs that are new or have changed. The order is that of their names.
    pub fn take(&mut self, view: Vec<SeenJob>) -> Vec<SeenJob> {
        let view: BTreeMap<SeenJobKey, SeenJob> =
            view.into_iter().map(|job| (job.key.clone(), job)).collect();
        let changed = view
            .values()
            .filter(|job| self.last.get(&job.key) != Some(job));
        let changed = changed.cloned().collect();
        self.last = view;
        changed
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::Instant;

    use super::*;
    use crate::job::SeenPhase;

    fn job(key: &str, phase: SeenPhase) -> SeenJob {
        SeenJob {
            key: SeenJobKey(key.to_owned()),
            user: "anna".to_owned(),
            queue: "main".to_owned(),
            procs: 1,
            limit: None,
            submitted: Instant::from_secs(1),
            eligible: None,
            started: None,
            ended: None,
            phase,
            reason: String::new(),
        }
    }

    #[test]
    fn unchanged_job_is_not_a_change() {
        let mut changes = QueueChanges::default();
        let first = vec![job("1", SeenPhase::Waits), job("2", SeenPhase::Waits)];
        assert_eq!(changes.take(first.clone()), first);
        let second = vec![job("1", SeenPhase::Runs), job("2", SeenPhase::Waits)];
        assert_eq!(changes.take(second), [job("1", SeenPhase::Runs)]);
    }
}

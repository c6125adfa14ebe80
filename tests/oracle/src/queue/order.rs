//! The order of the queue.

use tollgate_model::Span;

use super::{OracleCluster, OracleOrder};

impl OracleCluster<'_> {
    /// Returns the queue from its head on.
    pub(super) fn ordered(&self) -> Vec<usize> {
        let mut queue = self.queue.clone();
        queue.sort();
        match self.settings.order {
            OracleOrder::Fcfs => queue.sort_by_key(|&job| self.jobs[job].spec.submit),
            OracleOrder::Sjf => queue.sort_by_key(|&job| self.jobs[job].spec.estimate),
            OracleOrder::Reward => {
                queue.sort_by(|&one, &other| self.reward(other).total_cmp(&self.reward(one)));
            }
            OracleOrder::Edf => return self.by_due(queue),
        }
        queue
    }

    /// Sorts by due time, where times within a microsecond tie. This relation is not transitive (0 ties with
    /// 1 and 1 with 2, but 0 comes before 2). So the head is the first in job order of all that tie with the
    /// earliest due time, the second is the head of the rest, and so on.
    fn by_due(&self, mut queue: Vec<usize>) -> Vec<usize> {
        let due = |job: usize| self.jobs[job].spec.due();
        queue.sort_by_key(|&job| (due(job).is_none(), due(job)));
        let mut ordered = Vec::new();
        while let Some(&earliest) = queue.first() {
            let horizon = due(earliest).map(|due| due + Span::TICK);
            let ties = (0..queue.len()).take_while(|&place| match (due(queue[place]), horizon) {
                (Some(due), Some(horizon)) => due <= horizon,
                (None, Some(_)) => false,
                (_, None) => true,
            });
            let head = ties.min_by_key(|&place| queue[place]);
            ordered.push(queue.remove(head.expect("the earliest ties with itself")));
        }
        ordered
    }
}

//! The classes of jobs that do not run as believed any more, or do again: logged and counted.

use tollgate_engine::Engine;
use tollgate_service::{ClassChange, Doubt};

use super::state::Controller;

/// How often a class was seen to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassChangeCounts {
    /// Classes that ran longer than believed.
    pub longer: u64,
    /// Classes that took less time than believed.
    pub shorter: u64,
    /// Classes that ran as believed again.
    pub settled: u64,
}

impl<E: Engine> Controller<E> {
    /// Logs and counts the changes of a step, each with the job whose end showed it.
    pub(super) fn note_class_changes(&mut self, changes: &[(u64, ClassChange)]) {
        let counts = &mut self.class_changes;
        for (job, change) in changes {
            let ClassChange {
                job: class,
                runtime,
                believed: [low, high],
                doubt,
            } = change;
            let (count, news) = match doubt {
                Doubt::ChangedLonger => (
                    &mut counts.longer,
                    "jobs like this take longer than expected",
                ),
                Doubt::ChangedShorter => (
                    &mut counts.shorter,
                    "jobs like this take less time than expected",
                ),
                Doubt::None | Doubt::Longer => {
                    (&mut counts.settled, "jobs like this run as expected again")
                }
            };
            *count += 1;
            let (user, procs) = (class.user.0, class.procs);
            tracing::info!(job, user, procs, %runtime, expected_from = %low, expected_to = %high, "{news}");
        }
    }
}

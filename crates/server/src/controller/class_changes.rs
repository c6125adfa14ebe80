//! The classes of jobs that do not run as believed any more, or do again: logged, counted and published.

use tollgate_client::types::ClassCourse;
use tollgate_engine::Engine;
use tollgate_model::Instant;
use tollgate_service::{ClassChange, Doubt};

use super::state::Controller;
use crate::events::{ClassStep, EventSubject};

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
    /// Logs, counts and publishes the changes of a step, each with the job whose end showed it.
    pub(super) fn note_class_changes(&mut self, at: Instant, changes: &[(u64, ClassChange)]) {
        let mut steps = Vec::with_capacity(changes.len());
        for &(job, ref change) in changes {
            let ClassChange {
                job: class,
                runtime,
                believed: expected,
                doubt,
            } = *change;
            let counts = &mut self.class_changes;
            let (runs, count, news) = match doubt {
                Doubt::ChangedLonger => (
                    ClassCourse::Longer,
                    &mut counts.longer,
                    "jobs like this take longer than expected",
                ),
                Doubt::ChangedShorter => (
                    ClassCourse::Shorter,
                    &mut counts.shorter,
                    "jobs like this take less time than expected",
                ),
                Doubt::None | Doubt::Longer => (
                    ClassCourse::AsExpected,
                    &mut counts.settled,
                    "jobs like this run as expected again",
                ),
            };
            *count += 1;
            let (user, procs, [low, high]) = (class.user.0, class.procs, expected);
            tracing::info!(job, user, procs, %runtime, expected_from = %low, expected_to = %high, "{news}");
            steps.push(EventSubject::Class(ClassStep {
                job,
                runs,
                run_time: runtime,
                expected,
            }));
        }
        if !steps.is_empty() {
            self.log.publish_others(self.store.batch(), at, steps);
        }
    }
}

//! The outlook of an array that runs: the ages of its tasks, and the end of the last one.

use tollgate_forecast::BeliefBasis;
use tollgate_gate::JobPrediction;
use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::{ArraySubject, OutlookSubject};

use super::ActiveArray;
use crate::admission_candidate::AdmissionCandidate;
use crate::core::Core;

/// A running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningTask {
    /// The number of the task.
    pub task: u32,
    /// The time since its start.
    pub age: Span,
}

/// The knowledge about the unfinished tasks of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayOutlook {
    /// The task that has run longest; None if none runs.
    pub oldest: Option<RunningTask>,
    /// The task that started last.
    pub youngest: Option<RunningTask>,
    /// The first start and the last end of all tasks that are not over and not held by their user. None if all are
    /// held, the last may never end, or the policy plays no futures.
    pub prediction: Option<JobPrediction>,
    /// The basis of the forecasts of its waiting tasks.
    pub basis: BeliefBasis,
}

impl ActiveArray {
    /// Returns the deadline of the tasks that are not in the gate, also if they run as if they had none.
    pub(super) fn due(&self) -> Option<Instant> {
        let own = self.submission.options.submitted;
        let own = own.zip(self.submission.deadline);
        self.withdrawn_due
            .or(own.map(|(submitted, deadline)| submitted + deadline))
    }

    /// Returns the deadline of the tasks, by their array's number.
    pub(crate) fn due_of(&self, core: &Core, job: u64) -> Option<Instant> {
        let of_tasks = core.tasks_of(job).find_map(|(_, live)| live.due());
        let mut groups = self.groups().iter();
        self.due()
            .or(of_tasks)
            .or_else(|| groups.find_map(|group| group.common.due()))
    }
}

impl Core {
    /// Returns the outlook of an unfinished array, by the knowledge at `now`. The chance is that of all its tasks
    /// together to end by the deadline.
    pub fn array_outlook(&self, now: Instant, job: u64) -> Option<ArrayOutlook> {
        let array = self.array(job)?;
        let now = self.now.max(now);
        let mut slots: Vec<JobId> = Vec::new();
        let (mut n_later, mut due) = (array.pending.len(), array.due());
        let mut running: Vec<RunningTask> = Vec::new();
        for (task, live) in self.tasks_of(job) {
            due = due.or(live.due());
            if let Some(start) = live.started {
                running.push(RunningTask {
                    task: task.task,
                    age: now.since(start),
                });
            }
            if live.held {
                continue;
            }
            match live.is_held_in_gate() {
                // The gate holds it until it is its turn.
                true => n_later += 1,
                false => slots.push(live.slot),
            }
        }
        for group in array.groups().iter().filter(|group| !group.common.held) {
            due = due.or(group.common.due());
            slots.push(group.common.slot);
        }
        let forecast = self.forecast(&array.submission, Some(job));
        let (estimate, _) = forecast.estimate();
        let spec = self.spec_of(&array.submission, estimate, now);
        let candidate = AdmissionCandidate::new(&array.submission, spec, &forecast);
        let (spec, distribution) = self.policy_request(&candidate);
        let later = (
            (&spec, Some(&distribution)),
            n_later as u32,
            Some(candidate.kinship),
        );
        let subject = ArraySubject {
            tasks: &slots,
            later: (n_later > 0).then_some(later),
            max_at_once: array.max_at_once,
        };
        let is_any = n_later > 0 || !slots.is_empty();
        let runs = is_any.then(|| {
            self.gate
                .possible_runs(now, OutlookSubject::Array(subject), None)
        });
        let by_age = |task: &&RunningTask| (task.age, u32::MAX - task.task);
        Some(ArrayOutlook {
            oldest: running.iter().max_by_key(by_age).copied(),
            youngest: running.iter().min_by_key(by_age).copied(),
            prediction: runs
                .flatten()
                .and_then(|runs| JobPrediction::of_runs(runs, due)),
            basis: forecast.basis(),
        })
    }
}

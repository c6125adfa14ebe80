//! Predictions for all unfinished jobs from one look ahead, for lists of many jobs.

use std::collections::BTreeMap;

use tollgate_gate::{JobPrediction, JobTrajectory};
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Instant, JobId, Span, TaskId};
use tollgate_policy::PossibleRuns;

use crate::active_task::ActiveTask;
use crate::array::ActiveArray;
use crate::core::Core;

/// Maximum number of arrays and of grouped tasks in an answer that get a look of their own. Their futures do not follow
/// from those of the slots of the gate.
const MAX_OWN_LOOKS: usize = 8;

/// The futures of the jobs in all slots of the gate.
#[derive(Debug)]
pub(crate) enum AllRuns {
    /// Equally likely runs, from a policy that plays futures. Of a slot with several jobs the first start and the last end.
    Played(BTreeMap<JobId, PossibleRuns>),
    /// The course of each if all take their expected run times.
    Expected(BTreeMap<JobId, JobTrajectory>),
}

impl Core {
    /// Returns the predictions for some jobs or tasks, in their order, by the knowledge at `now` and from one look ahead.
    /// None of a job that is held, waits for its decision or may never start. Arrays whose tasks are not all in the queue
    /// take a look each, so that only the first few have a prediction.
    ///
    /// A promised or running job has the prediction of [`Core::predict`], unless the policy lets jobs share nodes. Then a job
    /// that outlives its expected run time goes on at the pace that it has by then.
    pub fn predict_all(
        &self,
        now: Instant,
        jobs: &[(u64, Option<u32>)],
    ) -> Vec<Option<JobPrediction>> {
        let now = self.now.max(now);
        self.look_ahead.reset_budget();
        let runs = self.look_ahead.all_runs(now, || self.look_at_all(now));
        let mut own_looks = MAX_OWN_LOOKS;
        let mut look = || {
            own_looks = own_looks.checked_sub(1)?;
            Some(())
        };
        let predictions = jobs.iter().map(|&(job, task)| {
            if let (Some(array), None) = (self.array(job), task) {
                return match self.slots_of_array(job, array) {
                    Some(slots) => self.prediction_of_slots(&runs, &slots, array.due_of(self, job)),
                    None => look().and_then(|()| self.array_outlook(now, job)?.prediction),
                };
            }
            let task = TaskId {
                job,
                task: task.unwrap_or(0),
            };
            let live = self.jobs.get(task).filter(|live| !live.is_held_in_gate())?;
            if self.jobs.group(live.slot).is_some() {
                return look().and_then(|()| self.predict(now, task));
            }
            match &*runs {
                AllRuns::Played(runs) => {
                    let own = runs.get(&live.slot)?.clone().ended_at(live.time_limit);
                    let found = JobPrediction::of_runs(own, live.spec.due());
                    found.map(|found| self.as_promised(live, found))
                }
                AllRuns::Expected(courses) => {
                    let distribution = self.work_distribution(live, now);
                    let course = courses.get(&live.slot)?;
                    JobPrediction::of_trajectory(course, &distribution, live.spec.due(), Span::ZERO)
                }
            }
        });
        predictions.collect()
    }

    fn look_at_all(&self, now: Instant) -> AllRuns {
        match self.gate.possible_runs_of_all(now) {
            Some(runs) => AllRuns::Played(runs),
            None => AllRuns::Expected(self.look(now, |ahead| ahead.trajectories())),
        }
    }

    /// Returns the prediction for the jobs of some slots together. None if the policy plays no futures.
    fn prediction_of_slots(
        &self,
        runs: &AllRuns,
        slots: &[JobId],
        due: Option<Instant>,
    ) -> Option<JobPrediction> {
        let AllRuns::Played(runs) = runs else {
            return None;
        };
        let mut all: Option<Vec<RunInterval>> = None;
        for slot in slots {
            let own = runs.get(slot)?;
            let Some(all) = &mut all else {
                all = Some(own.runs.clone());
                continue;
            };
            for (all, own) in all.iter_mut().zip(&own.runs) {
                all.start = all.start.min(own.start);
                all.finish = all.finish.max(own.finish);
            }
        }
        JobPrediction::of_runs(PossibleRuns::of_several(all?), due)
    }

    /// Returns the slots of an array whose unfinished tasks are all in the gate and not held; None of another one.
    fn slots_of_array(&self, job: u64, array: &ActiveArray) -> Option<Vec<JobId>> {
        if !array.pending.is_empty() || array.max_at_once.is_some() {
            return None;
        }
        let groups = array.groups().iter().map(|group| &group.common);
        let tasks = self.tasks_of(job).map(|(_, live)| live);
        let tasks: Vec<&ActiveTask> = tasks.chain(groups).collect();
        let is_any_held = tasks.iter().any(|live| live.is_held_in_gate());
        (!is_any_held).then(|| tasks.iter().map(|live| live.slot).collect())
    }
}

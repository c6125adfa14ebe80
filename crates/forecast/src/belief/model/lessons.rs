//! The lessons of a model: how well its statements held, as time passes and tasks end.

use tollgate_model::{Instant, TaskId};

use super::super::BeliefJob;
use super::super::alike::ClassCorrelations;
use super::super::group::GroupKey;
use super::super::mixture::Lesson;
use super::super::recalibration::IntervalCount;
use super::super::siblings;
use super::super::statement::{BeliefTimer, Statement, StatementTime};
use super::super::weights::Cell;
use super::{BeliefModel, EndedTaskLessons};

/// The part of their experience that groups forget with each run time, and the step towards it.
const GROUP_STEP: f64 = 0.1;
/// The step of a batch towards the experience with its own tasks.
const BATCH_STEP: f64 = 0.05;

impl BeliefModel {
    /// Learns from the time that has passed by now. Each method that changes the model does so first.
    pub fn advance(&mut self, now: Instant) {
        while let Some(&(at, due)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            match due {
                BeliefTimer::Quantile(id, observed_at) => self.pass_quantile(id, observed_at),
                BeliefTimer::Lesson(id, observed_at) => {
                    if let Some(late) = self.late.remove(&(id, observed_at)) {
                        self.teach(&late);
                        self.batches.release(late.batch);
                    }
                }
            }
        }
        while let Some((class, misses)) = self.batches.pop_closed(now) {
            let class = self.groups.get_mut(&class);
            let mut none = ClassCorrelations::default();
            let counts = class.map_or(&mut none, |group| &mut group.alike);
            self.alike.learn(&misses, counts);
        }
    }

    fn pass_quantile(&mut self, id: TaskId, observed_at: StatementTime) {
        let Some(task) = self.tasks.get_mut(&id) else {
            return;
        };
        let (job, batch, started) = (task.job, task.batch, task.started);
        let Some(statement) = task.statements.get_mut(&observed_at) else {
            return;
        };
        let (interval, place) = (statement.n_judged, (statement.bucket, statement.weight));
        statement.n_judged += 1;
        let next = statement.next_quantile().zip(started);
        let next =
            next.map(|(run, started)| (started + run, BeliefTimer::Quantile(id, observed_at)));
        self.judge(&job, place, interval, &IntervalCount::PASSED);
        self.due.extend(next);
        self.outdated_batches.insert((job.user, batch));
    }

    /// Teaches weights and multipliers what each component would have explained.
    pub(super) fn teach(&mut self, late: &EndedTaskLessons) {
        for lesson in &late.lessons {
            let weight = match lesson.cell {
                Cell::Site { .. } | Cell::Group { .. } | Cell::NewMode(_) => 1.0,
                Cell::Siblings(bucket) => self.teach_siblings(late, lesson, bucket),
            };
            let explained = lesson.explained(late.ln_run);
            self.weights.learn(lesson.cell, &explained, weight);
            if let Some((key, of)) = lesson.group
                && let Some(group) = self.groups.get_mut(&key)
            {
                let gains = lesson.gains(late.ln_run);
                group.multipliers[of as usize].learn(gains, GROUP_STEP, GROUP_STEP);
            }
        }
    }

    /// Teaches a batch and its class how alike siblings are, and returns the weight of the lesson.
    fn teach_siblings(&mut self, late: &EndedTaskLessons, lesson: &Lesson, bucket: u8) -> f64 {
        let Some(batch) = self.batches.get_mut(late.batch) else {
            return 0.0;
        };
        let weight = batch.lesson_weight(bucket);
        if siblings::has_ended(bucket) {
            let gains = || lesson.gains(late.ln_run);
            batch.multipliers.learn(gains(), BATCH_STEP, GROUP_STEP);
            let class = self
                .groups
                .entry(GroupKey::smallest(&late.job))
                .or_default();
            class
                .siblings
                .learn(gains(), GROUP_STEP * weight, GROUP_STEP * weight);
        }
        weight
    }

    /// Counts the intervals of a statement that a run time passed, and the one in which it ended.
    pub(super) fn judge_end(&mut self, job: &BeliefJob, statement: &Statement, ln_run: f64) {
        for (interval, count) in statement.judged_by(ln_run) {
            self.judge(job, (statement.bucket, statement.weight), interval, &count);
        }
    }

    /// Counts a run time that reached an interval of a statement, for the groups of its job and for the site.
    fn judge(
        &mut self,
        job: &BeliefJob,
        (bucket, weight): (usize, f64),
        interval: usize,
        count: &IntervalCount,
    ) {
        let mut hazard = self.recalibration.hazard(bucket, interval);
        for key in GroupKey::recalibrated(job, bucket) {
            if let Some(group) = self.groups.get_mut(&key) {
                hazard = group.recalibration.judge(interval, count, weight, hazard);
            }
        }
        self.recalibration.judge(bucket, interval, count, weight);
    }
}
